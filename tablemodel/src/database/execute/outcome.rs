//! What became of the changes of a batch, by its plan and its receipts.
//!
//! Nothing is read here.

use tablemodel_store::{Receipts, Row, RowKey, Written};

use super::after::written;
use crate::plan::{
    batch::{BatchPlan, Left},
    change::stale_etag,
    group::Group,
    system,
};

/// What became of one change: the rows of the entity as they are now; `None` after a delete.
pub(crate) type Outcome = Option<Group>;

/// Those of all changes, by the plan's own batch, which is the first.
pub(super) fn own_outcomes(partition: &str, plan: &BatchPlan, receipts: &[Receipts]) -> Vec<Outcome> {
    outcomes(partition, plan, |row| receipts.first()?.get(plan.position(row)?))
}

/// Those of all changes, by what the store said of each row.
pub(in crate::database) fn outcomes<'r>(
    partition: &str,
    plan: &BatchPlan,
    receipt: impl Fn(&str) -> Option<&'r Written>,
) -> Vec<Outcome> {
    let outcome = |left: &Left| {
        let properties = left.properties.clone()?;
        let last = system::sequence(written(plan, &left.row)?);
        let head = receipt(&left.row)?;
        // A later change of the batch wrote the entity again: what this one left is not current.
        let etag = head.etag.clone().filter(|_| last == system::sequence(&properties)).unwrap_or_else(stale_etag);
        let key = RowKey::new(partition, left.row.clone());
        let parts = left.parts.iter().map(|part| match receipt(&part.key.row) {
            Some(Written { etag: Some(etag), timestamp }) => {
                Row { etag: etag.clone(), timestamp: *timestamp, ..part.clone() }
            }
            _ => part.clone(),
        });
        let parts = parts.collect();
        Some(Group::of(Row { key, etag, timestamp: head.timestamp, properties }, parts))
    };
    plan.left.iter().map(outcome).collect()
}
