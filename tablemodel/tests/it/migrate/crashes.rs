//! A fault at every store call of a migration, in both modes: whoever goes on ends with indexes that are exact, and repeats at
//! most a batch.

use tablemodel::{
    Consistency, IndexState,
    prelude::*,
    testing::{CallKind, CallRecord, Fault, Script, TestDatabase},
};

use super::{Club, MODES, all_rows, assert_built, assert_clean, badged, filled, first, next, program, states, unique};
use crate::{
    crashes::{GONE, replay, writing},
    points::{ALL, points},
};

/// The calls that wrote states of indexes.
pub(super) fn moves_of_states(calls: &[CallRecord]) -> Vec<usize> {
    let is_state = |(_, row): &(_, String)| row.starts_with("index|");
    let writes = |call: &CallRecord| match &call.call {
        CallKind::Commit { batches } => {
            batches.iter().any(|batch| batch.table == "tmschema" && batch.operations.iter().any(is_state))
        }
        _ => false,
    };
    (0..calls.len()).filter(|call| writes(&calls[*call])).collect()
}

/// How many rows of `unique::Club`'s index there are.
async fn badges(db: &Database) -> usize {
    all_rows(db, "Club").await.iter().filter(|row| row.key.row.starts_with("badge_")).count()
}

#[tokio::test]
async fn a_migration_that_died_anywhere_is_taken_up() {
    for mode in MODES {
        let calls = replay::<first::Club, _, _>(
            ("a unique index", 28),
            &badged(mode, 3, 70).await,
            async |store| next::<unique::Club>(store).await,
            async |db| db.migrations().apply().workers(2).await.map(drop),
            async |store, told| {
                let db = next::<unique::Club>(store).await;
                let applied = db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert!(applied.is_complete(), "{told}: {applied:?}");
                assert_eq!(badges(&db).await, 210, "{told}: one row for each person");
                assert_clean(&db, told).await;
                let plan = db.migrations().plan().await.unwrap();
                assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
            },
        )
        .await;
        assert!(calls > 20, "{calls} calls");
    }
}

/// Few entities, of which each has rows in other partitions; in the atomic mode, where few are built with the tables, also so many
/// that they are not, in three batches.
#[tokio::test]
async fn a_migration_of_every_kind_of_index_that_died_anywhere_is_taken_up() {
    for (mode, persons, at_most) in
        [(Consistency::Azure, 3, 24), (Consistency::Atomic, 3, 24), (Consistency::Atomic, 201, 8)]
    {
        let calls = replay::<first::Club, _, _>(
            (&format!("{persons} persons"), at_most),
            &filled(mode, 1, persons).await,
            async |store| program::<Club>(store).await,
            async |db| {
                db.ensure_tables().await?;
                db.migrations().apply().workers(1).batch(100).await.map(drop)
            },
            async |store, told| {
                let db = next::<Club>(store).await;
                db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_built(&db, told).await;
            },
        )
        .await;
        assert!(calls > 20, "{calls} calls");
    }
}

#[tokio::test]
async fn what_is_repeated_is_at_most_a_batch_of_each_range() {
    const BATCH: u64 = 20;
    let filled = badged(Consistency::Azure, 3, 70).await;
    let opened = async || {
        let store = filled.fork().expect("in memory");
        let db = next::<unique::Club>(&store).await;
        (store, db)
    };
    let (store, db) = opened().await;
    store.forget_calls();
    db.migrations().apply().batch(20).await.expect("applied");
    let writing = writing(&store.calls());
    assert!(writing.len() > 20, "{writing:?}");
    for call in points(writing.len(), 40, "repeated").into_iter().map(|point| writing[point]) {
        let (store, db) = opened().await;
        store.fail(Script::new().at(call, Fault::CrashAfter));
        db.migrations().apply().batch(20).await.expect_err("it died");
        store.fail(Script::new());
        let store = store.reopen::<first::Club>().await.expect("opened");
        store.clock().advance(GONE);
        let db = next::<unique::Club>(&store).await;
        let saved = db.migrations().status().await.unwrap().map_or(0, |status| status.touched);
        let applied = db.migrations().apply().await.expect("applied");
        assert_eq!(applied.touched, 210 - saved, "call {call}: what was saved is not repeated");
        let raised = all_rows(&db, "Club").await;
        let number = |row: &tablemodel::Row| match row.properties.get("_seq") {
            Some(tablemodel::ValueRef::Int64(number)) => number,
            other => panic!("{other:?}"),
        };
        let people: Vec<_> = raised.iter().filter(|row| row.key.row.starts_with("p_")).map(number).collect();
        let least = people.iter().min().expect("some");
        let twice = people.iter().filter(|number| *number > least).count() as u64;
        assert!(twice <= 3 * BATCH, "call {call}: {twice} were written twice");
        assert_eq!(badges(&db).await, 210, "call {call}");
    }
}

/// A store with the index, whose builder has ended.
async fn built(mode: Consistency) -> TestDatabase {
    let store = badged(mode, 2, 101).await;
    let db = next::<unique::Club>(&store).await;
    db.migrations().apply().await.expect("applied");
    assert_eq!(badges(&db).await, 202, "{mode:?}");
    store.clock().advance(GONE);
    store
}

#[tokio::test]
async fn a_rollback_that_died_anywhere_is_taken_up() {
    for mode in MODES {
        replay::<first::Club, _, _>(
            ("taken back", ALL),
            &built(mode).await,
            async |store| program::<unique::Club>(store).await,
            async |db| db.migrations().rollback().await.map(drop),
            async |store, told| {
                let db = program::<unique::Club>(store).await;
                if states(&db).await != [IndexState::Absent]
                    || db.migrations().plan().await.unwrap().unfinished.is_some()
                {
                    db.migrations().rollback().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                }
                assert_eq!(states(&db).await, [IndexState::Absent], "{told}");
                assert_clean(&db, told).await;
                assert_eq!(all_rows(&db, "Club").await.len(), 202, "{told}: no row of the index is left");
            },
        )
        .await;
    }
}

/// What a contraction of all that the second release added leaves: the persons.
async fn assert_contracted(db: &Database, persons: usize, told: &str) {
    let plan = db.migrations().plan().await.expect("planned");
    assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
    assert_clean(db, told).await;
    let left = all_rows(db, "Club").await.into_iter().filter(|row| !row.key.row.starts_with("~~"));
    assert_eq!(left.count(), persons, "{told}: beside outbox rows that wait for the fence");
    assert!(all_rows(db, "People").await.is_empty() && all_rows(db, "Names").await.is_empty(), "{told}");
}

#[tokio::test]
async fn a_contract_that_died_anywhere_is_taken_up() {
    for mode in MODES {
        let store = filled(mode, 2, 60).await;
        let db = next::<Club>(&store).await;
        db.migrations().apply().await.expect("applied");
        assert_built(&db, &format!("{mode:?}")).await;
        drop(db);
        store.clock().advance(GONE);
        let calls = replay::<first::Club, _, _>(
            ("contracted", ALL),
            &store,
            async |store| program::<first::Club>(store).await,
            async |db| db.migrations().contract().await.map(drop),
            async |store, told| {
                let db = program::<first::Club>(store).await;
                db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_contracted(&db, 120, told).await;
            },
        )
        .await;
        assert!(calls > 20, "{calls} calls");
    }
}
