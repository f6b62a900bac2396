//! Tasks that update one entity while the store fails, or some of them go away.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use tablemodel::{
    Error, ErrorKind,
    testing::{Script, TestDatabase},
};
use tokio::task::JoinSet;

use super::{buy, left, program, store};
use crate::{dropped::dropped_after, faults, migrate::MODES, points::points};

#[tokio::test]
async fn a_fault_at_any_store_call_loses_no_change_and_makes_none_twice() {
    let faults = faults::of_one_call();
    for mode in MODES {
        let whole = store(mode, 100).await;
        let calls = {
            let db = whole.fork().expect("in memory");
            let program = program(&db).await;
            db.forget_calls();
            join_all((0..8).map(|_| buy(&program))).await;
            db.calls().len()
        };
        for (fault, at) in
            faults.iter().flat_map(|fault| points(calls, 24, "updates").into_iter().map(move |at| (fault, at)))
        {
            let told = format!("{mode:?}, {fault:?} at call {at} of {calls}");
            let db = whole.fork().expect("in memory");
            let program = program(&db).await;
            db.fail(Script::new().at(at, fault.clone()));
            let bought = join_all((0..8).map(|_| buy(&program))).await;
            assert_told(&db, &bought, &told).await;
        }
    }
}

#[tokio::test]
async fn lost_replies_and_a_busy_store_change_nothing_twice() {
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (0..12).map(move |seed| (mode, seed))) {
        let db = store(mode, 100).await;
        let program = program(&db).await;
        db.fail(faults::now_and_then(seed));
        let bought = join_all((0..16).map(|_| buy(&program))).await;
        assert_told(&db, &bought, &format!("{mode:?}, seed {seed}")).await;
    }
}

/// That those who were told what they left have left it, each another number, and that of the others at most those may have taken one who were
/// told that it is not known.
async fn assert_told(db: &TestDatabase, bought: &[tablemodel::Result<u32>], told: &str) {
    let distinct: BTreeSet<_> = bought.iter().flatten().collect();
    let written = bought.iter().flatten().count();
    assert_eq!(distinct.len(), written, "{told}: {bought:?}");
    let is_unknown = |error: &&Error| *error.kind() == ErrorKind::OutcomeUnknown;
    let unknown = bought.iter().filter_map(|bought| bought.as_ref().err()).filter(is_unknown).count();
    let taken = 100 - left(db, told).await as usize;
    assert!((written..=written + unknown).contains(&taken), "{told}: {taken} were taken, {bought:?}");
}

#[tokio::test]
async fn who_goes_away_leaves_the_others_to_be_saved_and_their_changes_made_once() {
    const TASKS: u32 = 8;
    for mode in MODES {
        let whole = store(mode, 100).await;
        for gone in 0..TASKS {
            for after in 1.. {
                let told = format!("{mode:?}, {gone} is dropped after {after}");
                let db = whole.fork().expect("in memory");
                let program = program(&db).await;
                let mut running = JoinSet::new();
                for task in 0..TASKS {
                    let (program, turns) = (program.clone(), if task == gone { after } else { usize::MAX });
                    running.spawn(async move { (task, dropped_after(turns, buy(&program)).await.0) });
                }
                let (mut has_ended, mut told_left) = (true, BTreeSet::new());
                while let Some(ended) = running.join_next().await {
                    let (task, bought) = ended.expect("no task panics");
                    has_ended &= bought.is_some();
                    assert!(task == gone || bought.is_some(), "{told}: {task}");
                    let bought = bought.transpose().unwrap_or_else(|error| panic!("{told}, {task}: {error}"));
                    assert!(bought.is_none_or(|left| told_left.insert(left)), "{told}, {task}: {bought:?}");
                }
                let taken = 100 - left(&db, &told).await;
                assert!((TASKS - 1..=TASKS).contains(&taken), "{told}: {taken}");
                assert!(taken as usize >= told_left.len(), "{told}: {taken}");
                if has_ended {
                    break;
                }
            }
        }
    }
}
