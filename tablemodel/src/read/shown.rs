//! Pages that a store shows: entities are made of the rows while those are read, where each row is an entity.
//!
//! A row that is not as programs of this version write it is taken apart, and read as any other.

use std::ops::ControlFlow;

use tablemodel_store::{Continuation, KeyRange, Query, RowKey, Shown, ValueRef};

use super::{columns::Columns, one::is_in_one_row};
use crate::{
    database::Database,
    error::Result,
    key::{KeyError, KeyFault, KeyValues},
    path::{
        found::{Found, InKeys},
        plan::ReadPlan,
    },
    plan::{image, system},
};

/// The entities of a page, at most `wanted`; where the next one begins. `None` where the store has to be waited for.
pub(super) fn page<F: Found>(
    db: &Database,
    plan: &ReadPlan,
    query: &Query,
    wanted: usize,
    to: &mut Vec<F>,
) -> Option<Result<Option<Continuation>>> {
    let KeyRange::Partition { partition, .. } = &query.range else { return None };
    let mut in_partition = KeyValues::new();
    plan.schema.partition.read(partition, &mut in_partition).ok()?;
    let columns = &db.registered(plan.schema).ok()?.columns;
    let entities = Entities { plan, partition, in_partition, is_padded: plan.schema.row.is_padded(), columns };
    let (mut failure, last) = (Ok(()), to.len().saturating_add(wanted));
    let next = db.show_page(query, &mut |row| {
        if let Err(error) = entities.read(row, to) {
            failure = Err(error);
        }
        if failure.is_err() || to.len() >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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
    fn read<F: Found>(&self, row: &Shown<'_>, to: &mut Vec<F>) -> Result<()> {
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
            F::read_shown(read, |found| add(to, found))
        })
    }

    #[cold]
    fn not_in_form(&self, row: &Shown<'_>, error: KeyError) -> Result<()> {
        let key = RowKey::new(self.partition, row.row_key()?);
        Err(image::foreign_key(self.plan.schema, key, error))
    }

    #[cold]
    fn read_other<F: Found>(&self, row: &Shown<'_>, to: &mut Vec<F>) -> Result<()> {
        if let Some(ValueRef::String(text)) = row.find(system::ENTITY_TYPE)
            && !system::is_type(text, self.plan.row_type())
        {
            return Ok(());
        }
        let row = row.row()?;
        if self.plan.owns(&row) {
            to.push(F::read(None, row.into())?);
        }
        Ok(())
    }
}

/// Results that most paths have fewer of, and those of a usual page of a larger one: entities are large, and moved at each step in
/// which the memory for them grows.
const FEW: usize = 8;
const MANY: usize = 128;

/// Adds a result. Where there is room nothing can fail, and it is moved once.
#[inline]
fn add<F>(to: &mut Vec<F>, found: F) {
    if to.len() < to.capacity() { to.push(found) } else { add_with_room(to, found) }
}

/// The same, with room for another result before, and for many where there are more than a few.
#[cold]
#[inline(never)]
fn add_with_room<F>(to: &mut Vec<F>, found: F) {
    to.reserve(match to.len() {
        0 => FEW,
        len => MANY.saturating_sub(len).max(len),
    });
    to.push(found);
}
