//! Tasks that are written together while the store fails, or some of them go away.

use futures_util::future::{join, join_all};
use tablemodel::{
    Error, ErrorKind,
    prelude::*,
    store::StoreErrorKind,
    testing::{Fault, Script, TestDatabase},
};
use tokio::task::JoinSet;

use super::{assert_exact, pet, program, store, visit};
use crate::{dropped::dropped_after, faults, migrate::MODES, points::points};

#[tokio::test]
async fn a_fault_at_any_store_call_loses_no_write() {
    let faults = faults::of_one_call();
    for mode in MODES {
        let whole = store(mode).await;
        let calls = calls_of(&whole.fork().unwrap()).await;
        for (fault, at) in
            faults.iter().flat_map(|fault| points(calls, 24, "company").into_iter().map(move |at| (fault, at)))
        {
            let told = format!("{mode:?}, {fault:?} at call {at} of {calls}");
            let db = whole.fork().expect("in memory");
            let program = program(&db).await;
            db.fail(Script::new().at(at, fault.clone()));
            let (visits, pets) = all(&program).await;
            let is_refusal = matches!(fault, Fault::Error(error) if error.kind() == StoreErrorKind::ConditionNotMet);
            let failed = visits.iter().chain(&pets).filter_map(|told| told.as_ref().err());
            let failed: Vec<_> = failed.collect();
            let is_unknown = |error: &&Error| *error.kind() == ErrorKind::OutcomeUnknown;
            // One alone, which others got before when it asked again.
            let may_be_unknown = failed.len() == 1 && failed.iter().all(is_unknown);
            assert!(failed.is_empty() || is_refusal || may_be_unknown, "{told}: {failed:?}");
            let (owned, visited) = assert_exact(&db, &told).await;
            let written = |told: &[tablemodel::Result<()>]| told.iter().filter(|told| told.is_ok()).count();
            assert_eq!((visited.len(), owned.len()), (written(&visits), written(&pets)), "{told}");
        }
    }
}

type Told = Vec<tablemodel::Result<()>>;

/// So many at once.
async fn all(program: &Database) -> (Told, Told) {
    let visits = join_all((0..8).map(async |id| program.insert(&visit(id)).await.map(drop)));
    let pets = join_all((0..8).map(async |id| program.insert(&pet(id)).await.map(drop)));
    join(visits, pets).await
}

async fn calls_of(db: &TestDatabase) -> usize {
    let program = program(db).await;
    db.forget_calls();
    all(&program).await;
    db.calls().len()
}

#[tokio::test]
async fn lost_replies_and_a_busy_store_write_nothing_twice() {
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (0..12).map(move |seed| (mode, seed))) {
        let db = store(mode).await;
        let program = program(&db).await;
        db.fail(faults::now_and_then(seed));
        let (visits, pets) = all(&program).await;
        let told = format!("{mode:?}, seed {seed}");
        let (owned, visited) = assert_exact(&db, &told).await;
        for (there, told_of) in [(visited.len(), visits), (owned.len(), pets)] {
            let written = told_of.iter().filter(|told| told.is_ok()).count();
            let is_unknown = |told: &&tablemodel::Result<()>| {
                told.as_ref().is_err_and(|error| *error.kind() == ErrorKind::OutcomeUnknown)
            };
            let unknown = told_of.iter().filter(is_unknown).count();
            assert!((written..=written + unknown).contains(&there), "{told}: {there}, {told_of:?}");
        }
    }
}

/// So many tasks at once, of which the first of the two numbers is dropped after it was asked to go on as often as the second says: whether
/// it had ended by then.
async fn without(program: &Database, tasks: u32, (gone, after): (u32, usize), told: &str) -> bool {
    let mut running = JoinSet::new();
    for id in 0..tasks {
        let (program, turns) = (program.clone(), if id == gone { after } else { usize::MAX });
        running.spawn(async move {
            let write = async {
                match id % 2 {
                    0 => program.insert(&visit(id)).await.map(drop),
                    _ => program.insert(&pet(id)).await.map(drop),
                }
            };
            (id, dropped_after(turns, write).await.0)
        });
    }
    let mut has_ended = true;
    while let Some(ended) = running.join_next().await {
        let (id, written) = ended.expect("no task panics");
        has_ended &= written.is_some();
        assert!(id == gone || written.is_some(), "{told}: {id}");
        written.unwrap_or(Ok(())).unwrap_or_else(|error| panic!("{told}, {id}: {error}"));
    }
    has_ended
}

#[tokio::test]
async fn who_goes_away_leaves_the_others_to_be_written() {
    const TASKS: u32 = 8;
    for mode in MODES {
        let whole = store(mode).await;
        for gone in 0..TASKS {
            for after in 1.. {
                let told = format!("{mode:?}, {gone} is dropped after {after}");
                let db = whole.fork().expect("in memory");
                let has_ended = without(&program(&db).await, TASKS, (gone, after), &told).await;
                let (pets, visits) = assert_exact(&db, &told).await;
                let there: Vec<_> = pets.iter().map(|pet| pet.id).chain(visits.iter().map(|visit| visit.id)).collect();
                assert!((0..TASKS).filter(|id| *id != gone).all(|id| there.contains(&id)), "{told}: {there:?}");
                if has_ended {
                    break;
                }
            }
        }
    }
}
