//! The key of the one row that a path names, put together without a plan.
//!
//! Pure: nothing is read here.

use std::cell::Cell;

use tablemodel_store::{RowKey, ValueRef};

use super::{PathQuery, Tail};
use crate::{error::Result, key::Part};

/// Room for both keys of most rows without growing.
const USUAL_POINT_BYTES: usize = 96;

/// The key of the one row that a path names: both its keys in one text.
#[derive(Debug)]
pub(crate) struct PointKey {
    text: String,
    cut: usize,
    /// Whether every part holds in full what the component at its place gives.
    in_order: bool,
}

impl PointKey {
    /// The partition key, and the row key.
    pub(crate) fn parts(&self) -> (&str, &str) {
        self.text.split_at_checked(self.cut).unwrap_or_default()
    }

    /// The same, each by itself.
    pub(crate) fn to_row_key(&self) -> RowKey {
        let (partition, row) = self.parts();
        RowKey::new(partition, row)
    }
}

impl PathQuery {
    /// The one key to read, where the components name one row of the entity's own partition: what [`PathQuery::plan`] would
    /// come to, without the plan.
    pub(crate) fn point(&self) -> Result<Option<PointKey>> {
        let is_one_row = !self.schema.is_joined() && self.index_schema().is_none_or(|index| index.elsewhere.is_none());
        let (Tail::Any, true) = (self.tail(), is_one_row) else { return Ok(None) };
        let mut text = String::with_capacity(USUAL_POINT_BYTES);
        let values = Values { query: self, next: Cell::new(0), in_order: Cell::new(true) };
        if !self.append_partition(&mut text, |part| values.of(part))? {
            return Ok(None);
        }
        let cut = text.len();
        let is_whole = self.row_template().append(&mut text, |part| values.of(part), None);
        let in_order = values.in_order.get();
        Ok(is_whole.map_err(|error| self.key_error(error))?.then_some(PointKey { text, cut, in_order }))
    }

    /// What the full primary key of this path holds of a property, which the part at this place has.
    #[inline]
    pub(crate) fn held_in(&self, key: &PointKey, place: usize, property: &str) -> Option<ValueRef<'_>> {
        if key.in_order { self.given.get(place) } else { self.held(property) }
    }
}

/// The values of the parts of a key, one after the other.
struct Values<'q> {
    query: &'q PathQuery,
    next: Cell<usize>,
    /// Whether each part so far holds in full what was given at its own place.
    in_order: Cell<bool>,
}

impl<'q> Values<'q> {
    /// The value of the next part: found soonest where it is that of the next component.
    #[inline]
    fn of(&self, part: &Part) -> Option<ValueRef<'q>> {
        let at = self.next.replace(self.next.get() + 1);
        match self.query.way.components.get(at) {
            Some(component) if component.is_whole(part.property) && !part.codec.is_lossy() => self.query.given.get(at),
            _ => {
                self.in_order.set(false);
                self.query.value_of(part)
            }
        }
    }
}
