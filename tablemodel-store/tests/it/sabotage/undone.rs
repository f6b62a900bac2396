//! What bugs of commits that are refused do: some of what stood before the failing operation stays.
//!
//! What is refused before the store is looked at is not touched.

use tablemodel_store::{
    Action, Batch, MemoryStore, Operation, Receipts, StoreError, StoreErrorKind, TableStore, validate,
};

use super::Answer;

async fn kept(
    store: &MemoryStore,
    batches: &[Batch],
    stays: fn(&StoreError, &Operation) -> bool,
) -> Result<Vec<Receipts>, StoreError> {
    let refused = match store.commit(batches).await {
        Err(refused) if validate::batches(batches, &store.capabilities()).is_ok() => refused,
        outcome => return outcome,
    };
    let Some(failed) = refused.failed_at() else { return Err(refused) };
    for (index, batch) in batches.iter().enumerate().take(failed.batch + 1) {
        let before = if index == failed.batch { failed.operation } else { batch.operations.len() };
        for operation in batch.operations.iter().take(before).filter(|operation| stays(&refused, operation)) {
            store.commit(&[Batch { operations: vec![operation.clone()], ..batch.clone() }]).await?;
        }
    }
    Err(refused)
}

pub(super) fn deletes_stay<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    Box::pin(kept(store, batches, |_, operation| matches!(operation.action, Action::Delete(_))))
}

pub(super) fn all_stays_before_a_merge_too_large<'a>(
    store: &'a MemoryStore,
    batches: &'a [Batch],
) -> Answer<'a, Vec<Receipts>> {
    Box::pin(kept(store, batches, |refused, _| refused.kind() == StoreErrorKind::TooLarge))
}
