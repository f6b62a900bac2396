//! Several programs at one migration: they share its ranges, and each takes over what another left behind.

use std::{sync::Arc, time::Duration};

use tablemodel::{
    Consistency, ErrorKind, IndexState,
    migrations::Applied,
    prelude::*,
    store::{TableStore, fault::FaultStore},
    testing::{Fault, Script, TestDatabase},
};

use super::{Club, MODES, assert_built, assert_clean, filled, next, program, program_over, rewrites::second};
use crate::points::points;

async fn apply(db: &Database, batch: usize) -> tablemodel::Result<Applied> {
    db.migrations().apply().rate(50.0).batch(batch).workers(1).wait(Duration::from_secs(3_000)).await
}

#[tokio::test]
async fn two_programs_share_a_migration() {
    let store = filled(Consistency::Azure, 6, 40).await;
    let (one, other) = (next::<Club>(&store).await, program::<Club>(&store).await);
    let (first, second) = tokio::join!(apply(&one, 10), apply(&other, 10));
    let (first, second) = (first.expect("applied"), second.expect("applied"));
    assert!(first.is_complete() && second.is_complete(), "{first:?} {second:?}");
    assert_eq!(first.touched + second.touched, 240, "no entity is written twice");
    assert!(first.touched >= 40 && second.touched >= 40, "{} and {}", first.touched, second.touched);
    assert_eq!((first.migration, first.steps), (second.migration, second.steps));
    assert_eq!(one.migrations().status().await.unwrap().expect("told").touched, 240);
    assert_built(&one, "shared").await;
}

#[tokio::test]
async fn two_calls_of_one_program_share_a_migration_too() {
    for mode in MODES {
        let store = filled(mode, 4, 60).await;
        let db = next::<second::Club>(&store).await;
        let (first, second) = tokio::join!(apply(&db, 10), apply(&db, 10));
        let (first, second) = (first.expect("applied"), second.expect("applied"));
        assert!(first.is_complete() && second.is_complete(), "{mode:?}: {first:?} {second:?}");
        assert_eq!(first.touched + second.touched, 240, "{mode:?}");
        assert!(first.touched > 0 && second.touched > 0, "{mode:?}: {} and {}", first.touched, second.touched);
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn who_cannot_help_waits_as_long_as_was_asked_for() {
    let store = filled(Consistency::Azure, 1, 40).await;
    let (one, other) = (next::<Club>(&store).await, program::<Club>(&store).await);
    let slow = async { one.migrations().apply().rate(0.2).batch(10).await };
    let helper = async {
        tokio::task::yield_now().await;
        other.migrations().apply().wait(Duration::from_secs(10)).await
    };
    let (slow, helper) = tokio::join!(slow, helper);
    assert!(slow.expect("applied").is_complete());
    let error = helper.expect_err("its one range is taken");
    assert_eq!(*error.kind(), ErrorKind::MigrationRunning { migration: "0001".into() });
    assert_built(&one, "by one").await;
}

#[tokio::test]
async fn nobody_helps_with_what_is_being_taken_back() {
    let store = filled(Consistency::Azure, 2, 40).await;
    let (one, other) = (next::<second::Club>(&store).await, program::<second::Club>(&store).await);
    apply(&one, 10).await.expect("applied");
    let back = async { one.migrations().rollback().await };
    let helper = async {
        tokio::task::yield_now().await;
        apply(&other, 10).await
    };
    let (back, helper) = tokio::join!(back, helper);
    assert_eq!(back.expect("taken back").steps[0].state, IndexState::Absent);
    let error = helper.expect_err("it is being taken back");
    assert!(matches!(error.kind(), ErrorKind::MigrationRunning { .. }), "{error}");
}

/// A program whose store dies with one of its calls.
async fn mortal(store: &TestDatabase, call: Option<usize>) -> (Database, FaultStore) {
    let faults = FaultStore::new(store.store(), Script::new());
    let db = program_over::<second::Club>(store, Arc::new(faults.clone()) as Arc<dyn TableStore>).await;
    let from = faults.calls();
    faults.replan(call.map_or(Script::new(), |call| Script::new().at(from + call, Fault::CrashAfter)));
    (db, faults)
}

/// Applies by two programs of a copy, one of which dies, and tells how often that one called its store; the other ends what both began.
async fn joined(whole: &TestDatabase, dies_first: bool, at: Option<usize>, told: &str) -> usize {
    let store = whole.fork().expect("in memory");
    let heir = program::<second::Club>(&store).await;
    let (mortal, faults) = mortal(&store, at).await;
    let from = faults.calls();
    let (dead, applied) = match dies_first {
        true => tokio::join!(apply(&mortal, 4), apply(&heir, 4)),
        false => {
            let (applied, dead) = tokio::join!(apply(&heir, 4), apply(&mortal, 4));
            (dead, applied)
        }
    };
    assert!(at.is_some() || dead.is_ok(), "{told}: {dead:?}");
    let applied = applied.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    assert!(applied.is_complete(), "{told}: {applied:?}");
    let of = super::all_rows(&heir, "Club").await;
    assert_eq!(of.iter().filter(|row| row.properties.get("Town").is_some()).count(), 36, "{told}");
    assert_clean(&heir, told).await;
    let plan = heir.migrations().plan().await.unwrap();
    assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
    faults.calls() - from
}

/// Whichever of them dies, and whenever: the other ends what both began.
#[tokio::test]
async fn of_two_programs_either_may_die_anywhere() {
    let whole = filled(Consistency::Azure, 3, 12).await;
    next::<second::Club>(&whole).await;
    for dies_first in [true, false] {
        let told = format!("the {} dies", if dies_first { "first" } else { "second" });
        let calls = joined(&whole, dies_first, None, &told).await;
        assert!(calls > 20, "{calls} calls");
        for call in points(calls, 40, &told) {
            joined(&whole, dies_first, Some(call), &format!("{told} at call {call} of {calls}")).await;
        }
    }
}
