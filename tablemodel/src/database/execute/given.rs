//! Committing what was prepared. Where nobody asks what became of each change, a batch is given away, and its plan is let go of while
//! it is on its way: of a bulk load hundreds are.
//!
//! Of a refusal it is only told here whether it is of many changes together.

use tablemodel_store::{Batch, Receipts, StoreError};

use super::Run;
use crate::{
    database::{calls::Haste, followers::Prepared, registry::Generation},
    error::Result,
    plan::{batch::BatchPlan, change::Change},
};

impl Run<'_> {
    /// One attempt to commit, and what the store said. Afterwards `prepared` is there again if it was refused.
    pub(super) async fn commit(
        &mut self,
        states: &Generation,
        changes: &[Change],
        prepared: &mut Prepared,
    ) -> Result<std::result::Result<Vec<Receipts>, StoreError>> {
        let attempt = self.waits.begun - 1;
        if !prepared.plan.is_given {
            return Ok(self.db.commit_planned(states, &prepared.batches, attempt, self.asked.haste).await);
        }
        let Prepared { batches, own, .. } = std::mem::take(prepared);
        let committed = self.db.commit_given(states, batches, attempt).await;
        if committed.is_err() {
            // From what was known before: the same, to be asked what was refused.
            self.keeps_plan = true;
            let fitted = self.fitted(changes).await;
            self.keeps_plan = false;
            let (plan, batches) = fitted?;
            *prepared = Prepared { plan, batches, own, follows: Vec::new() };
        }
        Ok(committed)
    }

    /// The batches of a plan: all that is left of one that is asked for only if its commit is refused, and then comes out the same
    /// without a read.
    pub(in crate::database) fn batched_alone(&self, plan: &mut BatchPlan) -> Result<Vec<Batch>> {
        let is_asked_for =
            self.asked.told || self.asked.together || self.asked.haste != Haste::OfMany || self.keeps_plan;
        if is_asked_for || !self.guests.is_empty() || !plan.is_of_its_partition() {
            return self.batched(plan);
        }
        Ok(vec![plan.give_away(&self.registered.table, self.partition)?])
    }

    /// Whether a row of the partition itself was not as expected by changes that are several batches: which of the changes
    /// that concerns is found by making them apart.
    pub(super) fn is_refused_together(&self, error: &StoreError, batches: &[Batch]) -> bool {
        let failed = error.failed_at().and_then(|at| batches.get(at.batch));
        let is_own = failed.is_some_and(|b| b.partition == self.partition && b.table == self.registered.table);
        self.asked.together && !self.ambiguous && is_own
    }
}
