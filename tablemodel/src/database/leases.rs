//! Instance leases: each program that writes a store which it shares tells that it is there, and which states of indexes it
//! knows; where it cannot, it stops writing.
//!
//! So a migration knows whom it waits for. Refreshed in passing by writes; a program that is idle has no lease, and takes a
//! new one with its next write, whether the row of the last one is still there or not. No two clocks are compared: each side counts by its own.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value as Json;
use tablemodel_store::{
    Action, Batch, Condition, DateTime, Operation, Properties, Row, RowKey, StoreError, StoreErrorKind, clock::Clock,
    limits,
};

use crate::{
    database::{
        Consistency, Database,
        calls::is_transient,
        listed,
        outbox::later,
        registry::{EPOCH, Generation, PARTITION, epoch_of, followers, index_row, moved, record},
        rewrites,
        since::Since,
    },
    error::{Error, ErrorKind, Result},
    schema::EntitySchema,
};

/// What the row keys of leases begin with.
pub(super) const INSTANCE: &str = "app|";
/// The property of a lease that names the program.
pub(super) const NAME: &str = "Name";
/// The list on a lease of what the program knows.
const KNOWS: &str = "Knows";
/// After how long a lease is refreshed.
const REFRESH: Duration = Duration::from_secs(20);
/// For how long it holds.
pub(super) const LEASE: Duration = Duration::from_secs(60);
/// How soon a program that knows of newer states than it told tries to tell so.
const URGENT: Duration = Duration::from_secs(1);
/// How far the clocks of one machine may go apart meanwhile.
const DRIFT: Duration = Duration::from_secs(15);
/// How long a request may be under way: what is sent just before a lease ends lands within it.
pub(super) const REQUEST: Duration = Duration::from_secs(30);
/// After how long without a change of its lease a program is taken for gone: its lease, a request and a margin.
pub(super) const GONE: Duration = Duration::from_secs(120);

/// How much older than one that was just written a lease is that nobody will refresh, by the clock of the store, which dated both: far
/// beyond [`GONE`], also where that clock was set. Its program has ended without saying so, or begins anew before it writes.
const LEFT: Duration = Duration::from_secs(24 * 60 * 60);

/// The lease of this program.
#[derive(Debug, Default)]
pub(super) struct Lease(Mutex<Times>);

#[derive(Debug, Default, Clone)]
struct Times {
    /// What the program is called in this store.
    id: Option<String>,
    /// When it was last refreshed, by the monotonic clock.
    refreshed: Option<Duration>,
    /// The same, by the clock of the machine: while that is suspended, the other stands still.
    told: Option<DateTime>,
    tried: Option<Duration>,
    /// The epoch that it was last told to know.
    reported: i64,
    /// When the states were last looked at.
    looked: Option<Since>,
}

impl Times {
    /// Whether the monotonic clock went on much less, or more, than that of the machine since the lease was refreshed.
    fn has_stood_still(&self, now: Duration, told: DateTime) -> bool {
        let (Some(refreshed), Some(then)) = (self.refreshed, self.told) else { return false };
        let passed = i64::try_from(now.saturating_sub(refreshed).as_nanos() / 100).unwrap_or(i64::MAX);
        let apart = told.ticks().saturating_sub(then.ticks()).saturating_sub(passed);
        u128::from(apart.unsigned_abs()) > DRIFT.as_nanos() / 100
    }
}

impl Lease {
    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_held(&self, clock: &dyn Clock) -> bool {
        let (now, times) = (clock.monotonic(), self.times());
        let is_young = times.refreshed.is_some_and(|at| now.saturating_sub(at) < LEASE);
        is_young && !times.has_stood_still(now, clock.now())
    }

    fn is_due(&self, clock: &dyn Clock, epoch: i64) -> bool {
        let (now, times) = (clock.monotonic(), self.times());
        let Some(refreshed) = times.refreshed else { return true };
        let since = |at: Duration| now.saturating_sub(at);
        since(refreshed) >= REFRESH
            || times.has_stood_still(now, clock.now())
            || (times.reported < epoch && times.tried.is_none_or(|at| since(at) >= URGENT))
    }

    /// The states were looked at.
    pub(super) fn looked(&self, now: Since) {
        self.times().looked = Some(now);
    }

    /// The same, told of apart from here.
    #[cfg(feature = "testing")]
    pub(super) fn forked(&self) -> Self {
        Self(Mutex::new(self.times().clone()))
    }

    /// The store knows nothing of it any more.
    pub(super) fn forget(&self) {
        let mut times = self.times();
        *times = Times::default();
    }
}

impl Database {
    /// Whether others may write the store, so that all have leases. Nobody has one before anything is registered.
    fn is_leased(&self) -> bool {
        self.0.consistency == Consistency::Azure && !self.0.read_only && !self.0.registry.is_empty()
    }

    /// That the program may write: refreshes its lease where that is due. Cost: nothing, or one read and one write each 20 s.
    ///
    /// # Errors
    ///
    /// `LeaseExpired` where it could not be refreshed for as long as it holds.
    pub(super) async fn hold_lease(&self) -> Result<()> {
        self.keep_lease().await?;
        // After the lease: whoever has not seen that finds what this writes.
        if self.is_leased() { self.give_notice().await } else { Ok(()) }
    }

    async fn keep_lease(&self) -> Result<()> {
        // Boxed: the futures of writes stay small.
        if self.is_lease_due() { Box::pin(self.renew_lease()).await } else { Ok(()) }
    }

    /// Whether the lease is to be refreshed: also where nothing may be committed that is planned on what is known now. Whoever let that lapse
    /// may have been dropped before it was read anew.
    fn is_lease_due(&self) -> bool {
        if !self.is_leased() {
            return false;
        }
        let states = self.0.registry.enter();
        states.is_lapsed() || self.0.lease.is_due(&*self.environment().clock, states.epoch)
    }

    /// Whether the lease holds now, and has since these states were read.
    fn has_held(&self, states: &Generation) -> bool {
        self.0.lease.is_held(&*self.environment().clock) && !states.is_lapsed()
    }

    /// Refreshes the lease where that is due, for those who go on without it.
    pub(super) async fn try_lease(&self) {
        if let Err(error) = self.keep_lease().await {
            tracing::warn!(%error, "this program has no lease yet");
        }
    }

    /// That the lease holds now, and has since a write was planned on these states.
    pub(super) fn check_lease(&self, states: &Generation) -> std::result::Result<(), StoreError> {
        if !self.is_leased() || self.has_held(states) {
            return Ok(());
        }
        let detail = "this program's lease is over, and the states of indexes may have moved on";
        Err(StoreError::new(StoreErrorKind::Unavailable, detail))
    }

    async fn renew_lease(&self) -> Result<()> {
        let since = self.environment().clock.monotonic();
        self.0.lease.times().tried = Some(since);
        let error = loop {
            match self.refresh_lease(since).await {
                Ok(true) => return Ok(()),
                Ok(false) => {} // another handle has ended it meanwhile
                Err(error) => break error,
            }
        };
        if self.has_held(&self.0.registry.enter()) {
            tracing::warn!(%error, "the lease of this program could not be refreshed; it is tried again");
            return Ok(());
        }
        if !matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown) {
            return Err(error); // waiting does not mend it
        }
        let detail = "this program could not refresh its lease, and may not write before it has; try again";
        Err(Error::new(ErrorKind::LeaseExpired, detail).caused_by(error))
    }

    /// The lease is written before the states are read: whoever moves them on has seen it, or they are read as moved. `false`: it was ended
    /// meanwhile, and another is to be taken.
    async fn refresh_lease(&self, since: Duration) -> Result<bool> {
        let (lease, registry) = (&self.0.lease, &self.0.registry);
        let (told_at, looked, id) = (self.environment().clock.now(), self.since(), self.instance());
        let has_held = self.has_held(&registry.enter());
        let told = if has_held { registry.oldest() } else { 0 };
        let is_gone = has_held && !self.write_held_lease(&id, told).await?;
        if is_gone {
            self.0.markers.forget_all(); // they went with it
        }
        if is_gone || !has_held {
            self.write_lease(&id, 0).await?;
        }
        // What another task has read by now, after its own lease, has not lapsed.
        let lapsed = is_gone || (!has_held && !self.has_held(&registry.enter()));
        if lapsed {
            registry.lapse();
            registry.notice.renew();
        }
        let mut left = Vec::new();
        if lapsed || !self.is_at(registry.enter().epoch).await? {
            left = leases_left(&id, &self.read_registry().await?);
        }
        let refreshed = |reported| {
            let mut times = lease.times();
            let is_same = times.id.as_ref() == Some(&id);
            if is_same {
                (times.refreshed, times.looked, times.reported) = (Some(since), Some(looked), reported);
                times.told = Some(told_at);
            }
            is_same || !self.is_leased()
        };
        let mut is_same = refreshed(told);
        let known = registry.oldest();
        if is_same && known != told {
            self.write_lease(&id, known).await?;
            is_same = refreshed(known);
        }
        self.take_away_left(left).await;
        Ok(is_same)
    }

    /// Takes away leases that were left, unless one was refreshed since it was read. Where that fails, whoever takes a lease next tries it.
    async fn take_away_left(&self, operations: Vec<Operation>) {
        if operations.is_empty() {
            return;
        }
        let batch = Batch { operations, ..Batch::new(self.registry_table(), PARTITION) };
        if let Err(error) = self.commit_unleased(&[batch], 0).await {
            tracing::debug!(%error, "leases that other programs left are still there");
        }
    }

    /// Whether the states may have moved on for long: a program that only reads has no lease.
    pub(crate) fn may_have_moved(&self) -> bool {
        let clock = &*self.environment().clock;
        !self.is_atomic() && self.0.lease.times().looked.is_none_or(|at| at.elapsed(clock) >= LEASE)
    }

    /// Looks at the states, and takes them over where they have changed. Cost: one point read, or one request.
    pub(crate) async fn look_at_states(&self) -> Result<()> {
        let now = self.since();
        if !self.is_at(self.0.registry.enter().epoch).await? {
            self.load_registry().await?;
        }
        self.0.lease.looked(now);
        Ok(())
    }

    /// Whether the store is at this epoch; not where there are no tables, or none any more.
    async fn is_at(&self, epoch: i64) -> Result<bool> {
        match self.get_row(&self.registry_table(), &RowKey::new(PARTITION, EPOCH)).await {
            Err(error) if *error.kind() == ErrorKind::NotFound => Ok(false),
            row => Ok(row?.as_ref().map_or(0, epoch_of) == epoch),
        }
    }

    async fn write_lease(&self, id: &str, epoch: i64) -> Result<()> {
        Ok(self.put_lease(id, Action::InsertOrReplace(self.lease(epoch))).await?)
    }

    /// The same, of a lease that holds. `false`: it is not there any more, since another has dropped all tables and made them again.
    async fn write_held_lease(&self, id: &str, epoch: i64) -> Result<bool> {
        match self.put_lease(id, Action::Replace(self.lease(epoch), Condition::Exists)).await {
            Err(error) if error.kind() == StoreErrorKind::RowNotFound => Ok(false),
            put => Ok(put.map(|()| true)?),
        }
    }

    /// What a lease says.
    fn lease(&self, epoch: i64) -> Properties {
        let lacked =
            |schema: &'static EntitySchema| self.registered(schema).map_or_else(|_| Vec::new(), |of| of.lacked.clone());
        let names = |schema: &'static EntitySchema| {
            let lacked = lacked(schema); // copies among them by which newer versions copy more
            followers(schema).filter(move |name| !lacked.contains(name)).chain(rewrites::known(schema))
        };
        let model = self.model();
        let indexes = model
            .iter()
            .copied()
            .flat_map(|schema| names(schema).map(|name| index_row(schema.entity_type, &name)))
            .chain(self.0.model.iter().copied().filter_map(moved::taker_row));
        let mut properties = record("~instance@1", self.environment().clock.now().ticks());
        properties.insert("Epoch", epoch);
        properties.insert(NAME, self.0.program.clone());
        listed::put(KNOWS, indexes.map(Json::from), &mut properties);
        properties
    }

    async fn put_lease(&self, id: &str, action: Action) -> std::result::Result<(), StoreError> {
        let batches = [Batch::new(self.registry_table(), PARTITION).with(format!("{INSTANCE}{id}"), action)];
        match self.commit_unleased(&batches, 0).await {
            Err(error) if is_transient(&error) => self.commit_unleased(&batches, 1).await.map(drop),
            other => other.map(drop),
        }
    }

    /// Says that the program has ended, so that no migration waits for it. What could still write has to take a lease anew.
    pub(super) async fn end_lease(&self) -> Result<()> {
        let id = self.0.lease.times().id.clone();
        let (Some(id), true) = (id, self.is_leased()) else { return Ok(()) };
        self.0.registry.lapse();
        self.0.registry.notice.renew();
        self.0.lease.forget();
        let delete = Action::Delete(Condition::Exists);
        let batches = [Batch::new(self.registry_table(), PARTITION).with(format!("{INSTANCE}{id}"), delete)];
        match self.commit_unleased(&batches, 0).await {
            Err(error) if matches!(error.kind(), StoreErrorKind::RowNotFound | StoreErrorKind::TableNotFound) => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }

    /// What this program is called in its leases.
    pub(super) fn instance(&self) -> String {
        let random = &self.environment().random;
        let mut times = self.0.lease.times();
        times.id.get_or_insert_with(|| format!("{:016x}{:016x}", random.next(), random.next())).clone()
    }
}

/// What the program of that lease says that it knows.
pub(super) fn told_on(lease: &Row) -> Vec<String> {
    listed::on(KNOWS, &lease.properties).unwrap_or_default()
}

/// What takes away leases that their programs left without a word, as many as are one batch: those that are much older than the one that
/// this program has just written.
fn leases_left(id: &str, rows: &HashMap<String, Row>) -> Vec<Operation> {
    let Some(own) = rows.get(&format!("{INSTANCE}{id}")) else { return Vec::new() };
    let leases = rows.values().filter(|row| row.key.row.starts_with(INSTANCE));
    let left = leases.filter(|row| later(row.timestamp, LEFT) < own.timestamp);
    let delete =
        |row: &Row| Operation { row: row.key.row.clone(), action: Action::Delete(Condition::Match(row.etag.clone())) };
    left.take(limits::MAX_BATCH_OPERATIONS).map(delete).collect()
}

/// What a program is called that does not say: its executable and process.
pub(super) fn process() -> String {
    let executable = std::env::current_exe().ok();
    let stem = executable.as_deref().and_then(std::path::Path::file_stem).unwrap_or_default();
    format!("{}:{}", stem.to_string_lossy(), std::process::id())
}
