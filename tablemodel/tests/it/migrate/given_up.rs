//! Migrations whose futures are dropped, as by a timeout, while their program goes on: the next call of it takes them up.

use std::time::Duration;

use tablemodel::{Consistency, IndexState, prelude::*, store::clock::Clock, testing::TestDatabase};

use super::{Club, MODES, all_rows, assert_built, assert_clean, filled, first, program_over};
use crate::{
    dropped::{Slow, dropped_after},
    points::{ALL, points},
};

/// By which time the program knows without asking that the call is over.
const AT_ONCE: Duration = Duration::from_secs(20);

/// A program that lets others go first with each request.
async fn slow<M: TableModel>(store: &TestDatabase) -> Database {
    let db = program_over::<M>(store, Slow::over(store.store())).await;
    db.ensure_tables().await.expect("ensured");
    db
}

/// Begins a call, drops it after some of its turns, and makes it again: at each of many points.
async fn given_up<M: TableModel>(
    whole: &TestDatabase,
    call: impl AsyncFn(&Database) -> tablemodel::Result<()>,
    assert_done: impl AsyncFn(&Database, &str),
) {
    let mode = whole.consistency();
    let (_, all) = dropped_after(ALL, call(&slow::<M>(&whole.fork().expect("in memory")).await)).await;
    assert!(all > 60, "{all} turns");
    for turns in points(all, 24, "given up") {
        let told = format!("{mode:?}, dropped after {turns} of {all} turns");
        let store = whole.fork().expect("in memory");
        let db = slow::<M>(&store).await;
        let (done, _) = dropped_after(turns, call(&db)).await;
        assert!(done.is_none(), "{told}: it ended before");
        let before = store.clock().monotonic();
        call(&db).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        let waited = store.clock().monotonic() - before;
        assert!(mode == Consistency::Azure || waited < AT_ONCE, "{told}: it waited for {waited:?}");
        assert_done(&db, &told).await;
    }
}

#[tokio::test]
async fn an_application_that_was_dropped_is_taken_up_by_the_next_call() {
    for mode in MODES {
        let whole = filled(mode, 2, 101).await;
        given_up::<Club>(
            &whole,
            async |db| {
                let applied = db.migrations().apply().workers(2).batch(50).await?;
                assert!(applied.is_complete(), "{applied:?}");
                Ok(())
            },
            async |db, told| assert_built(db, told).await,
        )
        .await;
    }
}

#[tokio::test]
async fn a_rollback_that_was_dropped_is_taken_up_by_the_next_call() {
    for mode in MODES {
        let whole = filled(mode, 2, 101).await;
        slow::<Club>(&whole).await.migrations().apply().await.expect("applied");
        whole.clock().advance(Duration::from_secs(130));
        given_up::<Club>(
            &whole,
            async |db| match db.migrations().rollback().await {
                Err(error) if *error.kind() == tablemodel::ErrorKind::NotFound => Ok(()), // it was over
                other => other.map(|gone| assert!(gone.steps.iter().all(|step| step.state == IndexState::Absent))),
            },
            async |db, told| {
                assert_clean(db, told).await;
                assert_eq!(all_rows(db, "People").await.len(), 0, "{told}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn what_takes_away_what_was_dropped_is_taken_up_by_the_next_call() {
    for mode in MODES {
        let whole = filled(mode, 2, 101).await;
        slow::<Club>(&whole).await.migrations().apply().await.expect("applied");
        whole.clock().advance(Duration::from_secs(130));
        given_up::<first::Club>(
            &whole,
            async |db| db.migrations().contract().await.map(drop),
            async |db, told| {
                assert_clean(db, told).await;
                assert_eq!(all_rows(db, "People").await.len(), 0, "{told}");
                assert!(db.migrations().plan().await.expect("planned").is_empty(), "{told}");
            },
        )
        .await;
    }
}
