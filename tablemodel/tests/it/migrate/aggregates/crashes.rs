//! A fault at every store call, in both modes.

use tablemodel::{Consistency, IndexState, testing::TestDatabase};

use super::{
    super::{crashes::at_every_call, next, program, states},
    Club, assert_counted, assert_uncounted, filled,
};

/// Few where each call costs a fork of the store and a walk over it; more than what is built as the tables are ensured.
const PERSONS: [(Consistency, u32); 2] = [(Consistency::Azure, 1), (Consistency::Atomic, 101)];

#[tokio::test]
async fn a_migration_that_died_anywhere_is_taken_up() {
    for (mode, persons) in PERSONS {
        let calls = at_every_call(
            filled(mode, 2, persons).await,
            async |store| next::<Club>(store).await,
            async |db| db.migrations().apply().workers(1).batch(150).await.map(drop),
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

async fn built(mode: Consistency, persons: u32) -> TestDatabase {
    let store = filled(mode, 2, persons).await;
    next::<Club>(&store).await.migrations().apply().await.expect("applied");
    store.clock().advance(std::time::Duration::from_secs(130));
    store
}

#[tokio::test]
async fn a_rollback_that_died_anywhere_is_taken_up() {
    for (mode, persons) in PERSONS {
        at_every_call(
            built(mode, persons).await,
            async |store| program::<Club>(store).await,
            async |db| db.migrations().rollback().await.map(drop),
            async |store, told| {
                let db = program::<Club>(store).await;
                if states(&db).await != [IndexState::Absent; 5]
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
