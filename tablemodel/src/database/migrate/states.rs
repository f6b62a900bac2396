//! Who may move the states of indexes: one migration at a time, by one owner, one state after the other, each once every live
//! program knows of the one before.
//!
//! States, their epoch and the record change in one batch, or in several where there are many; how they are read is told in `rows`, what their
//! rows come to say in `recorded`.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tablemodel_store::{Action, Batch, Condition, DateTime, ETag, Operation, Row};

use super::{
    counts::anew,
    living::{Call, is_dead},
    record::{self, Record, Work},
    recorded::{operations, record_rewritten},
    rows::{self, Rows},
    running,
    stop::Stop,
};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        leases::LEASE,
        outbox::{is_race, later},
        registry::{self, Generation, PARTITION, lapsed},
    },
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
};

/// For how long a migration is its owner's, unless it says so again.
const OWNED: Duration = Duration::from_secs(60);
/// How soon it says so again.
const KEEP: Duration = Duration::from_secs(15);

/// What a program wants to begin: the indexes, and what is done with them. None: it has nothing to begin.
pub(super) type Wanted<'a> = dyn Fn(&Rows) -> Result<Option<(Vec<(String, String)>, Work)>> + Send + Sync + 'a;

/// Whether a migration that another call began may be gone on with.
pub(super) type Fits = fn(&Database, &Record) -> Result<()>;

/// Any may be, whatever the program's model.
#[expect(clippy::unnecessary_wraps, reason = "one of those that may refuse")]
pub(super) fn any(_: &Database, _: &Record) -> Result<()> {
    Ok(())
}

/// A migration in the hands of this program.
pub(super) struct Owned {
    pub(super) db: Database,
    pub(super) id: String,
    /// Who this is: another for each call.
    pub(super) me: Call,
    /// What the user called: `apply`, `rollback` or `contract`.
    pub(super) call: &'static str,
    pub(super) stop: Stop,
    /// Whether it moves the states; else it only helps.
    pub(super) leads: bool,
    /// When the lease was last written, by the monotonic clock.
    kept: Mutex<Duration>,
}

impl Owned {
    /// Goes on with the unfinished migration, if it `fits`, or begins the one that is wanted; nothing where there is neither.
    pub(super) async fn take(
        db: &Database,
        call: &'static str,
        stop: &Stop,
        fits: Fits,
        wanted: &Wanted<'_>,
    ) -> Result<Option<Self>> {
        let mut owned = Self { call, leads: true, ..Self::beside(db, "", stop) };
        for attempt in 0..ATTEMPTS {
            let rows = Rows::read(db).await?;
            if registry::epoch(&rows.0) != db.0.registry.enter().epoch {
                db.load_registry().await?;
            }
            rows.check_newest(db)?;
            let now = db.environment().clock.now();
            let (record, etag) = match rows.unfinished()? {
                Some(record) => {
                    let is_mine = record.owner.as_ref() == Some(&*owned.me);
                    let is_live = record.owner.as_ref().is_some_and(|owner| !is_dead(db, owner));
                    let is_held = is_live && holds(record.lease, now, OWNED);
                    if !is_mine && is_held {
                        return Err(running(&record));
                    }
                    fits(db, &record)?;
                    let etag = rows.0.get(&record.key()).map(|row| row.etag.clone());
                    (Record { owner: Some(owned.me.clone()), ..record }, etag)
                }
                None => {
                    let Some((steps, work)) = wanted(&rows)? else { return Ok(None) };
                    (Record::new(rows.next()?, steps, work, now), None)
                }
            };
            // A call that is refused, or has nothing to do, takes no index out of use.
            db.hold_lease().await?;
            db.give_notice().await?;
            owned.id.clone_from(&record.id);
            if owned.write(&record, etag, Vec::new(), attempt).await? {
                return Ok(Some(owned));
            }
        }
        Err(busy())
    }

    /// A migration that another call leads, and an `apply` helps with.
    pub(super) fn beside(db: &Database, id: &str, stop: &Stop) -> Self {
        Self {
            db: db.clone(),
            id: id.to_owned(),
            me: Call::begin(db),
            call: "apply",
            stop: stop.clone(),
            leads: false,
            kept: Mutex::new(Duration::ZERO),
        }
    }

    /// One attempt to write the record, and rows of states with it; whether it was made.
    async fn write(&self, record: &Record, etag: Option<ETag>, more: Vec<Operation>, attempt: u32) -> Result<bool> {
        let (clock, since) = (&self.db.environment().clock, self.db.environment().clock.monotonic());
        let lease = later(clock.now(), OWNED);
        let owned = record.finished.is_none().then(|| self.me.clone()).filter(|_| record.owner.is_some());
        let properties = Record { owner: owned, lease, ..record.clone() }.properties(clock.now());
        let action = match etag {
            Some(etag) => Action::Replace(properties, Condition::Match(etag)),
            None => Action::Insert(properties),
        };
        let mut batch = Batch::new(self.db.registry_table(), PARTITION).with(record.key(), action);
        batch.operations.extend(more);
        match self.db.commit_unleased(&[batch], attempt).await {
            Ok(_) => {
                *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = since;
                Ok(true)
            }
            Err(error) if is_race(error.kind()) || is_transient(&error) => {
                self.db.pause(attempt).await;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The record as it is now; an error where it is another's.
    fn mine<'r>(&self, rows: &'r Rows) -> Result<(Record, &'r Row)> {
        match rows.record(&self.id)? {
            Some((record, row)) if record.owner.as_ref() == Some(&*self.me) => Ok((record, row)),
            Some((record, _)) => Err(running(&record)),
            None => Err(Error::new(ErrorKind::NotFound, format!("migration {} is gone", self.id))),
        }
    }

    pub(super) async fn rows(&self) -> Result<(Rows, Record)> {
        let rows = Rows::read(&self.db).await?;
        let record = self.mine(&rows)?.0;
        Ok((rows, record))
    }

    /// Changes the record.
    pub(super) async fn change(&self, change: impl Fn(&mut Record) + Send + Sync) -> Result<Record> {
        self.advance(|_, record| {
            change(record);
            Ok(Vec::new())
        })
        .await
    }

    /// Changes the record, and states with it: those that `next` gives.
    async fn advance(
        &self,
        next: impl Fn(&Rows, &mut Record) -> Result<Vec<(String, String, IndexState)>> + Send + Sync,
    ) -> Result<Record> {
        let operations = |rows: &Rows, record: &mut Record| operations(&self.db, rows, &next(rows, record)?);
        self.rewrite(operations).await
    }

    /// Changes the record, and with it rows beside it, which raises the epoch. Nothing is written where nothing differs but the
    /// lease. More rows than a batch has room for are written in several, and the record is changed with the last of them: whoever goes
    /// on in between finds what is left.
    pub(super) async fn rewrite(
        &self,
        next: impl Fn(&Rows, &mut Record) -> Result<Vec<Operation>> + Send + Sync,
    ) -> Result<Record> {
        loop {
            if let Some(record) = self.rewrite_once(&next).await? {
                return Ok(record);
            }
        }
    }

    /// One batch of these; the record as it is, if it was the last one.
    async fn rewrite_once(
        &self,
        next: &(impl Fn(&Rows, &mut Record) -> Result<Vec<Operation>> + Send + Sync),
    ) -> Result<Option<Record>> {
        for attempt in 0..ATTEMPTS {
            let rows = Rows::read(&self.db).await?;
            let (there, row) = match self.mine(&rows) {
                // Its last write may have been this one, and its reply was lost.
                Err(_) if attempt > 0 && rows.record(&self.id)?.is_some_and(|(record, _)| record.owner.is_none()) => {
                    self.db.load_registry().await?;
                    return rows.record(&self.id)?.map(|(record, _)| Some(record)).ok_or_else(busy);
                }
                other => other?,
            };
            let mut record = there.clone();
            let mut operations = next(&rows, &mut record)?;
            let is_last = operations.len() <= registry::MOST_CHANGES;
            if !is_last {
                operations.truncate(registry::MOST_CHANGES);
                record = there;
            }
            let is_any = !operations.is_empty();
            operations.extend(is_any.then(|| registry::next_epoch(&rows.0, self.now().ticks())));
            if self.write(&record, Some(row.etag.clone()), operations, attempt).await? {
                // Of an earlier attempt the reply may have been lost: what it moved is nothing to move any more.
                if is_any || attempt > 0 {
                    self.db.load_registry().await?;
                }
                return Ok(is_last.then_some(record));
            }
        }
        Err(busy())
    }

    /// Forgets the migration, of which nothing is done: there is nothing to go on with. If something is, it is left to whoever goes on.
    pub(super) async fn abandon_unless(&self, is_done: impl Fn(&Rows) -> bool) -> Result<()> {
        let rows = Rows::read(&self.db).await?;
        let row = self.mine(&rows)?.1;
        if is_done(&rows) {
            return self.release().await;
        }
        if let Some(control) = rows.row(&record::control_key(&self.id)) {
            record::remove(&self.db, control).await?; // the next migration has this number
        }
        record::remove(&self.db, row).await
    }

    /// Moves every index of the migration that is in one state to another.
    pub(super) async fn shift(&self, from: IndexState, to: IndexState) -> Result<()> {
        let next = |rows: &Rows, record: &mut Record| {
            let steps = rows.steps(record)?.into_iter().filter(|step| step.state == from);
            Ok(steps.map(|step| (step.entity, step.index, to)).collect())
        };
        self.advance(next).await.map(drop)
    }

    /// Ends the migration.
    pub(super) async fn finish(&self) -> Result<()> {
        let now = self.db.environment().clock.now();
        self.change(|record| record.finished = Some(now)).await.map(drop)
    }

    /// Ends the migration, and with it makes its indexes readable, unless a program wrote without one meanwhile: then all is to be
    /// written once more. What follows entities that were rewritten stands from then on where this version has it. Whether it ended.
    pub(super) async fn complete(&self) -> Result<bool> {
        let next = |rows: &Rows, record: &mut Record| {
            if rows.lapsed(record).next().is_some() {
                record.surveyed = false;
                return Ok(Vec::new());
            }
            record.finished = Some(self.db.environment().clock.now());
            let steps = rows.steps(record)?.into_iter().filter(|step| step.state == IndexState::WriteOnly);
            let moves: Vec<_> = steps.map(|step| (step.entity, step.index, IndexState::Readable)).collect();
            let mut operations = operations(&self.db, rows, &moves)?;
            record_rewritten(&self.db, rows, record, &mut operations);
            Ok(operations)
        };
        Ok(self.rewrite(next).await?.finished.is_some())
    }

    /// Takes indexes that programs wrote without for such as are not read, and have all to be written once more.
    pub(super) async fn restore(&self) -> Result<()> {
        let next = |rows: &Rows, record: &mut Record| {
            let replace = |row: &Row| {
                let condition = Condition::Match(row.etag.clone());
                let its = rows::kept_as(&self.db.model(), &row.key.row);
                let mut properties =
                    lapsed::restored(row, its.map_or(IndexState::WriteOnly, |(of, name)| anew(of, name)))?;
                if let Some((schema, name)) = its {
                    registry::record_for(schema, name, &mut properties); // it may stand elsewhere by now
                }
                let action = Action::Replace(properties, condition);
                Ok(Operation { row: row.key.row.clone(), action })
            };
            let operations = rows.lapsed(record).map(replace).collect::<Result<Vec<_>>>()?;
            record.surveyed &= operations.is_empty();
            Ok(operations)
        };
        self.rewrite(next).await.map(drop)
    }

    /// Takes away what belongs to the migration and is no state.
    pub(super) async fn forget_work(&self) -> Result<()> {
        let found = record::work(&self.db, &format!("{}|", self.id)).await?;
        self.rows().await?; // what another puts there, once the migration is its own, is not among these
        for row in found {
            record::remove(&self.db, &row).await?;
        }
        Ok(())
    }

    /// Leaves the migration to whoever goes on with it.
    pub(super) async fn release(&self) -> Result<()> {
        self.change(|record| record.owner = None).await.map(drop)
    }

    /// Says again that the migration is this call's, where that is due.
    pub(super) async fn keep(&self) -> Result<()> {
        let now = self.db.environment().clock.monotonic();
        let is_due =
            self.leads && now.saturating_sub(*self.kept.lock().unwrap_or_else(PoisonError::into_inner)) >= KEEP;
        if is_due { self.change(|_| {}).await.map(drop) } else { Ok(()) }
    }

    /// The same, unless the program is asked to stop.
    pub(super) async fn go_on(&self) -> Result<()> {
        self.stop.check()?;
        self.db.hold_lease().await?; // what holds the states must not be taken for gone
        self.keep().await
    }

    /// The states as they are now, of a migration that is still this call's: while they are held, no index comes two states further,
    /// and what is committed on them is refused once this program was taken for gone.
    pub(super) async fn hold(&self) -> Result<Arc<Generation>> {
        self.db.hold_lease().await?;
        for _ in 0..ATTEMPTS {
            let states = self.db.0.registry.enter();
            let (rows, _) = self.rows().await?;
            if registry::epoch(&rows.0) == states.epoch {
                return Ok(states);
            }
            self.db.load_registry().await?;
        }
        Err(busy())
    }

    /// Waits as long as programs without a lease may take the states that they read for those that are.
    pub(super) async fn pass_readers(&self) -> Result<()> {
        let mut left = if self.db.is_atomic() { Duration::ZERO } else { LEASE };
        while !left.is_zero() {
            let slice = left.min(KEEP);
            self.db.environment().others.sleep(slice).await;
            self.go_on().await?;
            left -= slice;
        }
        Ok(())
    }

    pub(super) fn now(&self) -> DateTime {
        self.db.environment().clock.now()
    }
}

/// Whether a lease of this length still holds. One that ends much later was written by a clock that is wrong, and does not.
pub(super) fn holds(lease: DateTime, now: DateTime, length: Duration) -> bool {
    lease > now && lease <= later(now, 2 * length)
}

fn busy() -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "the store is busy, or the states of indexes keep changing: the same call goes on",
    )
}
