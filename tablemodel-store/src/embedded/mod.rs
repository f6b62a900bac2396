//! The embedded store: tables in one file of this process, safe from crashes.
//!
//! Only the store's outside is here; [`EmbeddedStore`] says what it promises.

mod acknowledger;
mod aside;
mod attempt;
mod catalogue;
mod codec;
mod dictionary;
mod engine;
mod guest;
mod kept;
mod keys;
mod lanes;
mod layout;
mod numbers;
mod options;
mod pace;
mod packed;
mod page;
mod prepare;
mod property;
mod queue;
mod records;
mod redb_engine;
mod roll;
mod rows;
mod seal;
mod shapes;
mod sight;
mod state;
mod together;
mod view;
mod whole;
mod wire;
mod writer;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread::{self, JoinHandle, ThreadId},
};

use async_trait::async_trait;
use tokio::{runtime::Handle, sync::oneshot, task::spawn_blocking};

use self::{
    dictionary::Dictionary,
    page::{Progress, Step},
    prepare::prepare,
    queue::{Haste, Message, Request},
    redb_engine::RedbEngine,
    state::{Reply, Work},
    view::{Views, closed},
};
pub(crate) use self::{
    kept::Kept,
    numbers::NumbersOf,
    packed::{Packed, PackedIter},
    redb_engine::was_not_closed_cleanly,
    sight::Sight,
};
pub use redb::StorageBackend;

pub use self::{
    options::EmbeddedStoreBuilder,
    pace::Durability,
    whole::{Backup, EmbeddedStats, TableStats},
};
use crate::{
    Batch, Capabilities, Continuation, Page, PropertyName, Query, Receipts, Row, RowKey, RowState, Shown, StoreError,
    StoreErrorKind, TableStore, validate,
};

/// A store in one file. Clones are one store; the last one to go closes it.
///
/// - One process at a time writes a file; within it any number of tasks do. Concurrent commits share a sync of the disk.
/// - A commit is acknowledged, and seen by readers, when it is as safe as the [`Durability`] says; by default, when it is on the
///   disk. The next one is worked on meanwhile.
/// - Readers see a snapshot, and every commit acknowledged before they began. They wait for no commit; who begins to read in the moment
///   in which the file grows may wait for that.
/// - Several batches may be committed together, over tables and partitions.
/// - ETags never repeat, whatever the clock does and however often the store is opened.
/// - Rows carry checksums: damage is told (`Corrupt`), not served. Damage to the inner structure of the file is met by
///   catching the engine's panics, so a program built with `panic = "abort"` ends there; it may hide rows, which
///   [`check`](Self::check) and every copy find, and a walk over them mostly. A write through an inner page that leads to itself is one
///   that the engine does not notice: it overflows the stack, and the program ends.
/// - Limits are Azure's, so that what runs here runs there.
///
/// If the disk fails while it commits, all waiting callers get the error (`OutcomeUnknown` only where the commit may
/// have reached the disk), and the store stops: later calls get `Closed` until it is opened again. By then its file is closed. So it is
/// where a write meets damage of the file's inner structure (`Corrupt`): nothing of what was committed together with it was written.
///
/// ```
/// use tablemodel_store::{Action, Batch, EmbeddedStore, Properties, RowKey, TableStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("company.tables");
/// let store = EmbeddedStore::open(&path)?;
/// store.create_table("People").await?;
/// let jones = Properties::from_iter([("Age", 35)]);
/// store.commit(&[Batch::new("People", "Sales").with("jones", Action::Insert(jones.clone()))]).await?;
/// store.close().await?;
///
/// let store = EmbeddedStore::open(&path)?;
/// let row = store.get("People", &RowKey::new("Sales", "jones")).await?;
/// assert_eq!(row.map(|row| row.properties), Some(jones));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EmbeddedStore(Arc<Shared>);

struct Shared {
    views: Arc<Views<RedbEngine>>,
    names: Arc<Dictionary>,
    /// Absent in a store opened read-only.
    writer: Option<WriterHandle>,
    /// Absent in a store that is on no file.
    path: Option<PathBuf>,
}

struct WriterHandle {
    queue: mpsc::Sender<Message>,
    thread: JoinHandle<()>,
    /// The thread that waits for the disk, which the writer's waits for at its end.
    syncer: ThreadId,
}

impl EmbeddedStore {
    /// Opens the store at `path` with the default settings, creating it if there is no file.
    ///
    /// Errors: see [`EmbeddedStoreBuilder::open`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::builder().open(path)
    }

    /// Settings to open a store with.
    pub fn builder() -> EmbeddedStoreBuilder {
        EmbeddedStoreBuilder::new()
    }

    /// The path of its file, as it was opened by; none for a store on other storage.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Waits until everything acknowledged is on the disk. Needed only with [`Durability::Relaxed`] and
    /// [`Durability::Bulk`]. Errors: `Closed`, and what kept it from the disk; none of a store opened read-only.
    pub async fn flush(&self) -> Result<(), StoreError> {
        if self.0.writer.is_none() {
            return Ok(());
        }
        self.0.ask(Work::Flush, Haste::Now).await.map(drop)
    }

    /// Finishes what was asked before, brings it to the disk and closes the file.
    ///
    /// All handles are closed with it: their calls get `Closed` from now on. Dropping the last handle does the same,
    /// but cannot tell of a failure, and waits on the thread that drops it (unless that is one of the store's own, where a waker went
    /// on with its task: then the file is closed soon after).
    ///
    /// Errors: what kept an acknowledged commit from the disk (only [`Durability::Relaxed`] and [`Durability::Bulk`] have such), or
    /// `Closed`, where the store stopped after a failure before.
    pub async fn close(&self) -> Result<(), StoreError> {
        let Some(writer) = &self.0.writer else {
            self.0.views.close(None);
            return Ok(());
        };
        let (reply, answer) = oneshot::channel();
        // No answer: it was closed before, or it stopped after a failure.
        let answer = match writer.queue.send(Message::Close(Some(reply))) {
            Ok(()) => answer.await.ok(),
            Err(_) => None,
        };
        answer.unwrap_or_else(|| self.0.views.failure().map_or_else(|| Ok(Vec::new()), Err)).map(drop)
    }

    /// Writes a consistent copy of the store, as of now, to a new file at `path`; the store stays in use.
    ///
    /// Each row is checked on the way, and that none is missing (`Corrupt`). The file appears when it is complete and on the
    /// disk; it is a store like any other: to restore it, open it, or put it in the place of the closed store's file.
    /// `Denied` if there is a file, or none can be made there; `Closed`.
    ///
    /// While it runs, the pages that writers replace cannot be reused: the file of the store may grow.
    pub async fn backup_to(&self, path: impl Into<PathBuf>) -> Result<(), StoreError> {
        self.prepare_backup(path).await?.place().await
    }

    /// The same, of which the file appears when it is asked to: for one that other files belong to, which are there first.
    pub async fn prepare_backup(&self, path: impl Into<PathBuf>) -> Result<Backup, StoreError> {
        let (view, path) = (self.0.views.current()?, path.into());
        blocking(move || whole::backup(&view, path)).await
    }

    /// Reads every row, checks all checksums and counts, and gives the number of rows. Errors: `Corrupt`, which names the first row
    /// that is damaged; `Unsupported`, one that a later version of this crate wrote.
    ///
    /// Reading a damaged file never gives a wrong row, but damage to an inner page can hide rows: this finds it. A damaged row alone can be
    /// written over (insert or replace), and should be before a crash: after one, a store in mode [`Durability::Durable`] may have to be
    /// walked through to be opened, and is not where a page is damaged.
    pub async fn check(&self) -> Result<u64, StoreError> {
        let view = self.0.views.current()?;
        blocking(move || whole::check(&view)).await
    }

    /// The size of the file, and the number of rows of each table. Cheap: no row is read. Errors: `Closed`, `Corrupt`.
    pub fn stats(&self) -> Result<EmbeddedStats, StoreError> {
        let view = self.0.views.current()?;
        let file = self.0.views.with_engine(whole::file)?;
        whole::stats(&view, file)
    }

    /// The commit of these batches; none where there is nothing to do.
    fn prepared(&self, batches: &[Batch]) -> Result<Option<Work>, StoreError> {
        // A name that has a number was checked when it got it.
        let is_legal =
            |name: &PropertyName| name.constant().is_some_and(|it| self.0.names.id_of_constant(it).is_some());
        validate::batches_knowing(batches, &self.capabilities(), &is_legal)?;
        Ok((!batches.is_empty()).then(|| Work::Commit(prepare(batches, &self.0.names))))
    }
}

impl Shared {
    /// Hands work to the writer thread and waits for its answer.
    ///
    /// For room in the queue nobody waits: what is asked for is in memory by then, wherever it waits; and where room is given out in
    /// turn, a future that has its turn and is not polled stops all who come after it, also those that its owner awaits meanwhile.
    async fn ask(&self, work: Work, haste: Haste) -> Reply {
        let bytes = work.memory();
        let Some(writer) = &self.writer else {
            return Err(StoreError::new(StoreErrorKind::Denied, "the store is read-only; open it for writing"));
        };
        let (reply, answer) = oneshot::channel();
        let request = Message::Request(Request { work, bytes, haste, reply });
        writer.queue.send(request).map_err(|_| self.ended())?;
        answer.await.unwrap_or_else(|_| Err(self.ended()))
    }

    async fn ask_if_any(&self, work: Option<Work>, haste: Haste) -> Reply {
        match work {
            Some(work) => self.ask(work, haste).await,
            None => Ok(Vec::new()),
        }
    }

    /// Why the writer thread takes no more work.
    fn ended(&self) -> StoreError {
        self.views.failure().unwrap_or_else(closed)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Some(WriterHandle { queue, thread, syncer }) = self.writer.take() else { return };
        // It may have ended.
        let _ = queue.send(Message::Close(None));
        // Who is woken by an answer may go on at once, on the thread that answers, and drop the last handle there: it ends by itself.
        let here = thread::current().id();
        if here != syncer && here != thread.thread().id() {
            // The thread finishes its queue and closes the file, so that it can be opened again at once.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedStore").field("read_only", &self.0.writer.is_none()).finish_non_exhaustive()
    }
}

/// Runs long work on a thread for it, where a runtime of tokio has one; else here.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    if Handle::try_current().is_err() {
        return work();
    }
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(StoreError::new(StoreErrorKind::Unavailable, error.to_string())))
}

#[async_trait]
impl TableStore for EmbeddedStore {
    fn capabilities(&self) -> Capabilities {
        let read_only = self.0.writer.is_none();
        Capabilities { atomic_across: true, may_lose_reply: false, ordered: true, read_only }
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        validate::table_name(name)?;
        self.0.ask(Work::CreateTable(name.to_owned()), Haste::Now).await.map(drop)
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        self.0.ask(Work::DeleteTable(name.to_owned()), Haste::Now).await.map(drop)
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        let view = self.0.views.current()?;
        Ok(view.catalogue.sorted().into_iter().map(|(_, table)| table.name.clone()).collect())
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        Ok(self.0.views.current()?.get(table, key)?.map(|row| row.at(key.clone())))
    }

    fn get_at_once(&self, table: &str, key: &RowKey) -> Option<Result<Option<RowState>, StoreError>> {
        Some(self.0.views.current().and_then(|view| view.get(table, key)))
    }

    fn show(&self, table: &str, key: &RowKey, see: &mut dyn FnMut(&Shown<'_>)) -> Option<Result<bool, StoreError>> {
        self.show_at(table, (&key.partition, &key.row), see)
    }

    fn show_at(
        &self,
        table: &str,
        key: (&str, &str),
        see: &mut dyn FnMut(&Shown<'_>),
    ) -> Option<Result<bool, StoreError>> {
        match self.0.views.current() {
            Ok(view) => view.show(table, key, see),
            Err(error) => Some(Err(error)),
        }
    }

    fn show_in_passing(
        &self,
        table: &str,
        key: (&str, &str),
        see: &mut dyn FnMut(&Shown<'_>),
    ) -> Option<Result<bool, StoreError>> {
        match self.0.views.current() {
            Ok(view) => view.show_in_passing(table, key, see),
            Err(error) => Some(Err(error)),
        }
    }

    fn show_page(
        &self,
        query: &Query,
        see: &mut dyn FnMut(&Shown<'_>) -> ControlFlow<()>,
    ) -> Option<Result<Option<Continuation>, StoreError>> {
        match validate::query(query).and_then(|()| self.0.views.current()) {
            Ok(view) => (query.select.is_none() && view.shows_rows()).then(|| page::show(&view, query, see)),
            Err(error) => Some(Err(error)),
        }
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        validate::query(query)?;
        let view = self.0.views.current()?;
        let progress = match Progress::begin(query)?.read_short(&view, query)? {
            Step::Done(page) => return Ok(page),
            Step::Paused(progress) => progress,
        };
        let query = query.clone();
        blocking(move || progress.read_rest(&view, &query)).await
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.0.ask_if_any(self.prepared(batches)?, Haste::Now).await
    }

    async fn commit_owned(&self, batches: Vec<Batch>) -> Result<Vec<Receipts>, StoreError> {
        let prepared = self.prepared(&batches)?;
        drop(batches);
        self.0.ask_if_any(prepared, Haste::OfMany).await
    }

    async fn commit_patiently(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.0.ask_if_any(self.prepared(batches)?, Haste::None).await
    }
}
