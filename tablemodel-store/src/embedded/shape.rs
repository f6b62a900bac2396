//! Rows of one shape: the same names and types, one after the other, as those of a type mostly are.
//!
//! A shape is learnt from a row that was found to be whole; rows of it need no second look at their names.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use super::{
    numbers::numbered,
    property::{StoredProperties, Tag},
};
use crate::ValueRef;

/// Shapes that are known again.
const KNOWN: usize = 4;

/// The first shapes that rows were found to have.
#[derive(Debug, Default)]
pub(super) struct Shapes([OnceLock<Shape>; KNOWN]);

/// One shape, for those who read these columns.
#[derive(Debug)]
pub(super) struct Shape {
    heads: Box<[u8]>,
    fields: Box<[Field]>,
}

/// One property of a shape.
#[derive(Debug)]
struct Field {
    tag: Tag,
    /// None beyond the columns: nobody asks for it.
    column: usize,
}

impl Shapes {
    /// The shape of a row, if it is known.
    #[inline]
    pub(super) fn of(&self, row: &StoredProperties<'_>) -> Option<&Shape> {
        self.0.iter().map_while(OnceLock::get).find(|shape| shape.is_of(row))
    }

    /// Learns the shape of a whole row, unless enough are known; `numbers` are those of the columns.
    pub(super) fn learn(&self, row: StoredProperties<'_>, numbers: &[AtomicU32]) {
        if let Some(free) = self.0.iter().find(|place| place.get().is_none())
            && let Some(shape) = Shape::new(row, numbers)
        {
            let _ = free.set(shape); // another may be there by now
        }
    }
}

impl Shape {
    fn new(row: StoredProperties<'_>, numbers: &[AtomicU32]) -> Option<Self> {
        let mut left = row;
        let mut field = || {
            let (id, tag) = left.take_id()?;
            let column = numbers.iter().position(|number| number.load(Relaxed) == numbered(id));
            Some(Field { tag, column: column.unwrap_or(usize::MAX) })
        };
        let fields: Option<Box<[_]>> = (0..row.len()).map(|_| field()).collect();
        Some(Self { heads: row.heads().into(), fields: fields? })
    }

    #[inline]
    fn is_of(&self, row: &StoredProperties<'_>) -> bool {
        *self.heads == *row.heads() && self.fields.len() == row.len()
    }

    /// The values of a row of this shape, each in its column; `None` unless they are whole.
    #[inline]
    pub(super) fn read<'s>(&self, mut row: StoredProperties<'s>, to: &mut [Option<ValueRef<'s>>]) -> Option<()> {
        for field in &self.fields {
            let value = row.take_value(field.tag)?;
            if let Some(to) = to.get_mut(field.column) {
                *to = Some(value);
            }
        }
        row.has_no_values().then_some(())
    }
}
