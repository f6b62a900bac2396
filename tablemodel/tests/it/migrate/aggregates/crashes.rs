//! A program that dies at its store calls while it counts, or takes back what was counted, in both modes.

use tablemodel::{Consistency, IndexState, testing::TestDatabase};

use super::{
    super::{first, next, program, states},
    Club, assert_counted, assert_uncounted, before, filled,
};
use crate::crashes::{GONE, replay};

/// In the atomic mode a store with more entities than these is not migrated while its tables are ensured.
const SMALL: u32 = 200;

/// Two clubs, one of them without a team: few persons, of whom each has many rows in other partitions, or so many that they take several
/// batches. Where more would be migrated with the tables, there are towns besides, which add to nothing.
async fn store(mode: Consistency) -> TestDatabase {
    let store = filled(mode, 2, if mode == Consistency::Azure { 1 } else { 6 }).await;
    if mode == Consistency::Atomic {
        let towns = (0..=SMALL).map(|number| before::Town { name: format!("t{number:03}"), mayor: "Lee".into() });
        let report = store.bulk().insert_all(futures_util::stream::iter(towns)).await.expect("written");
        assert!(report.failed.is_empty(), "{report:?}");
        store.clock().advance(GONE);
    }
    store
}

#[tokio::test]
async fn a_migration_that_died_anywhere_is_taken_up() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let calls = replay::<first::Club, _, _>(
            ("counted", 16),
            &store(mode).await,
            async |store| next::<Club>(store).await,
            async |db| db.migrations().apply().workers(1).batch(5).await.map(drop),
            async |store, told| {
                let db = next::<Club>(store).await;
                db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_counted(&db, told).await;
            },
        )
        .await;
        assert!(calls > 30, "{calls} calls");
    }
}

async fn built(mode: Consistency) -> TestDatabase {
    let store = store(mode).await;
    let applied = next::<Club>(&store).await.migrations().apply().await.expect("applied");
    assert!(applied.touched > 0, "it is not built with the tables: {applied:?}");
    store.clock().advance(GONE);
    store
}

#[tokio::test]
async fn a_rollback_that_died_anywhere_is_taken_up() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        replay::<first::Club, _, _>(
            ("taken back", 30),
            &built(mode).await,
            async |store| program::<Club>(store).await,
            async |db| db.migrations().rollback().await.map(drop),
            async |store, told| {
                let db = program::<Club>(store).await;
                if states(&db).await != [IndexState::Absent; 7]
                    || db.migrations().plan().await.unwrap().unfinished.is_some()
                {
                    db.migrations().rollback().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                }
                assert_uncounted(&db, told).await;
            },
        )
        .await;
    }
}
