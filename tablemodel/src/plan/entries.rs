//! Entries: the derived rows that an image wants, room by room.
//!
//! The maintenance rule stands on this one function: what only the old image wants is deleted, what the new one wants
//! newly or differently is written, the rest is left alone.

use tablemodel_store::Properties;

use crate::{error::Result, plan::image::Image, rooms};

/// A derived row that an image wants. Its sequence number is set when it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// Which index or copy wants it, by its position in the schema: indexes first.
    pub(crate) index: usize,
    /// Where it stands; none for the image's own partition.
    pub(crate) away: Option<Away>,
    /// The row key.
    pub(crate) row: String,
    /// Its properties, without the system's.
    pub(crate) properties: Properties,
}

/// A partition other than an image's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Away {
    /// The table, without the run-time prefix.
    pub(crate) table: &'static str,
    /// The partition key.
    pub(crate) partition: String,
}

impl Entry {
    /// Whether both are the same row.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        self.row == other.row && self.away == other.away
    }
}

/// Every derived row of an image.
pub(crate) fn entries(image: &Image) -> Result<Vec<Entry>> {
    let mut entries = Vec::with_capacity(image.schema.indexes.len());
    for index in 0..image.schema.indexes.len() {
        rooms::index::entries(image, index, &mut entries)?;
    }
    for copy in 0..image.schema.copies.len() {
        rooms::copy::entries(image, copy, &mut entries)?;
    }
    Ok(entries)
}
