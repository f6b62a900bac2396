//! Delivery of the outbox: brings the rows of other partitions that an intent names to what their entity wants.
//!
//! By the entity as it is now, never by what the intent once meant; delivered twice, late or out of order, the result is
//! the same. What was held for half the fence is given up: another may have swept what it was read from.

use std::{pin::pin, time::Duration};

use futures_util::{Stream, StreamExt, stream};
use tablemodel_store::{
    Action, Batch, Condition, DateTime, ETag, Properties, Row, RowKey, StoreErrorKind, clock::Clock,
};
use twox_hash::XxHash3_64;

use crate::{
    database::{
        Consistency, Database,
        calls::{ATTEMPTS, Haste, in_vain, is_transient},
        registry::Generation,
        since::Since,
    },
    error::{Error, ErrorKind, Result},
    plan::{
        batch::BatchPlan,
        group::Group,
        outbox::{self, Intent, Target, is_tombstone, marker_row, targets},
        system,
    },
    schema::EntitySchema,
};

/// The table of dirty markers, after the prefix: which partitions have outbox rows.
pub(super) const DIRTY_TABLE: &str = "tmdirty";
/// Partitions of that table.
pub(super) const MARKER_SHARDS: u64 = 16;
/// How long relays leave an intent to its writer.
const WRITERS_TIME: Duration = Duration::from_secs(10);
/// Rows of one intent that are written at the same time.
const CONCURRENT_TARGETS: usize = 8;

/// What went wrong with rows of an intent: who cannot follow does not hold up the others.
#[derive(Debug, Default)]
pub(super) struct Met(Option<Error>);

impl Met {
    /// Notes how it went with one of them. Errors: those that the others would meet as well, or that end with time.
    pub(super) fn note(&mut self, settled: Result<()>) -> Result<()> {
        match settled.map_err(|error| (matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::LeaseExpired), error))
        {
            Ok(()) => Ok(()),
            Err((true, error)) => Err(error),
            Err((false, error)) => {
                self.0.get_or_insert(error);
                Ok(())
            }
        }
    }

    /// The same of all of these.
    async fn all(&mut self, settled: impl Stream<Item = Result<()>>) -> Result<()> {
        let mut settled = pin!(settled);
        while let Some(one) = settled.next().await {
            self.note(one)?;
        }
        Ok(())
    }

    /// What went wrong first.
    pub(super) fn first(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// An outbox row on its way.
#[derive(Clone)]
pub(super) struct Outgoing {
    pub(super) schema: &'static EntitySchema,
    /// The entity's table, with the prefix.
    pub(super) table: String,
    pub(super) row: RowKey,
    pub(super) etag: ETag,
    pub(super) intent: Intent,
    /// When it was read.
    pub(super) since: Since,
}

impl Outgoing {
    pub(super) fn owner(&self) -> RowKey {
        RowKey::new(self.row.partition.clone(), self.intent.owner.clone())
    }
}

/// When a relay may take an intent over from its writer.
pub(super) fn due(now: DateTime) -> DateTime {
    later(now, WRITERS_TIME)
}

/// The time after `now` by `wait`.
pub(super) fn later(now: DateTime, wait: Duration) -> DateTime {
    let ticks = i64::try_from(wait.as_nanos() / 100).unwrap_or(i64::MAX);
    DateTime::from_ticks(now.ticks().saturating_add(ticks).min(DateTime::MAX.ticks()))
}

/// Where the marker of a partition stands.
pub(super) fn marker(table: &str, partition: &str) -> RowKey {
    let row = marker_row(table, partition);
    let shard = XxHash3_64::oneshot(row.as_bytes()) % MARKER_SHARDS;
    RowKey { partition: format!("{shard:02}"), row }
}

impl Database {
    /// Sees to it that relays find the partition, before its outbox gets a row: a crash in between must not hide the row.
    ///
    /// Cost: one write for each partition every half fence.
    pub(super) async fn mark_dirty(&self, schema: &'static EntitySchema, partition: &str) -> Result<()> {
        let marker = marker(schema.table, partition);
        let clock = &self.environment().clock;
        // Asked again after each write: one that took too long is none to rely on.
        for _ in 0..ATTEMPTS {
            if self.0.markers.is_fresh(&marker, &**clock, self.0.fence / 2) {
                return Ok(());
            }
            self.write_marker(&marker).await?;
        }
        let detail = format!(
            "a write of the store takes longer than half the fence, {:?}: open with a longer one",
            self.0.fence
        );
        Err(Error::new(ErrorKind::Unavailable, detail).at_key(marker))
    }

    /// A relay goes by the time at which the store wrote the marker, so that of two markers the later one counts, whatever
    /// they say.
    async fn write_marker(&self, marker: &RowKey) -> Result<()> {
        let clock = &self.environment().clock;
        let (since, now, drops) = (self.since(), clock.now(), self.0.markers.drops());
        let mut properties = Properties::new();
        system::stamp(&mut properties, "~dirty@1", now.ticks(), None);
        properties.insert(system::EXPIRES, later(now, self.0.fence));
        let batch = Batch::new(self.dirty_table(), marker.partition.clone())
            .with(marker.row.clone(), Action::InsertOrReplace(properties));
        let written = self.commit_surely(batch).await?;
        if let Some(written) = written {
            self.check_clock(now, written)?;
        }
        self.0.markers.remember(marker.clone(), since, drops);
        Ok(())
    }

    pub(super) fn dirty_table(&self) -> String {
        self.table_name(DIRTY_TABLE)
    }

    /// That the clock is near enough to the store's for sequence numbers that begin at it.
    fn check_clock(&self, ours: DateTime, stores: DateTime) -> Result<()> {
        let apart = Duration::from_nanos(ours.ticks().abs_diff(stores.ticks()).saturating_mul(100));
        if apart <= self.0.fence / 3 {
            return Ok(());
        }
        let detail = format!("this machine's clock and the store's are {apart:?} apart; set the clock before writing");
        Err(Error::new(ErrorKind::Denied, detail))
    }

    /// A write that may happen twice without harm; gives the store's time, where it was told.
    async fn commit_surely(&self, batch: Batch) -> Result<Option<DateTime>> {
        let batches = [batch];
        let mut attempt = 0;
        loop {
            match self.commit_store(&batches, attempt).await {
                Ok(receipts) => return Ok(receipts.first().and_then(|batch| batch.first()).map(|row| row.timestamp)),
                Err(error) if is_transient(&error) && attempt + 1 < ATTEMPTS => self.pause(attempt).await,
                Err(error) => return Err(error.into()),
            }
            attempt += 1;
        }
    }

    /// Delivers what a committed plan left in the outbox. What fails is left to a relay: the write has happened.
    pub(super) async fn deliver_written(&self, partition: &str, plan: &BatchPlan) {
        for (row, schema) in &plan.outgoing {
            if let Err(error) = Box::pin(self.deliver_row(schema, RowKey::new(partition, row.clone()))).await {
                tracing::warn!(entity = schema.entity_type, %error, "left to the relay: rows of other partitions");
            }
        }
    }

    pub(super) async fn deliver_row(&self, schema: &'static EntitySchema, key: RowKey) -> Result<()> {
        let since = self.since();
        let table = self.table_name(schema.table);
        let Some(row) = self.get_row(&table, &key).await? else { return Ok(()) };
        let intent = Intent::read(&row)?;
        self.deliver(&Outgoing { schema, table, row: key, etag: row.etag, intent, since }).await.map(drop)
    }

    /// Brings every row that the intent names to what its entity wants now, and takes the outbox row away. Tells whether that is all: rows
    /// of indexes and forms that the program does not have, and copies, are left to one that has them, and with them the outbox row.
    ///
    /// By the states that are known as it begins, held until it is over: what they say is not written once they have moved on too far.
    pub(super) async fn deliver(&self, outgoing: &Outgoing) -> Result<bool> {
        self.hold_lease().await?;
        let states = self.0.registry.enter();
        let registered = self.registered(outgoing.schema)?;
        if self.leaves(&registered, &outgoing.intent) {
            let mut own = outgoing.clone();
            own.intent.entries.retain(|entry| !registered.beyond.contains(&entry.index));
            return self.bring(&own, &states).await.map(|_| false);
        }
        let (sequence, leaves_dead) = self.bring(outgoing, &states).await?;
        let action = match leaves_dead {
            true => Action::Merge(
                outbox::delivered(self.environment().clock.now(), sequence),
                Condition::Match(outgoing.etag.clone()),
            ),
            false => Action::Delete(Condition::Match(outgoing.etag.clone())),
        };
        let batch = Batch::new(&outgoing.table, outgoing.row.partition.clone()).with(outgoing.row.row.clone(), action);
        let written = self.commit_unless_raced(batch).await;
        drop(states);
        written.map(|()| true)
    }

    /// Brings the rows there: those that can be, also where others cannot. Gives the sequence that they then have, and whether any of
    /// them is a tombstone.
    async fn bring(&self, outgoing: &Outgoing, states: &Generation) -> Result<(i64, bool)> {
        let registered = self.registered(outgoing.schema)?;
        let primary = self.read_owner(outgoing.schema, &outgoing.table, &outgoing.owner()).await?;
        let owner = outgoing.owner();
        let targets = targets(outgoing.schema, &registered.setting, &outgoing.intent, &owner, primary.as_ref())?;
        let is_dead = |target: &Target| !target.is_live && !target.is_claim(outgoing.schema);
        let leaves_dead = targets.iter().any(is_dead) || primary.as_ref().is_none_or(|rows| is_tombstone(&rows.head));
        let tombstone = primary.as_ref().filter(|rows| is_tombstone(&rows.head));
        let tombstone = tombstone.map(|rows| system::sequence(&rows.head.properties));
        let sequence = targets.iter().map(|target| target.sequence).chain(tombstone).max();
        let sequence = sequence.unwrap_or(outgoing.intent.sequence);
        let (claims, targets): (Vec<_>, Vec<_>) =
            targets.into_iter().partition(|target| target.is_claim(outgoing.schema));
        let (contributions, targets): (Vec<_>, Vec<_>) =
            targets.into_iter().partition(|target| target.entry.aggregate(outgoing.schema).is_some());
        let mut met = Met::default();
        let settled: Vec<_> =
            targets.iter().map(|target| self.settle_target(outgoing.schema, target, states, outgoing.since)).collect();
        met.all(stream::iter(settled).buffer_unordered(CONCURRENT_TARGETS)).await?;
        let settled: Vec<_> = claims
            .iter()
            .map(|claim| self.settle_claim(outgoing.schema, &owner, &claim.entry, outgoing.since))
            .collect();
        met.all(stream::iter(settled).buffer_unordered(CONCURRENT_TARGETS)).await?;
        met.note(self.deliver_kept(outgoing).await)?;
        met.note(self.settle_contributions(outgoing.schema, contributions, states, outgoing.since).await)?;
        met.note(self.deliver_copied(&registered, outgoing).await)?;
        met.first()?;
        Ok((sequence, leaves_dead))
    }

    /// One affected row. Cost: a point read and at most one write, again while others write it; of a row with parts, more.
    async fn settle_target(
        &self,
        schema: &'static EntitySchema,
        target: &Target,
        states: &Generation,
        since: Since,
    ) -> Result<()> {
        let (table, mut last) = (self.table_name(&target.entry.table), None);
        for attempt in 0..ATTEMPTS {
            let there = self.get_row(&table, &target.entry.key).await?;
            let action = match &there {
                Some(there) if target.is_shadow() => self.shadow_over(schema, target, there).await?,
                there => target.over(there.as_ref())?,
            };
            let Some(action) = action else { return self.drop_parts(schema, states, target, None).await };
            self.check_held(since)?;
            let batch =
                Batch::new(&table, target.entry.key.partition.clone()).with(target.entry.key.row.clone(), action);
            self.hold_lease().await?;
            let written = match self.put_parts(states, target, attempt).await? {
                Ok(()) => {
                    self.check_held(since)?;
                    self.commit_planned(states, &[batch], attempt, Haste::Now).await
                }
                Err(error) => Err(error),
            };
            match written {
                Ok(_) => return self.drop_parts(schema, states, target, there.as_ref()).await,
                Err(error) if is_transient(&error) => {
                    self.pause(attempt).await;
                    last = Some(error);
                }
                Err(error) if is_race(error.kind()) => last = Some(error),
                Err(error) => return Err(Error::from(error).at_key(target.entry.key.clone())),
            }
        }
        Err(in_vain("a row of another partition", last).at_key(target.entry.key.clone()))
    }

    /// From when on something is held that is read now.
    pub(super) fn since(&self) -> Since {
        Since::now(&*self.environment().clock)
    }

    /// That the intent is not held for so long that what it was read from may have been swept.
    pub(super) fn check_held(&self, since: Since) -> Result<()> {
        if since.elapsed(&*self.environment().clock) < self.0.fence / 2 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, "delivery took half the fence and was given up; it begins again"))
    }

    /// Takes a row away if it is still as it was read.
    pub(super) async fn remove_row(&self, table: &str, row: &Row) -> Result<()> {
        let action = Action::Delete(Condition::Match(row.etag.clone()));
        self.commit_unless_raced(Batch::new(table, row.key.partition.clone()).with(row.key.row.clone(), action)).await
    }

    /// Puts back what stood where the row stands now, unless that has changed.
    pub(super) async fn put_back(&self, table: &str, row: &Row, before: Properties) -> Result<()> {
        let action = Action::Replace(before, Condition::Match(row.etag.clone()));
        self.commit_unless_raced(Batch::new(table, row.key.partition.clone()).with(row.key.row.clone(), action)).await
    }

    /// The same of a row and its parts, in one batch.
    pub(super) async fn remove_rows(&self, table: &str, rows: &Group) -> Result<()> {
        let removal = |row: &Row| (row.key.row.clone(), Action::Delete(Condition::Match(row.etag.clone())));
        let batch = Batch::new(table, rows.key().partition.clone());
        self.commit_unless_raced(rows.iter().map(removal).fold(batch, |batch, (row, action)| batch.with(row, action)))
            .await
    }

    /// Nothing is done where another was faster.
    async fn commit_unless_raced(&self, batch: Batch) -> Result<()> {
        let key = RowKey::new(batch.partition.clone(), batch.operations.first().map_or("", |first| &first.row));
        match self.commit_store(&[batch], 0).await {
            Err(error) if !is_race(error.kind()) => Err(Error::from(error).at_key(key)),
            _ => Ok(()),
        }
    }

    pub(super) fn is_atomic(&self) -> bool {
        self.0.consistency == Consistency::Atomic
    }
}

/// Another was faster.
pub(super) fn is_race(kind: StoreErrorKind) -> bool {
    matches!(kind, StoreErrorKind::RowExists | StoreErrorKind::RowNotFound | StoreErrorKind::ConditionNotMet)
}
