//! An attempt to write commits without reading first: what each write finds in its place tells whether it was allowed.
//!
//! If one was not, all are taken back and nothing is told: `state` then reads, to say which operation is refused.

use std::ops::Range;

use super::{
    codec::StoredRow,
    engine::{Group, Space},
    prepare::PreparedCommit,
};
use crate::{Action, StoreError, apply};

/// New rows side by side from which on it pays to let the engine insert them in one go.
const MIN_RUN: usize = 3;
/// Bytes of old rows that are kept for taking back: a request of a few bytes may remove a hundred rows of 1 MiB.
const MAX_OLD_BYTES: usize = 32 * 1024 * 1024;

/// A write, ready to be made.
#[derive(Clone, Copy)]
struct Write<'a> {
    space: Space,
    key: &'a [u8],
    /// `None`: the row is removed.
    value: Option<&'a [u8]>,
    action: &'a Action,
}

/// Where a write stands in the order of keys: by numbers that mostly tell, so that what is sorted is small, and keys are seldom looked at.
struct Place {
    space: u64,
    /// The key's first bytes behind those that all keys have in common.
    head: u128,
    /// Its place among the writes as they were asked for.
    at: usize,
}

/// Writes that were made, and what was in their places: in one piece of memory.
struct Made<'a> {
    writes: Vec<(&'a Write<'a>, Option<Range<usize>>)>,
    bytes: Vec<u8>,
}

impl<'a> Made<'a> {
    /// Notes a write, and what was in its place.
    fn add(&mut self, write: &'a Write<'a>, old: Option<&[u8]>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(old.unwrap_or_default());
        self.writes.push((write, old.map(|_| start..self.bytes.len())));
    }

    /// Takes back what was made, the last first.
    fn take_back(self, group: &mut impl Group) -> Result<(), StoreError> {
        let Self { writes, bytes } = self;
        writes.into_iter().rev().try_for_each(|(write, old)| {
            group.take_back(write.space, write.key, old.and_then(|place| bytes.get(place)))
        })
    }
}

/// Writes all operations of commits, each with the spaces in which the rows of its batches lie, or none; whether it did. Gives up where
/// too much of what was there would have to be kept. Rows must be stamped.
pub(super) fn attempt(group: &mut impl Group, commits: &[(&PreparedCommit, Vec<Space>)]) -> Result<bool, StoreError> {
    let Some(writes) = in_order_of_keys(commits) else { return Ok(false) };
    let mut made = Made { writes: Vec::with_capacity(writes.len()), bytes: Vec::new() };
    let mut rest = writes.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        let (run, after) = rest.split_at(run_length(first, tail));
        let (allowed, after) = match run.len() {
            ..MIN_RUN => (swap(group, first, &mut made)?, tail),
            _ => (insert(group, run, &mut made)?, after),
        };
        if !allowed || made.bytes.len() > MAX_OLD_BYTES {
            made.take_back(group)?;
            return Ok(false);
        }
        rest = after;
    }
    Ok(true)
}

/// The writes, so that neighbours in the file are written one after the other; `None` if one is made from what is there.
fn in_order_of_keys<'a>(commits: &'a [(&'a PreparedCommit, Vec<Space>)]) -> Option<Vec<Write<'a>>> {
    let mut writes = Vec::with_capacity(commits.iter().map(|(commit, _)| commit.operations.len()).sum());
    for (commit, spaces) in commits {
        for (batch, space) in commit.batches.iter().zip(spaces) {
            for operation in commit.operations(batch) {
                if matches!(operation.action, Action::Merge(..) | Action::InsertOrMerge(_)) {
                    return None;
                }
                let value = operation.encoded.as_ref().map(|encoded| encoded.value(&commit.bytes));
                writes.push(Write { space: *space, key: commit.key(operation), value, action: &operation.action });
            }
        }
    }
    Some(sorted(&writes))
}

/// The writes in order of their keys; those of one row stay in the order of their commits.
fn sorted<'a>(writes: &[Write<'a>]) -> Vec<Write<'a>> {
    let shared = shared_length(writes.iter().map(|write| write.key));
    let head = |key: &[u8]| head(key.get(shared..).unwrap_or_default());
    let place = |(at, write): (usize, &Write<'_>)| Place { space: write.space.number(), head: head(write.key), at };
    let mut places: Vec<_> = writes.iter().enumerate().map(place).collect();
    let key = |place: &Place| writes.get(place.at).map(|write| write.key);
    places.sort_unstable_by(|a, b| {
        let by_numbers = (a.space, a.head).cmp(&(b.space, b.head));
        by_numbers.then_with(|| key(a).cmp(&key(b)).then_with(|| a.at.cmp(&b.at)))
    });
    places.iter().filter_map(|place| writes.get(place.at).copied()).collect()
}

/// With how many bytes all keys begin alike.
fn shared_length<'k>(mut keys: impl Iterator<Item = &'k [u8]>) -> usize {
    let first = keys.next().unwrap_or_default();
    keys.fold(first.len(), |shared, key| {
        let alike = first.get(..shared).is_some_and(|head| key.starts_with(head));
        if alike { shared } else { first.iter().zip(key).take_while(|(a, b)| a == b).count() }
    })
}

/// The first bytes of a key, so that keys with other heads are in the order of those: one that ends is in front of those that go on.
fn head(key: &[u8]) -> u128 {
    match key.first_chunk() {
        Some(head) => u128::from_be_bytes(*head),
        None => {
            let mut head = [0; 16];
            head.iter_mut().zip(key).for_each(|(to, byte)| *to = *byte);
            u128::from_be_bytes(head)
        }
    }
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
fn swap<'a>(group: &mut impl Group, write: &'a Write<'a>, made: &mut Made<'a>) -> Result<bool, StoreError> {
    group.swap(write.space, write.key, write.value, |old| {
        made.add(write, old);
        write.allows(old)
    })
}

/// Inserts new rows; whether none of them was there.
fn insert<'a>(group: &mut impl Group, run: &'a [Write<'a>], made: &mut Made<'a>) -> Result<bool, StoreError> {
    let rows = run.iter().filter_map(|write| Some((write.key, write.value?)));
    let Some(space) = run.first().map(|write| write.space) else { return Ok(true) };
    let inserted = group.insert_run(space, rows)?;
    run.iter().take(inserted).for_each(|write| made.add(write, None));
    Ok(inserted == run.len())
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

#[cfg(test)]
mod tests {
    use std::ops::{Bound, ControlFlow};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        Batch, Condition, ETag, Properties, StoreErrorKind,
        embedded::{
            dictionary::Dictionary,
            engine::{Engine, Snapshot, Sync, TableId},
            prepare::prepare,
            redb_engine::{RedbEngine, open_backend},
        },
    };

    const SPACE: Space = Space::Rows(TableId(1));

    fn engine() -> RedbEngine {
        let engine = open_backend(Box::new(redb::backends::InMemoryBackend::new()), 1 << 20).unwrap();
        engine.apply(Sync::Disk, |group| group.create(SPACE)).unwrap();
        engine
    }

    fn inserts(rows: impl Iterator<Item = u32>) -> Batch {
        rows.fold(Batch::new("Table", "p"), |batch, row| {
            batch.with(format!("row{row:05}"), Action::Insert(Properties::from_iter([("A", row as i32)])))
        })
    }

    /// Whether the batch was written, and whether there was anything to commit.
    fn attempted(engine: &RedbEngine, batch: Batch) -> (bool, bool) {
        let mut prepared = prepare(&[batch], &Dictionary::new([]));
        let PreparedCommit { operations, bytes, .. } = &mut prepared;
        operations.iter().flat_map(|it| &it.encoded).for_each(|row| row.stamp(bytes, SPACE, 7));
        let applied = engine.apply(Sync::Disk, |group| attempt(group, &[(&prepared, vec![SPACE])])).unwrap();
        (applied.result, applied.committed)
    }

    fn stored(engine: &RedbEngine) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut entries = Vec::new();
        let see = |key: &[u8], value: &[u8]| {
            entries.push((key.to_vec(), value.to_vec()));
            Ok(ControlFlow::Continue(()))
        };
        engine.snapshot().unwrap().scan(SPACE, (Bound::Unbounded, Bound::Unbounded), see).unwrap();
        entries
    }

    proptest! {
        /// Keys that begin alike, end in zeros, are a beginning of others, and come again in the same space and in another.
        #[test]
        fn writes_are_in_order_of_their_keys_and_those_of_one_row_as_they_came(
            keys in prop::collection::vec((0..2_u32, "[ab\0]{0,4}", "[ab\0\u{7f}]{0,20}"), 0..60),
            shared in "[a-z]{0,20}",
        ) {
            let keys: Vec<_> = keys
                .iter()
                .map(|(id, start, end)| (Space::Rows(TableId((*id).into())), [&shared, start.as_str(), end].concat()))
                .collect();
            let action = Action::Insert(Properties::new());
            let writes: Vec<_> = keys
                .iter()
                .map(|(space, key)| Write { space: *space, key: key.as_bytes(), value: None, action: &action })
                .collect();
            let mut expected: Vec<_> = keys.iter().map(|(space, key)| (space.number(), key.as_ptr(), key)).collect();
            expected.sort_by_key(|(space, _, key)| (*space, *key));
            let told: Vec<_> = sorted(&writes).iter().map(|write| (write.space.number(), write.key.as_ptr())).collect();
            prop_assert_eq!(told, expected.into_iter().map(|(space, at, _)| (space, at)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn runs_of_new_rows_go_around_those_that_are_there() {
        let engine = engine();
        assert_eq!(attempted(&engine, inserts((0..90).filter(|row| row % 7 == 0))), (true, true));
        assert_eq!(attempted(&engine, inserts((0..90).rev().filter(|row| row % 7 != 0))), (true, true));
        let keys: Vec<_> = stored(&engine).into_iter().map(|(key, _)| key).collect();
        let expected: Vec<_> = (0..90).map(|row| format!("p\0row{row:05}").into_bytes()).collect();
        assert_eq!(keys, expected);
    }

    #[test]
    fn what_is_refused_leaves_everything_as_it_was_and_nothing_to_commit() {
        let engine = engine();
        assert_eq!(attempted(&engine, inserts(40..60)), (true, true));
        let before = stored(&engine);
        let none = Properties::new;
        let other = Condition::Match(ETag::from_stamp(8));
        let refused = [
            inserts(0..41),
            inserts(59..90),
            inserts(0..3).with("row00059", Action::Insert(none())),
            Batch::new("Table", "p")
                .with("row00040", Action::Delete(Condition::Exists))
                .with("row00041", Action::InsertOrReplace(none()))
                .with("row00042", Action::Replace(none(), Condition::Exists))
                .with("row00043", Action::Replace(none(), other.clone())),
            inserts(0..20).with("row00044", Action::Delete(other)),
            inserts(0..20).with("row00099", Action::Delete(Condition::Exists)),
            inserts(0..20).with("row00045", Action::Merge(none(), Condition::Exists)),
        ];
        for batch in refused {
            assert_eq!(attempted(&engine, batch.clone()), (false, false), "{batch:?}");
            assert_eq!(stored(&engine), before, "{batch:?}");
        }
    }

    #[test]
    fn large_rows_are_not_all_kept_in_memory_to_take_them_back() {
        let engine = engine();
        let large: Properties = (0..15).map(|at| (format!("A{at}"), vec![1_u8; 64 * 1024])).collect();
        let keys: Vec<_> = (0..40).map(|row| format!("row{row:05}")).collect();
        for key in &keys {
            let batch = Batch::new("Table", "p").with(key.as_str(), Action::Insert(large.clone()));
            assert_eq!(attempted(&engine, batch), (true, true));
        }
        let delete = |keys: &[String]| {
            let delete = |batch: Batch, key: &String| batch.with(key.as_str(), Action::Delete(Condition::Exists));
            keys.iter().fold(Batch::new("Table", "p"), delete)
        };
        assert_eq!(attempted(&engine, delete(&keys)), (false, false));
        assert_eq!(stored(&engine).len(), keys.len());
        assert_eq!(attempted(&engine, delete(&keys[..30])), (true, true));
    }

    #[test]
    fn a_damaged_row_is_neither_overwritten_nor_removed() {
        let engine = engine();
        assert_eq!(attempted(&engine, inserts(0..1)), (true, true));
        let damage = |group: &mut <RedbEngine as Engine>::Group<'_>| group.put(SPACE, b"p\0row00000", b"damaged");
        engine.apply(Sync::Disk, damage).unwrap();
        let delete = Batch::new("Table", "p").with("row00000", Action::Delete(Condition::Exists));
        assert_eq!(attempted(&engine, delete), (false, false));
        assert_eq!(stored(&engine), [(b"p\0row00000".to_vec(), b"damaged".to_vec())]);
        let damaged = StoredRow::checked(SPACE, b"p\0row00000", b"damaged").unwrap_err();
        assert_eq!(damaged.kind(), StoreErrorKind::Corrupt);
    }
}
