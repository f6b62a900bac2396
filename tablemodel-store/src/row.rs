//! One physical row, as a store gives it back, with its key or without.

use crate::{DateTime, ETag, Properties, key::RowKey};

/// A row read from a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Where it stands.
    pub key: RowKey,
    /// The state it was read in.
    pub etag: ETag,
    /// When the store last wrote it, by the store's clock. Not indexed, and not an order of writes.
    pub timestamp: DateTime,
    /// Its properties; only the selected ones when the query had a projection.
    pub properties: Properties,
}

/// A row without its key, for who has that already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowState {
    /// The state it was read in.
    pub etag: ETag,
    /// When the store last wrote it, by the store's clock.
    pub timestamp: DateTime,
    /// Its properties.
    pub properties: Properties,
}

impl RowState {
    /// The row, which stands at `key`.
    #[inline]
    pub fn at(self, key: RowKey) -> Row {
        let Self { etag, timestamp, properties } = self;
        Row { key, etag, timestamp, properties }
    }
}
