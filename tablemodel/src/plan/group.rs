//! The rows of one entity: its head, and the parts that follow it in key order.
//!
//! An entity is read, kept and planned as a group; one without a shape is its head alone.

use std::sync::Arc;

use tablemodel_store::{ETag, Properties, Row, RowKey, size};

/// The rows of one entity, as they were read or written.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The primary row.
    pub(crate) head: Row,
    /// Further rows of the entity, in key order.
    pub(crate) parts: Vec<Row>,
    /// Contents of blobs that its upgrade asked for, in place of their links.
    pub(crate) fetched: Option<Arc<Properties>>,
}

impl Group {
    pub(crate) fn of(head: Row, parts: Vec<Row>) -> Self {
        Self { head, parts, fetched: None }
    }

    /// The key of the entity.
    pub(crate) fn key(&self) -> &RowKey {
        &self.head.key
    }

    /// Bytes of its parts, and of what was fetched for it.
    pub(crate) fn bytes_beside(&self) -> usize {
        let parts = self.parts.iter().map(|part| size::row_bytes(&part.key.partition, &part.key.row, &part.properties));
        let fetched = self.fetched.iter().flat_map(|fetched| fetched.iter());
        parts.sum::<usize>() + fetched.map(|(name, value)| size::property_bytes(name.as_str(), value)).sum::<usize>()
    }

    /// Every row, the head first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Row> {
        std::iter::once(&self.head).chain(&self.parts)
    }

    /// The ETag of every row, the head's first.
    pub(crate) fn etags(&self) -> impl Iterator<Item = (&RowKey, &ETag)> {
        self.iter().map(|row| (&row.key, &row.etag))
    }
}

impl From<Row> for Group {
    fn from(head: Row) -> Self {
        Self::of(head, Vec::new())
    }
}
