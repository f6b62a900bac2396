//! Operations of every room whose futures are dropped after some of their turns, as by a timeout, while their program goes on: the entities
//! are as before or as after, the same operation may be asked for again, and the tables hold exactly their rows.

use tablemodel::{ErrorKind, Result, testing::TestDatabase};

use super::{
    Model, Stage,
    rooms::{Op, assert_exact, ops, prepared, run},
};
use crate::{
    dropped::{Slow, dropped_after},
    migrate::{MODES, program_over},
    points::{ALL, points},
};

/// A program that lets others go first with each request.
async fn slow(store: &TestDatabase) -> Stage {
    let db = program_over::<Model>(store, Slow::over(store.store())).await;
    Stage { db, blobs: store.blob_store(), clock: store.clock().clone() }
}

/// What had happened already, or another's relay finishes.
fn is_fair(result: &Result<()>) -> bool {
    use ErrorKind::{AlreadyExists, Conflict, NotFound, Unavailable, UniqueViolation};
    result.as_ref().err().map(|error| error.kind().clone()).is_none_or(|kind| {
        matches!(kind, AlreadyExists | Conflict { .. } | NotFound | Unavailable | UniqueViolation { .. })
    })
}

/// Drops the operation at many points, and asks for it again at once, at every other of them. Gives how many.
async fn give_up(prepared: &TestDatabase, op: Op) -> usize {
    let stage = slow(&prepared.fork().expect("in memory")).await;
    let before = stage.entities().await;
    let (done, all) = dropped_after(ALL, run(&stage.db, op)).await;
    done.expect("not dropped").expect("no fault");
    stage.settle().await;
    let after = stage.entities().await;
    let _ = Box::pin(run(&stage.db, op)).await; // it may have nothing to do any more
    stage.settle().await;
    let twice = stage.entities().await;
    let tried = points(all, 10, &format!("{op:?}"));
    for (number, turns) in tried.iter().enumerate() {
        let again = number % 2 == 1;
        let told = format!("{:?} {op:?}, dropped after {turns} of {all} turns, again: {again}", prepared.consistency());
        let stage = slow(&prepared.fork().expect("in memory")).await;
        let (done, _) = dropped_after(*turns, Box::pin(run(&stage.db, op))).await;
        assert!(done.is_none(), "{told}: it ended before");
        let repeated = if again { Some(Box::pin(run(&stage.db, op)).await) } else { None };
        assert!(repeated.as_ref().is_none_or(is_fair), "{told}: {repeated:?}");
        stage.settle().await;
        let now = stage.entities().await;
        let fitting = if matches!(repeated, Some(Ok(()))) { &twice } else { &before };
        let is_done = now == after || now == *fitting;
        assert!(is_done, "{told}: {repeated:?} {now:#?}");
        assert_exact(&stage, &told).await;
    }
    tried.len()
}

#[tokio::test]
async fn an_operation_that_was_dropped_anywhere_happened_whole_or_not_at_all_and_may_be_asked_for_again() {
    for mode in MODES {
        let (prepared, mut tried) = (prepared(mode).await, 0);
        for op in ops() {
            tried += Box::pin(give_up(&prepared, op)).await;
        }
        assert!(tried > 100, "{tried}");
    }
}
