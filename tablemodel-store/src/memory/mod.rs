//! The memory store: the whole contract of the port, kept in ordered sets, gone with the process.
//!
//! Nothing is written to a disk, and no task or timer runs.

mod range;
mod tables;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;

use crate::{
    Batch, Capabilities, Page, Query, Receipts, Row, RowState, Shown, StoreError, TableStore,
    clock::{Clock, SystemClock},
    key::RowKey,
    validate,
};
use tables::Tables;

/// A store in memory. As strict as Azure; clones are one store.
///
/// Cost: O(log rows) for each row touched; a query also looks at each row of its range until its page is full.
/// Readers run side by side, a commit alone.
///
/// ```
/// use tablemodel_store::{Action, Batch, MemoryStore, Properties, RowKey, TableStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tablemodel_store::StoreError> {
/// let store = MemoryStore::new();
/// store.create_table("People").await?;
/// let jones = Properties::from_iter([("Age", 35)]);
/// store.commit(&[Batch::new("People", "Sales").with("jones", Action::Insert(jones.clone()))]).await?;
/// let row = store.get("People", &RowKey::new("Sales", "jones")).await?;
/// assert_eq!(row.map(|row| row.properties), Some(jones));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryStore(Arc<Shared>);

struct Shared {
    tables: RwLock<Tables>,
    clock: Box<dyn Clock>,
    atomic_across: bool,
}

impl MemoryStore {
    /// An empty store on the machine's clock, which commits several batches atomically.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// An empty store with other settings.
    pub fn builder() -> MemoryStoreBuilder {
        MemoryStoreBuilder { clock: Box::new(SystemClock), atomic_across: true }
    }

    /// A store of its own that holds what this one holds now, on this clock: the two go apart from here. Cost: a copy of
    /// every row.
    ///
    /// ```
    /// # use tablemodel_store::{MemoryStore, TableStore, clock::SystemClock};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tablemodel_store::StoreError> {
    /// let store = MemoryStore::new();
    /// store.create_table("People").await?;
    /// let other = store.fork(SystemClock);
    /// store.delete_table("People").await?;
    /// assert_eq!(other.list_tables().await?, ["People"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn fork(&self, clock: impl Clock) -> Self {
        let tables = RwLock::new(self.read().forked());
        Self(Arc::new(Shared { tables, clock: Box::new(clock), atomic_across: self.0.atomic_across }))
    }

    // A writer cannot leave the tables half changed, so a poisoned lock is still good.
    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.0.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.0.tables.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").field("tables", &self.read().names()).finish_non_exhaustive()
    }
}

/// Settings of a [`MemoryStore`].
pub struct MemoryStoreBuilder {
    clock: Box<dyn Clock>,
    atomic_across: bool,
}

impl MemoryStoreBuilder {
    /// Whether a commit may hold several batches; `false` behaves as Azure does. Default: `true`.
    pub fn atomic_across(mut self, atomic_across: bool) -> Self {
        self.atomic_across = atomic_across;
        self
    }

    /// The clock for timestamps and ETags. Default: the machine's.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// The store.
    pub fn build(self) -> MemoryStore {
        let Self { clock, atomic_across } = self;
        MemoryStore(Arc::new(Shared { tables: RwLock::default(), clock, atomic_across }))
    }
}

#[async_trait]
impl TableStore for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities { atomic_across: self.0.atomic_across, may_lose_reply: false, ordered: true, read_only: false }
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        validate::table_name(name)?;
        self.write().create(name)
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        self.write().delete(name)
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.read().names())
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.read().get(table, key)
    }

    fn get_at_once(&self, table: &str, key: &RowKey) -> Option<Result<Option<RowState>, StoreError>> {
        let state = |Row { etag, timestamp, properties, .. }| RowState { etag, timestamp, properties };
        Some(self.read().get(table, key).map(|row| row.map(state)))
    }

    fn show(&self, table: &str, key: &RowKey, see: &mut dyn FnMut(&Shown<'_>)) -> Option<Result<bool, StoreError>> {
        let row = self.read().get(table, key);
        Some(row.map(|row| row.as_ref().map(|row| see(&Shown::new(row))).is_some()))
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        validate::query(query)?;
        self.read().query(query)
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        validate::batches(batches, &self.capabilities())?;
        let now = (self.0.clock.now(), self.0.clock.monotonic());
        self.write().commit(batches, now)
    }
}
