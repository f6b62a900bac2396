//! Opening a database: its options, in memory, or on any store. Those on a file are `file`'s.
//!
//! Nothing is created here; tables come with `ensure_tables`.

#[cfg(feature = "embedded")]
mod file;

use std::{sync::Arc, time::Duration};

use tablemodel_store::{
    MemoryStore, TableStore,
    clock::{Clock, Sleep},
    validate,
};

use crate::{
    database::{
        Database, Inner,
        leases::{Lease, process},
        markers::Markers,
        registry::{Registry, SCHEMA_TABLE},
        turns::Turns,
    },
    entity::TableModel,
    environment::{Environment, Random},
    error::{Error, Result},
    observe::{Observed, Observer},
    schema::EntitySchema,
};

/// Options for opening a [`Database`].
#[derive(Debug, Clone)]
pub struct DatabaseBuilder {
    prefix: String,
    read_only: bool,
    environment: Environment,
    observed: Observed,
    deadline: Duration,
    program: Option<String>,
    consistency: Option<Consistency>,
    fence: Duration,
    #[cfg(feature = "embedded")]
    file: file::FileOptions,
    #[cfg(feature = "blob")]
    pub(crate) blobs: crate::blob::Options,
}

/// How rows in other partitions follow their entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// In the same commit: only on a store that commits several partitions atomically, where it is the default.
    Atomic,
    /// After it, as on Azure: an outbox row is committed with the entity, and what it stands for is written at once by the
    /// writer, or by a [`Relay`](crate::Relay) after a crash.
    Azure,
}

/// After how long nobody acts any more on what was read before: longer than any relay holds an intent, plus the longest
/// request, plus a margin.
const FENCE: Duration = Duration::from_secs(600);

/// How long a store that answers over a network may take for one call. Azure gives up after 30 s itself ("Query timeout
/// and pagination").
const DEADLINE: Duration = Duration::from_secs(30);

impl Default for DatabaseBuilder {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            read_only: false,
            environment: Environment::default(),
            observed: Observed::default(),
            deadline: DEADLINE,
            program: None,
            consistency: None,
            fence: FENCE,
            #[cfg(feature = "embedded")]
            file: file::FileOptions::default(),
            #[cfg(feature = "blob")]
            blobs: crate::blob::Options::default(),
        }
    }
}

impl Database {
    /// A database in memory, gone when the last clone is dropped. Its tables come with [`ensure_tables`](Database::ensure_tables).
    ///
    /// # Errors
    ///
    /// Those of [`DatabaseBuilder::with_store`].
    pub async fn in_memory<M: TableModel>() -> Result<Self> {
        Self::builder().in_memory::<M>().await
    }

    /// Options: a prefix for table names, read-only, how rows elsewhere follow, where blobs are, an observer, the clock and others, and of
    /// a file its durability and memory; then a store, by [`open`](DatabaseBuilder::open), [`with_embedded`](DatabaseBuilder::with_embedded),
    /// [`in_memory`](DatabaseBuilder::in_memory) or [`with_store`](DatabaseBuilder::with_store).
    pub fn builder() -> DatabaseBuilder {
        DatabaseBuilder::default()
    }
}

impl DatabaseBuilder {
    /// Puts `prefix` before every table name: for tests and tenants that share a store. Letters and digits, a letter first: opening
    /// tells of another (`Invalid`).
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Opens without the right to write; every write is `Denied`.
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// The clock that fresh sequence numbers and the embedded store's timestamps go by, and that tells an observer how long calls took.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.environment.clock = clock;
        self
    }

    /// The source of randomness.
    pub fn random(mut self, random: Arc<dyn Random>) -> Self {
        self.environment.random = random;
        self
    }

    /// The way to wait: between attempts, for a reply or a turn, between a relay's rounds, and for other programs. It has to take time: between
    /// rounds ([`Relay::run`](crate::Relay::run)) nothing else lets other tasks of its thread go on.
    pub fn sleep(mut self, sleep: Arc<dyn Sleep>) -> Self {
        self.environment = self.environment.sleeping(sleep);
        self
    }

    /// The world of a test.
    #[cfg(feature = "testing")]
    pub(crate) fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// A hook that is called after each call of the store, for counters and times. Without one, and without a `tracing` subscriber for the
    /// target `tablemodel::store` at level debug, nothing is put together, and nothing measured.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observed = Observed(Some(observer));
        self
    }

    /// How long one call of a store that can lose a reply may take (30 s). A read that is late is `Unavailable`, a write
    /// is recognised by its operation id or `OutcomeUnknown`.
    ///
    /// No effect on a store that does not declare [`may_lose_reply`](tablemodel_store::Capabilities::may_lose_reply), as the embedded one and
    /// that in memory: each of their calls is waited for until it is answered. Giving up would not undo it, and the answer would be lost. To
    /// wait for less, put a `timeout` around the operation, and read [what that leaves](crate::writing#a-call-that-is-dropped).
    ///
    /// Not more than 30 s where several programs write: after two minutes without a sign of this one a migration goes on without it, and
    /// a write that is under way for longer would land on states that are two further.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// What this program is called where [`programs`](crate::migrations::Migrations::programs) tells whom a migration waits for: by default its
    /// executable and the number of its process, `shop:4711`.
    pub fn program(mut self, name: impl Into<String>) -> Self {
        self.program = Some(name.into());
        self
    }

    /// How rows in other partitions follow their entity. By default as atomically as the store allows.
    ///
    /// One store is kept in one mode at a time: opening it in [`Consistency::Atomic`] first delivers what an outbox holds.
    pub fn consistency(mut self, consistency: Consistency) -> Self {
        self.consistency = Some(consistency);
        self
    }

    /// After how long tombstones are swept (10 min): the same for every program that uses the store, and at least four times the
    /// [`deadline`](Self::deadline). What is delivered is given up after half of it, and a request that was sent by then may be under way for a
    /// deadline more.
    pub fn fence(mut self, fence: Duration) -> Self {
        self.fence = fence;
        self
    }

    /// In memory; see [`Database::in_memory`]. Errors: as [`with_store`](Self::with_store).
    #[cfg_attr(not(feature = "blob"), expect(unused_mut, reason = "only blobs have a place that follows the store"))]
    pub async fn in_memory<M: TableModel>(mut self) -> Result<Database> {
        #[cfg(feature = "blob")]
        self.blobs.or_in_memory();
        let store = MemoryStore::builder().clock(self.environment.clock.clone()).build();
        self.with_store::<M>(Arc::new(store)).await
    }

    /// On any store.
    ///
    /// On one of this process that commits across partitions (an embedded one, or one in memory) one `Database` for a prefix writes at a time,
    /// and its clones: it takes the states of indexes that it knows for those that are. Another over the same store would not learn of an index
    /// that is built meanwhile, and write entities without it.
    ///
    /// Cost: a read of the schema table. In the atomic mode it delivers first what a program in the other mode left in the outbox (none, as
    /// a rule): a request for each of 16 lists of markers, and what [delivery](crate::Relay::drain) takes.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the [`Consistency`] asked for is not the store's, where the store does not give rows in the order of their keys
    /// ([`ordered`](tablemodel_store::Capabilities::ordered)), or where an option is of a file ([`durability`](Self::durability) and
    /// the like); `Invalid` where a table of the model has no legal name with the prefix; those of the store.
    pub async fn with_store<M: TableModel>(self, store: Arc<dyn TableStore>) -> Result<Database> {
        self.inner(M::ENTITIES, store)?.start().await
    }

    /// That tables can be called so with the prefix.
    fn check_prefix(&self, entities: &[&'static EntitySchema]) -> Result<()> {
        if self.prefix.is_empty() {
            return Ok(());
        }
        let check = |table| {
            let named = validate::table_name(&format!("{}{table}", self.prefix));
            named.map_err(|error| Error::from(error).within(&format!("prefix `{}`", self.prefix)))
        };
        for schema in entities {
            let moves = schema.moves_to.iter().flat_map(|moved| moved.form().tables());
            let mut tables = schema.tables().chain(moves);
            tables.try_for_each(check).map_err(|error| error.of(schema.entity_type))?;
        }
        check(SCHEMA_TABLE)
    }

    fn inner(self, entities: &'static [&'static EntitySchema], store: Arc<dyn TableStore>) -> Result<Inner> {
        self.check_prefix(entities)?;
        #[cfg(feature = "embedded")]
        self.file.check_unsaid()?;
        let capabilities = store.capabilities();
        let read_only = self.read_only || capabilities.read_only;
        let possible = if capabilities.atomic_across { Consistency::Atomic } else { Consistency::Azure };
        Ok(Inner {
            traffic: super::traffic::Traffic::default(),
            #[cfg(all(feature = "blob", feature = "embedded"))]
            beside: self.blobs.beside(),
            #[cfg(feature = "blob")]
            blobs: self.blobs.open(entities, &self.environment, read_only)?,
            capabilities,
            consistency: self.consistency.unwrap_or(possible),
            fence: self.fence,
            markers: Markers::default(),
            turns: Turns::default(),
            living: super::migrate::Living::default(),
            store,
            prefix: self.prefix,
            environment: self.environment,
            model: entities,
            registry: Registry::of(entities),
            lease: Lease::default(),
            program: self.program.unwrap_or_else(process),
            observed: self.observed,
            deadline: self.deadline,
            read_only,
            #[cfg(feature = "embedded")]
            embedded: None,
        })
    }
}

impl Inner {
    async fn start(self) -> Result<Database> {
        self.check_capabilities()?;
        let database = Database(Arc::new(self));
        database.load_registry().await?;
        database.try_lease().await;
        if database.0.consistency == Consistency::Atomic && !database.0.read_only {
            database.relay().drain().await?;
        }
        Ok(database)
    }

    /// That the store can do what this database rests on.
    fn check_capabilities(&self) -> Result<()> {
        if !self.capabilities.ordered {
            let detail = "the store does not give rows in the order of their keys, on which pages, ranges, entities of several rows and \
                          migrations rest: it must say `ordered`, and be so";
            return Err(Error::unsupported(detail));
        }
        if self.consistency == Consistency::Atomic && !self.capabilities.atomic_across {
            let detail = "this store does not commit several partitions atomically; open it with `Consistency::Azure`";
            return Err(Error::unsupported(detail));
        }
        Ok(())
    }
}
