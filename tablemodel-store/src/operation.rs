//! Writes as data: operations, and batches of them that stand or fall together.

use crate::{DateTime, ETag, Properties};

/// What must hold of the row before it is written (Azure: `If-Match`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The row exists, in whatever state (`If-Match: *`). Always written out, never a default.
    Exists,
    /// The row exists in exactly this state. `*` is the ETag of no state: a store does not pass it on to a service that
    /// takes it for any.
    Match(ETag),
}

/// What an operation does to its row.
///
/// Source: Azure Table service REST API, "Insert Entity", "Update Entity", "Merge Entity",
/// "Insert Or Replace Entity", "Insert Or Merge Entity", "Delete Entity".
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The row must not exist.
    Insert(Properties),
    /// The row must satisfy the condition; all its properties are replaced.
    Replace(Properties, Condition),
    /// The row must satisfy the condition; the given properties are set, the others stay.
    Merge(Properties, Condition),
    /// Inserts, or replaces whatever is there.
    InsertOrReplace(Properties),
    /// Inserts, or merges into whatever is there.
    InsertOrMerge(Properties),
    /// The row must satisfy the condition; it is gone afterwards.
    Delete(Condition),
}

impl Action {
    /// The properties it carries; a delete carries none.
    pub fn properties(&self) -> Option<&Properties> {
        match self {
            Self::Insert(p) | Self::Replace(p, _) | Self::Merge(p, _) => Some(p),
            Self::InsertOrReplace(p) | Self::InsertOrMerge(p) => Some(p),
            Self::Delete(_) => None,
        }
    }

    /// The verb, for messages and traces.
    pub const fn verb(&self) -> &'static str {
        match self {
            Self::Insert(_) => "insert",
            Self::Replace(..) => "replace",
            Self::Merge(..) => "merge",
            Self::InsertOrReplace(_) => "insert-or-replace",
            Self::InsertOrMerge(_) => "insert-or-merge",
            Self::Delete(_) => "delete",
        }
    }
}

/// One write to one row of the batch's partition.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The row key.
    pub row: String,
    /// What is done to it.
    pub action: Action,
}

/// An entity group transaction: writes to rows of one partition of one table, all or nothing.
///
/// At most 100 operations and 4 MiB, each row at most once (see [`limits`](crate::limits)).
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The table.
    pub table: String,
    /// The partition key of every row.
    pub partition: String,
    /// The writes, in order.
    pub operations: Vec<Operation>,
}

impl Batch {
    /// An empty batch for one partition.
    pub fn new(table: impl Into<String>, partition: impl Into<String>) -> Self {
        Self { table: table.into(), partition: partition.into(), operations: Vec::new() }
    }

    /// The batch with one more operation.
    pub fn with(mut self, row: impl Into<String>, action: Action) -> Self {
        self.operations.push(Operation { row: row.into(), action });
        self
    }
}

/// What one operation left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The row's new ETag; `None` after a delete.
    pub etag: Option<ETag>,
    /// When the store wrote it: the [timestamp](crate::Row::timestamp) of the row that is left.
    pub timestamp: DateTime,
}

/// The receipts of one committed batch, in the order of its operations.
pub type Receipts = Vec<Written>;
