//! Entries: the derived rows that an image wants, room by room.
//!
//! The maintenance rule stands on this one function: what only the old image wants is deleted, what the new one wants
//! newly or differently is written, the rest is left alone.

use tablemodel_store::Properties;

use crate::{
    error::Result,
    plan::{image::Image, shadow},
    rooms,
};

/// A derived row that an image wants. Its sequence number is set when it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// Which index, copy or aggregate wants it, by its number in the latest schema: indexes first, then copies, aggregates, and
    /// what only older versions have.
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
    /// The partition that it stands in.
    pub(crate) fn partition<'a>(&'a self, image: &'a Image) -> &'a str {
        self.away.as_ref().map_or(&image.key.partition, |away| &away.partition)
    }

    /// Whether both are the same row.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        self.row == other.row && self.away == other.away
    }
}

/// Whether the image wants this row of what has this number among all that follows it.
pub(crate) fn wants(image: &Image, number: usize, partition: &str, row: &str) -> Result<bool> {
    if image.latest.is_shadow(number) {
        return Ok(shadow::wants(image, number, partition, row));
    }
    if !image.is_current() {
        let wanted = entries(image)?;
        let is_it = |entry: &Entry| entry.index == number && entry.row == row && entry.partition(image) == partition;
        return Ok(wanted.iter().any(is_it));
    }
    if number < image.schema.indexes.len() {
        return rooms::index::wants(image, number, partition, row);
    }
    let mut wanted = Vec::with_capacity(1);
    rooms::aggregate::entries(image, number, &mut wanted)?;
    Ok(wanted.iter().any(|entry| entry.row == row && entry.partition(image) == partition))
}

/// Every derived row of an image: by the format of the version that wrote it, under the numbers of the latest one.
pub(crate) fn entries(image: &Image) -> Result<Vec<Entry>> {
    entries_without(image, |_| false)
}

/// The same, without those of some indexes.
pub(crate) fn entries_without(image: &Image, is_left_out: impl Fn(usize) -> bool) -> Result<Vec<Entry>> {
    let indexes = image.schema.indexes.len();
    let mut entries = Vec::with_capacity(indexes);
    for index in (0..indexes).filter(|index| !is_left_out(*index)) {
        rooms::index::entries(image, index, &mut entries)?;
    }
    for copy in 0..image.schema.copies.len() {
        rooms::copy::entries(image, copy, &mut entries)?;
    }
    for aggregate in 0..image.schema.aggregates.len() {
        rooms::aggregate::entries(image, indexes + image.schema.copies.len() + aggregate, &mut entries)?;
    }
    if !image.is_current() {
        entries.iter_mut().for_each(|entry| entry.index = image.latest.position_of(image.schema, entry.index));
    }
    Ok(entries)
}
