//! A database in memory, with a clock that stands still, faults on demand, and a log of every store call.
//!
//! Deterministic: no time passes, and randomness is a counter.

use std::{
    cell::Cell,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tablemodel_store::{
    MemoryStore, TableStore,
    clock::{Clock, ManualClock, Sleep},
    fault::{Call, Fault, FaultPlan, FaultStore, Script},
    observe::{CallRecord, ObservedStore, Tally},
};

use crate::{
    database::{Consistency, Database, DatabaseBuilder},
    entity::TableModel,
    environment::{Environment, Random},
    error::{Error, ErrorKind, Result},
};

/// A database for a test. Derefs to the [`Database`].
///
/// ```
/// # use tablemodel::prelude::*;
/// # #[derive(TableEntity)]
/// # #[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
/// # struct Employee { department: String, id: u32 }
/// # #[derive(TableModel)]
/// # enum Company { Employee(Employee) }
/// use tablemodel::testing::{Fault, Script, TestDatabase};
///
/// # fn main() -> tablemodel::Result<()> { tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let db = TestDatabase::new::<Company>().await?;
/// db.insert(&Employee { department: "Sales".into(), id: 1 }).await?;
/// db.forget_calls();
/// Employee::find().department("Sales").id(1).one(&db).await?;
/// assert_eq!(db.tally().to_string(), "1 point read, 0 scans");
///
/// db.fail(Script::new().at(0, Fault::LostReply)); // the next call is carried out, but its reply is lost
/// db.insert(&Employee { department: "Sales".into(), id: 2 }).await?; // recognised as one's own, and not repeated
/// # Ok(()) }) }
/// ```
#[derive(Clone)]
pub struct TestDatabase {
    database: Database,
    clock: ManualClock,
    random: Arc<Counter>,
    faults: Arc<FaultStore>,
    observed: Arc<ObservedStore>,
    /// What all of it is kept in; none where that is another's.
    memory: Option<Memory>,
    #[cfg(feature = "blob")]
    blobs: Arc<dyn crate::blob::ObjectStore>,
}

/// Where the data is.
#[derive(Clone)]
struct Memory {
    rows: MemoryStore,
    #[cfg(feature = "blob")]
    blobs: crate::blob::MemoryBlobs,
}

impl Memory {
    fn new(clock: &ManualClock) -> Self {
        Self {
            rows: MemoryStore::builder().clock(clock.clone()).build(),
            #[cfg(feature = "blob")]
            blobs: crate::blob::MemoryBlobs::new(Arc::new(clock.clone())),
        }
    }

    fn fork(&self, clock: &ManualClock) -> Self {
        Self {
            rows: self.rows.fork(clock.clone()),
            #[cfg(feature = "blob")]
            blobs: self.blobs.fork(Arc::new(clock.clone())),
        }
    }
}

impl std::fmt::Debug for TestDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.database.fmt(f)
    }
}

impl TestDatabase {
    /// An empty database with the model's tables.
    pub async fn new<M: TableModel>() -> Result<Self> {
        Self::kept::<M>(Consistency::Azure).await
    }

    /// The same in [`Consistency::Atomic`]: rows of other partitions are written with their entity.
    pub async fn atomic<M: TableModel>() -> Result<Self> {
        Self::kept::<M>(Consistency::Atomic).await
    }

    /// The same over another store, made with the test's clock. Two of them over one store are two programs, each with a clock of its own.
    pub async fn over<M: TableModel>(store: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn TableStore>) -> Result<Self> {
        let clock = ManualClock::new(start());
        let rows = store(Arc::new(clock.clone()));
        let random = Counter::of_another();
        let made = Self::made::<M>(&clock, rows, Memory::new(&clock), Consistency::Azure, random).await?;
        Ok(Self { memory: None, ..made })
    }

    async fn kept<M: TableModel>(consistency: Consistency) -> Result<Self> {
        let clock = ManualClock::new(start());
        let memory = Memory::new(&clock);
        let random = Counter(AtomicU64::new(1)); // the memory is this one's own
        Self::made::<M>(&clock, Arc::new(memory.rows.clone()), memory, consistency, random).await
    }

    async fn made<M: TableModel>(
        clock: &ManualClock,
        rows: Arc<dyn TableStore>,
        memory: Memory,
        consistency: Consistency,
        random: Counter,
    ) -> Result<Self> {
        let (observed, faults) = watched(rows);
        let random = Arc::new(random);
        let builder = builder(clock, &random, consistency);
        #[cfg(feature = "blob")]
        let blobs: Arc<dyn crate::blob::ObjectStore> = Arc::new(memory.blobs.clone());
        #[cfg(feature = "blob")]
        let builder = builder.blobs(blobs.clone());
        let database = builder.with_store::<M>(faults.clone()).await?;
        database.ensure_tables().await?;
        observed.take();
        Ok(Self {
            database,
            clock: clock.clone(),
            random,
            faults,
            observed,
            memory: Some(memory),
            #[cfg(feature = "blob")]
            blobs,
        })
    }

    /// The same program over a copy of all that is stored, with a clock of its own that stands where this one does, and
    /// no faults: from here the two go apart. So a test of many faults prepares its database once. Cost: a copy of each
    /// row and blob; no call of the store.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::{Fault, Script, TestDatabase}};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
    /// # #[table(index(by_name, partition = "{name}", row = "name_{department}_{id:06}", keys_only))]
    /// # struct Employee { department: String, id: u32, name: String }
    /// # #[derive(TableModel)]
    /// # enum Company { Employee(Employee) }
    /// # fn main() -> tablemodel::Result<()> { tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let prepared = TestDatabase::new::<Company>().await?;
    /// prepared.insert(&Employee { department: "Sales".into(), id: 1, name: "Jones".into() }).await?;
    /// for call in 0..5 {
    ///     let db = prepared.fork()?;
    ///     db.fail(Script::new().at(call, Fault::CrashAfter)); // the program dies there
    ///     let _ = db.insert(&Employee { department: "Sales".into(), id: 2, name: "Smith".into() }).await;
    ///     let db = db.reopen::<Company>().await?; // and begins anew
    ///     db.relay().run_once().await?;
    ///     assert!(db.verify().await?.is_clean());
    /// }
    /// assert_eq!(Employee::find().department("Sales").all(&prepared).await?.len(), 1); // as it was
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    ///
    /// `Unsupported` where rows or blobs are kept elsewhere: after [`over`](Self::over) or `with_blobs`.
    pub fn fork(&self) -> Result<Self> {
        let Some(memory) = &self.memory else {
            return Err(Error::new(ErrorKind::Unsupported, "only a database in a memory of its own can be copied"));
        };
        let clock = ManualClock::new(self.clock.now());
        let memory = memory.fork(&clock);
        let (observed, faults) = watched(Arc::new(memory.rows.clone()));
        let random = Arc::new(Counter(AtomicU64::new(self.random.0.load(Ordering::Relaxed))));
        let environment =
            Environment { clock: Arc::new(clock.clone()), random: random.clone(), sleep: Arc::new(NoSleep) };
        let database = self.database.forked(faults.clone(), environment);
        #[cfg(feature = "blob")]
        let blobs: Arc<dyn crate::blob::ObjectStore> = Arc::new(memory.blobs.clone());
        #[cfg(feature = "blob")]
        let database = database.with_blobs_in(&blobs);
        Ok(Self {
            database,
            clock,
            random,
            faults,
            observed,
            memory: Some(memory),
            #[cfg(feature = "blob")]
            blobs,
        })
    }

    /// The same database with its blobs in the object store that `wrap` makes of its own, which is in memory and dated by
    /// the test's clock: for faults, or for counting requests.
    #[cfg(feature = "blob")]
    pub async fn with_blobs<M: TableModel>(
        self,
        wrap: impl FnOnce(Arc<dyn crate::blob::ObjectStore>) -> Arc<dyn crate::blob::ObjectStore>,
    ) -> Result<Self> {
        let blobs = wrap(self.blobs.clone());
        Self { blobs, memory: None, ..self }.reopen::<M>().await
    }

    /// Another program over the same store: its own index states, the same clock and faults.
    pub async fn reopen<M: TableModel>(&self) -> Result<Self> {
        self.faults.revive();
        let builder = builder(&self.clock, &self.random, self.database.consistency());
        #[cfg(feature = "blob")]
        let builder = builder.blobs(self.blobs.clone());
        let database = builder.with_store::<M>(self.faults.clone()).await?;
        Ok(Self { database, ..self.clone() })
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The clock: stands still until it is moved.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// Faults from the next call on; `Script` numbers calls from here.
    pub fn fail(&self, plan: impl FaultPlan) {
        self.faults.replan(Offset { from: self.faults.calls(), plan });
    }

    /// The store with the faults, for calls of one's own.
    pub fn store(&self) -> Arc<dyn TableStore> {
        self.faults.clone()
    }

    /// The object store that holds the blobs.
    #[cfg(feature = "blob")]
    pub fn blob_store(&self) -> Arc<dyn crate::blob::ObjectStore> {
        self.blobs.clone()
    }

    /// The calls that reached the store since the start, or since they were last forgotten.
    pub fn calls(&self) -> Vec<CallRecord> {
        self.observed.log()
    }

    /// Their number by class.
    pub fn tally(&self) -> Tally {
        self.observed.tally()
    }

    /// Starts the log anew.
    pub fn forget_calls(&self) {
        self.observed.take();
    }
}

impl Deref for TestDatabase {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}

/// A store whose calls are logged, and those that reach it first meet the faults.
fn watched(rows: Arc<dyn TableStore>) -> (Arc<ObservedStore>, Arc<FaultStore>) {
    let observed = Arc::new(ObservedStore::new(rows));
    let faults = Arc::new(FaultStore::new(observed.clone(), Script::new()));
    (observed, faults)
}

/// Two programs over one store share the source of randomness: their operation ids differ, as they do in the world.
fn builder(clock: &ManualClock, random: &Arc<Counter>, consistency: Consistency) -> DatabaseBuilder {
    let builder = Database::builder().clock(Arc::new(clock.clone())).random(random.clone());
    builder.sleep(Arc::new(NoSleep)).deadline(NEVER).consistency(consistency)
}

/// No time passes, so no deadline ever comes.
const NEVER: Duration = Duration::MAX;

/// 2020-01-01T00:00:00Z.
fn start() -> tablemodel_store::DateTime {
    tablemodel_store::DateTime::from_unix_seconds(1_577_836_800).unwrap_or(tablemodel_store::DateTime::UNIX_EPOCH)
}

/// A plan whose calls are numbered from when it was set.
struct Offset<P> {
    from: usize,
    plan: P,
}

impl<P: FaultPlan> FaultPlan for Offset<P> {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        self.plan.fault(&Call { number: call.number.saturating_sub(self.from), ..*call })
    }
}

struct Counter(AtomicU64);

impl Counter {
    /// Of another program than those of this thread before: far from what they count. A test has the same ones whichever run beside it.
    fn of_another() -> Self {
        thread_local! {
            static PROGRAMS: Cell<u64> = const { Cell::new(0) };
        }
        let program = PROGRAMS.with(|programs| programs.replace(programs.get() + 1));
        Self(AtomicU64::new(1 + (program << 40)))
    }
}

impl Random for Counter {
    fn next(&self) -> u64 {
        self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed)
    }
}

struct NoSleep;

#[async_trait]
impl Sleep for NoSleep {
    async fn sleep(&self, time: Duration) {
        if time == NEVER {
            std::future::pending().await
        }
    }
}
