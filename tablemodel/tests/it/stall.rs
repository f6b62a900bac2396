//! Two programs over one store, one of which stalls before any chosen call while the other runs: every interleaving of
//! one program's calls with the whole of another's.
//!
//! No test stands here.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tablemodel::{
    Consistency, DateTime, RowKey,
    prelude::*,
    store::{
        Batch, Page, Query, Receipts, StoreError, StoreErrorKind, TableStore,
        clock::{Clock, ManualClock, Sleep},
    },
    testing::TestDatabase,
};

use crate::between::{Around, Between};

/// What happens meanwhile.
pub(crate) type Meanwhile = BoxFuture<'static, ()>;

/// A store whose caller stalls before one of its calls.
struct Stalling {
    calls: AtomicUsize,
    at: AtomicUsize,
    meanwhile: Mutex<Option<Meanwhile>>,
    clock: ManualClock,
    /// Whether it stalls before the request is sent, and not on its way.
    before: bool,
}

/// Well under half the fence, and longer than the deadline of a call.
const LONGEST_REQUEST: Duration = Duration::from_secs(120);

impl Stalling {
    fn over(db: &TestDatabase, meanwhile: Meanwhile, before: bool) -> Arc<Around<Self>> {
        let between = Self {
            calls: AtomicUsize::new(0),
            at: AtomicUsize::new(usize::MAX),
            meanwhile: Mutex::new(Some(meanwhile)),
            clock: db.clock().clone(),
            before,
        };
        Around::over(db.store(), between)
    }

    /// Whether a write that is made now still reaches the store: one that stalls for longer than a request lives does not.
    async fn call(&self) -> bool {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.at.load(Ordering::Relaxed) {
            let meanwhile = self.meanwhile.lock().unwrap().take();
            if let Some(meanwhile) = meanwhile {
                let before = self.clock.monotonic();
                meanwhile.await;
                return self.before || self.clock.monotonic().saturating_sub(before) < LONGEST_REQUEST;
            }
        }
        true
    }
}

#[async_trait]
impl Between for Stalling {
    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.call().await;
        inner.get(table, key).await
    }

    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        self.call().await;
        inner.query(query).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        if !self.call().await {
            return Err(StoreError::new(StoreErrorKind::OutcomeUnknown, "no reply within the deadline"));
        }
        inner.commit(batches).await
    }
}

/// The clock of a machine whose monotonic clock stands still while it is suspended.
#[derive(Clone)]
pub(crate) struct Suspended {
    clock: ManualClock,
    /// Seconds.
    asleep: Arc<AtomicU64>,
}

impl Suspended {
    pub(crate) fn over(db: &TestDatabase) -> Self {
        Self { clock: db.clock().clone(), asleep: Arc::default() }
    }

    /// From now on it has slept for so many seconds of those that have passed.
    pub(crate) fn slept(&self, seconds: u64) {
        self.asleep.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for Suspended {
    fn now(&self) -> DateTime {
        self.clock.now()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic() - Duration::from_secs(self.asleep.load(Ordering::SeqCst))
    }
}

pub(crate) struct NoSleep;

#[async_trait]
impl Sleep for NoSleep {
    async fn sleep(&self, time: Duration) {
        if time == Duration::MAX {
            std::future::pending().await
        }
    }
}

/// Whether a race may end so for one of two programs.
pub(crate) fn is_fair(result: &tablemodel::Result<()>) -> bool {
    use ErrorKind::{AlreadyExists, Conflict, NotFound, OutcomeUnknown, Unavailable, UniqueViolation};
    // Who stalls for long over a marker takes its own clock for wrong.
    let stalled = result.as_ref().is_err_and(|error| error.to_string().contains("clock"));
    let kind = result.as_ref().err().map(|error| error.kind().clone()).filter(|_| !stalled);
    kind.is_none_or(|kind| {
        // `OutcomeUnknown`: decided, and finished by the other.
        matches!(
            kind,
            AlreadyExists | Conflict { .. } | NotFound | OutcomeUnknown | Unavailable | UniqueViolation { .. }
        )
    })
}

/// Another program over the same store, in Azure's mode unless told otherwise, which stalls before its call number `at` until `meanwhile` has
/// happened.
pub(crate) struct Program {
    pub(crate) db: Database,
    store: Arc<Around<Stalling>>,
    at: usize,
}

impl Program {
    pub(crate) async fn stalling<M: TableModel>(db: &TestDatabase, at: usize, meanwhile: Meanwhile) -> Self {
        Self::stalling_in::<M>(Consistency::Azure, db, at, meanwhile).await
    }

    pub(crate) async fn stalling_in<M: TableModel>(
        mode: Consistency,
        db: &TestDatabase,
        at: usize,
        meanwhile: Meanwhile,
    ) -> Self {
        let store = Stalling::over(db, meanwhile, false);
        let program = open::<M>(mode, db, store.clone()).await;
        Self::begin(program, store, at)
    }

    /// The same, but whatever it was about to ask is sent only then, and reaches the store however long that took.
    pub(crate) async fn standing_still<M: TableModel>(db: &TestDatabase, at: usize, meanwhile: Meanwhile) -> Self {
        let store = Stalling::over(db, meanwhile, true);
        let program = open::<M>(Consistency::Azure, db, store.clone()).await;
        Self::begin(program, store, at)
    }

    /// The same, for whom time passes while it sleeps.
    pub(crate) async fn sleeping<M: TableModel>(db: &TestDatabase, at: usize, meanwhile: Meanwhile) -> Self {
        let store = Stalling::over(db, meanwhile, false);
        let program = crate::migrate::program_over::<M>(db, store.clone()).await;
        Self::begin(program, store, at)
    }

    fn begin(program: Database, store: Arc<Around<Stalling>>, at: usize) -> Self {
        store.calls.store(0, Ordering::Relaxed); // opening makes calls too
        store.at.store(at, Ordering::Relaxed);
        Self { db: program, store, at }
    }

    /// How often it called its store since it was opened.
    pub(crate) fn calls(&self) -> usize {
        self.store.calls.load(Ordering::Relaxed)
    }

    /// Whether it came as far as the call before which it stalls.
    pub(crate) fn has_stalled(&self) -> bool {
        self.calls() > self.at
    }
}

async fn open<M: TableModel>(mode: Consistency, db: &TestDatabase, store: Arc<dyn TableStore>) -> Database {
    let builder = Database::builder().clock(Arc::new(db.clock().clone())).sleep(Arc::new(NoSleep));
    let builder = builder.deadline(Duration::MAX).consistency(mode).blobs(db.blob_store());
    builder.with_store::<M>(store).await.unwrap()
}
