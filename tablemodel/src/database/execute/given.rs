//! Committing what was prepared. Where nobody asks what became of each change, a batch is given away, and its plan is let go of while
//! it is on its way: of a bulk load hundreds are.
//!
//! Of a refusal it is only told here whether it is of many changes together.

use tablemodel_store::{Batch, Receipts, StoreError};

use super::Run;
use crate::{
    database::{calls::Haste, followers::Prepared, registry::Generation},
    error::Result,
    plan::change::Change,
};

impl Run<'_> {
    /// One attempt to commit, and what the store said. Afterwards `prepared` is there again if it was refused.
    pub(super) async fn commit(
        &mut self,
        states: &Generation,
        changes: &[Change],
        prepared: &mut Prepared,
        attempt: u32,
    ) -> Result<std::result::Result<Vec<Receipts>, StoreError>> {
        if !self.gives_away(prepared) {
            return Ok(self.db.commit_planned(states, &prepared.batches, attempt, self.asked.haste).await);
        }
        let Prepared { batches, own, .. } = std::mem::take(prepared);
        let committed = self.db.commit_given(states, batches, attempt).await;
        if committed.is_err() {
            // From what was known before: the same.
            let (plan, batches) = self.fitted(changes).await?;
            *prepared = Prepared { plan, batches, own, follows: Vec::new() };
        }
        Ok(committed)
    }

    /// Whether the plan of a commit is asked for only if it is refused, and then comes out the same without a read.
    fn gives_away(&self, Prepared { plan, follows, batches, own }: &Prepared) -> bool {
        let is_asked_for = self.asked.told || self.asked.together || self.asked.haste != Haste::OfMany;
        let is_alone = follows.is_empty() && self.guests.is_empty() && self.staging.generation.is_none();
        let is_its_batch = matches!(&**batches, [batch] if *own == 1 && batch.operations.len() == plan.rows.len());
        !is_asked_for && is_alone && is_its_batch && plan.is_of_its_partition()
    }

    /// Whether a row of the partition itself was not as expected by changes that are several batches: which of the changes
    /// that concerns is found by making them apart.
    pub(super) fn is_refused_together(&self, error: &StoreError, batches: &[Batch]) -> bool {
        let failed = error.failed_at().and_then(|at| batches.get(at.batch));
        let is_own = failed.is_some_and(|b| b.partition == self.partition && b.table == self.registered.table);
        self.asked.together && !self.ambiguous && is_own
    }
}
