//! Where the values of rows with the same names and types go, for who asks for some names.
//!
//! A layout is learnt from a row that was found to be whole; rows of it need no second look at their names.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use super::{
    numbers::numbered,
    property::{StoredProperties, Tag},
};
use crate::ValueRef;

/// Layouts that are known again.
const KNOWN: usize = 4;

/// The first layouts that rows were found to have.
#[derive(Debug, Default)]
pub(super) struct Layouts([OnceLock<Layout>; KNOWN]);

/// One layout, for those who read these columns.
#[derive(Debug)]
pub(super) struct Layout {
    heads: Box<[u8]>,
    fields: Box<[Field]>,
}

/// One property of a layout.
#[derive(Debug)]
struct Field {
    tag: Tag,
    /// None beyond the columns: nobody asks for it.
    column: usize,
}

impl Layouts {
    /// The layout of a row, if it is known.
    #[inline]
    pub(super) fn of(&self, row: &StoredProperties<'_>) -> Option<&Layout> {
        self.0.iter().map_while(OnceLock::get).find(|layout| layout.is_of(row))
    }

    /// Learns the layout of a whole row, unless enough are known; `numbers` are those of the columns.
    pub(super) fn learn(&self, row: StoredProperties<'_>, numbers: &[AtomicU32]) {
        if let Some(free) = self.0.iter().find(|place| place.get().is_none())
            && let Some(layout) = Layout::new(row, numbers)
        {
            let _ = free.set(layout); // another may be there by now
        }
    }
}

impl Layout {
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

    /// The values of a row of this layout, each in its column; `None` unless they are whole.
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
