//! How an embedded store is opened.
//!
//! Opens; what an open store does is the rest of `embedded`.

use std::{
    fmt,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
};

use super::{
    EmbeddedStore, Shared, StorageBackend, WriterHandle,
    acknowledger::Acknowledger,
    engine::{Engine, Snapshot, Sync},
    pace::{Durability, Pace},
    queue::Queue,
    records::{self, Loaded},
    redb_engine::{self, Access, RedbEngine},
    rows::Rows,
    state::State,
    view::Views,
    writer::Writer,
};
use crate::{
    StoreError, StoreErrorKind,
    clock::{Clock, SystemClock},
    place::Unplaced,
};

/// Memory for what was read, unless told otherwise.
const DEFAULT_CACHE_BYTES: usize = 256 * 1024 * 1024;

/// Memory for pages while an empty store is created.
const CREATION_CACHE_BYTES: usize = 1024 * 1024;

/// Settings of an [`EmbeddedStore`], then one of the `open` methods.
///
/// ```
/// use tablemodel_store::{Durability, EmbeddedStore};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("company.tables");
/// let store = EmbeddedStore::builder().cache_bytes(64 << 20).durability(Durability::Relaxed).open(&path)?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EmbeddedStoreBuilder {
    cache_bytes: usize,
    durability: Durability,
    clock: Arc<dyn Clock>,
    create: bool,
    read_only: bool,
}

impl EmbeddedStoreBuilder {
    pub(super) fn new() -> Self {
        Self {
            cache_bytes: DEFAULT_CACHE_BYTES,
            durability: Durability::default(),
            clock: Arc::new(SystemClock),
            create: true,
            read_only: false,
        }
    }

    /// Bytes of memory for what was read, taken as they are needed: a quarter, at most 1 GiB, for rows of up to about 1.9 KB that were
    /// looked up by their keys; the rest for pages of the file. Default: 256 MiB.
    ///
    /// Reads are fastest while the rows in use fit in.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// What a commit waits for. Default: [`Durability::Durable`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The clock for timestamps and ETags. Default: the machine's.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Whether to create the file if there is none. Default: `true`.
    ///
    /// A store appears whole. A file of no bytes was none, or has lost what it had, and is `Corrupt`.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether to open for reading only. Default: `false`.
    ///
    /// Several processes may read one file at a time; the file must have been closed cleanly. All writes are `Denied`.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Opens the store at `path`, waiting for the disk.
    ///
    /// Errors: `Denied` (open elsewhere, no permission, no such file, disk full; read-only, and it was not closed cleanly), `Corrupt`
    /// (foreign, truncated or damaged), `Unsupported` (of a newer version of this crate, or of one before the first release), `Closed`
    /// (another failure of the disk), `Unavailable` (no thread could be started). Each names the file and what to do.
    pub fn open(self, path: impl Into<PathBuf>) -> Result<EmbeddedStore, StoreError> {
        let path = path.into();
        self.open_file(&path).map_err(|error| error.about(path.display()))
    }

    /// The same, on a thread for long work where a runtime of tokio has one: a file that was not closed cleanly is looked through.
    ///
    /// Errors: as [`open`](Self::open).
    pub async fn open_async(self, path: impl Into<PathBuf>) -> Result<EmbeddedStore, StoreError> {
        let path = path.into();
        super::blocking(move || self.open(path)).await
    }

    /// Opens the store on storage other than a file: a seam for tests, which can lose power or fill up.
    ///
    /// An empty backend becomes an empty store. Errors: as [`open`](Self::open); `Unsupported` if read-only.
    pub fn open_backend(self, backend: impl StorageBackend) -> Result<EmbeddedStore, StoreError> {
        if self.read_only {
            return Err(StoreError::new(StoreErrorKind::Unsupported, "only files can be opened read-only"));
        }
        let engine = redb_engine::open_backend(Box::new(backend), self.cache_bytes - self.row_bytes())?;
        self.start(engine, None)
    }

    fn open_file(self, path: &Path) -> Result<EmbeddedStore, StoreError> {
        let access = if self.read_only { Access::Read } else { Access::Write };
        if access == Access::Write && self.create && !path.exists() {
            create(path)?;
        }
        let engine = redb_engine::open_file(path, access, self.cache_bytes - self.row_bytes())?;
        self.start(engine, Some(path.to_owned()))
    }

    fn start(self, engine: RedbEngine, path: Option<PathBuf>) -> Result<EmbeddedStore, StoreError> {
        if !self.read_only {
            initialise(&engine)?;
        }
        let Loaded { counters, catalogue, dropped, names } = records::load(&engine.snapshot()?)?;
        let (engine, catalogue, names) = (Arc::new(engine), Arc::new(catalogue), Arc::new(names));
        let rows = Rows::new(self.row_bytes());
        let views = Arc::new(Views::new(Arc::clone(&engine), Arc::clone(&catalogue), Arc::clone(&names), rows));
        let writer = match self.read_only {
            true => None,
            false => {
                let reserve = self.durability.reserve();
                let state = State::new(catalogue, Arc::clone(&names), counters, dropped, reserve, self.clock);
                Some(writer(engine, &views, state, Pace::new(self.durability))?)
            }
        };
        Ok(EmbeddedStore(Arc::new(Shared { views, names, writer, path })))
    }

    /// The share of the memory that is for rows.
    fn row_bytes(&self) -> usize {
        (self.cache_bytes / 4).min(Rows::MOST_BYTES)
    }
}

/// Its clock is left out.
impl fmt::Debug for EmbeddedStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cache_bytes, durability, create, read_only, clock: _ } = self;
        let mut told = f.debug_struct("EmbeddedStoreBuilder");
        told.field("cache_bytes", cache_bytes).field("durability", durability);
        told.field("create", create).field("read_only", read_only).finish_non_exhaustive()
    }
}

/// Starts the thread that writes.
fn writer(
    engine: Arc<RedbEngine>,
    views: &Arc<Views<RedbEngine>>,
    state: State,
    pace: Pace,
) -> Result<WriterHandle, StoreError> {
    let (sender, queue) = mpsc::channel();
    let acknowledger = Acknowledger::start(Arc::clone(&engine), Arc::clone(views), sender.clone())?;
    let syncer = acknowledger.thread();
    let (views, queue) = (Arc::clone(views), Queue::new(queue));
    let writer = Writer { engine, views, state, pace, queue, acknowledger, waiting: Vec::new() };
    let thread = thread::Builder::new().name("tablemodel-writer".to_owned()).spawn(move || writer.run());
    let thread = thread
        .map_err(|error| StoreError::new(StoreErrorKind::Unavailable, "no thread could be started").caused_by(error))?;
    Ok(WriterHandle { queue: sender, thread, syncer })
}

/// Lets an empty store appear at `path`, whole or not at all, unless another process was faster.
fn create(path: &Path) -> Result<(), StoreError> {
    let unplaced = Unplaced::new(path).map_err(|failure| redb_engine::unmade(path, &failure))?;
    let engine = redb_engine::open_file(unplaced.path(), Access::Create, CREATION_CACHE_BYTES)?;
    initialise(&engine)?;
    drop(engine);
    match unplaced.place(|| ()) {
        Err(failure) if failure.kind() != ErrorKind::AlreadyExists => Err(redb_engine::unmade(path, &failure)),
        _ => Ok(()),
    }
}

/// Makes an empty database an empty store.
fn initialise(engine: &RedbEngine) -> Result<(), StoreError> {
    if engine.snapshot()?.is_empty()? {
        engine.apply(Sync::RecoveryPoint, |group| records::initialise(group))?;
    }
    Ok(())
}
