//! What of migrations goes along with an export of a program that leaves moves behind: these are as if they had not begun.
//!
//! Nothing is read or written here.

use std::collections::{BTreeSet, HashMap};

use tablemodel_store::Row;

use super::{
    plans::PLAN,
    record::{CONTROL, MIGRATION, Record, WORK, put_steps},
};
use crate::{database::registry::moved::LeftBehind, schema::taken};

/// The migrations in an export.
pub(in crate::database) struct Exported<'r> {
    left: &'r LeftBehind<'r>,
    /// Those of which nothing goes along, as they were before any row was read.
    left_out: BTreeSet<String>,
}

impl<'r> Exported<'r> {
    /// Those of these records.
    pub(in crate::database) fn of(rows: &HashMap<String, Row>, left: &'r LeftBehind<'r>) -> Self {
        let mut exported = Self { left, left_out: BTreeSet::new() };
        let records = rows.iter().filter_map(|(key, row)| Some((key.strip_prefix(MIGRATION)?, row)));
        let left_out = records.filter(|(_, row)| !exported.keeps(&mut Row::clone(row)));
        exported.left_out = left_out.map(|(id, _)| id.to_owned()).collect();
        exported
    }

    /// Whether the row of the schema table goes along, if it is a migration's: as it is then.
    pub(in crate::database) fn takes(&self, row: &mut Row) -> bool {
        let key = row.key.row.as_str();
        if row.key.partition == WORK {
            let is_begun = key.starts_with(PLAN) && row.properties.get("Finished").is_none();
            let is_of = |(id, _): (&str, &str)| self.left_out.contains(id);
            return !(key.split_once('|').is_some_and(is_of) || (is_begun && !self.left_out.is_empty()));
        }
        match key.strip_prefix(CONTROL) {
            Some(id) => !self.left_out.contains(id),
            None => !key.starts_with(MIGRATION) || self.keeps(row),
        }
    }

    /// Takes the steps that are left behind from a migration that is not finished. Whether it has others.
    fn keeps(&self, row: &mut Row) -> bool {
        let Some(record) = Record::read(row).ok().filter(|record| record.finished.is_none()) else { return true };
        let is_left = |(entity, name): &(String, String)| self.left.is(entity, taken(name).unwrap_or(name));
        let (left, steps): (Vec<_>, Vec<_>) = record.steps.into_iter().partition(is_left);
        if !left.is_empty() {
            put_steps(&steps, &mut row.properties);
        }
        left.is_empty() || !steps.is_empty()
    }
}
