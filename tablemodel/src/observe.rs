//! Observation of store calls: a `tracing` event each, and a hook for counters. Off unless somebody listens.
//!
//! No key and no value of a property is ever shown.

use std::{fmt, sync::Arc};

use tablemodel_store::{Batch, KeyRange, Page, Query, Row, RowRange, Shown, StoreErrorKind, size};

use crate::path::CostClass;

/// One call of the store, as it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCall {
    /// `get`, `query` or `commit`.
    pub operation: &'static str,
    /// The table, with the run-time prefix.
    pub table: String,
    /// How much of the table a read touches; `None` for a commit.
    pub class: Option<CostClass>,
    /// Rows read, or operations committed.
    pub rows: usize,
    /// Bytes of those rows, or of the request that commits them, as the service counts (see [`size`](tablemodel_store::size)); an estimate for billing and
    /// graphs, not what travels over a wire.
    pub bytes: usize,
    /// Which attempt it was, from 0.
    pub attempt: u32,
    /// How it failed.
    pub error: Option<StoreErrorKind>,
}

/// A hook that is called after each point read, query and commit of the store: for counters. Calls on tables are not told.
pub trait Observer: Send + Sync + 'static {
    /// The call has ended. Must not block.
    fn called(&self, call: &StoreCall);
}

/// The hook of a database, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Observed(pub(crate) Option<Arc<dyn Observer>>);

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Observed" } else { "unobserved" })
    }
}

impl Observed {
    /// Whether anybody listens; nothing is put together otherwise.
    pub(crate) fn listens(&self) -> bool {
        self.0.is_some() || tracing::enabled!(target: "tablemodel::store", tracing::Level::DEBUG)
    }

    /// Tells of a call.
    pub(crate) fn tell(&self, call: &StoreCall) {
        let class = call.class.map(|class| class.to_string());
        tracing::debug!(
            target: "tablemodel::store",
            operation = call.operation,
            table = call.table,
            class,
            rows = call.rows,
            bytes = call.bytes,
            attempt = call.attempt,
            error = ?call.error,
            "store call"
        );
        if let Some(observer) = &self.0 {
            observer.called(call);
        }
    }
}

impl StoreCall {
    /// A point read, of so many bytes where the row is there.
    pub(crate) fn point_read(table: &str, attempt: u32, bytes: Option<usize>) -> Self {
        let (table, class) = (table.to_owned(), Some(CostClass::Point));
        let (rows, bytes) = (usize::from(bytes.is_some()), bytes.unwrap_or(0));
        Self { operation: "get", table, class, rows, bytes, attempt, error: None }
    }

    /// A page of so many rows and bytes.
    pub(crate) fn page_read(query: &Query, attempt: u32, (rows, bytes): (usize, usize)) -> Self {
        let (table, class) = (query.table.clone(), Some(class(query)));
        Self { operation: "query", table, class, rows, bytes, attempt, error: None }
    }

    /// A commit.
    pub(crate) fn commit(batches: &[Batch], attempt: u32) -> Self {
        let table = batches.first().map(|batch| batch.table.clone()).unwrap_or_default();
        let rows = batches.iter().map(|batch| batch.operations.len()).sum();
        let bytes = batches.iter().map(size::batch_bytes).sum();
        Self { operation: "commit", table, class: None, rows, bytes, attempt, error: None }
    }
}

/// The bytes of a row.
pub(crate) fn bytes(row: &Row) -> usize {
    size::row_bytes(&row.key.partition, &row.key.row, &row.properties)
}

/// The same, of one that is shown; of one that is not whole, none.
pub(crate) fn shown_bytes(row: &Shown<'_>) -> usize {
    row.row().map_or(0, |row| bytes(&row))
}

/// The rows of a page, and their bytes.
pub(crate) fn page(page: Option<&Page>) -> (usize, usize) {
    page.map_or((0, 0), |page| (page.rows.len(), page.rows.iter().map(bytes).sum()))
}

/// The cost class of a query.
fn class(query: &Query) -> CostClass {
    match &query.range {
        KeyRange::Partition { rows, .. } if *rows == RowRange::all() => CostClass::PartitionScan,
        KeyRange::Partition { .. } => CostClass::Range,
        KeyRange::Table { .. } => CostClass::TableScan,
    }
}
