//! Rows that several entities meet in: lists, and the cells of aggregates with their targets.

use std::collections::BTreeSet;

use tablemodel_store::{Row, RowKey};

use super::Check;
use crate::{
    database::{
        Database,
        verify::{ViolationKind, mend::Mend, relist::Relist},
    },
    error::Result,
    plan::{
        image::Image,
        states::{IndexState, Setting},
        system,
    },
    rooms::{
        aggregate::{self, Recount},
        list,
    },
    schema::{AggregateSchema, EntitySchema},
};

/// Whether the entity holds this aggregate. One that the model dropped, or has not yet, is another program's to keep.
pub(super) fn is_held(schema: &'static EntitySchema, property: &str) -> bool {
    schema.property(property).is_some_and(|property| property.aggregate) || schema.sharded(property).is_some()
}

impl Check {
    /// Each list against the keys that the entities want in it.
    pub(super) fn lists(&mut self) {
        let mut lists = std::mem::take(&mut self.lists);
        let mut members = std::mem::take(&mut self.members);
        let rows: BTreeSet<String> = lists.keys().chain(members.keys()).cloned().collect();
        for row in rows {
            let (entity, index, mut keys) = members.remove(&row).unwrap_or_default();
            let found = lists.remove(&row).unwrap_or_default();
            // An entity that cannot be read may well want to be where it is.
            let there = list::keys(&found).ok().flatten().unwrap_or_default();
            let untold: Vec<_> = there.into_iter().filter(|key| self.unreadable.contains(key)).collect();
            let is_told = untold.is_empty();
            keys.extend(untold);
            keys.sort_by(|a, b| tablemodel_store::key::compare(a, b));
            if let Some(fault) = list::fault(&row, &found, &keys) {
                let kind = if keys.is_empty() { ViolationKind::Dangling } else { ViolationKind::Stale };
                let rows = found.into_iter().map(|row| (row.key, row.etag)).collect();
                let members = keys;
                let relist = Relist { entity, index, rows, members };
                let mend = if is_told { Mend::Relist(relist) } else { Mend::No };
                self.report(RowKey::new(self.partition.clone(), row), kind, fault, mend);
            }
        }
    }

    /// Each cell and each entity that holds an aggregate, against what the sources come to.
    pub(super) fn aggregates(&mut self, db: &Database) {
        if self.untold {
            return;
        }
        // Sources of an older version may add to what no version after it has.
        self.totals.retain(|target, property| db.entity_of(target).is_some_and(|schema| is_held(schema, property)));
        let (cells, targets) = (std::mem::take(&mut self.cells), std::mem::take(&mut self.targets));
        for (row, detail, recount) in self.totals.faults(&cells, &targets) {
            let kind = match &recount {
                Recount::Stray(_) => ViolationKind::Dangling,
                Recount::Cell { cell: None, .. } => ViolationKind::Missing,
                Recount::Cell { .. } | Recount::Target(..) => ViolationKind::Stale,
            };
            let key = RowKey::new(self.partition.clone(), row);
            let mend = match recount {
                Recount::Target(entity, read) => Mend::Touch(entity, key.clone(), read),
                cell @ (Recount::Cell { .. } | Recount::Stray(_)) => Mend::Recount(Box::new(cell)),
            };
            self.report(key, kind, detail, mend);
        }
    }

    /// What an entity adds to aggregates, and those that it holds.
    pub(super) fn total(&mut self, db: &Database, image: &Image, sequence: i64, setting: &Setting) -> Result<()> {
        let schema = image.latest;
        let strict = self.strict;
        let state = |at| if setting.is_complete(at, strict) { IndexState::Readable } else { IndexState::Absent };
        if let Err(error) = self.totals.add(image, state) {
            self.untold = true;
            self.report(image.key.clone(), ViolationKind::Corrupt, error.to_string(), Mend::No);
        }
        for into in aggregate::held(schema, &image.key.row) {
            // A version that does not hold it leaves that to its cell.
            let holds = image.schema.property(into.property.property).is_some_and(|property| property.aggregate);
            if holds && db.is_told(schema, into.property.property, strict)? {
                self.totals.add_target(into);
                self.targets.insert(image.key.row.clone(), (image.fields.clone(), sequence));
            }
        }
        Ok(())
    }

    /// A contribution of an entity of another partition; one that cannot be read is taken away, and written anew.
    pub(super) fn contribution(&mut self, of: &'static AggregateSchema, row: &Row) {
        if !self.totals.add_contribution(of, row) && !system::is_dead(&row.properties) {
            let detail = "a contribution to an aggregate that cannot be read".to_owned();
            self.report(row.key.clone(), ViolationKind::Corrupt, detail, Mend::Remove(row.etag.clone()));
        }
    }
}
