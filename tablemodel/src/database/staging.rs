//! Staging: an entity that is too large for one batch is written in several. Its parts go first, under a generation that
//! nobody reads; then the batch with its head publishes them; then the parts of the old generation are removed.
//!
//! A crash in between leaves the entity as it was or as it is to be, and parts that no head names: `plan::part` tells
//! which those are.

use tablemodel_store::{
    Action, Batch, Condition, DateTime, ETag, Operation, RowKey, StoreError, StoreErrorKind, limits, size,
};

use crate::{
    database::{
        calls::{ATTEMPTS, is_transient},
        execute::{Outcome, Run},
    },
    error::{Error, ErrorKind, Result},
    plan::{
        batch::{BatchPlan, split},
        change::{Change, PlannedRow},
        part::GRACE_TICKS,
    },
};

/// The parts of one entity that are written before its head.
#[derive(Debug, Default)]
pub(super) struct Staging {
    /// Drawn when a plan turns out too large for one batch.
    pub(super) generation: Option<u64>,
    begun: Option<DateTime>,
    /// What was written, or may have been.
    staged: Vec<PlannedRow>,
    receipts: Vec<(String, ETag, DateTime)>,
    /// What was written under generations that were given up.
    given_up: Vec<PlannedRow>,
    /// What the head no longer names once it is written.
    swept: Vec<PlannedRow>,
}

impl Staging {
    /// Takes another generation, where the plan is of other parts than those written: they may be published, and are not
    /// written over. Whether it did.
    fn is_renewed(&mut self, plan: &BatchPlan, generation: impl FnOnce() -> u64) -> bool {
        if self.staged.is_empty() || self.staged == plan.staged {
            return false;
        }
        self.given_up.append(&mut self.staged);
        self.receipts.clear();
        self.generation = Some(generation());
        true
    }

    /// The outcomes, with the ETags of the parts that were staged.
    pub(super) fn noted(&self, mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
        for part in outcomes.iter_mut().flatten().flat_map(|rows| &mut rows.parts) {
            if let Some((_, etag, timestamp)) = self.receipts.iter().find(|(row, ..)| *row == part.key.row) {
                (part.etag, part.timestamp) = (etag.clone(), *timestamp);
            }
        }
        outcomes
    }
}

impl Run<'_> {
    /// The plan and its batch; where that is too large and of one entity that may be cut, its parts are written first.
    pub(super) async fn laid_out(&mut self, changes: &[Change]) -> Result<(BatchPlan, Vec<Batch>)> {
        let (plan, batches) = self.fitted(changes).await?;
        if self.staging.generation.is_some() {
            self.stage(&plan).await.map_err(|error| error.in_operation(0))?;
        }
        Ok((plan, batches))
    }

    /// The same, with nothing written yet.
    pub(super) async fn fitted(&mut self, changes: &[Change]) -> Result<(BatchPlan, Vec<Batch>)> {
        if self.staging.generation.is_none() {
            let mut plan = self.plan(changes)?;
            self.read_claims(&plan).await?;
            let may_stage = matches!(changes, [change] if change.schema().has_parts());
            match self.batched_alone(&mut plan) {
                Err(error) if may_stage && matches!(error.kind(), ErrorKind::TooLarge | ErrorKind::TooMany) => {}
                batches => return Ok((plan, batches?)),
            }
            self.staging.generation = Some(self.db.environment().random.next());
        }
        let mut plan = self.plan(changes)?;
        if self.staging.is_renewed(&plan, || self.db.environment().random.next()) {
            plan = self.plan(changes)?;
        }
        self.read_claims(&plan).await?;
        let batches = self.batched(&plan)?;
        Ok((plan, batches))
    }

    /// That the changes can be planned, and their batches are within the limits.
    pub(super) async fn check(&mut self, changes: &[Change]) -> Result<()> {
        self.read_needs(changes).await?;
        self.fitted(changes).await.map(drop)
    }

    pub(super) fn batched(&self, plan: &BatchPlan) -> Result<Vec<Batch>> {
        let (table, prefix) = (&self.registered.table, &self.db.0.prefix);
        if !self.asked.together {
            let guests = self.guests_in_pieces();
            return plan.batches(table, self.partition, prefix, (&self.missing, &self.claims), guests);
        }
        let mut batches = Vec::new();
        for batch in plan.all_batches(table, self.partition, prefix, &self.missing, &self.claims)? {
            split(batch, &mut batches);
        }
        Ok(batches)
    }

    /// Writes the parts, unless an earlier attempt did.
    async fn stage(&mut self, plan: &BatchPlan) -> Result<()> {
        self.staging.swept.clone_from(&plan.swept);
        if self.staging.staged != plan.staged {
            self.staging.begun.get_or_insert(self.db.environment().clock.now());
            self.staging.staged.clone_from(&plan.staged);
            for batch in self.batches(&plan.staged) {
                self.write_staged(batch).await?;
            }
        }
        self.in_time()
    }

    async fn write_staged(&mut self, batch: Batch) -> Result<()> {
        let batches = [batch];
        let (mut attempt, mut is_repeated) = (0, false);
        let receipts = loop {
            match self.db.commit_store(&batches, attempt).await {
                // No other write has these keys: the same batch may be repeated, and what is there is what it wrote.
                Err(error) if is_repeated && error.kind() == StoreErrorKind::RowExists => {
                    return self.read_staged(&batches).await;
                }
                Err(error) if is_transient(&error) && attempt + 1 < ATTEMPTS => self.db.pause(attempt).await,
                Err(error) if is_transient(&error) => {
                    let detail = "the parts of the entity could not be written; the entity is as it was";
                    return Err(Error::new(ErrorKind::Unavailable, detail).caused_by(error));
                }
                other => break other?,
            }
            (attempt, is_repeated) = (attempt + 1, true);
        };
        let rows = batches.iter().flat_map(|batch| &batch.operations).zip(receipts.into_iter().flatten());
        let noted =
            rows.filter_map(|(operation, written)| Some((operation.row.clone(), written.etag?, written.timestamp)));
        self.staging.receipts.extend(noted);
        Ok(())
    }

    /// Learns the ETags of parts whose receipts were lost.
    async fn read_staged(&mut self, batches: &[Batch]) -> Result<()> {
        for batch in batches {
            for operation in &batch.operations {
                let key = RowKey::new(batch.partition.clone(), operation.row.clone());
                let found = self.db.get_row(&batch.table, &key).await?;
                self.staging.receipts.extend(found.map(|row| (row.key.row, row.etag, row.timestamp)));
            }
        }
        Ok(())
    }

    /// That nobody takes the parts for orphans yet: their collector waits twice as long as their writer.
    fn in_time(&self) -> Result<()> {
        let Some(begun) = self.staging.begun else { return Ok(()) };
        let taken = self.db.environment().clock.now().ticks().saturating_sub(begun.ticks());
        if taken < GRACE_TICKS / 2 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, "writing the parts of the entity took too long; it is as it was"))
    }

    /// Removes the parts that nobody reads any more: after a success those of the old generation, after a failure those
    /// that were staged. What cannot be removed now is found by `verify`.
    pub(super) async fn clean_up(&mut self, result: &Result<Vec<Outcome>>) {
        let staging = std::mem::take(&mut self.staging);
        let given_up = staging.given_up.into_iter().map(removal);
        let removed: Vec<PlannedRow> = match result {
            Ok(_) if self.is_ambiguous() => staging.swept, // any of the generations may be the one that was published
            Ok(_) => staging.swept.into_iter().chain(given_up).collect(),
            Err(error) if *error.kind() == ErrorKind::OutcomeUnknown || self.is_ambiguous() => return,
            Err(_) => staging.staged.into_iter().map(removal).chain(given_up).collect(),
        };
        for batch in self.batches(&removed) {
            self.sweep(batch).await;
        }
    }

    /// Deletes rows; those that are not there, or were changed, one by one.
    async fn sweep(&self, batch: Batch) {
        let mut left = vec![batch];
        let mut attempt = 0;
        while let Some(batch) = left.pop() {
            match self.db.commit_store(std::slice::from_ref(&batch), attempt).await {
                Ok(_) => {}
                Err(error) if is_transient(&error) && attempt + 1 < ATTEMPTS => {
                    self.db.pause(attempt).await;
                    attempt += 1;
                    left.push(batch);
                }
                Err(error) if has_changed(&error) && batch.operations.len() > 1 => {
                    let single = |operation: Operation| Batch {
                        operations: vec![operation],
                        ..Batch::new(batch.table.clone(), batch.partition.clone())
                    };
                    left.extend(batch.operations.clone().into_iter().map(single));
                }
                Err(error) => {
                    tracing::debug!(table = batch.table, %error, "a part that nobody reads could not be removed");
                }
            }
        }
    }

    /// The writes in as many batches as they take.
    fn batches(&self, rows: &[PlannedRow]) -> Vec<Batch> {
        let new = || Batch::new(self.registered.table.clone(), self.partition);
        let (mut batches, mut open, mut bytes) = (Vec::new(), new(), size::BATCH_OVERHEAD_BYTES);
        for row in rows {
            let operation = Operation { row: row.row.clone(), action: row.action.clone() };
            let own = size::operation_bytes(&self.registered.table, self.partition, &operation);
            let is_full =
                open.operations.len() >= limits::MAX_BATCH_OPERATIONS || bytes + own > limits::MAX_BATCH_BYTES;
            if is_full && !open.operations.is_empty() {
                batches.push(std::mem::replace(&mut open, new()));
                bytes = size::BATCH_OVERHEAD_BYTES;
            }
            bytes += own;
            open.operations.push(operation);
        }
        batches.extend(Some(open).filter(|open| !open.operations.is_empty()));
        batches
    }
}

/// Whether a row of the batch is not there any more, or not as it was.
fn has_changed(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::RowNotFound | StoreErrorKind::ConditionNotMet)
}

fn removal(staged: PlannedRow) -> PlannedRow {
    PlannedRow { action: Action::Delete(Condition::Exists), ..staged }
}
