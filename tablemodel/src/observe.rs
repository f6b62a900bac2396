//! Observation of store calls: a `tracing` event each, and a hook for counters. Off unless somebody listens.
//!
//! No key and no value of a property is ever shown.

use std::{fmt, sync::Arc};

use tablemodel_store::{Batch, KeyRange, Query, RowRange, StoreErrorKind};

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
            attempt = call.attempt,
            error = ?call.error,
            "store call"
        );
        if let Some(observer) = &self.0 {
            observer.called(call);
        }
    }
}

/// The cost class of a query.
pub(crate) fn class(query: &Query) -> CostClass {
    match &query.range {
        KeyRange::Partition { rows, .. } if *rows == RowRange::all() => CostClass::PartitionScan,
        KeyRange::Partition { .. } => CostClass::Range,
        KeyRange::Table { .. } => CostClass::TableScan,
    }
}

/// The operations of a commit.
pub(crate) fn operations(batches: &[Batch]) -> usize {
    batches.iter().map(|batch| batch.operations.len()).sum()
}
