//! A database in memory, with a clock that stands still, faults on demand, and a log of every store call.
//!
//! Deterministic: no time passes, and randomness is a counter.

use std::{
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
    environment::Random,
    error::Result,
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
    #[cfg(feature = "blob")]
    blobs: Arc<dyn crate::blob::ObjectStore>,
}

impl std::fmt::Debug for TestDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.database.fmt(f)
    }
}

impl TestDatabase {
    /// An empty database with the model's tables.
    pub async fn new<M: TableModel>() -> Result<Self> {
        Self::over::<M>(|clock| Arc::new(MemoryStore::builder().clock(clock).build())).await
    }

    /// The same over another store, made with the test's clock.
    pub async fn over<M: TableModel>(store: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn TableStore>) -> Result<Self> {
        Self::made::<M>(store, Consistency::Azure).await
    }

    async fn made<M: TableModel>(
        store: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn TableStore>,
        consistency: Consistency,
    ) -> Result<Self> {
        let clock = ManualClock::new(start());
        let observed = Arc::new(ObservedStore::new(store(Arc::new(clock.clone()))));
        let faults = Arc::new(FaultStore::new(observed.clone(), Script::new()));
        let random = Arc::new(Counter(AtomicU64::new(1)));
        #[cfg(feature = "blob")]
        let blobs: Arc<dyn crate::blob::ObjectStore> = Arc::new(crate::blob::MemoryBlobs::new(Arc::new(clock.clone())));
        let builder = builder(&clock, &random, consistency);
        #[cfg(feature = "blob")]
        let builder = builder.blobs(blobs.clone());
        let database = builder.with_store::<M>(faults.clone()).await?;
        database.ensure_tables().await?;
        observed.take();
        Ok(Self {
            database,
            clock,
            random,
            faults,
            observed,
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
        Self { blobs, ..self }.reopen::<M>().await
    }

    /// The same in [`Consistency::Atomic`]: rows of other partitions are written with their entity.
    pub async fn atomic<M: TableModel>() -> Result<Self> {
        let store = |clock| Arc::new(MemoryStore::builder().clock(clock).build()) as Arc<dyn TableStore>;
        Self::made::<M>(store, Consistency::Atomic).await
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
