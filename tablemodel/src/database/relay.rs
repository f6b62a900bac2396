//! The relay: finds partitions with outbox rows by their markers, delivers what a crash or a failure left, and sweeps
//! tombstones once the fence has passed.
//!
//! Any number of relays may run, and any may stall or die. How an intent is delivered is `outbox`'s.

mod at_once;
mod left;
mod poison;
mod report;
mod sweep;

pub use self::{poison::Poisoned, report::RelayReport};

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use tablemodel_store::{Action, Batch, Condition, DateTime, KeyRange, Query, Row, RowRange, StoreErrorKind, validate};

use self::left::Left;
use crate::{
    database::{
        Database,
        outbox::{MARKER_SHARDS, Outgoing, later},
        since::Since,
    },
    error::{Error, ErrorKind, Result},
    key::beginning_with,
    plan::{
        forms,
        outbox::{self, Intent, OUTBOX, Progress},
        system::{self, RowKind},
    },
    rooms::{is_of_later, rekey::INTENT},
    schema::EntitySchema,
};

/// Attempts after which an outbox row is set aside.
const MAX_ATTEMPTS: i32 = 10;
/// The pause after the first failed attempt; doubled each time up to [`LONGEST_PAUSE`], plus up to as much again at random.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Finishes what writers left in the outbox. Made by [`Database::relay`].
///
/// ```
/// # use tablemodel::{prelude::*, testing::example::*};
/// # run(|db| async move {
/// let report = db.relay().run_once().await?; // one round; `run` goes on for ever, for a task of its own
/// assert_eq!((report.delivered, report.failed), (0, 0));
/// # Ok(())
/// # });
/// ```
#[derive(Clone)]
pub struct Relay {
    db: Database,
    pause: Duration,
    progress: Option<Arc<Report>>,
    left: Left,
}

/// Who is told of a round on its way.
type Report = dyn Fn(&RelayReport) + Send + Sync;

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("db", &self.db).field("pause", &self.pause).finish_non_exhaustive()
    }
}

impl Database {
    /// A relay over this database's outbox.
    pub fn relay(&self) -> Relay {
        Relay { db: self.clone(), pause: Duration::from_secs(5), progress: None, left: Left::default() }
    }
}

/// The range of the row keys that a relay works on, or leaves to those of later releases.
fn intents_and_outbox() -> RowRange {
    RowRange { lower: beginning_with(INTENT).lower, upper: beginning_with(OUTBOX).upper }
}

/// One round on its way.
struct Round {
    report: RelayReport,
    /// Whether rows are taken that are not due, and tombstones that are not past the fence: nobody else is at work.
    alone: bool,
    /// Whether rows are taken that are not due, or were set aside.
    hurried: bool,
    /// The store's time, once it was asked for.
    now: Option<DateTime>,
}

/// A marker, and the rows of the outbox it stands for.
struct Dirty {
    marker: Row,
    table: String,
    rows: Vec<Row>,
    /// When they were read.
    read: Since,
}

/// Counts what could not be delivered; whether that was an attempt which failed, and not a row that is for others, or for later.
fn count_undelivered(error: &Error, schema: &EntitySchema, row: &Row, report: &mut RelayReport) -> bool {
    match error.kind() {
        ErrorKind::UnknownVersion => {
            report.waiting += 1;
            tracing::warn!(entity = schema.entity_type, key = %row.key, %error, "left to a newer program");
            false
        }
        ErrorKind::Moved { .. } => {
            // What follows it is written anew once it has moved; an entity between two keys is nowhere else.
            match row.key.row.starts_with(INTENT) {
                true => report.failed += 1,
                false => report.waiting += 1,
            }
            tracing::debug!(entity = schema.entity_type, key = %row.key, %error, "left until it has moved");
            false
        }
        _ => {
            report.failed += 1;
            tracing::warn!(entity = schema.entity_type, key = %row.key, %error, "an outbox row was not delivered");
            true
        }
    }
}

impl Relay {
    /// How long [`Relay::run`] waits between rounds (5 s).
    pub fn every(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Calls `report` after each partition, with what the round did so far.
    pub fn progress(mut self, report: impl Fn(&RelayReport) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }

    /// One round over every dirty partition.
    ///
    /// Cost: one request for each of 16 lists of markers and each dirty partition; where there is one, a write that tells the store's
    /// time; and what delivery takes: a read of the entity, a read and a write for each affected row, and one write to the outbox row.
    ///
    /// # Errors
    ///
    /// Those of the store while it looks for work; what fails in delivery is counted.
    pub async fn run_once(&self) -> Result<RelayReport> {
        self.round(false, false).await
    }

    /// Delivers everything, whether it is due or not. In the atomic mode, where nothing is delivered later, tombstones go
    /// too. For a store that nobody else writes to. Cost: as [`Relay::run_once`].
    ///
    /// # Errors
    ///
    /// Those of [`Relay::run_once`].
    pub async fn drain(&self) -> Result<RelayReport> {
        self.round(true, true).await
    }

    /// Delivers everything that there is, whether it is due or not, beside others who write and deliver.
    pub(super) async fn hurry(&self) -> Result<RelayReport> {
        self.round(false, true).await
    }

    /// Rounds for ever. Give it a task of its own; to end it drop the future, or `abort` the task: nothing is lost at any point.
    ///
    /// # Errors
    ///
    /// Only those that waiting does not mend, such as `Denied`.
    pub async fn run(self) -> Result<Infallible> {
        loop {
            match self.run_once().await {
                Ok(_) => {}
                Err(error) if error.is_retryable() || matches!(error.kind(), ErrorKind::OutcomeUnknown) => {
                    tracing::warn!(%error, "the relay could not look for work");
                }
                Err(error) => return Err(error),
            }
            self.db.environment().idle.sleep(self.pause).await;
        }
    }

    async fn round(&self, alone: bool, hurried: bool) -> Result<RelayReport> {
        let mut round = Round { report: RelayReport::default(), alone, hurried, now: None };
        self.db.check_writable()?;
        self.db.hold_lease().await?;
        for marker in self.markers().await? {
            let partition = marker.key.row.clone();
            match self.marked(marker, &mut round).await {
                // One that cannot be read is in nobody's way but its own.
                Err(error) if *error.kind() == ErrorKind::Corrupt => {
                    round.report.unread += 1;
                    tracing::warn!(%partition, %error, "a partition's outbox was not read");
                }
                other => other?,
            }
            self.progress.iter().for_each(|report| report(&round.report));
        }
        Ok(round.report)
    }

    /// The partition of a marker. It is read when it is its turn: what is delivered must not have been read long ago.
    async fn marked(&self, marker: Row, round: &mut Round) -> Result<()> {
        // Asked before it is read: once the marker's life is over, nobody relies on it, and what relied on it has arrived.
        let is_over = (round.alone && self.db.is_atomic()) || self.is_past_fence(&marker, round).await?;
        match self.read(marker).await? {
            Some(dirty) => self.partition(&dirty, is_over, round).await,
            None => Ok(()),
        }
    }

    /// The markers of dirty partitions.
    async fn markers(&self) -> Result<Vec<Row>> {
        let mut markers = Vec::new();
        for shard in 0..MARKER_SHARDS {
            let range = KeyRange::rows(format!("{shard:02}"), RowRange::all());
            markers.extend(self.rows(&self.db.dirty_table(), range).await?);
        }
        Ok(markers)
    }

    /// The dirty partition of a marker, which is read before it, so that a row written meanwhile is seen or the marker has changed.
    async fn read(&self, marker: Row) -> Result<Option<Dirty>> {
        let Some((table, partition)) = marker.key.row.split_once('|') else { return Ok(None) };
        let table = table.to_owned();
        if validate::table_name(&table).is_err() {
            return Ok(None); // no marker of ours
        }
        let read = self.db.since();
        let range = KeyRange::rows(partition, intents_and_outbox());
        let mut rows = self.rows(&self.db.table_name(&table), range).await?;
        rows.retain(|row| !matches!(system::kind(&row.properties), RowKind::Part { .. })); // of an intent
        Ok(Some(Dirty { marker, table, rows, read }))
    }

    /// Every row of a range; none where the table is not there.
    async fn rows(&self, table: &str, range: KeyRange) -> Result<Vec<Row>> {
        self.db.query_all_if_any(Query::new(table, range)).await
    }

    async fn partition(&self, dirty: &Dirty, is_over: bool, round: &mut Round) -> Result<()> {
        round.report.partitions += 1;
        for row in &dirty.rows {
            if self.db.check_held(dirty.read).is_err() {
                round.report.unread += 1; // the next round reads the others anew
                return Ok(());
            }
            self.row(dirty, row, round).await?;
        }
        if dirty.rows.is_empty() && is_over {
            self.db.0.markers.forget(&dirty.marker.key);
            self.db.remove_row(&self.db.dirty_table(), &dirty.marker).await?;
        }
        Ok(())
    }

    /// Whether the fence has passed since the row was written: both times are the store's.
    async fn is_past_fence(&self, row: &Row, round: &mut Round) -> Result<bool> {
        let now = match round.now {
            Some(now) => now,
            None => match self.db.store_time().await {
                // Where the store does not tell now, nothing is old enough in this round; what is to be delivered waits for no time.
                Err(error) if error.is_retryable() || *error.kind() == ErrorKind::OutcomeUnknown => DateTime::MIN,
                told => told?,
            },
        };
        round.now = Some(now);
        Ok(later(row.timestamp, self.db.0.fence) <= now)
    }

    async fn row(&self, dirty: &Dirty, row: &Row, round: &mut Round) -> Result<()> {
        if is_of_later(&row.key.row) && matches!(system::kind(&row.properties), RowKind::Derived { .. }) {
            round.report.waiting += 1; // whatever entity it is of; as long as it is there, so is its marker
            return Ok(());
        }
        let Some(schema) = self.schema_of(&dirty.table, row) else { return Ok(()) };
        let progress = Progress::of(row);
        let is_done = progress.delivered.is_some();
        if progress.poison.is_some() && !round.hurried {
            round.report.poisoned += 1;
            return Ok(());
        }
        // What is named and not known here is for a relay that has it: of a newer version, or of one before that was dropped. So is the
        // row of an entity that this program may no longer write.
        let known = if is_of_newer(schema, row) { None } else { self.is_beyond(schema, row) };
        let is_seen_to = || !round.hurried && self.left.is_seen_to(&dirty.table, row, &*self.db.environment().clock);
        if known.is_none_or(|is_beyond| is_beyond && (is_done || self.db.is_atomic() || is_seen_to())) {
            round.report.waiting += 1;
            return Ok(());
        }
        if is_done && !(round.alone && self.db.is_atomic()) && !self.is_past_fence(row, round).await? {
            round.report.fenced += 1;
            return Ok(());
        }
        let now = self.db.environment().clock.now();
        if !is_done && !round.hurried && progress.due.is_some_and(|due| now < due) {
            round.report.waiting += 1;
            return Ok(());
        }
        let done = self.work(dirty, row, schema, is_done).await;
        let is_left = known == Some(true) || (matches!(done, Ok(false)) && !is_done);
        if is_left {
            let failed = done.as_ref().is_err_and(may_pass);
            self.left.remember(&dirty.table, row, self.db.since(), failed);
        }
        match done {
            Ok(false) if is_done => round.report.fenced += 1,
            Ok(false) => round.report.waiting += 1,
            Ok(true) if is_done => round.report.swept += 1,
            Ok(true) => round.report.delivered += 1,
            Err(error) => {
                if count_undelivered(&error, schema, row, &mut round.report) && !is_left {
                    self.note_failure(dirty, row, progress.attempts + 1, &error).await?;
                }
            }
        }
        Ok(())
    }

    /// Whether the row names an index, a form or a copy that this program does not have: what is wanted of it only a newer one knows. `None`
    /// where the entity is none of this program's any more: it has moved.
    fn is_beyond(&self, schema: &'static EntitySchema, row: &Row) -> Option<bool> {
        let registered = self.db.registered(schema).ok()?;
        if row.key.row.starts_with(INTENT) {
            return Some(false);
        }
        Some(Intent::read(row).is_ok_and(|intent| self.db.leaves(&registered, &intent)))
    }

    fn schema_of(&self, table: &str, row: &Row) -> Option<&'static EntitySchema> {
        let RowKind::Derived { entity, .. } = system::kind(&row.properties) else { return None };
        let model = self.db.model();
        let schema = model.iter().copied().find(|s| s.entity_type == entity && s.table.eq_ignore_ascii_case(table))?;
        // What the form that an entity has left wanted done was done before the switch.
        (!forms::is_of_other(schema, &row.properties)).then_some(schema)
    }

    /// Whether all that the row tells of is done: some may be left to a program that has more indexes, or to another round.
    async fn work(&self, dirty: &Dirty, row: &Row, schema: &'static EntitySchema, is_done: bool) -> Result<bool> {
        if row.key.row.starts_with(INTENT) {
            return match self.db.intent(schema, &row.key).await? {
                Some(moving) => self.db.finish_move(&moving).await.map(|_| true),
                None => Ok(true),
            };
        }
        let outgoing = Outgoing {
            schema,
            table: self.db.table_name(&dirty.table),
            row: row.key.clone(),
            etag: row.etag.clone(),
            intent: Intent::read(row)?,
            since: dirty.read,
        };
        match (is_done, self.db.is_atomic()) {
            (false, false) => self.db.deliver(&outgoing).await,
            (false, true) => self.deliver_at_once(&outgoing, row).await.map(|()| true),
            (true, _) => self.sweep(&outgoing, row).await,
        }
    }

    async fn note_failure(&self, dirty: &Dirty, row: &Row, attempts: i32, error: &Error) -> Result<()> {
        let pause = pause_after(attempts.unsigned_abs());
        let environment = self.db.environment();
        let jitter = Duration::from_millis(environment.random.next() % (pause.as_millis() as u64).max(1));
        let due = later(environment.clock.now(), pause + jitter);
        // What is delivered is only swept: nobody waits for it, and nobody would ask for it again.
        let is_done = Progress::of(row).delivered.is_some();
        let poison = (attempts >= MAX_ATTEMPTS && !is_done).then(|| error.to_string());
        let action = Action::Merge(outbox::failed(attempts, due, poison), Condition::Match(row.etag.clone()));
        let table = self.db.table_name(&dirty.table);
        let batch = Batch::new(table, row.key.partition.clone()).with(row.key.row.clone(), action);
        match self.db.commit_store(&[batch], 0).await {
            Err(error) if matches!(error.kind(), StoreErrorKind::Denied | StoreErrorKind::Closed) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Whether a newer version of the entity wrote the outbox row.
pub(super) fn is_of_newer(schema: &EntitySchema, row: &Row) -> bool {
    matches!(system::kind(&row.properties), RowKind::Derived { version, .. } if version > schema.version)
}

/// For how long a row is not tried again that failed so often.
fn pause_after(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(LONGEST_PAUSE)
}

/// Whether the error may be none at the next try.
fn may_pass(error: &Error) -> bool {
    error.is_retryable() || *error.kind() == ErrorKind::OutcomeUnknown
}
