//! A fault at every store call, in both modes.

use tablemodel::{Consistency, IndexState, testing::TestDatabase};

use super::{
    super::{
        crashes::{at_calls, at_every_call},
        next, program, states,
    },
    Club, assert_counted, assert_uncounted, filled,
};

/// Clubs, and persons in each: few where each call costs a fork of the store and a walk over it; more than what is built as the
/// tables are ensured, and then without a team, whose 250 days would be planned for each of them.
const PERSONS: [(Consistency, u32, u32); 2] = [(Consistency::Azure, 2, 1), (Consistency::Atomic, 1, 202)];

#[tokio::test]
async fn a_migration_that_died_at_some_calls_is_taken_up() {
    dying_at(16).await;
}

/// At all of them.
#[tokio::test]
#[ignore = "half an hour where it is not optimised; every sixteenth call is tried always"]
async fn a_migration_that_died_anywhere_is_taken_up() {
    dying_at(1).await;
}

async fn dying_at(step: usize) {
    for (mode, clubs, persons) in PERSONS {
        let calls = at_calls(
            step,
            filled(mode, clubs, persons).await,
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

async fn built(mode: Consistency, clubs: u32, persons: u32) -> TestDatabase {
    let store = filled(mode, clubs, persons).await;
    next::<Club>(&store).await.migrations().apply().await.expect("applied");
    store.clock().advance(std::time::Duration::from_secs(130));
    store
}

#[tokio::test]
async fn a_rollback_that_died_anywhere_is_taken_up() {
    for (mode, clubs, persons) in PERSONS {
        at_every_call(
            built(mode, clubs, persons).await,
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
