//! The states of indexes as rows, and who may move them: one migration at a time, by one owner, one state after the other,
//! each once every live program knows of the one before.
//!
//! All that says how far an index is stands in one partition: states, their epoch and the record change in one batch.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tablemodel_store::{Action, Batch, Condition, DateTime, ETag, Operation, Row, ValueRef};

use super::{
    DroppedIndex, MigrationPlan, Step,
    record::{self, Control, MIGRATION, Record, control_key},
    running,
    stop::Stop,
    switch,
};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        leases::{GONE, INSTANCE, REQUEST},
        outbox::{is_race, later},
        registry::{self, EPOCH, PARTITION, beyond, followers, index_row},
    },
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
    schema::{EntitySchema, is_move},
};

/// For how long a migration is its owner's, unless he says so again.
const OWNED: Duration = Duration::from_secs(60);
/// How soon he says so again.
const KEEP: Duration = Duration::from_secs(15);
/// How often programs are asked what they know.
const POLL: Duration = Duration::from_secs(1);
/// How often that is asked while no time passes.
const STILL: u32 = 1_000;

/// The rows of the states, as they were read.
pub(super) struct Rows(HashMap<String, Row>);

impl Rows {
    pub(super) async fn read(db: &Database) -> Result<Self> {
        Ok(Self(db.registry_rows().await?))
    }

    pub(super) fn state(&self, entity: &str, index: &str) -> Result<IndexState> {
        self.0.get(&index_row(entity, index)).map_or(Ok(IndexState::Absent), registry::state)
    }

    pub(super) fn records(&self) -> Result<Vec<Record>> {
        let rows = self.0.iter().filter(|(key, _)| key.starts_with(MIGRATION));
        let mut records = rows.map(|(_, row)| Record::read(row)).collect::<Result<Vec<_>>>()?;
        records.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(records)
    }

    pub(super) fn last(&self) -> Result<Option<Record>> {
        Ok(self.records()?.pop())
    }

    pub(super) fn unfinished(&self) -> Result<Option<Record>> {
        Ok(self.records()?.into_iter().find(|record| record.finished.is_none()))
    }

    pub(super) fn control(&self, id: &str) -> Control {
        Control::read(self.0.get(&control_key(id)))
    }

    /// The indexes of a migration, as they are now.
    pub(super) fn steps(&self, record: &Record) -> Result<Vec<Step>> {
        let step = |(entity, index): &(String, String)| {
            Ok(Step { entity: entity.clone(), index: index.clone(), state: self.state(entity, index)? })
        };
        record.steps.iter().map(step).collect()
    }

    pub(super) fn plan(&self, db: &Database) -> Result<MigrationPlan> {
        let mut plan =
            MigrationPlan { unfinished: self.unfinished()?.map(|record| record.id), ..MigrationPlan::default() };
        for schema in db.model().iter().copied() {
            let entity = schema.entity_type.to_owned();
            if !self.0.contains_key(&registry::entity_row(schema)) {
                continue;
            }
            for index in followers(schema) {
                let state = self.state(&entity, &index)?;
                let is_built = schema.index(&index).is_some() || is_move(&index);
                let step = Step { entity: entity.clone(), index, state };
                match (state, is_built) {
                    (IndexState::Readable, _) => {}
                    (_, true) => plan.steps.push(step),
                    (_, false) => plan.unsupported.push(step),
                }
            }
            for index in beyond(schema, &self.0)? {
                let state = self.state(&entity, &index)?;
                let found = if self.is_newer(schema, &index) { &mut plan.newer } else { &mut plan.dropped };
                found.push(DroppedIndex { entity: entity.clone(), index, state });
            }
        }
        for (entity, index) in switch::ready(self, db)? {
            plan.dropped.push(DroppedIndex { entity, index, state: IndexState::Readable });
        }
        Ok(plan)
    }

    pub(super) fn row(&self, key: &str) -> Option<&Row> {
        self.0.get(key)
    }

    pub(super) fn all(&self) -> &HashMap<String, Row> {
        &self.0
    }

    /// Whether a newer version of the entity than the program's recorded the index.
    fn is_newer(&self, schema: &EntitySchema, index: &str) -> bool {
        match self.0.get(&index_row(schema.entity_type, index)).and_then(|row| row.properties.get("Version")) {
            Some(ValueRef::Int64(version)) => version > i64::from(schema.version),
            _ => false,
        }
    }

    /// That the store keeps nothing for a newer program, which this one would not know how to migrate.
    fn check_newest(&self, db: &Database) -> Result<()> {
        let Some(newer) = self.plan(db)?.newer.into_iter().next() else { return Ok(()) };
        let detail = format!(
            "the store is newer than this program: a later version of `{}` has index `{}`; use that program",
            newer.entity, newer.index
        );
        Err(Error::new(ErrorKind::UnknownVersion, detail))
    }

    /// The table that the rows of an index stand in, where it says so.
    pub(super) fn table(&self, entity: &str, index: &str) -> Option<&str> {
        match self.0.get(&index_row(entity, index))?.properties.get("Table") {
            Some(ValueRef::String(table)) => Some(table),
            _ => None,
        }
    }

    fn record(&self, id: &str) -> Result<Option<(Record, &Row)>> {
        let Some(row) = self.0.get(&format!("{MIGRATION}{id}")) else { return Ok(None) };
        Ok(Some((Record::read(row)?, row)))
    }
}

/// What a program wants to begin: the indexes, and whether to take them away. None: it has nothing to begin.
pub(super) type Wanted<'a> = dyn Fn(&Rows) -> Result<Option<(Vec<(String, String)>, bool)>> + Send + Sync + 'a;

/// A migration in the hands of this program.
pub(super) struct Owned {
    pub(super) db: Database,
    pub(super) id: String,
    /// Who this is: another for each call.
    pub(super) me: String,
    pub(super) stop: Stop,
    /// When the lease was last written, by the monotonic clock.
    kept: Mutex<Duration>,
}

impl Owned {
    /// Goes on with the unfinished migration, or begins the one that is wanted; nothing where there is neither.
    pub(super) async fn take(db: &Database, stop: &Stop, wanted: &Wanted<'_>) -> Result<Option<Self>> {
        let me = format!("{}.{:08x}", db.instance(), db.environment().random.next() >> 32);
        db.hold_lease().await?;
        for attempt in 0..ATTEMPTS {
            let rows = Rows::read(db).await?;
            rows.check_newest(db)?;
            let now = db.environment().clock.now();
            let (record, etag) = match rows.unfinished()? {
                Some(record) => {
                    let is_mine = record.owner.as_ref() == Some(&me);
                    let is_held = record.owner.as_ref().is_some_and(|owner| !is_dead(db, owner)) && record.lease > now;
                    if !is_mine && is_held {
                        return Err(running(&record));
                    }
                    let etag = rows.0.get(&record.key()).map(|row| row.etag.clone());
                    (Record { owner: Some(me.clone()), ..record }, etag)
                }
                None => {
                    let Some((steps, undo)) = wanted(&rows)? else { return Ok(None) };
                    let id = rows.records()?.len() + 1;
                    (new_record(format!("{id:04}"), steps, undo, now), None)
                }
            };
            let (id, kept) = (record.id.clone(), Mutex::new(Duration::ZERO));
            let owned = Self { db: db.clone(), id, me: me.clone(), stop: stop.clone(), kept };
            if owned.write(&record, etag, Vec::new(), attempt).await? {
                return Ok(Some(owned));
            }
        }
        Err(busy())
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
            Err(error) if is_race(error.kind()) => Ok(false),
            Err(error) if is_transient(&error) => {
                self.db.pause(attempt).await;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The record as it is now; an error where it is another's.
    fn mine<'r>(&self, rows: &'r Rows) -> Result<(Record, &'r Row)> {
        match rows.record(&self.id)? {
            Some((record, row)) if record.owner.as_ref() == Some(&self.me) => Ok((record, row)),
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
        let operations = |rows: &Rows, record: &mut Record| operations(rows, &next(rows, record)?);
        self.rewrite(operations).await
    }

    /// Changes the record, and with it rows beside it, which raises the epoch. Nothing is written where nothing differs but the
    /// lease.
    pub(super) async fn rewrite(
        &self,
        next: impl Fn(&Rows, &mut Record) -> Result<Vec<Operation>> + Send + Sync,
    ) -> Result<Record> {
        for attempt in 0..ATTEMPTS {
            let rows = Rows::read(&self.db).await?;
            let (mut record, row) = match self.mine(&rows) {
                // Its last write may have been this one, and its reply was lost.
                Err(_) if attempt > 0 && rows.record(&self.id)?.is_some_and(|(record, _)| record.owner.is_none()) => {
                    self.db.load_registry().await?;
                    return rows.record(&self.id)?.map(|(record, _)| record).ok_or_else(busy);
                }
                other => other?,
            };
            let mut operations = next(&rows, &mut record)?;
            let is_any = !operations.is_empty();
            operations.extend(is_any.then(|| self.next_epoch(&rows)));
            if self.write(&record, Some(row.etag.clone()), operations, attempt).await? {
                // Of an earlier attempt the reply may have been lost: what it moved is nothing to move any more.
                if is_any || attempt > 0 {
                    self.db.load_registry().await?;
                }
                return Ok(record);
            }
        }
        Err(busy())
    }

    fn next_epoch(&self, rows: &Rows) -> Operation {
        let now = self.db.environment().clock.now().ticks();
        let mut properties = registry::record("~epoch@1", now);
        properties.insert("Epoch", registry::epoch(&rows.0) + 1);
        let action = match rows.0.get(EPOCH) {
            Some(there) => Action::Replace(properties, Condition::Match(there.etag.clone())),
            None => Action::Insert(properties),
        };
        Operation { row: EPOCH.to_owned(), action }
    }

    /// Forgets the migration, of which nothing is done: there is nothing to go on with.
    pub(super) async fn abandon(&self) -> Result<()> {
        let rows = Rows::read(&self.db).await?;
        let row = self.mine(&rows)?.1;
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

    /// Ends the migration, and with it moves its indexes from one state to another.
    pub(super) async fn finish(&self, shift: Option<(IndexState, IndexState)>) -> Result<()> {
        let next = |rows: &Rows, record: &mut Record| {
            record.finished = Some(self.db.environment().clock.now());
            let Some((from, to)) = shift else { return Ok(Vec::new()) };
            let steps = rows.steps(record)?.into_iter().filter(|step| step.state == from);
            Ok(steps.map(|step| (step.entity, step.index, to)).collect())
        };
        self.advance(next).await.map(drop)
    }

    /// Leaves the migration to whoever goes on with it.
    pub(super) async fn release(&self) -> Result<()> {
        self.change(|record| record.owner = None).await.map(drop)
    }

    /// Says again that the migration is this call's, where that is due.
    pub(super) async fn keep(&self) -> Result<()> {
        let now = self.db.environment().clock.monotonic();
        let is_due = now.saturating_sub(*self.kept.lock().unwrap_or_else(PoisonError::into_inner)) >= KEEP;
        if is_due { self.change(|_| {}).await.map(drop) } else { Ok(()) }
    }

    /// The same, unless the program is asked to stop.
    pub(super) async fn go_on(&self) -> Result<()> {
        self.stop.check()?;
        self.keep().await
    }

    /// Waits until every live program knows the states as they are now, and no write is under way that was planned before.
    pub(super) async fn settle(&self, allowed: &Waiting<'_>) -> Result<()> {
        let clock = &self.db.environment().clock;
        let (begun, mut seen, mut still) = (clock.monotonic(), HashMap::new(), 0);
        loop {
            self.db.hold_lease().await?;
            let epoch = self.db.0.registry.enter().epoch;
            let behind = self.behind(epoch, allowed, &mut seen).await?;
            if behind.is_empty() {
                break;
            }
            let before = clock.monotonic();
            self.db.environment().sleep.sleep(POLL).await;
            tokio::task::yield_now().await;
            still = if clock.monotonic() == before { still + 1 } else { 0 };
            if clock.monotonic().saturating_sub(begun) >= allowed.time || still >= STILL {
                let detail = format!(
                    "programs are alive that {}: {}; end them, or apply again later",
                    allowed.what,
                    behind.join(", ")
                );
                return Err(Error::new(ErrorKind::Unavailable, detail));
            }
            self.go_on().await?;
        }
        if !self.db.is_atomic() {
            self.db.environment().sleep.sleep(REQUEST).await;
        }
        self.keep().await
    }

    /// The programs that must be waited for. One whose lease has not changed for long enough is gone.
    async fn behind(
        &self,
        epoch: i64,
        allowed: &Waiting<'_>,
        seen: &mut HashMap<String, (ETag, Duration)>,
    ) -> Result<Vec<String>> {
        let mut behind = Vec::new();
        if self.db.0.registry.oldest() < epoch {
            behind.push("this one".to_owned());
        }
        if self.db.is_atomic() {
            return Ok(behind);
        }
        let (now, own) = (self.db.environment().clock.monotonic(), self.db.instance());
        for (key, row) in Rows::read(&self.db).await?.0 {
            let Some(id) = key.strip_prefix(INSTANCE).filter(|id| *id != own) else { continue };
            let (etag, since) = seen.entry(id.to_owned()).or_insert_with(|| (row.etag.clone(), now));
            if *etag != row.etag {
                (*etag, *since) = (row.etag.clone(), now);
            }
            let is_gone = now.saturating_sub(*since) >= GONE;
            if is_gone {
                record::remove(&self.db, &row).await?;
            } else if registry::epoch_of(&row) < epoch || !allowed.lets(&row) {
                behind.push(id.to_owned());
            }
        }
        behind.sort_unstable();
        Ok(behind)
    }

    pub(super) fn now(&self) -> DateTime {
        self.db.environment().clock.now()
    }
}

/// For whom a change of states waits, beside those who do not know the last one.
pub(super) struct Waiting<'a> {
    /// The indexes of the migration.
    pub(super) indexes: &'a [(String, String)],
    /// Whether a live program must have them in its model, or must not; or whether that is all the same.
    pub(super) knows: Option<bool>,
    /// What those do who are waited for.
    pub(super) what: &'static str,
    /// For how long.
    pub(super) time: Duration,
}

impl Waiting<'_> {
    fn lets(&self, row: &Row) -> bool {
        let Some(wanted) = self.knows else { return true };
        let known = match row.properties.get("Knows") {
            Some(ValueRef::String(text)) => serde_json::from_str::<Vec<String>>(text).unwrap_or_default(),
            _ => Vec::new(),
        };
        let mut rows = self.indexes.iter().map(|(entity, index)| index_row(entity, index));
        rows.all(|row| known.contains(&row) == wanted)
    }
}

/// The rows of states that move on.
fn operations(rows: &Rows, moves: &[(String, String, IndexState)]) -> Result<Vec<Operation>> {
    let operation = |(entity, index, state): &(String, String, IndexState)| {
        let row = index_row(entity, index);
        let Some(there) = rows.0.get(&row) else {
            let detail = format!("index `{index}` is not recorded; call `db.ensure_tables()`");
            return Err(Error::unsupported(detail));
        };
        let mut properties = there.properties.clone();
        properties.insert("State", state.word());
        Ok(Operation { row, action: Action::Replace(properties, Condition::Match(there.etag.clone())) })
    };
    moves.iter().map(operation).collect()
}

fn new_record(id: String, steps: Vec<(String, String)>, undo: bool, now: DateTime) -> Record {
    Record {
        id,
        steps,
        started: now,
        finished: None,
        undo,
        owner: Some(String::new()),
        lease: now,
        surveyed: false,
        entities: 0,
    }
}

/// Whether the call that says it is at work on a migration cannot be any more: in the atomic mode one program owns the store,
/// and its calls begin with its own name.
fn is_dead(db: &Database, owner: &str) -> bool {
    db.is_atomic() && !owner.starts_with(&db.instance())
}

fn busy() -> Error {
    Error::new(ErrorKind::Unavailable, "the store is busy, or the states of indexes keep changing; apply again")
}
