//! What a version of an entity has under the name that it had, but otherwise: an index at other keys, an aggregate of other rows, a copy of
//! more. Its row says since which version it is so.
//!
//! A program of a version before that does not read such an index or total, since rows that newer programs write are not where it looks
//! for them. A copy, of which it does not tell all that changes, lapses once it writes.

use std::collections::HashMap;

use serde_json::Value as Json;
use tablemodel_store::{Action, Batch, Condition, Operation, Properties, Row, ValueRef};

use super::{MOST_CHANGES, PARTITION, followers, index_row, next_epoch, state};
use crate::{
    database::{
        Database,
        leases::{INSTANCE, told_on},
        outbox::is_race,
        rewrites,
    },
    error::Result,
    plan::{states::IndexState, system, version},
    schema::{Adding, CopySchema, EntitySchema, Versioned},
};

/// The version since which it is as it is; absent: whatever version recorded it.
const SINCE: &str = "Since";
/// Of a copy: the names on the source of what programs of that version copy.
const COPIES: &str = "Copies";

/// The version since which this is as the program has it, where it knows a version that has it otherwise.
fn since(schema: &'static EntitySchema, name: &str) -> Option<u32> {
    let form = |older: &&'static EntitySchema| !schema.is_of_other_form(older.version);
    let differs = |older: &&'static EntitySchema| differs(schema, name, older);
    if !schema.ancestors().take_while(form).any(|older| differs(&older)) {
        return None;
    }
    let alike = schema.ancestors().take_while(|older| form(older) && !differs(older));
    Some(alike.last().map_or(schema.version, |oldest| oldest.version))
}

/// Whether the older version has this name for what is not the same.
fn differs(schema: &'static EntitySchema, name: &str, older: &'static EntitySchema) -> bool {
    if let Some(index) = schema.index(name) {
        return older.index(name).is_some() && Versioned(schema, index).differs_in(older);
    }
    let aggregate = schema.derived_position(name).and_then(|at| schema.aggregate(at));
    let Some(own) = aggregate else { return false };
    let its = older.aggregates.iter().find(|its| own.is_same(its));
    its.is_some_and(|its| !Adding(schema, own).adds_as(Adding(older, its)))
}

fn copy(schema: &'static EntitySchema, name: &str) -> Option<&'static CopySchema> {
    schema.derived_position(name).and_then(|at| schema.copy(at))
}

fn recorded(properties: &Properties) -> i64 {
    match properties.get(SINCE) {
        Some(ValueRef::Int64(since)) => since,
        _ => 1,
    }
}

/// What is copied by those who said so last.
fn copied(properties: &Properties) -> Vec<String> {
    match properties.get(COPIES) {
        Some(ValueRef::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Whether it is by now as only newer versions have it.
pub(in crate::database) fn is_overtaken(schema: &'static EntitySchema, name: &str, row: &Row) -> bool {
    let is_newer = recorded(&row.properties) > i64::from(schema.version);
    is_newer
        && copy(schema, name).is_none_or(|own| {
            // Frozen structs of older versions do not tell what those copied.
            copied(&row.properties).iter().any(|name| !own.properties.contains(&name.as_str()))
        })
}

/// The names of the entity's, of those whose rows of states are given, that newer versions have otherwise.
pub(in crate::database) fn overtaken<'r>(
    schema: &'static EntitySchema,
    rows: &'r HashMap<String, Row>,
) -> impl Iterator<Item = (String, &'r Row)> {
    let there = |name: String| rows.get(&index_row(schema.entity_type, &name)).map(|row| (name, row));
    followers(schema).filter_map(there).filter(move |(name, row)| is_overtaken(schema, name, row))
}

/// Says on the row of a state since when it is as this program has it, unless it is so since later.
pub(super) fn raise(schema: &'static EntitySchema, name: &str, properties: &mut Properties) {
    let (before, version) = (recorded(properties), i64::from(schema.version));
    let since = match copy(schema, name) {
        Some(own) => {
            let copied = copied(properties);
            let is_wider = own.properties.iter().any(|name| !copied.iter().any(|known| known == name));
            if before > version || !is_wider {
                return;
            }
            properties.insert(COPIES, Json::from(own.properties.to_vec()).to_string());
            version
        }
        None => since(schema, name).map_or(1, i64::from),
    };
    if since > before {
        properties.insert(SINCE, since);
    }
}

/// The names of what the rows of states do not tell to be as it is for this program.
pub(super) fn unsaid(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Vec<String> {
    let is_unsaid = |name: &String| {
        let row = rows.get(&index_row(schema.entity_type, name));
        let row = row.filter(|row| !matches!(state(row), Ok(IndexState::Absent)));
        row.is_some_and(|row| {
            let mut said = row.properties.clone();
            raise(schema, name, &mut said);
            said != row.properties
        })
    };
    followers(schema).filter(is_unsaid).collect()
}

/// Whether a program may be writing that is of an older version: what it wrote before it learns of this one is not told.
pub(super) fn is_beside_older(schema: &EntitySchema, own: &str, rows: &HashMap<String, Row>) -> bool {
    let rewrite = index_row(schema.entity_type, &rewrites::name(schema.version));
    let knows = |row: &Row| told_on(row).contains(&rewrite);
    let mut programs = rows.iter().filter_map(|(key, row)| Some((key.strip_prefix(INSTANCE)?, row)));
    schema.has_ancestors() && programs.any(|(id, row)| id != own && !knows(row))
}

impl Database {
    /// Whether an entity is of a version that is newer than this.
    async fn has_newer_rows(&self, schema: &'static EntitySchema) -> Result<bool> {
        let is_newer = |row: &Row| version::of_head(schema, row).is_some_and(|version| version > schema.version);
        self.has_any(schema.table, system::type_condition(schema.discriminator), is_newer).await
    }

    /// The rows of states as they are once that is forgotten which newer versions of the model's entities said to have otherwise, if none
    /// of their rows is there: they were tried, and have gone. Cost: nothing where none did, else a request per 1,000 rows of their tables.
    pub(in crate::database) async fn without_newer(&self, rows: &HashMap<String, Row>) -> Result<Vec<Row>> {
        let mut forgotten = Vec::new();
        for schema in self.model().iter().copied() {
            let mut others = overtaken(schema, rows).peekable();
            if others.peek().is_none() || self.has_newer_rows(schema).await? {
                continue;
            }
            forgotten.extend(others.map(|(name, row)| {
                let mut row = row.clone();
                row.properties.remove(SINCE);
                row.properties.remove(COPIES);
                raise(schema, &name, &mut row.properties);
                row
            }));
        }
        Ok(forgotten)
    }

    /// Forgets it. One that is still there says so anew. Cost: that of [`without_newer`](Self::without_newer), and a commit.
    pub(in crate::database) async fn forget_newer(&self, rows: &HashMap<String, Row>) -> Result<()> {
        let forgotten = self.without_newer(rows).await?;
        let replace = |row: Row| {
            let action = Action::Replace(row.properties, Condition::Match(row.etag));
            Operation { row: row.key.row, action }
        };
        let mut operations: Vec<_> = forgotten.into_iter().map(replace).collect();
        if operations.is_empty() {
            return Ok(());
        }
        operations.truncate(MOST_CHANGES);
        operations.push(next_epoch(rows, self.environment().clock.now().ticks()));
        let batch = Batch { operations, ..Batch::new(self.registry_table(), PARTITION) };
        match self.commit_unleased(&[batch], 0).await {
            Ok(_) => self.load_registry().await,
            Err(error) if is_race(error.kind()) => Ok(()), // they are judged as they are by then
            Err(error) => Err(error.into()),
        }
    }
}
