//! Groups that are written together, beside the same commits one after the other.

use std::ops::{Bound, ControlFlow};

use proptest::prelude::*;
use redb::backends::InMemoryBackend;

use super::*;
use crate::{
    Batch, Condition,
    embedded::{
        engine::{Engine, Snapshot, Sync},
        prepare::prepare,
        redb_engine::{RedbEngine, open_backend},
    },
};

/// A clock that stands still.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> DateTime {
        DateTime::UNIX_EPOCH
    }
}

const TABLE: &str = "Table";
const ROWS: u16 = 900;

/// A store's writing half, with a table.
struct Writing {
    engine: RedbEngine,
    names: Arc<Dictionary>,
    state: State,
}

impl Writing {
    fn new() -> Self {
        let engine = open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
        let (catalogue, names) = (Arc::new(Catalogue::default()), Arc::new(Dictionary::new([])));
        let counters = Counters { last_stamp: 1, next_table: 1 };
        let state = State::new(catalogue, Arc::clone(&names), counters, Vec::new(), 0, Arc::new(Still));
        let mut new = Self { engine, names, state };
        new.group(vec![Work::CreateTable(TABLE.to_owned())]);
        new
    }

    fn group(&mut self, work: Vec<Work>) -> Vec<Reply> {
        let applied = self.engine.apply(Sync::Disk, |group| {
            let replies = self.state.carry_out(group, work)?;
            self.state.settle(group)?;
            Ok(replies)
        });
        applied.unwrap().result
    }

    fn work(&self, batch: &Batch) -> Work {
        Work::Commit(prepare(std::slice::from_ref(batch), &self.names))
    }

    fn stored(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut entries = Vec::new();
        let see = |key: &[u8], value: &[u8]| {
            entries.push((key.to_vec(), value.to_vec()));
            Ok(ControlFlow::Continue(()))
        };
        let space = self.state.catalogue.rows(TABLE).unwrap();
        self.engine.snapshot().unwrap().scan(space, (Bound::Unbounded, Bound::Unbounded), see).unwrap();
        entries
    }
}

/// A batch of rows, `step` apart; `odd` is done to the last of them, or to all, and the others are inserted or replaced.
fn batch((first, step, count, odd): (u16, u16, u16, u8)) -> Batch {
    let properties = Properties::from_iter([("First", i32::from(first))]);
    (0..count).fold(Batch::new(TABLE, "p"), |batch, at| {
        let action = match odd {
            0 if at + 1 == count => Action::Insert(properties.clone()),
            1 if at + 1 == count => Action::Delete(Condition::Exists),
            2 if at + 1 == count => Action::Merge(properties.clone(), Condition::Exists),
            3 if at + 1 == count => Action::Replace(properties.clone(), Condition::Match(ETag::from_stamp(7))),
            4 => Action::Insert(properties.clone()),
            _ => Action::InsertOrReplace(properties.clone()),
        };
        batch.with(format!("row{:04}", (first + at * step) % ROWS), action)
    })
}

fn said(replies: &[Reply]) -> Vec<String> {
    replies.iter().map(|reply| format!("{reply:?}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_group_leaves_and_answers_what_its_commits_would_one_after_the_other(
        groups in prop::collection::vec(
            prop::collection::vec((0..ROWS, 1..4_u16, 100..290_u16, 0..40_u8), 1..6),
            1..4,
        ),
    ) {
        let (mut together, mut apart) = (Writing::new(), Writing::new());
        for group in groups {
            let batches: Vec<_> = group.into_iter().map(batch).collect();
            let work = batches.iter().map(|batch| together.work(batch)).collect();
            let replies = together.group(work);
            let one_by_one: Vec<_> = batches.iter().flat_map(|batch| apart.group(vec![apart.work(batch)])).collect();
            prop_assert_eq!(said(&replies), said(&one_by_one));
            prop_assert_eq!(together.stored(), apart.stored());
            prop_assert!(together.state.changed().eq(apart.state.changed()));
        }
    }
}

#[test]
fn where_a_commit_of_a_large_group_is_refused_the_others_are_written_all_the_same() {
    let mut writing = Writing::new();
    writing.group(vec![writing.work(&batch((799, 1, 1, 99)))]);
    // Their rows lie between each other; the second inserts the one that is there.
    let (first, second) = (batch((0, 2, 400, 4)), batch((1, 2, 400, 4)));
    let replies = writing.group(vec![writing.work(&first), writing.work(&second)]);
    assert_eq!(replies[0].as_ref().map(Vec::len).unwrap(), 1);
    assert_eq!(replies[1].as_ref().unwrap_err().kind(), crate::StoreErrorKind::RowExists);
    assert_eq!(writing.stored().len(), 401);
    assert_eq!(writing.state.changed().count(), 401);
}

#[test]
fn of_two_commits_of_a_group_that_insert_the_same_row_the_first_has_it() {
    let mut writing = Writing::new();
    let (first, second, third) = (batch((0, 2, 400, 4)), batch((500, 1, 100, 4)), batch((1, 2, 300, 4)));
    let replies = writing.group([first, second, third].iter().map(|batch| writing.work(batch)).collect());
    let written: Vec<_> = replies.iter().map(Result::is_ok).collect();
    assert_eq!(written, [true, false, true]);
    assert_eq!(writing.stored().len(), 700);
}
