//! Pages that a store shows: entities are made of the rows while those are read, where each row is an entity.
//!
//! A row that is not as programs of this version write it is taken apart, and read as any other.

use std::ops::ControlFlow;

use tablemodel_store::{Continuation, KeyRange, Query, RowKey, Shown, ValueRef};

use super::{columns::Columns, one::is_in_one_row, results::Results};
use crate::{
    database::Database,
    error::Result,
    key::{KeyError, KeyFault, KeyValues},
    path::{found::InKeys, plan::ReadPlan},
    plan::{image, system},
};

/// The entities of a page, at most `wanted`; where the next one begins. `None` where the store has to be waited for.
pub(super) fn page(
    db: &Database,
    plan: &ReadPlan,
    query: &Query,
    wanted: usize,
    to: &mut dyn Results,
) -> Option<Result<Option<Continuation>>> {
    let KeyRange::Partition { partition, .. } = &query.range else { return None };
    let mut in_partition = KeyValues::new();
    plan.schema.partition.read(partition, &mut in_partition).ok()?;
    let columns = &db.registered(plan.schema).ok()?.columns;
    let entities = Entities { plan, partition, in_partition, is_padded: plan.schema.row.is_padded(), columns };
    let (mut failure, last) = (Ok(()), to.count().saturating_add(wanted));
    let next = db.show_page(query, &mut |row| {
        if let Err(error) = entities.read(row, to) {
            failure = Err(error);
        }
        if failure.is_err() || to.count() >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let next = next.and_then(|next| failure.map(|()| next));
    Some(next.map_err(|error| error.of(plan.schema.entity_type)))
}

/// The entities of one partition.
struct Entities<'p> {
    plan: &'p ReadPlan,
    partition: &'p str,
    in_partition: KeyValues<'p>,
    /// Whether row keys are read from their bytes.
    is_padded: bool,
    columns: &'p Columns,
}

impl Entities<'_> {
    /// Adds the entity of a row, if the row is one of the plan's.
    #[inline]
    fn read(&self, row: &Shown<'_>, to: &mut dyn Results) -> Result<()> {
        let schema = self.plan.schema;
        if !is_in_one_row(schema) {
            return self.read_other(row, to);
        }
        let text;
        let (mut keys, mut in_form) = (KeyValues::beside(&self.in_partition), Ok(()));
        let bytes = if self.is_padded { row.ascii_row_key() } else { None };
        if !bytes.is_some_and(|key| schema.row.read_padded(key, &mut keys)) {
            // The key of a row of another type may be anything, or none: it is told of once the type is known.
            text = row.row_key();
            keys = KeyValues::beside(&self.in_partition);
            in_form = match &text {
                Ok(text) => schema.row.read(text, &mut keys),
                Err(_) => Err(KeyFault::NotThisTemplate.alone()),
            };
        }
        self.columns.read_entity(row, InKeys::read(&keys), |read| {
            if !read.is_of(schema.discriminator) {
                return self.read_other(row, to);
            }
            in_form.or_else(|error| self.not_in_form(row, error))?;
            to.put_shown(read)
        })
    }

    #[cold]
    fn not_in_form(&self, row: &Shown<'_>, error: KeyError) -> Result<()> {
        let key = RowKey::new(self.partition, row.row_key()?);
        Err(image::foreign_key(self.plan.schema, key, error))
    }

    #[cold]
    fn read_other(&self, row: &Shown<'_>, to: &mut dyn Results) -> Result<()> {
        if let Some(ValueRef::String(text)) = row.find(system::ENTITY_TYPE)
            && !system::is_type(text, self.plan.row_type())
        {
            return Ok(());
        }
        let row = row.row()?;
        if self.plan.owns(&row) {
            to.put((None, row.into()))?;
        }
        Ok(())
    }
}
