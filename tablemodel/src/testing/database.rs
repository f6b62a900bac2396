//! A database in memory, with a clock that stands still, faults on demand, and a log of every store call.
//!
//! Deterministic: the clock moves as the test has it, and randomness is a counter.

use std::{ops::Deref, sync::Arc};

use tablemodel_store::{
    MemoryStore, TableStore,
    clock::{Clock, ManualClock},
    fault::{Call, Fault, FaultPlan, FaultStore, Script},
    observe::{CallRecord, ObservedStore, Tally},
};

use super::environment::{Counter, NEVER, Passing, environment};
use crate::{
    database::{Consistency, Database, DatabaseBuilder},
    entity::TableModel,
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
    ///
    /// # Errors
    ///
    /// Those of [`Database::ensure_tables`], of which an empty store in memory gives none.
    pub async fn new<M: TableModel>() -> Result<Self> {
        Self::kept::<M>(Consistency::Azure).await
    }

    /// The same in [`Consistency::Atomic`]: rows of other partitions are written with their entity.
    ///
    /// # Errors
    ///
    /// As of [`new`](Self::new).
    pub async fn atomic<M: TableModel>() -> Result<Self> {
        Self::kept::<M>(Consistency::Atomic).await
    }

    /// The same over another store, made with the test's clock. Two of them over one store are two programs, each with a clock of its own, and
    /// so is one beside the database that the store is of (`db.store()`): none takes the lease or a write of another for its own. For that
    /// they are counted over the whole process, so that what is drawn at random (the id of a write, the name of a blob) may be another in each run.
    ///
    /// Blobs are in memory, and each has its own. Two that are to see each other's are given the same ones, by `with_blobs`:
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::TestDatabase};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "People", partition = "{team}", row = "{name}")]
    /// # struct Person { team: String, name: String, #[table(blob(inline_below = 0))] portrait: Blob }
    /// # #[derive(TableModel)] enum People { Person(Person) }
    /// # fn main() -> tablemodel::Result<()> { tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let one = TestDatabase::new::<People>().await?;
    /// let two = TestDatabase::over::<People>(|_| one.store()).await?;
    /// let two = two.with_blobs::<People>(|_| one.blob_store()).await?;
    /// one.insert(&Person { team: "A".into(), name: "Jun".into(), portrait: Blob::from(vec![7; 100]) }).await?;
    /// let jun = Person::find().team("A").name("Jun").one(&two).await?.unwrap();
    /// assert_eq!(jun.portrait.bytes(&two).await?, vec![7_u8; 100]);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`DatabaseBuilder::with_store`] and [`Database::ensure_tables`]: of the store, and `Unsupported` where it keeps an entity of the
    /// model in another table or under other keys.
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
        Self::made::<M>(&clock, Arc::new(memory.rows.clone()), memory, consistency, Counter::of_its_own()).await
    }

    async fn made<M: TableModel>(
        clock: &ManualClock,
        rows: Arc<dyn TableStore>,
        memory: Memory,
        consistency: Consistency,
        random: Counter,
    ) -> Result<Self> {
        let (observed, faults) = watched(rows, clock);
        let random = Arc::new(random);
        let builder = builder(clock, &random, &faults, consistency);
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
        let (observed, faults) = watched(Arc::new(memory.rows.clone()), &clock);
        let random = Arc::new(self.random.forked());
        let database = self.database.forked(faults.clone(), environment(&clock, &random, &faults));
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
    /// the test's clock: for faults, or for counting requests. Or in one that is not made of it, such as that of another database.
    ///
    /// # Errors
    ///
    /// Those of [`reopen`](Self::reopen).
    #[cfg(feature = "blob")]
    pub async fn with_blobs<M: TableModel>(
        self,
        wrap: impl FnOnce(Arc<dyn crate::blob::ObjectStore>) -> Arc<dyn crate::blob::ObjectStore>,
    ) -> Result<Self> {
        let blobs = wrap(self.blobs.clone());
        Self { blobs, memory: None, ..self }.reopen::<M>().await
    }

    /// Another program over the same store: its own index states, the same clock and faults. A store that crashed is there again.
    ///
    /// Faults go on, under the same numbers of calls, and strike the calls by which it is opened too. Where they should not, end them first:
    /// `db.fail(Script::new())`.
    ///
    /// # Errors
    ///
    /// Those of [`DatabaseBuilder::with_store`], by the faults among others: `Denied` where it crashes, `Unavailable` where the store stays busy.
    pub async fn reopen<M: TableModel>(&self) -> Result<Self> {
        self.faults.revive();
        let builder = builder(&self.clock, &self.random, &self.faults, self.database.consistency());
        #[cfg(feature = "blob")]
        let builder = builder.blobs(self.blobs.clone());
        let database = builder.with_store::<M>(self.faults.clone()).await?;
        Ok(Self { database, ..self.clone() })
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The clock: stands still until it is moved, by the test, a migration that waits for other programs, or a `Fault::Delay`.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// Faults from the next call on; `Script` numbers calls from here. A closure may act on the store [between two calls](crate::testing#faults).
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
fn watched(rows: Arc<dyn TableStore>, clock: &ManualClock) -> (Arc<ObservedStore>, Arc<FaultStore>) {
    let observed = Arc::new(ObservedStore::new(rows));
    let faults = FaultStore::new(observed.clone(), Script::new()).sleeping(Passing(clock.clone()));
    (observed, Arc::new(faults))
}

fn builder(
    clock: &ManualClock,
    random: &Arc<Counter>,
    faults: &Arc<FaultStore>,
    consistency: Consistency,
) -> DatabaseBuilder {
    let builder = Database::builder().environment(environment(clock, random, faults));
    builder.deadline(NEVER).consistency(consistency)
}

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
