//! The application of a migration: from the first state to the last, each step of which can be begun again.
//!
//! What is done is found in the store at every call, so that going on and beginning are the same.

use std::{
    future::IntoFuture,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    Applied, DryRun, Progress,
    backfill::{BATCH, Backfill, Report, Sums},
    counts::{counted, mark},
    dry,
    patience::Patience,
    record::{self, Control, Record, Work},
    rows::{Rows, check_has},
    settle::{free, settle},
    states::Owned,
    stop::Stop,
    survey::survey,
    targets::Targets,
    throttle::Throttle,
    undo::leave_tables,
    unfinished::Unfinished,
    waiting::Waiting,
};
use crate::{
    database::{Database, beside::Beside, registry::index_row, rewrites},
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
};

/// How long other programs are waited for.
const WAIT: Duration = Duration::from_secs(300);
/// Entities that are set aside before it stops.
const MAX_FAILURES: u64 = 100;
/// How often what came since is written too.
const ROUNDS: u32 = 4;
/// Entities between two cursors in a store of this process, where a commit takes what waits together.
const BATCH_WITHIN: usize = 8_000;

/// An application as it is asked for. Made by [`Migrations::apply`](super::Migrations::apply); await it to run it.
#[must_use = "nothing is built until it is awaited"]
pub struct Apply<'a> {
    db: Database,
    rate: Option<f64>,
    workers: Option<usize>,
    batch: usize,
    max_failures: u64,
    wait: Duration,
    stop: Stop,
    report: Report<'a>,
}

impl std::fmt::Debug for Apply<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Apply").field("rate", &self.rate).field("workers", &self.workers).finish_non_exhaustive()
    }
}

impl<'a> Apply<'a> {
    pub(super) fn new(db: Database, stop: Stop) -> Self {
        let batch = if db.0.capabilities.may_lose_reply { BATCH } else { BATCH_WITHIN };
        Self {
            db,
            rate: None,
            workers: None,
            batch,
            max_failures: MAX_FAILURES,
            wait: WAIT,
            stop,
            report: Mutex::new(None),
        }
    }

    /// At most so many entities a second, above 0; as [`Migrations::set_rate`](super::Migrations::set_rate). By default as many as the
    /// store takes, but 250 a second at most while this program writes, with its writes where the store is of this process: these
    /// then hardly take longer.
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// So many ranges at a time (4; 1 in a store of this process whose entities copy others, count into them or keep lists, and so meet in rows).
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers.clamp(1, 64));
        self
    }

    /// So many entities between two saves of a range's cursor (500; 8,000 in a store of this process, while there is no limit): what a
    /// crash repeats.
    pub fn batch(mut self, entities: usize) -> Self {
        self.batch = entities.max(1);
        self
    }

    /// Stops once more entities than this are set aside (100).
    pub fn max_failures(mut self, failures: u64) -> Self {
        self.max_failures = failures;
        self
    }

    /// Waits so long for other programs to learn of a state, or to end; and for one that is at the same migration, where nothing is
    /// left to help it with (5 min).
    pub fn wait(mut self, time: Duration) -> Self {
        self.wait = time;
        self
    }

    /// Calls `report` after each batch.
    pub fn progress(self, report: impl FnMut(&Progress) + Send + 'a) -> Self {
        Self { report: Mutex::new(Some(Box::new(report))), ..self }
    }

    /// Reads what [`Apply`] would write, and writes nothing: whether each entity can be read and has keys for the new indexes,
    /// and how many rows and requests that comes to. With a `sample` only so many entities of each table are read.
    ///
    /// Cost: one request per 1,000 rows of the tables, or of the sample and, for their number, of keys.
    ///
    /// # Errors
    ///
    /// `UnknownVersion` and `Unsupported` as [`Apply`] itself, and `Invalid` for a rate that is not above 0; those of the store. What would
    /// fail is in the report.
    pub async fn dry_run(self, sample: Option<u64>) -> Result<DryRun> {
        self.check_rate()?;
        dry::run(&self.db, sample, self.rate).await
    }

    fn check_rate(&self) -> Result<()> {
        if self.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            return Err(Error::new(ErrorKind::Invalid, "a rate is a number of entities a second, above 0"));
        }
        Ok(())
    }

    async fn run(self) -> Result<Applied> {
        self.db.check_writable()?;
        self.check_rate()?;
        self.db.forget_newer(Rows::read(&self.db).await?.all()).await?;
        let mut applied = Applied::default();
        let mut patience = Patience::new(self.db.environment(), self.wait);
        let wanted = |rows: &Rows| {
            let steps = rows.plan(&self.db)?.steps;
            let steps: Vec<_> = steps.into_iter().map(|step| (step.entity, step.index)).collect();
            Ok((!steps.is_empty()).then_some((steps, Work::Build)))
        };
        loop {
            match Owned::take(&self.db, "apply", &self.stop, check_has, &wanted).await {
                Ok(Some(owned)) => {
                    if self.lead(&owned, &mut applied).await? {
                        return Ok(applied);
                    }
                }
                Ok(None) => return self.told(applied).await,
                Err(running) if matches!(running.kind(), ErrorKind::MigrationRunning { .. }) => {
                    match self.help(&mut applied).await? {
                        Helped::Worked => patience.renew(),
                        Helped::Idle if patience.lasts().await => {}
                        Helped::Idle | Helped::Undone => return Err(running),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Does what is to be done in a migration that is this call's; whether the call ends with it.
    async fn lead(&self, owned: &Owned, applied: &mut Applied) -> Result<bool> {
        let built = self.build(owned, applied).await;
        if matches!(built, Ok(true)) {
            return Ok(false);
        }
        // Whoever goes on need not wait for the lease; a store that is gone cannot be told.
        let released = owned.release().await;
        built.and(released)?;
        Ok(true)
    }

    /// Works on ranges of a migration that another call leads.
    async fn help(&self, applied: &mut Applied) -> Result<Helped> {
        self.stop.check()?;
        let rows = Rows::read(&self.db).await?;
        let Some(record) = rows.unfinished()? else { return Ok(Helped::Idle) };
        if record.undo {
            return Ok(Helped::Undone);
        }
        check_has(&self.db, &record)?;
        if !unasked(&self.db, &rows, &record)?.is_empty() {
            return Ok(Helped::Idle); // it is waited until the other leads no more
        }
        applied.migration = Some(record.id.clone());
        let touched = applied.touched;
        let control = self.limit(&rows, &record).await?;
        if record.surveyed && !control.paused {
            let targets = Targets::of(&self.db, &record.steps);
            let beside = Owned::beside(&self.db, &record.id, &self.stop);
            self.fill(&beside, &record, &targets, applied).await?;
            self.stop.check()?;
        }
        Ok(if applied.touched > touched { Helped::Worked } else { Helped::Idle })
    }

    /// The migration with the rewrites of its entities to this program's versions: they are written as of these, so that programs of
    /// older ones are waited for first.
    async fn with_rewrites(&self, owned: &Owned) -> Result<Record> {
        let (rows, record) = owned.rows().await?;
        let more = unasked(&self.db, &rows, &record)?;
        if more.is_empty() {
            return Ok(record);
        }
        let add = |record: &mut Record| {
            record.steps.extend(more.iter().cloned());
            record.surveyed = false;
        };
        owned.change(add).await
    }

    /// What is set of the migration, with the rate that is asked for here.
    async fn limit(&self, rows: &Rows, record: &Record) -> Result<Control> {
        let control = rows.control(&record.id);
        match self.rate {
            Some(rate) if control.rate != Some(rate) => {
                record::change_control(&self.db, &record.id, |control| control.rate = Some(rate)).await
            }
            _ => Ok(control),
        }
    }

    /// What became of the migration that another call led to its end.
    async fn told(&self, mut applied: Applied) -> Result<Applied> {
        if let Some(id) = &applied.migration {
            let rows = Rows::read(&self.db).await?;
            if let Some(record) = rows.records()?.into_iter().find(|record| record.id == *id) {
                applied.steps = rows.told(&record)?;
            }
        }
        Ok(applied)
    }

    /// Whether the migration ended: an index of it that a program wrote without since then is for the next one.
    async fn build(&self, owned: &Owned, applied: &mut Applied) -> Result<bool> {
        let (rows, record) = owned.rows().await?;
        Unfinished::of(record.clone()).check_kept()?;
        let control = self.limit(&rows, &record).await?;
        applied.migration = Some(record.id.clone());
        applied.paused = control.paused;
        if control.paused {
            applied.failed = record::failures(&self.db, &record.id).await?.len() as u64;
            applied.left = self.left(&record).await?;
        } else {
            let record = self.with_rewrites(owned).await?;
            let targets = Targets::of(&self.db, &record.steps);
            for _ in 0..ROUNDS {
                self.write_states(owned, &record.steps).await?;
                let is_filled = self.backfill(owned, &targets, applied).await?;
                owned.stop.check()?;
                if !is_filled || self.make_readable(owned, &targets, applied).await? {
                    break;
                }
            }
        }
        let rows = Rows::read(&self.db).await?;
        applied.steps = rows.told(&record)?;
        Ok(rows.record(&owned.id)?.is_some_and(|(record, _)| record.finished.is_some()))
    }

    /// Through the states in which rows are only deleted, and written, to where every live program writes them.
    async fn write_states(&self, owned: &Owned, indexes: &[(String, String)]) -> Result<()> {
        let learn = Waiting { indexes, knows: None, what: "have not learnt of the states yet", time: self.wait };
        let know = Waiting {
            knows: Some(true),
            what: "do not have the indexes in their model, or are of an older version, or have not learnt of the states yet",
            ..learn
        };
        let is_any = async |state| {
            let (rows, record) = owned.rows().await?;
            Ok::<_, Error>(rows.steps(&record)?.iter().any(|step| step.state == state))
        };
        let (rows, record) = owned.rows().await?;
        if rows.lapsed(&record).next().is_some() {
            owned.settle(&know).await?;
            leave_tables(owned).await?;
            owned.restore().await?;
        }
        if is_any(IndexState::Absent).await? {
            owned.shift(IndexState::Absent, IndexState::DeleteOnly).await?;
        }
        if is_any(IndexState::DeleteOnly).await? {
            owned.settle(&know).await?;
            mark(owned, &counted(&self.db, indexes)).await?;
            owned.shift(IndexState::DeleteOnly, IndexState::WriteOnly).await?;
        }
        owned.settle(&know).await
    }

    /// Whether every entity was written once more.
    async fn backfill(&self, owned: &Owned, targets: &Targets, applied: &mut Applied) -> Result<bool> {
        let (_, mut record) = owned.rows().await?;
        if !record.surveyed {
            owned.forget_work().await?;
            let survey = survey(&self.db, Some(owned), targets, self.batch).await?;
            for range in &survey.ranges {
                record::put(&self.db, range.batch(&self.db, &record.id)).await?;
            }
            let entities = survey.entities;
            record = owned.change(|record| (record.surveyed, record.entities) = (true, entities)).await?;
        }
        let is_done = self.fill(owned, &record, targets, applied).await?;
        if is_done && applied.failed > 0 && targets.build() {
            let counted = counted(&self.db, &record.steps);
            applied.scrubbed += free(owned, &record, &counted).await?;
            applied.failed = record::failures(&self.db, &record.id).await?.len() as u64;
        }
        Ok(is_done && applied.failed == 0)
    }

    /// Works on ranges that nobody has; whether all are done.
    async fn fill(&self, owned: &Owned, record: &Record, targets: &Targets, applied: &mut Applied) -> Result<bool> {
        let now = self.db.environment().clock.monotonic();
        let failed = record::failures(&self.db, &record.id).await?.len() as u64;
        let sums = Sums { entities: record.entities, failed, since: now, ..Sums::default() };
        let throttle = Throttle::new(record::read_control(&self.db, &record.id).await?.rate, now);
        let backfill = Backfill {
            owned,
            targets,
            throttle: &throttle,
            beside: Beside::of_this_machine(),
            workers: Arc::default(),
            batch: self.batch,
            max_failures: self.max_failures,
            report: &self.report,
            sums: Mutex::new(sums),
        };
        let is_done = backfill.run(self.workers.unwrap_or_else(|| backfill.usual_workers())).await;
        let sums = backfill.sums.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        applied.touched += sums.touched;
        applied.failed = record::failures(&self.db, &record.id).await?.len() as u64;
        applied.paused = sums.paused;
        let is_done = is_done?;
        applied.left = if is_done { 0 } else { self.left(record).await? };
        Ok(is_done)
    }

    /// How many entities nobody has come to yet, as they were counted.
    async fn left(&self, record: &Record) -> Result<u64> {
        let ranges = record::ranges(&self.db, &record.id).await?;
        let reached: u64 = ranges.iter().map(|range| range.touched + range.passed + range.failed).sum();
        Ok(record.entities.saturating_sub(reached))
    }

    /// Whether that is done; else entities are left that must be written first.
    async fn make_readable(&self, owned: &Owned, targets: &Targets, applied: &mut Applied) -> Result<bool> {
        let (_, record) = owned.rows().await?;
        let settled = settle(owned, targets, &counted(&self.db, &record.steps)).await?;
        applied.scrubbed += settled.scrubbed;
        applied.violations = settled.violations;
        if settled.left {
            owned.change(|record| record.surveyed = false).await?;
            return Ok(false);
        }
        Ok(!applied.violations.is_empty() || owned.complete().await?)
    }
}

/// The rewrites that entities of the migration would undergo by the hands of this program, and that are no part of it.
fn unasked(db: &Database, rows: &Rows, record: &Record) -> Result<Vec<(String, String)>> {
    let mut unasked = Vec::new();
    for schema in db.model().iter().copied() {
        let entity = schema.entity_type;
        let Some(name) = rewrites::recorded(schema) else { continue };
        let is_touched = record.steps.iter().any(|(of, _)| of == entity);
        let is_part = record.steps.iter().any(|(of, step)| of == entity && *step == name);
        let is_recorded = rows.row(&index_row(entity, &name)).is_some();
        if is_touched && !is_part && is_recorded && rows.state(entity, &name)? != IndexState::Readable {
            unasked.push((entity.to_owned(), name));
        }
    }
    Ok(unasked)
}

/// What came of helping.
enum Helped {
    Worked,
    /// There was nothing to do, for now.
    Idle,
    /// The migration is being taken back.
    Undone,
}

impl<'a> IntoFuture for Apply<'a> {
    type Output = Result<Applied>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Applied>> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
