//! What bugs of commits do; those of single values are in `values`.
//!
//! Each is one function, wrong in one way.

#![allow(clippy::ptr_arg, reason = "the twists of one place have one signature")]

use std::{
    collections::{BTreeMap, HashMap},
    future::poll_fn,
    task::Poll,
};

use tablemodel_store::{
    Action, Batch, Condition, DateTime, ETag, MemoryStore, Operation, Properties, Receipts, Row, RowKey, StoreError,
    StoreErrorKind, TableStore, Value, Written, clock::SystemClock, validate,
};

use super::{Answer, values::rebuilt};

pub(super) fn actions(batches: &mut [Batch]) -> impl Iterator<Item = &mut Action> {
    batches.iter_mut().flat_map(|batch| batch.operations.iter_mut().map(|operation| &mut operation.action))
}

pub(super) fn own(action: &mut Action) -> Option<&mut Properties> {
    match action {
        Action::Insert(own) | Action::Replace(own, _) | Action::Merge(own, _) => Some(own),
        Action::InsertOrReplace(own) | Action::InsertOrMerge(own) => Some(own),
        Action::Delete(_) => None,
    }
}

pub(super) fn taken(own: &mut Properties) -> Properties {
    std::mem::take(own)
}

pub(super) fn ignore_if_match(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::Replace(_, condition) | Action::Merge(_, condition) | Action::Delete(condition) = action {
            *condition = Condition::Exists;
        }
    }
}

pub(super) fn star_matches(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::Replace(_, condition) | Action::Merge(_, condition) | Action::Delete(condition) = action
            && *condition == Condition::Match(ETag::parse("*"))
        {
            *condition = Condition::Exists;
        }
    }
}

pub(super) fn merge_keeps_text_at_empty(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::Merge(own, _) | Action::InsertOrMerge(own) = action {
            let set = taken(own).into_iter().filter(|(_, value)| *value != Value::from(""));
            *own = set.collect();
        }
    }
}

pub(super) fn insert_replaces(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::Insert(own) = action {
            *action = Action::InsertOrReplace(taken(own));
        }
    }
}

pub(super) fn replace_inserts(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::Replace(own, _) = action {
            *action = Action::InsertOrReplace(taken(own));
        }
    }
}

pub(super) fn merge_inserts(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::Merge(own, _) = action {
            *action = Action::InsertOrMerge(taken(own));
        }
    }
}

pub(super) fn merge_replaces(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::Merge(own, condition) = action {
            *action = Action::Replace(taken(own), condition.clone());
        }
    }
}

pub(super) fn replace_merges(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::Replace(own, condition) = action {
            *action = Action::Merge(taken(own), condition.clone());
        }
    }
}

pub(super) fn upsert_merges(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::InsertOrReplace(own) = action {
            *action = Action::InsertOrMerge(taken(own));
        }
    }
}

pub(super) fn upsert_replaces(batches: &mut Vec<Batch>) {
    for action in actions(batches) {
        if let Action::InsertOrMerge(own) = action {
            *action = Action::InsertOrReplace(taken(own));
        }
    }
}

pub(super) fn swallow(error: StoreError) -> Result<Vec<Receipts>, StoreError> {
    if error.kind() == StoreErrorKind::RowNotFound { Ok(vec![vec![receipt()]]) } else { Err(error) }
}

pub(super) fn swallow_too_large(error: StoreError) -> Result<Vec<Receipts>, StoreError> {
    if error.kind() == StoreErrorKind::TooLarge { Ok(vec![vec![receipt()]]) } else { Err(error) }
}

fn receipt() -> Written {
    Written { etag: None, timestamp: DateTime::UNIX_EPOCH }
}

pub(super) fn skip_empty_merges<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    skip_merges_of_nothing(store, batches, |_| true)
}

/// Where nothing is merged into nothing, too: there is no property that could tell.
pub(super) fn skip_merges_into_empty_rows<'a>(
    store: &'a MemoryStore,
    batches: &'a [Batch],
) -> Answer<'a, Vec<Receipts>> {
    skip_merges_of_nothing(store, batches, |row| row.properties.is_empty())
}

fn skip_merges_of_nothing<'a>(
    store: &'a MemoryStore,
    batches: &'a [Batch],
    skips: fn(&Row) -> bool,
) -> Answer<'a, Vec<Receipts>> {
    Box::pin(async move {
        for batch in batches {
            for Operation { row, action } in &batch.operations {
                if let Action::Merge(own, _) = action
                    && own.is_empty()
                    && let Some(row) = store.get(&batch.table, &RowKey::new(&batch.partition, row)).await?
                    && skips(&row)
                {
                    return Ok(vec![vec![Written { etag: Some(row.etag), timestamp: row.timestamp }]]);
                }
            }
        }
        store.commit(batches).await
    })
}

pub(super) fn keep_types<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    Box::pin(async move {
        let mut batches = batches.to_vec();
        for batch in &mut batches {
            for Operation { row, action } in &mut batch.operations {
                let key = RowKey::new(&batch.partition, &*row);
                let (Action::Merge(own, _), Ok(Some(row))) = (action, store.get(&batch.table, &key).await) else {
                    continue;
                };
                let same = |name: &str| row.properties.get(name).map(|value| value.edm());
                let types: BTreeMap<_, _> = own.iter().map(|(name, value)| (name.to_string(), value.edm())).collect();
                own.retain(|name| same(name).is_none_or(|edm| types[name] == edm));
            }
        }
        store.commit(&batches).await
    })
}

pub(super) fn lose_last_operation(batches: &mut Vec<Batch>) {
    for batch in batches.iter_mut().filter(|batch| batch.operations.len() > 1) {
        batch.operations.pop();
    }
}

/// Lets other futures of the task go on.
async fn step_aside() {
    let mut aside = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut aside, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// A batch of upserts becomes visible from its first operation on; nothing is wrong with it once it is done.
pub(super) fn in_two_steps<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    Box::pin(async move {
        let is_upsert = |operation: &Operation| matches!(operation.action, Action::InsertOrReplace(_));
        if let [Batch { table, partition, operations, .. }] = batches
            && let [first, _, ..] = operations.as_slice()
            && operations.iter().all(is_upsert)
            && validate::batches(batches, &store.capabilities()).is_ok()
        {
            let begun = Batch::new(table, partition).with(first.row.clone(), first.action.clone());
            store.commit(&[begun]).await?;
            step_aside().await;
        }
        store.commit(batches).await
    })
}

pub(super) fn one_by_one<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    Box::pin(async move {
        let mut all = Vec::new();
        for (index, batch) in batches.iter().enumerate() {
            let mut receipts = Vec::new();
            for (at, operation) in batch.operations.iter().enumerate() {
                let single = Batch { operations: vec![operation.clone()], ..batch.clone() };
                let committed = store.commit(&[single]).await.map_err(|error| error.at(index, at))?;
                receipts.extend(committed.into_iter().flatten());
                step_aside().await;
            }
            all.push(receipts);
        }
        Ok(all)
    })
}

pub(super) fn batch_by_batch<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    Box::pin(async move {
        let mut all = Vec::new();
        for (index, batch) in batches.iter().enumerate() {
            let committed = store.commit(std::slice::from_ref(batch)).await;
            all.extend(committed.map_err(|error| {
                let operation = error.failed_at().map_or(0, |at| at.operation);
                error.at(index, operation)
            })?);
        }
        Ok(all)
    })
}

/// Several batches are checked together, and then committed one after the other.
pub(super) fn check_all_then_one_by_one<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    Box::pin(async move {
        let [_, _, ..] = batches else { return store.commit(batches).await };
        store.fork(SystemClock).commit(batches).await?;
        let mut all = Vec::new();
        for batch in batches {
            step_aside().await;
            all.extend(store.commit(std::slice::from_ref(batch)).await?);
        }
        Ok(all)
    })
}

pub(super) fn name_nothing(error: StoreError) -> Result<Vec<Receipts>, StoreError> {
    Err(StoreError::new(error.kind(), error.detail()))
}

pub(super) fn name_first(error: StoreError) -> Result<Vec<Receipts>, StoreError> {
    Err(error.at(0, 0))
}

pub(super) fn drop_empty_batches(batches: &mut Vec<Batch>) {
    batches.retain(|batch| !batch.operations.is_empty());
}

pub(super) fn refuse<'a, T: Send + 'a>(detail: &str) -> Answer<'a, T> {
    let error = StoreError::new(StoreErrorKind::InvalidInput, detail);
    Box::pin(async move { Err(error) })
}

/// Refuses commits with an operation for which `bad` holds.
pub(super) fn refuse_if<'a>(
    store: &'a MemoryStore,
    batches: &'a [Batch],
    bad: fn(&Batch, &Operation) -> bool,
) -> Answer<'a, Vec<Receipts>> {
    match batches.iter().any(|batch| batch.operations.iter().any(|operation| bad(batch, operation))) {
        true => refuse("planted"),
        false => store.commit(batches),
    }
}

pub(super) fn refuse_nothing<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    if batches.is_empty() { refuse("nothing to do") } else { store.commit(batches) }
}

pub(super) fn keep_last_of_row(batches: &mut Vec<Batch>) {
    for batch in batches {
        let last: HashMap<_, _> =
            batch.operations.iter().enumerate().map(|(at, operation)| (operation.row.clone(), at)).collect();
        let mut at = 0..;
        batch.operations.retain(|operation| at.next() == Some(last[&operation.row]));
    }
}

pub(super) fn lower_case_keys(batches: &mut Vec<Batch>) {
    for batch in batches {
        batch.partition = batch.partition.to_lowercase();
        for operation in &mut batch.operations {
            operation.row = operation.row.to_lowercase();
        }
    }
}

pub(super) fn refuse_unordered<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    match batches.iter().all(|batch| batch.operations.is_sorted_by(|a, b| a.row <= b.row)) {
        true => store.commit(batches),
        false => refuse("not in order"),
    }
}

pub(super) fn reverse_receipts(receipts: &mut Vec<Receipts>) {
    receipts.iter_mut().for_each(|batch| batch.reverse());
}

pub(super) fn other_etags(receipts: &mut Vec<Receipts>) {
    for etag in receipts.iter_mut().flatten().filter_map(|written| written.etag.as_mut()) {
        *etag = ETag::from_stamp(etag.stamp().unwrap_or(0) + 1);
    }
}

pub(super) fn first_batch_only(batches: &mut Vec<Batch>) {
    batches.truncate(1);
}

pub(super) fn upsert_odd_only(batches: &mut Vec<Batch>) {
    for own in actions(batches).filter_map(own) {
        rebuilt(own, |name, value| match value {
            Value::Int32(number) => (name, Value::Int32(number | 1)),
            value => (name, value),
        });
    }
}

pub(super) fn touch_on_failure<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    Box::pin(async move {
        let result = store.commit(batches).await;
        for batch in batches.iter().filter(|_| result.is_err()) {
            for operation in &batch.operations {
                let touch = Action::Merge(Properties::new(), Condition::Exists);
                let touch = Batch::new(&batch.table, &batch.partition).with(&operation.row, touch);
                let _ = store.commit(&[touch]).await;
            }
        }
        result
    })
}

pub(super) fn check_then_act<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    Box::pin(async move {
        let mut unchecked = batches.to_vec();
        for batch in &mut unchecked {
            for Operation { row, action } in &mut batch.operations {
                let key = RowKey::new(&batch.partition, &*row);
                let existing = store.get(&batch.table, &key).await?;
                let condition = |etag: &ETag| existing.as_ref().is_some_and(|row| row.etag == *etag);
                match action {
                    Action::Insert(own) if existing.is_none() => *action = Action::InsertOrReplace(taken(own)),
                    Action::Replace(own, Condition::Match(etag)) if condition(etag) => {
                        *action = Action::InsertOrReplace(taken(own));
                    }
                    _ => {}
                }
            }
        }
        step_aside().await;
        store.commit(&unchecked).await
    })
}
