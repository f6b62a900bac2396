//! The backfill: writes every entity once more, by the normal way and if it is still as it was read, so that the rows of new
//! indexes come with it; range by range, each with a cursor that is saved after its batch.
//!
//! Writes no row of an index itself. What cannot be written is set aside.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, TryStreamExt, future::try_join_all, stream};
use tablemodel_store::{Query, Row, RowKey, StoreErrorKind, limits};

use super::{
    Failure, Progress,
    record::{self, Range},
    states::Owned,
    survey::target,
    throttle::Throttle,
};
use crate::{
    database::{
        Database,
        bulk::{apart, rows_each},
        calls::ATTEMPTS,
        outbox::{is_race, later},
    },
    error::{Error, ErrorKind, Result},
    plan::{
        change::{Change, is_primary},
        group::Group,
        image::Image,
    },
    schema::EntitySchema,
};

/// For how long a range is its worker's, unless he says so again.
const OWNED: Duration = Duration::from_secs(30);
/// Batches in flight to a store of this process, which commits what waits together.
const CONCURRENT_WITHIN: usize = 256;

/// Told how far a backfill is.
pub(super) type Report<'a> = Mutex<Option<Box<dyn FnMut(&Progress) + Send + 'a>>>;

/// A backfill at work.
pub(super) struct Backfill<'a, 'r> {
    pub(super) owned: &'a Owned,
    pub(super) targets: &'a [&'static EntitySchema],
    pub(super) throttle: &'a Throttle,
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
    /// Entities that were seen to, by earlier calls too.
    pub(super) done: u64,
    /// Entities that this call wrote.
    pub(super) touched: u64,
    /// Entities set aside, by earlier calls too.
    pub(super) failed: u64,
    /// When this call began, by the monotonic clock.
    pub(super) since: Duration,
    pub(super) paused: bool,
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, Default)]
struct Touched {
    touched: u64,
    /// Gone, or another entity by now.
    passed: u64,
    failed: u64,
}

impl Touched {
    fn add(&mut self, more: Self) {
        self.touched += more.touched;
        self.passed += more.passed;
        self.failed += more.failed;
    }
}

/// Entities of one partition and one type, in the order of their keys.
type Run = (&'static EntitySchema, Vec<Group>);

impl Backfill<'_, '_> {
    fn db(&self) -> &Database {
        &self.owned.db
    }

    fn sums<T>(&self, with: impl FnOnce(&mut Sums) -> T) -> T {
        with(&mut self.sums.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sees to every range that is not done, by so many workers. Whether all are done now.
    pub(super) async fn run(&self, ranges: Vec<Range>, workers: usize) -> Result<bool> {
        let is_free = |range: &Range| !range.done;
        let queue = Mutex::new(ranges.into_iter().filter(is_free).collect::<VecDeque<_>>());
        try_join_all((0..workers.max(1)).map(|_| self.work(&queue))).await?;
        let left = record::ranges(self.db(), &self.owned.id).await?;
        Ok(left.iter().all(|range| range.done))
    }

    async fn work(&self, queue: &Mutex<VecDeque<Range>>) -> Result<()> {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(mut range) = next.filter(|_| !self.is_stopped()) else { return Ok(()) };
            range.owner = Some(self.owned.me.clone());
            if self.save(&mut range).await? {
                self.range(range).await?;
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.owned.stop.is_asked() || self.sums(|sums| sums.paused || sums.failed > self.max_failures)
    }

    /// Says how far the range is, and that it is this worker's; whether it still was.
    async fn save(&self, range: &mut Range) -> Result<bool> {
        for attempt in 0..ATTEMPTS {
            range.lease = later(self.owned.now(), OWNED);
            match self.db().commit_unleased(&[range.batch(self.db(), &self.owned.id)], attempt).await {
                Ok(receipts) => {
                    range.etag = receipts.first().and_then(|batch| batch.first()).and_then(|row| row.etag.clone());
                    return Ok(true);
                }
                Err(error) if is_race(error.kind()) => match self.reread(range).await? {
                    true => return Ok(true),
                    false => return Ok(false),
                },
                Err(error) if matches!(error.kind(), StoreErrorKind::Unavailable | StoreErrorKind::OutcomeUnknown) => {
                    self.db().pause(attempt).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the cursor of a range could not be saved; apply again"))
    }

    /// Whether the range stands as it was to be written, since a reply was lost.
    async fn reread(&self, range: &mut Range) -> Result<bool> {
        let there =
            record::ranges(self.db(), &self.owned.id).await?.into_iter().find(|there| there.number == range.number);
        let Some(there) = there else { return Ok(false) };
        let is_same = Range { etag: None, ..there.clone() } == Range { etag: None, ..range.clone() };
        range.etag = there.etag;
        Ok(is_same)
    }

    async fn range(&self, mut range: Range) -> Result<()> {
        while !range.done {
            let control = record::read_control(self.db(), &self.owned.id).await?;
            self.throttle.limit(control.rate);
            self.sums(|sums| sums.paused |= control.paused);
            if self.is_stopped() {
                return Ok(());
            }
            let (runs, cursor, is_last) = self.window(&range).await?;
            let touched = self.touch_all(runs).await?;
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
        let now = self.db().environment().clock.monotonic();
        let sums = self.sums(|sums| *sums);
        #[expect(clippy::cast_precision_loss, reason = "what is told is an estimate")]
        let (touched, left) = (sums.touched as f64, sums.entities.saturating_sub(sums.done) as f64);
        let seconds = now.saturating_sub(sums.since).as_secs_f64();
        let rate = if seconds > 0.0 { touched / seconds } else { 0.0 };
        let left = (rate > 0.0).then(|| Duration::try_from_secs_f64(left / rate).ok()).flatten();
        report(&Progress { entities: sums.entities, done: sums.done, failed: sums.failed, rate, left });
    }

    /// The next entities of the range, the last row that was looked at, and whether the range ends there.
    async fn window(&self, range: &Range) -> Result<(Vec<Run>, Option<RowKey>, bool)> {
        let mut query = Query::new(self.db().table_name(&range.table), range.rest());
        let (mut runs, mut cursor, mut entities): (Vec<Run>, _, _) = (Vec::new(), None, 0);
        loop {
            let page = match self.db().query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok((runs, cursor, true)),
                other => other?,
            };
            for row in page.rows {
                if entities >= self.batch {
                    return Ok((runs, cursor, false));
                }
                cursor = Some(row.key.clone());
                let Some(schema) = target(self.targets, &range.table, &row) else { continue };
                entities += 1;
                self.add(schema, row, &mut runs).await?;
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok((runs, cursor, true)),
            }
        }
    }

    /// Puts an entity to those of its partition and type, as many as a batch takes.
    async fn add(&self, schema: &'static EntitySchema, head: Row, runs: &mut Vec<Run>) -> Result<()> {
        let group = match schema.shape {
            None => Group::from(head),
            Some(_) => {
                let table = self.db().table_name(schema.table);
                match self.db().read_entity(schema, &table, &head.key).await {
                    Ok(Some(group)) => group,
                    Ok(None) => return Ok(()),
                    Err(_) => Group::from(head), // set aside, with the reason, when it is written
                }
            }
        };
        let most = (limits::MAX_BATCH_OPERATIONS / rows_each(schema).max(1)).max(1);
        let fits = |(other, groups): &&mut Run| {
            std::ptr::eq(*other, schema)
                && groups.len() < most
                && groups.first().is_some_and(|first| first.key().partition == group.key().partition)
        };
        match runs.last_mut().filter(fits) {
            Some((_, groups)) => groups.push(group),
            None => runs.push((schema, vec![group])),
        }
        Ok(())
    }

    async fn touch_all(&self, runs: Vec<Run>) -> Result<Touched> {
        let entities = runs.iter().map(|(_, groups)| groups.len() as u64).sum();
        self.throttle.take(entities, self.db().environment()).await;
        let is_within = !self.db().0.capabilities.may_lose_reply;
        let writes = runs.into_iter().map(|(schema, groups)| {
            let (db, id) = (self.db().clone(), self.owned.id.clone());
            let write = async move { touch(&db, &id, schema, groups).await };
            if is_within { apart(write) } else { write.boxed() }
        });
        let room = if is_within { CONCURRENT_WITHIN } else { 1 };
        let mut sum = Touched::default();
        let mut landed = stream::iter(writes.collect::<Vec<_>>()).buffer_unordered(room);
        while let Some((touched, busy)) = landed.try_next().await? {
            sum.add(touched);
            if busy { self.throttle.busy() } else { self.throttle.good() }
        }
        Ok(sum)
    }
}

/// The entity, as it is: each row of an index that is being built is written with it.
fn same(schema: &'static EntitySchema, old: Group) -> Result<Change> {
    let new = Image::stored(schema, &old)?;
    Ok(Change::Save { old, new })
}

/// Writes entities of one partition once more, in one batch, or in halves where one of them is refused. Whether the store was
/// busy meanwhile.
async fn touch(db: &Database, id: &str, schema: &'static EntitySchema, groups: Vec<Group>) -> Result<(Touched, bool)> {
    let registered = db.registered(schema)?;
    let (mut sum, mut busy) = (Touched::default(), false);
    let mut rest = vec![groups];
    while let Some(mut groups) = rest.pop() {
        let Some(first) = groups.first() else { continue };
        let key = first.key().clone();
        let changes: Result<Vec<_>> = groups.iter().map(|group| same(schema, group.clone())).collect();
        let written = match changes {
            Ok(changes) => db.write_untold(&registered, &key.partition, &changes, false).await,
            Err(error) => Err(error),
        };
        match written {
            Ok(()) => sum.touched += groups.len() as u64,
            Err(error) if is_fatal(&error) => return Err(error),
            Err(_) if groups.len() > 1 => {
                let second = groups.split_off(groups.len() / 2);
                rest.extend([second, groups]);
            }
            Err(error) => {
                busy |= *error.kind() == ErrorKind::Unavailable;
                sum.add(touch_one(db, id, schema, &key).await?);
            }
        }
    }
    Ok((sum, busy))
}

/// Whether no other entity would fare better.
fn is_fatal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Denied | ErrorKind::LeaseExpired)
}

/// Writes an entity once more, as it is by now; sets it aside where that cannot be done.
async fn touch_one(db: &Database, id: &str, schema: &'static EntitySchema, key: &RowKey) -> Result<Touched> {
    match write_again(db, schema, key).await {
        Ok(true) => Ok(Touched { touched: 1, ..Touched::default() }),
        Ok(false) => Ok(Touched { passed: 1, ..Touched::default() }),
        Err(error) if is_fatal(&error) || *error.kind() == ErrorKind::Unavailable => Err(error),
        Err(error) => {
            let entity = schema.entity_type.to_owned();
            record::set_aside(db, id, &Failure { entity, key: key.clone(), error: error.to_string() }).await?;
            Ok(Touched { failed: 1, ..Touched::default() })
        }
    }
}

/// Whether it was there to be written.
async fn write_again(db: &Database, schema: &'static EntitySchema, key: &RowKey) -> Result<bool> {
    let registered = db.registered(schema)?;
    for attempt in 0..ATTEMPTS {
        let there = db.read_entity(schema, &registered.table, key).await?;
        let Some(old) = there.filter(|rows| is_primary(schema, &rows.head)) else { return Ok(false) };
        match db.write_one(&registered, same(schema, old)?).await {
            Ok(_) => return Ok(true),
            Err(error) => match error.kind() {
                ErrorKind::Conflict { .. } | ErrorKind::NotFound | ErrorKind::OutcomeUnknown => {}
                ErrorKind::Unavailable if attempt + 1 < ATTEMPTS => db.pause(attempt).await,
                _ => return Err(error),
            },
        }
    }
    let detail = "the entity keeps changing, or the store is busy";
    Err(Error::new(ErrorKind::Unavailable, detail).of(schema.entity_type).at_key(key.clone()))
}

/// Writes what was set aside once more; gives how many are left.
pub(super) async fn retry(db: &Database, id: &str) -> Result<u64> {
    let mut left = 0;
    for (row, failure) in record::failures(db, id).await? {
        let schema = db.model().iter().copied().find(|schema| schema.entity_type == failure.entity);
        let Some(schema) = schema else { continue };
        match write_again(db, schema, &failure.key).await {
            Ok(_) => record::remove(db, &row).await?,
            Err(error) if is_fatal(&error) || *error.kind() == ErrorKind::Unavailable => return Err(error),
            Err(error) => {
                left += 1;
                record::set_aside(db, id, &Failure { error: error.to_string(), ..failure }).await?;
            }
        }
    }
    Ok(left)
}
