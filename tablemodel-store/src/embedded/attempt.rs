//! An attempt to write a commit without reading first: what each write finds in its place tells whether it was allowed.
//!
//! If one was not, all are taken back and nothing is told: `state` then reads, to say which operation is refused.

use super::{
    codec::StoredRow,
    engine::{Group, Space},
    prepare::PreparedBatch,
};
use crate::{Action, StoreError, apply};

/// New rows side by side from which on it pays to let the engine insert them in one go.
const MIN_RUN: usize = 3;

/// A write, ready to be made.
struct Write<'a> {
    space: Space,
    key: &'a [u8],
    /// `None`: the row is removed.
    value: Option<&'a [u8]>,
    action: &'a Action,
}

/// A write that was made, and what was in its place.
struct Made<'a> {
    write: &'a Write<'a>,
    old: Option<Vec<u8>>,
}

/// Writes all operations of batches whose rows lie in `spaces`, or none; whether it did. Rows must be stamped.
pub(super) fn attempt(group: &mut impl Group, batches: &[PreparedBatch], spaces: &[Space]) -> Result<bool, StoreError> {
    let Some(writes) = in_order_of_keys(batches, spaces) else { return Ok(false) };
    let mut made = Vec::with_capacity(writes.len());
    let mut rest = writes.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        let (run, after) = rest.split_at(run_length(first, tail));
        let (allowed, after) = match run.len() {
            ..MIN_RUN => (swap(group, first, &mut made)?, tail),
            _ => (insert(group, run, &mut made)?, after),
        };
        if !allowed {
            take_back(group, made)?;
            return Ok(false);
        }
        rest = after;
    }
    Ok(true)
}

/// The writes, so that neighbours in the file are written one after the other; `None` if one is made from what is there.
fn in_order_of_keys<'a>(batches: &'a [PreparedBatch], spaces: &[Space]) -> Option<Vec<Write<'a>>> {
    let mut writes = Vec::with_capacity(batches.iter().map(|batch| batch.operations.len()).sum());
    for (batch, space) in batches.iter().zip(spaces) {
        for operation in &batch.operations {
            if matches!(operation.action, Action::Merge(..) | Action::InsertOrMerge(_)) {
                return None;
            }
            let value = operation.encoded.as_ref().map(|encoded| encoded.value(&batch.bytes));
            writes.push(Write { space: *space, key: batch.key(operation), value, action: &operation.action });
        }
    }
    writes.sort_unstable_by(|a, b| a.space.number().cmp(&b.space.number()).then_with(|| a.key.cmp(b.key)));
    Some(writes)
}

/// How many new rows, from `first` on, probably have no other row between them.
fn run_length(first: &Write<'_>, tail: &[Write<'_>]) -> usize {
    let is_new = |write: &Write<'_>| matches!(write.action, Action::Insert(_));
    let follows = |(last, next): &(&Write<'_>, &Write<'_>)| {
        next.space == last.space && is_new(last) && is_new(next) && is_near(last.key, next.key)
    };
    1 + std::iter::once(first).chain(tail).zip(tail).take_while(follows).count()
}

/// Whether two keys differ only near their ends.
fn is_near(a: &[u8], b: &[u8]) -> bool {
    let most = a.len().max(b.len()) / 4 * 3;
    a.get(..most).is_some_and(|head| b.get(..most) == Some(head))
}

/// Makes one write; whether it was allowed.
fn swap<'a>(group: &mut impl Group, write: &'a Write<'a>, made: &mut Vec<Made<'a>>) -> Result<bool, StoreError> {
    let (allowed, old) =
        group.swap(write.space, write.key, write.value, |old| (write.allows(old), old.map(<[u8]>::to_vec)))?;
    made.push(Made { write, old });
    Ok(allowed)
}

/// Inserts new rows; whether none of them was there.
fn insert<'a>(group: &mut impl Group, run: &'a [Write<'a>], made: &mut Vec<Made<'a>>) -> Result<bool, StoreError> {
    let rows = run.iter().filter_map(|write| Some((write.key, write.value?)));
    let Some(space) = run.first().map(|write| write.space) else { return Ok(true) };
    let inserted = group.insert_run(space, rows)?;
    made.extend(run.iter().take(inserted).map(|write| Made { write, old: None }));
    Ok(inserted == run.len())
}

/// Takes back what was made, the last first.
fn take_back(group: &mut impl Group, made: Vec<Made<'_>>) -> Result<(), StoreError> {
    made.into_iter().rev().try_for_each(|Made { write, old }| group.take_back(write.space, write.key, old.as_deref()))
}

impl Write<'_> {
    /// Whether the write may be made over what is there.
    fn allows(&self, old: Option<&[u8]>) -> bool {
        let old = match old {
            Some(_) if matches!(self.action, Action::InsertOrReplace(_)) => return true,
            None => None,
            Some(old) => match StoredRow::checked(self.space, self.key, old) {
                Ok(row) => Some(row.etag()),
                Err(_) => return false,
            },
        };
        apply::decide(self.action, old.as_ref()).is_ok()
    }
}
