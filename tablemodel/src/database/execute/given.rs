//! Committing what was prepared. Where nobody asks what became of each change, a batch is given away, and its plan is let go of while
//! it is on its way: of a bulk load hundreds are.
//!
//! Nothing is decided here about what a refusal means.

use tablemodel_store::{Receipts, StoreError};

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
        let is_asked_for = self.asked.told || self.asked.together || self.asked.haste != Haste::Now;
        let is_alone = follows.is_empty() && self.guests.is_empty() && self.staging.generation.is_none();
        let is_its_batch = matches!(&**batches, [batch] if *own == 1 && batch.operations.len() == plan.rows.len());
        !is_asked_for && is_alone && is_its_batch && plan.is_of_its_partition()
    }
}
