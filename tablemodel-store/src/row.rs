//! One physical row, as a store gives it back.

use crate::{DateTime, ETag, Properties, key::RowKey};

/// A row read from a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Where it stands.
    pub key: RowKey,
    /// The state it was read in.
    pub etag: ETag,
    /// When the store wrote it, by the store's clock. Not indexed, and not an order of writes.
    pub timestamp: DateTime,
    /// Its properties; only the selected ones when the query had a projection.
    pub properties: Properties,
}
