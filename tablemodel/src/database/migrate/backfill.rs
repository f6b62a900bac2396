//! The backfill: writes every entity once more, by the normal way and if it is still as it was read, so that the rows of new
//! indexes come with it, and older ones become as this version has them; range by range, each with a cursor that is saved after
//! its batch.
//!
//! Writes no row of an index itself. Whose a range is, is told in `owners`.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{Query, Row, RowKey, StoreErrorKind, limits, size};

use super::{
    Progress,
    record::{self, Range},
    states::Owned,
    targets::{Target, Targets},
    throttle::Throttle,
    touch::{Touched, Workers, touch},
};
use crate::{
    database::{Database, beside::Beside, bulk::rows_each, execute::Asked},
    error::Result,
    plan::group::Group,
    schema::EntitySchema,
};

/// Entities between two cursors, at most, where they may have to wait.
pub(super) const BATCH: usize = 500;
/// Ranges that are seen to at once, unless told otherwise.
const WORKERS: usize = 4;
/// Batches in flight to a store of this process, which commits what waits together.
const CONCURRENT_WITHIN: usize = 256;
/// Rows that are read for a batch, at most: where few are to be written, the cursor goes on all the same.
const LOOKED_AT: usize = 20_000;
/// Bytes of further rows and of blobs that a batch reads, about: these are held until it is written.
const HELD: usize = 64 * 1024 * 1024;
/// Rows of entities of several partitions that are one commit, and bytes of those: few enough that a write of the program, of which there
/// was none yet, hardly waits for it.
const ABREAST_ROWS: usize = 2_000;
const ABREAST_BYTES: usize = 4 * 1024 * 1024;
/// How many of those may be filled at a time: each is of another type.
const OPEN: usize = 8;
/// For how long is waited at once.
const NAP: Duration = Duration::from_secs(5);

/// Told how far a backfill is.
pub(super) type Report<'a> = Mutex<Option<Box<dyn FnMut(&Progress) + Send + 'a>>>;

/// A backfill at work.
pub(super) struct Backfill<'a, 'r> {
    pub(super) owned: &'a Owned,
    pub(super) targets: &'a Targets,
    pub(super) throttle: &'a Throttle,
    /// Of all its workers.
    pub(super) beside: Beside,
    pub(super) workers: Arc<Workers>,
    /// Entities that are written before a cursor is saved.
    pub(super) batch: usize,
    pub(super) max_failures: u64,
    pub(super) report: &'a Report<'r>,
    pub(super) sums: Mutex<Sums>,
}

/// What was done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    /// Entities in all, as they were counted.
    pub(super) entities: u64,
    /// Entities that were seen to, by other calls too.
    pub(super) done: u64,
    /// Entities that this call wrote.
    pub(super) touched: u64,
    /// Entities set aside, by earlier calls too.
    pub(super) failed: u64,
    /// When this call began, by the monotonic clock.
    pub(super) since: Duration,
    pub(super) paused: bool,
}

/// Entities of one type, in the order of their keys: of one partition, or of several that may be one commit.
struct Run {
    target: Target,
    groups: Vec<Group>,
    /// Of the properties of their heads, as they are in memory.
    bytes: usize,
}

/// What is next in a range.
struct Window {
    runs: Vec<Run>,
    /// The last row that was looked at.
    cursor: Option<RowKey>,
    /// Whether the range ends there.
    is_last: bool,
}

impl Backfill<'_, '_> {
    pub(super) fn db(&self) -> &Database {
        &self.owned.db
    }

    fn now(&self) -> Duration {
        self.db().environment().clock.monotonic()
    }

    pub(super) fn sums<T>(&self, with: impl FnOnce(&mut Sums) -> T) -> T {
        with(&mut self.sums.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.owned.stop.is_asked() || self.sums(|sums| sums.paused || sums.failed > self.max_failures)
    }

    /// Whether the store is of this process, and commits what waits together.
    fn is_within(&self) -> bool {
        !self.db().0.capabilities.may_lose_reply
    }

    /// How many workers there are where nobody says: one where entities meet in rows and nothing is waited for but the disk, since each
    /// would write what another has read.
    pub(super) fn usual_workers(&self) -> usize {
        if self.is_within() && self.targets.any(meets) { 1 } else { WORKERS }
    }

    /// How many entities go at once with a write of the program, which then need not wait for them; nothing where they go alone.
    fn share(&self) -> Option<usize> {
        self.is_within().then(|| self.throttle.share()).flatten()
    }

    /// Sees whether the program writes.
    fn look_around(&self) {
        self.throttle.beside(self.db().has_traffic(), self.now());
    }

    /// Reads what was set meanwhile, and obeys it.
    pub(super) async fn obey(&self) -> Result<()> {
        let control = record::read_control(self.db(), &self.owned.id).await?;
        self.throttle.limit(control.rate);
        self.sums(|sums| sums.paused |= control.paused);
        Ok(())
    }

    /// Sees to the range, as long as it is this worker's.
    pub(super) async fn range(&self, mut range: Range) -> Result<()> {
        while !range.done {
            self.obey().await?;
            if self.is_stopped() {
                return self.let_go(range).await;
            }
            let Window { runs, cursor, is_last } = self.window(&range).await?;
            let Some(touched) = self.touch_all(&mut range, runs).await? else {
                return if self.is_stopped() { self.let_go(range).await } else { Ok(()) };
            };
            range.cursor = cursor.or(range.cursor);
            range.done = is_last;
            (range.touched, range.passed) = (range.touched + touched.touched, range.passed + touched.passed);
            range.failed += touched.failed;
            self.sums(|sums| {
                sums.touched += touched.touched;
                sums.done += touched.touched + touched.passed + touched.failed;
                sums.failed += touched.failed;
            });
            if !self.save(&mut range).await? {
                return Ok(()); // another has it by now
            }
            self.owned.keep().await?;
            self.tell();
        }
        Ok(())
    }

    fn tell(&self) {
        let Some(report) = &mut *self.report.lock().unwrap_or_else(PoisonError::into_inner) else { return };
        let (now, sums) = (self.now(), self.sums(|sums| *sums));
        #[expect(clippy::cast_precision_loss, reason = "what is told is an estimate")]
        let (touched, left) = (sums.touched as f64, sums.entities.saturating_sub(sums.done) as f64);
        let seconds = now.saturating_sub(sums.since).as_secs_f64();
        let rate = if seconds > 0.0 { touched / seconds } else { 0.0 };
        let left = (rate > 0.0).then(|| Duration::try_from_secs_f64(left / rate).ok()).flatten();
        report(&Progress { entities: sums.entities, done: sums.done, failed: sums.failed, rate, left });
    }

    async fn window(&self, range: &Range) -> Result<Window> {
        let mut query = Query::new(self.db().table_name(&range.table), range.rest());
        let mut window = Window { runs: Vec::new(), cursor: None, is_last: true };
        let (mut entities, mut looked, mut held) = (0, 0, 0);
        self.look_around();
        let batch = if self.throttle.is_limited() { self.batch.min(BATCH) } else { self.batch };
        loop {
            let page = match self.db().query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(window),
                other => other?,
            };
            for row in page.rows {
                if entities >= batch || looked >= LOOKED_AT || held >= HELD {
                    return Ok(Window { is_last: false, ..window });
                }
                looked += 1;
                window.cursor = Some(row.key.clone());
                let Some(target) = self.targets.find(&range.table, &row) else { continue };
                entities += 1;
                held += self.add(target, row, &mut window.runs).await?;
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok(window),
            }
        }
    }

    /// Puts an entity to those of its partition and type, as many as a batch takes, or to those that go with it whatever their partitions are;
    /// gives the bytes that it holds beside its head.
    async fn add(&self, target: Target, head: Row, runs: &mut Vec<Run>) -> Result<usize> {
        let schema = target.schema;
        let group = match schema.is_joined() {
            false => Group::from(head),
            true => match self.db().whole_entity(schema, head.clone()).await {
                Ok(Some(group)) => group,
                Ok(None) => return Ok(0),
                Err(_) => Group::from(head), // set aside, with the reason, when it is written
            },
        };
        let (held, key) = (group.bytes_beside(), group.key());
        let bytes = size::row_bytes_bound(&key.partition, &key.row, &group.head.properties);
        let goes_abreast = self.db().goes_abreast(&*self.db().registered(schema)?) && !self.throttle.is_limited();
        let rows = if goes_abreast { ABREAST_ROWS } else { limits::MAX_BATCH_OPERATIONS };
        let most = (rows / rows_each(schema).max(1)).max(1);
        let fits = |run: &&mut Run| {
            let is_beside = run.groups.first().is_some_and(|first| first.key().partition == key.partition);
            let has_room = run.groups.len() < most && (!goes_abreast || run.bytes + bytes <= ABREAST_BYTES);
            std::ptr::eq(run.target.schema, schema) && has_room && (goes_abreast || is_beside)
        };
        // Of other types, too, there may be one in each partition.
        let open = runs.iter_mut().rev().take(if goes_abreast { OPEN } else { 1 });
        match open.into_iter().find(fits) {
            Some(run) => {
                run.groups.push(group);
                run.bytes += bytes;
            }
            None => runs.push(Run { target, groups: vec![group], bytes }),
        }
        Ok(held)
    }

    /// Writes what is next in the range; nothing is told of it where the range is not this worker's any more.
    async fn touch_all(&self, range: &mut Range, runs: Vec<Run>) -> Result<Option<Touched>> {
        if self.is_within() && !self.throttle.is_limited() && !runs.iter().any(|run| meets(run.target.schema)) {
            return self.touch_together(range, runs).await;
        }
        let mut sum = Touched::default();
        for Run { target, groups, .. } in runs {
            let mut groups = groups.into_iter().peekable();
            while groups.peek().is_some() {
                let share = self.share();
                let groups: Vec<_> = groups.by_ref().take(share.unwrap_or(usize::MAX)).collect();
                if !self.wait(range, groups.len() as u64).await? {
                    return Ok(None);
                }
                sum.add(self.touch_some(target, groups, share.is_some()).await?);
                if !self.hold(range).await? {
                    return Ok(None);
                }
            }
        }
        Ok(Some(sum))
    }

    /// One batch, which may wait to go with a write of the program.
    async fn touch_some(&self, target: Target, groups: Vec<Group>, goes_along: bool) -> Result<Touched> {
        let (entities, begun) = (groups.len() as u64, self.now());
        let asked = if goes_along { Asked::PATIENT } else { Asked::UNTOLD };
        let (touched, busy) = touch(self.db(), &self.owned.id, target, groups, (asked, &self.workers)).await?;
        match goes_along && !busy {
            true => self.throttle.went_along(entities, self.now().saturating_sub(begun), self.now()),
            false => self.note(entities, busy, begun),
        }
        Ok(touched)
    }

    /// The same, all at a time.
    async fn touch_together(&self, range: &mut Range, runs: Vec<Run>) -> Result<Option<Touched>> {
        let (entities, begun) = (runs.iter().map(|run| run.groups.len() as u64).sum(), self.now());
        let writes = runs.into_iter().map(|Run { target, groups, .. }| {
            let (db, id, workers) = (self.db().clone(), self.owned.id.clone(), Arc::clone(&self.workers));
            self.beside.begin(async move { touch(&db, &id, target, groups, (Asked::OF_MANY, &workers)).await })
        });
        let (mut sum, mut busy) = (Touched::default(), false);
        let mut landed = stream::iter(writes.collect::<Vec<_>>()).buffer_unordered(CONCURRENT_WITHIN);
        while let Some((touched, was_busy)) = landed.try_next().await? {
            sum.add(touched);
            busy |= was_busy;
            if !self.hold(range).await? {
                return Ok(None);
            }
        }
        if entities > 0 {
            self.note(entities, busy, begun);
        }
        Ok(Some(sum))
    }

    /// What a batch tells of the store; nothing where that is of this process: there nobody else is to be spared, and what takes long is
    /// larger than what was written at first.
    fn note(&self, entities: u64, busy: bool, begun: Duration) {
        if self.is_within() {
            return;
        }
        let now = self.now();
        match busy {
            true => self.throttle.busy(now),
            false => self.throttle.good(entities, now.saturating_sub(begun), now),
        }
    }

    /// Waits until so many entities may go; whether the range is still this worker's, and it is not asked to stop.
    async fn wait(&self, range: &mut Range, entities: u64) -> Result<bool> {
        self.look_around();
        let mut rest = self.throttle.take(entities, self.now());
        while !rest.is_zero() {
            let nap = rest.min(NAP);
            self.db().environment().sleep.sleep(nap).await;
            rest -= nap;
            self.owned.keep().await?;
            if nap == NAP {
                self.obey().await?; // it may be paused by now
            }
            if self.is_stopped() || !self.hold(range).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether entities meet in rows that several of them share: those are written by one batch at a time.
pub(super) fn meets(schema: &EntitySchema) -> bool {
    schema.has_shared_rows() || schema.has_copies()
}
