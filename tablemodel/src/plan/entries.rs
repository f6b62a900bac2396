//! Entries: the derived rows that an image wants, room by room.
//!
//! The maintenance rule stands on this one function: what only the old image wants is deleted, what the new one wants
//! newly or differently is written, the rest is left alone.

use tablemodel_store::Properties;

use crate::{error::Result, plan::image::Image, rooms};

/// A derived row that an image wants. Its sequence number is set when it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// Which index wants it, by its position in the schema.
    pub(crate) index: usize,
    /// The row key; the partition is the image's own.
    pub(crate) row: String,
    /// Its properties, without the system's.
    pub(crate) properties: Properties,
}

/// Every derived row of an image.
pub(crate) fn entries(image: &Image) -> Result<Vec<Entry>> {
    let mut entries = Vec::with_capacity(image.schema.indexes.len());
    for index in 0..image.schema.indexes.len() {
        entries.extend(rooms::index::entry(image, index)?);
    }
    Ok(entries)
}
