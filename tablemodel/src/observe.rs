//! Observation of store calls: a `tracing` event each, and a hook for counters. Off unless somebody listens.
//!
//! No key and no value of a property is ever shown.

use std::{fmt, sync::Arc, time::Duration};

use tablemodel_store::{Batch, KeyRange, Page, Query, Row, RowRange, Shown, StoreErrorKind, size};

use crate::path::CostClass;

/// One call of the store, as it ended; of a commit, what of it concerns one table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCall {
    /// `get`, `query`, `commit`, `create_table`, `delete_table` or `list_tables`.
    pub operation: &'static str,
    /// The table, with the run-time prefix; empty for `list_tables`.
    pub table: String,
    /// How much of the table a read touches; `None` for a commit, and for calls on tables.
    pub class: Option<CostClass>,
    /// Which table of its commit this is, from 0; 0 for all other calls. A commit over several tables (of a store that commits several
    /// partitions as one) is told once for each of them, one after the other: so whoever counts calls, or their times, counts those that are 0
    /// here, and whoever adds up rows or bytes takes all.
    pub part: usize,
    /// Rows read, or operations committed (asked for, where the commit failed) in this table; 0 for calls on tables.
    pub rows: usize,
    /// Bytes of those rows, or of the batches that commit them, as the service counts (see [`size`](tablemodel_store::size)); an estimate for
    /// billing and graphs, not what travels over a wire.
    pub bytes: usize,
    /// Which attempt it was, from 0. Each is a call.
    pub attempt: u32,
    /// How long the store took to answer, or until it was given up at the [deadline](crate::DatabaseBuilder::deadline). Pauses before another
    /// attempt are not in it; what is made of rows while the store shows them where they lie is. Of a commit, the time of the whole, the same
    /// for each table.
    ///
    /// By [`Clock::monotonic`](tablemodel_store::clock::Clock::monotonic) of the database's [clock](crate::DatabaseBuilder::clock): an
    /// [`Instant`](std::time::Instant), unless that is a clock of your own. The clock of tests measures what it is moved by: zero while it
    /// stands still, and where it was set back.
    pub elapsed: Duration,
    /// How it failed; of a commit, the same for each table. Calls on tables that bring about what is there already fail at the store, and not
    /// for who asked: `TableExists` of `create_table`, `TableNotFound` of `delete_table`.
    pub error: Option<StoreErrorKind>,
}

/// A hook that is called after each call of the store: for counters and times. [An example](crate#what-a-program-asks-of-the-store).
///
/// Not told are calls that were dropped before they ended, and those that a program makes itself on [`Database::store`](crate::Database::store).
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
            part = call.part,
            rows = call.rows,
            bytes = call.bytes,
            attempt = call.attempt,
            elapsed_us = u64::try_from(call.elapsed.as_micros()).unwrap_or(u64::MAX),
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
        let (rows, bytes) = (usize::from(bytes.is_some()), bytes.unwrap_or(0));
        Self { class: Some(CostClass::Point), rows, bytes, ..Self::of("get", table, attempt) }
    }

    /// A page of so many rows and bytes.
    pub(crate) fn page_read(query: &Query, attempt: u32, (rows, bytes): (usize, usize)) -> Self {
        Self { class: Some(class(query)), rows, bytes, ..Self::of("query", &query.table, attempt) }
    }

    /// A commit, table by table, in the order in which its batches name them.
    pub(crate) fn commit(batches: &[Batch], attempt: u32) -> Vec<Self> {
        let mut calls: Vec<Self> = Vec::new();
        for batch in batches {
            let (rows, bytes) = (batch.operations.len(), size::batch_bytes(batch));
            match calls.iter_mut().find(|call| call.table.eq_ignore_ascii_case(&batch.table)) {
                Some(call) => (call.rows, call.bytes) = (call.rows + rows, call.bytes + bytes),
                None => {
                    let part = calls.len();
                    calls.push(Self { part, rows, bytes, ..Self::of("commit", &batch.table, attempt) });
                }
            }
        }
        calls
    }

    /// A call that has no rows: on a table, or on all.
    pub(crate) fn of(operation: &'static str, table: &str, attempt: u32) -> Self {
        let (table, elapsed) = (table.to_owned(), Duration::ZERO);
        Self { operation, table, class: None, part: 0, rows: 0, bytes: 0, attempt, elapsed, error: None }
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
