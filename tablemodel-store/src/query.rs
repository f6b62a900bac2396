//! Reads as data: what is asked of a store, and a page of what it answers.

use crate::{Filter, PropertyName, Row, key::KeyRange, limits};

/// Where the next page begins: opaque, made and understood by one store, for one query.
///
/// It survives deletes (also of the row it names) and restarts of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuation(String);

impl Continuation {
    /// Wraps what a store made.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A query: rows of a key range, in key order.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The table.
    pub table: String,
    /// The range of keys.
    pub range: KeyRange,
    /// Only rows that satisfy this.
    pub filter: Option<Filter>,
    /// Only these properties travel; `None` means all. Keys, ETag and timestamp always come.
    pub select: Option<Vec<PropertyName>>,
    /// At most this many rows in the page, 1 to [`limits::MAX_PAGE_ROWS`].
    pub limit: usize,
    /// Where an earlier page of the same query stopped.
    pub continuation: Option<Continuation>,
}

impl Query {
    /// All rows of a range, in pages of the largest size.
    pub fn new(table: impl Into<String>, range: KeyRange) -> Self {
        Self {
            table: table.into(),
            range,
            filter: None,
            select: None,
            limit: limits::MAX_PAGE_ROWS,
            continuation: None,
        }
    }

    /// With a filter.
    pub fn filtered(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// With a page limit.
    pub fn limited(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// One page of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The rows, in key order where the store is ordered. May be empty although more follow.
    pub rows: Vec<Row>,
    /// Present when there may be more.
    pub continuation: Option<Continuation>,
}
