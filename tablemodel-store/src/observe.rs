//! The observing store: passes every call on, and keeps a log of what was asked and what came of it.
//!
//! It changes no call and no answer, and logs no values.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use crate::{
    Batch, Capabilities, Page, Query, Receipts, Row, StoreError, StoreErrorKind, TableStore,
    key::{KeyRange, RowKey, RowRange},
};

/// A store around a store that logs each call. Clones are one store with one log.
///
/// The log is kept in memory until [`ObservedStore::take`]: for tests, and for telling what a read or write costs.
///
/// ```
/// use std::sync::Arc;
/// use tablemodel_store::{MemoryStore, RowKey, TableStore, observe::ObservedStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tablemodel_store::StoreError> {
/// let store = ObservedStore::new(Arc::new(MemoryStore::new()));
/// store.create_table("People").await?;
/// store.get("People", &RowKey::new("Sales", "jones")).await?;
/// store.get("People", &RowKey::new("Sales", "smith")).await?;
/// let tally = store.tally();
/// assert_eq!((tally.point_reads, tally.table_scans), (2, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ObservedStore {
    inner: Arc<dyn TableStore>,
    log: Arc<Mutex<Vec<CallRecord>>>,
}

/// One call, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// What was asked.
    pub call: CallKind,
    /// The kind of the error, where it failed.
    pub error: Option<StoreErrorKind>,
}

/// What a call asked, and how much it gave (nothing, where it failed).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallKind {
    /// `create_table`
    CreateTable {
        /// The table's name.
        table: String,
    },
    /// `delete_table`
    DeleteTable {
        /// The table's name.
        table: String,
    },
    /// `list_tables`
    ListTables,
    /// `get`
    Get {
        /// The table.
        table: String,
        /// The row's address.
        key: RowKey,
        /// Whether the row was there.
        found: bool,
    },
    /// `query`: one page.
    Query {
        /// The table.
        table: String,
        /// The range asked for.
        range: KeyRange,
        /// The rows that came.
        rows: usize,
        /// Whether there may be more.
        more: bool,
    },
    /// `commit`
    Commit {
        /// Each batch.
        batches: Vec<BatchRecord>,
    },
}

/// What a batch asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRecord {
    /// The table.
    pub table: String,
    /// The partition key.
    pub partition: String,
    /// Each operation's verb ([`Action::verb`](crate::Action::verb)) and row key.
    pub operations: Vec<(&'static str, String)>,
}

/// How many calls of each class a log holds, failed ones too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Point reads (`get`).
    pub point_reads: usize,
    /// Pages of ranges within a partition.
    pub range_queries: usize,
    /// Pages of whole partitions.
    pub partition_scans: usize,
    /// Pages of tables or slices of them.
    pub table_scans: usize,
    /// Rows that reads gave.
    pub rows_read: usize,
    /// Commits.
    pub commits: usize,
    /// Operations of those commits.
    pub operations: usize,
    /// Calls that create, delete or list tables.
    pub table_calls: usize,
}

impl ObservedStore {
    /// A store that observes the calls to `inner`.
    pub fn new(inner: Arc<dyn TableStore>) -> Self {
        Self { inner, log: Arc::default() }
    }

    /// The calls since the beginning or the last [`take`](Self::take), in the order in which they ended.
    pub fn log(&self) -> Vec<CallRecord> {
        self.lock().clone()
    }

    /// As [`log`](Self::log), and begins a new log.
    pub fn take(&self) -> Vec<CallRecord> {
        std::mem::take(&mut self.lock())
    }

    /// The calls of [`log`](Self::log), counted.
    pub fn tally(&self) -> Tally {
        self.lock().iter().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CallRecord>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn committed(
        &self,
        batches: Vec<BatchRecord>,
        result: Result<Vec<Receipts>, StoreError>,
    ) -> Result<Vec<Receipts>, StoreError> {
        self.ended(result, |_| CallKind::Commit { batches })
    }

    fn ended<T>(
        &self,
        result: Result<T, StoreError>,
        call: impl FnOnce(Option<&T>) -> CallKind,
    ) -> Result<T, StoreError> {
        let record =
            CallRecord { call: call(result.as_ref().ok()), error: result.as_ref().err().map(StoreError::kind) };
        self.lock().push(record);
        result
    }
}

fn records(batches: &[Batch]) -> Vec<BatchRecord> {
    batches.iter().map(BatchRecord::of).collect()
}

#[async_trait]
impl TableStore for ObservedStore {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        let result = self.inner.create_table(name).await;
        self.ended(result, |_| CallKind::CreateTable { table: name.to_owned() })
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        let result = self.inner.delete_table(name).await;
        self.ended(result, |_| CallKind::DeleteTable { table: name.to_owned() })
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        let result = self.inner.list_tables().await;
        self.ended(result, |_| CallKind::ListTables)
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        let result = self.inner.get(table, key).await;
        self.ended(result, |row| CallKind::Get {
            table: table.to_owned(),
            key: key.clone(),
            found: row.is_some_and(Option::is_some),
        })
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        let result = self.inner.query(query).await;
        self.ended(result, |page| CallKind::Query {
            table: query.table.clone(),
            range: query.range.clone(),
            rows: page.map_or(0, |page| page.rows.len()),
            more: page.is_some_and(|page| page.continuation.is_some()),
        })
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let result = self.inner.commit(batches).await;
        self.committed(records(batches), result)
    }

    async fn commit_owned(&self, batches: Vec<Batch>) -> Result<Vec<Receipts>, StoreError> {
        let records = records(&batches);
        let result = self.inner.commit_owned(batches).await;
        self.committed(records, result)
    }

    async fn commit_patiently(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let result = self.inner.commit_patiently(batches).await;
        self.committed(records(batches), result)
    }
}

impl BatchRecord {
    fn of(batch: &Batch) -> Self {
        let operations = batch.operations.iter().map(|operation| (operation.action.verb(), operation.row.clone()));
        Self { table: batch.table.clone(), partition: batch.partition.clone(), operations: operations.collect() }
    }
}

impl<'a> FromIterator<&'a CallRecord> for Tally {
    fn from_iter<I: IntoIterator<Item = &'a CallRecord>>(records: I) -> Self {
        let mut tally = Self::default();
        for record in records {
            tally.add(&record.call);
        }
        tally
    }
}

impl Tally {
    fn add(&mut self, call: &CallKind) {
        match call {
            CallKind::CreateTable { .. } | CallKind::DeleteTable { .. } | CallKind::ListTables => self.table_calls += 1,
            CallKind::Get { found, .. } => {
                self.point_reads += 1;
                self.rows_read += usize::from(*found);
            }
            CallKind::Query { range, rows, .. } => {
                *self.queries(range) += 1;
                self.rows_read += rows;
            }
            CallKind::Commit { batches } => {
                self.commits += 1;
                self.operations += batches.iter().map(|batch| batch.operations.len()).sum::<usize>();
            }
        }
    }

    fn queries(&mut self, range: &KeyRange) -> &mut usize {
        match range {
            KeyRange::Partition { rows, .. } if *rows == RowRange::all() => &mut self.partition_scans,
            KeyRange::Partition { .. } => &mut self.range_queries,
            KeyRange::Table { .. } => &mut self.table_scans,
        }
    }
}

/// What is there, in words, and that there was no scan: `2 point reads, 1 commit of 3 operations, 0 scans`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, thing: &str| {
            (count > 0).then(|| format!("{count} {thing}{}", if count == 1 { "" } else { "s" }))
        };
        let commits = counted(self.commits, "commit").zip(counted(self.operations, "operation"));
        let parts = [
            counted(self.point_reads, "point read"),
            counted(self.range_queries, "range query page"),
            counted(self.partition_scans, "partition scan page"),
            counted(self.table_scans, "table scan page"),
            commits.map(|(commits, operations)| format!("{commits} of {operations}")),
            counted(self.table_calls, "table call"),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return f.write_str("no calls");
        }
        f.write_str(&parts.join(", "))?;
        f.write_str(if self.partition_scans + self.table_scans == 0 { ", 0 scans" } else { "" })
    }
}
