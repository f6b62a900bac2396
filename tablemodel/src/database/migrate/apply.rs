//! The application of a migration: from the first state to the last, each step of which can be begun again.
//!
//! What is done is found in the store at every call, so that going on and beginning are the same.

use std::{future::IntoFuture, pin::Pin, sync::Mutex, time::Duration};

use super::{
    Applied, DryRun, Progress,
    backfill::{Backfill, Report, Sums},
    dry, record,
    settle::settle,
    states::{Owned, Rows, Waiting},
    stop::Stop,
    survey::survey,
    throttle::Throttle,
};
use crate::{
    database::Database,
    error::{Error, Result},
    plan::states::IndexState,
    schema::EntitySchema,
};

/// How long other programs are waited for.
const WAIT: Duration = Duration::from_secs(300);
/// Entities that are set aside before it stops.
const MAX_FAILURES: u64 = 100;
/// Entities between two cursors.
const BATCH: usize = 500;
/// The same in a store of this process, where a commit takes what waits together.
const BATCH_WITHIN: usize = 8_000;

/// An application as it is asked for. Made by [`Migrations::apply`](super::Migrations::apply); await it to run it.
#[must_use = "nothing is built until it is awaited"]
pub struct Apply<'a> {
    db: Database,
    rate: Option<f64>,
    workers: usize,
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
            workers: 4,
            batch,
            max_failures: MAX_FAILURES,
            wait: WAIT,
            stop,
            report: Mutex::new(None),
        }
    }

    /// At most so many entities a second, above 0; as [`Migrations::set_rate`](super::Migrations::set_rate). No limit by default.
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// So many ranges at a time (4).
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.clamp(1, 64);
        self
    }

    /// So many entities between two saves of a range's cursor (500; 8,000 in a store of this process): what a crash repeats.
    pub fn batch(mut self, entities: usize) -> Self {
        self.batch = entities.max(1);
        self
    }

    /// Stops once more entities than this are set aside (100).
    pub fn max_failures(mut self, failures: u64) -> Self {
        self.max_failures = failures;
        self
    }

    /// Waits so long for other programs to learn of a state, or to end (5 min).
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
    /// Those of the store. What would fail is in the report.
    pub async fn dry_run(self, sample: Option<u64>) -> Result<DryRun> {
        let plan = Rows::read(&self.db).await?.plan(&self.db)?;
        let targets = targets(&self.db, plan.steps.iter().map(|step| step.entity.as_str()));
        dry::run(&self.db, &plan.steps, &targets, sample, self.rate).await
    }

    async fn run(self) -> Result<Applied> {
        self.db.check_writable()?;
        if self.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            return Err(Error::new(crate::ErrorKind::Invalid, "a rate is a number of entities a second, above 0"));
        }
        let mut applied = Applied::default();
        loop {
            let wanted = |rows: &Rows| {
                let steps = rows.plan(&self.db)?.steps;
                let steps: Vec<_> = steps.into_iter().map(|step| (step.entity, step.index)).collect();
                Ok((!steps.is_empty()).then_some((steps, false)))
            };
            let Some(owned) = Owned::take(&self.db, &self.stop, &wanted).await? else { return Ok(applied) };
            let built = self.build(&owned, &mut applied).await;
            let is_over = built.is_ok() && applied.is_complete() && !applied.paused;
            if !is_over {
                // Whoever goes on need not wait for the lease; a store that is gone cannot be told.
                let released = owned.release().await;
                return built.and(released).map(|()| applied);
            }
        }
    }

    async fn build(&self, owned: &Owned, applied: &mut Applied) -> Result<()> {
        let (rows, record) = owned.rows().await?;
        if record.undo {
            let detail = format!("migration {} is being taken back; call `rollback` or `contract` first", record.id);
            return Err(Error::unsupported(detail));
        }
        let mut control = rows.control(&record.id);
        if let Some(rate) = self.rate {
            control.rate = Some(rate);
            record::write_control(&self.db, &record.id, &control).await?;
        }
        applied.migration = Some(record.id.clone());
        applied.paused = control.paused;
        if !control.paused {
            self.write_states(owned, &record.steps).await?;
            let is_filled = self.backfill(owned, applied).await?;
            owned.stop.check()?;
            if is_filled {
                self.make_readable(owned, applied).await?;
            }
        }
        let rows = Rows::read(&self.db).await?;
        applied.steps = rows.steps(&record)?;
        Ok(())
    }

    /// Through the states in which rows are only deleted, and written, to where every live program writes them.
    async fn write_states(&self, owned: &Owned, indexes: &[(String, String)]) -> Result<()> {
        let learn = Waiting { indexes, knows: None, what: "have not learnt of the states yet", time: self.wait };
        let know = Waiting {
            knows: Some(true),
            what: "do not have the indexes in their model, or have not learnt of the states yet",
            ..learn
        };
        let is_any = async |state| {
            let (rows, record) = owned.rows().await?;
            Ok::<_, Error>(rows.steps(&record)?.iter().any(|step| step.state == state))
        };
        if is_any(IndexState::Absent).await? {
            owned.shift(IndexState::Absent, IndexState::DeleteOnly).await?;
        }
        if is_any(IndexState::DeleteOnly).await? {
            owned.settle(&know).await?;
            owned.shift(IndexState::DeleteOnly, IndexState::WriteOnly).await?;
        }
        owned.settle(&know).await
    }

    /// Whether every entity was written once more.
    async fn backfill(&self, owned: &Owned, applied: &mut Applied) -> Result<bool> {
        let (rows, mut record) = owned.rows().await?;
        let targets = targets(&self.db, record.steps.iter().map(|(entity, _)| entity.as_str()));
        if !record.surveyed {
            record::forget(&self.db, &record.id).await?;
            let survey = survey(&self.db, &targets).await?;
            for range in &survey.ranges {
                record::put(&self.db, range.batch(&self.db, &record.id)).await?;
            }
            let entities = survey.entities;
            record = owned.change(|record| (record.surveyed, record.entities) = (true, entities)).await?;
        }
        let ranges = record::ranges(&self.db, &record.id).await?;
        let failed = record::failures(&self.db, &record.id).await?.len() as u64;
        let sums = Sums {
            entities: record.entities,
            done: ranges.iter().map(|range| range.touched + range.passed + range.failed).sum(),
            failed,
            since: self.db.environment().clock.monotonic(),
            ..Sums::default()
        };
        let throttle = Throttle::new(rows.control(&record.id).rate);
        let backfill = Backfill {
            owned,
            targets: &targets,
            throttle: &throttle,
            batch: self.batch,
            max_failures: self.max_failures,
            report: &self.report,
            sums: Mutex::new(sums),
        };
        let is_done = backfill.run(ranges, self.workers).await?;
        let sums = backfill.sums.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        applied.touched += sums.touched;
        applied.failed = record::failures(&self.db, &record.id).await?.len() as u64;
        applied.paused = sums.paused;
        Ok(is_done && applied.failed == 0)
    }

    async fn make_readable(&self, owned: &Owned, applied: &mut Applied) -> Result<()> {
        let settled = settle(owned).await?;
        applied.scrubbed += settled.scrubbed;
        applied.violations = settled.violations;
        match applied.violations.is_empty() {
            true => owned.finish(Some((IndexState::WriteOnly, IndexState::Readable))).await,
            false => Ok(()),
        }
    }
}

/// The entities of these names, of the opened model.
pub(super) fn targets<'n>(db: &Database, names: impl Iterator<Item = &'n str>) -> Vec<&'static EntitySchema> {
    let names: Vec<_> = names.collect();
    db.model().iter().copied().filter(|schema| names.contains(&schema.entity_type)).collect()
}

impl<'a> IntoFuture for Apply<'a> {
    type Output = Result<Applied>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Applied>> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
