//! Where the results of a path are put. Reading is the same for every entity, and is compiled once: what differs is behind
//! [`Results`], one call a result.
//!
//! No I/O: which rows give results is the reader's to say.

use tablemodel_store::Row;

use super::columns::InRow;
use crate::{
    entity::TableEntity,
    error::Result,
    path::{found::Found, plan::row_type},
    plan::{group::Group, version},
    schema::EntitySchema,
};

/// What reading has to know of the results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) schema: &'static EntitySchema,
    /// Whether they are read from primary rows, also when the path is over an index.
    pub(crate) of_primary: bool,
}

impl Kind {
    pub(crate) const fn of<F: Found>() -> Self {
        Self { schema: <F::Entity as TableEntity>::SCHEMA, of_primary: F::OF_PRIMARY }
    }

    /// Entities as their primary rows have them.
    pub(crate) const fn primary(schema: &'static EntitySchema) -> Self {
        Self { schema, of_primary: true }
    }

    /// Whether a result can be read from the path's own row. An index row of another version, or some properties of one, do
    /// not show what the entity is in this version: that is read from the entity.
    pub(crate) fn is_shown_by(self, index: Option<usize>, row: &Row) -> bool {
        self.of_primary || version::is_current(self.schema, row_type(self.schema, index), row)
    }
}

/// The rows that a result is read from: primary ones, or one of the index at this position.
pub(crate) type Resolved = (Option<usize>, Group);

/// Where results are put.
pub(crate) trait Results: Send {
    /// What they are.
    fn kind(&self) -> Kind;
    /// How many there are.
    fn count(&self) -> usize;
    /// Makes room for so many more.
    fn reserve(&mut self, more: usize);
    /// Puts the one of these rows. Errors: `Corrupt`, `UnknownVersion`, `UpgradeFailed`.
    fn put(&mut self, rows: Resolved) -> Result<()>;
    /// Puts the one of a primary row that a store shows. It is made where it is to be: it may be large. Errors: as above.
    fn put_shown(&mut self, row: &InRow<'_>) -> Result<()>;
}

impl<F: Found> Results for Option<F> {
    fn kind(&self) -> Kind {
        Kind::of::<F>()
    }

    fn count(&self) -> usize {
        usize::from(self.is_some())
    }

    fn reserve(&mut self, _more: usize) {}

    fn put(&mut self, (index, rows): Resolved) -> Result<()> {
        *self = Some(F::read(index, rows)?);
        Ok(())
    }

    fn put_shown(&mut self, row: &InRow<'_>) -> Result<()> {
        F::read_shown(row, |found| *self = Some(found))
    }
}

impl<F: Found> Results for Vec<F> {
    fn kind(&self) -> Kind {
        Kind::of::<F>()
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn reserve(&mut self, more: usize) {
        Vec::reserve(self, more);
    }

    fn put(&mut self, (index, rows): Resolved) -> Result<()> {
        self.push(F::read(index, rows)?);
        Ok(())
    }

    fn put_shown(&mut self, row: &InRow<'_>) -> Result<()> {
        F::read_shown(row, |found| add(self, found))
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
