//! An application that stalls while cells are marked, and wakes when others have counted them.

use std::time::Duration;

use tablemodel::{
    Consistency, IndexState,
    testing::{Fault, Script, TestDatabase},
};

use super::{Club, assert_counted, assert_uncounted, before, filled, person};
use crate::{
    migrate::{next, program, states},
    stall::Program,
};

#[tokio::test]
async fn an_application_that_stalls_marks_no_cell_that_is_counted_by_then() {
    let whole = filled(Consistency::Azure, 2, 3).await;
    whole.clock().advance(Duration::from_secs(130));
    for at in (0..).step_by(4) {
        let store = whole.fork().expect("in memory");
        let (other, clock) = (next::<Club>(&store).await, store.clock().clone());
        let meanwhile = async move {
            clock.advance(Duration::from_secs(300));
            let applied = other.migrations().apply().await.expect("built");
            assert!(applied.is_complete(), "{applied:?}");
        };
        let stalled = Program::sleeping::<Club>(&store, at, Box::pin(meanwhile)).await;
        let applied = stalled.db.migrations().apply().await;
        if !stalled.has_stalled() {
            assert!(at > 40, "{at} calls");
            break;
        }
        assert_counted(&next::<Club>(&store).await, &format!("stalled at call {at}: {applied:?}")).await;
    }
}

/// A migration that died while the aggregates were written, and not read.
async fn half_built() -> TestDatabase {
    let whole = filled(Consistency::Azure, 2, 3).await;
    for call in (0..).step_by(3) {
        let store = whole.fork().expect("in memory");
        let db = next::<Club>(&store).await;
        store.fail(Script::new().at(call, Fault::CrashAfter));
        let applied = db.migrations().apply().workers(1).batch(2).await;
        store.fail(Script::new());
        assert!(applied.is_err(), "it was never half built");
        let store = store.reopen::<before::Club>().await.expect("opened");
        store.clock().advance(Duration::from_secs(130));
        let db = program::<Club>(&store).await;
        let is_begun = db.migrations().status().await.expect("read").is_some();
        if is_begun && states(&db).await.iter().all(|state| *state == IndexState::WriteOnly) {
            return store;
        }
    }
    unreachable!()
}

#[tokio::test]
async fn an_application_that_stalls_counts_nothing_for_an_aggregate_that_is_taken_away_by_then() {
    let whole = half_built().await;
    whole.clock().advance(Duration::from_secs(130));
    for at in 0.. {
        let store = whole.fork().expect("in memory");
        let other = next::<Club>(&store).await;
        let meanwhile = async move { drop(other.migrations().rollback().await.expect("taken back")) };
        let stalled = Program::sleeping::<Club>(&store, at, Box::pin(meanwhile)).await;
        let written = stalled.db.insert(&person("c0", 70, 3)).await;
        if !stalled.has_stalled() {
            assert!(at > 15, "{at} calls");
            break;
        }
        drop(stalled);
        assert_uncounted(&next::<Club>(&store).await, &format!("stalled at call {at}: {written:?}")).await;
    }
}

/// What it took to be nobody's may be counted anew by then.
#[tokio::test]
async fn a_rollback_that_stalls_empties_no_total_that_was_built_anew() {
    let whole = filled(Consistency::Azure, 2, 3).await;
    next::<Club>(&whole).await.migrations().apply().await.expect("applied");
    whole.clock().advance(Duration::from_secs(130));
    for at in (0..).step_by(3) {
        let store = whole.fork().expect("in memory");
        let (other, clock) = (program::<Club>(&store).await, store.clock().clone());
        let meanwhile = async move {
            clock.advance(Duration::from_secs(300));
            let _ = other.migrations().rollback().await; // it may have nothing to take back
            other.migrations().apply().await.expect("built anew");
        };
        let stalled = Program::sleeping::<Club>(&store, at, Box::pin(meanwhile)).await;
        let taken = stalled.db.migrations().rollback().await;
        if !stalled.has_stalled() {
            assert!(at > 40, "{at} calls");
            break;
        }
        store.clock().advance(Duration::from_secs(130));
        let (db, told) = (next::<Club>(&store).await, format!("stalled at call {at}: {taken:?}"));
        let plan = db.migrations().plan().await.expect("read");
        match plan.is_empty() {
            true => assert_counted(&db, &told).await,
            false => assert_uncounted(&db, &told).await, // it began after the others were through
        }
    }
}
