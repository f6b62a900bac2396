//! Who leads a migration stalls, is taken for gone, and wakes when others have finished it, and begun the next: it does nothing more to
//! their rows. And machines that sleep.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use tablemodel::{
    Consistency, ErrorKind, Path,
    migrations::MigrationStatus,
    prelude::*,
    store::{
        StoreErrorKind,
        clock::Clock,
        fault::{Call, Request},
    },
    testing::{Fault, FaultPlan, Script},
};

use super::{
    Club, MODES, Passing, Person, all_rows, assert_built, assert_clean, badged, claimed, filled, first, next, program,
    unique,
};
use crate::stall::{Program, Suspended};

#[tokio::test]
async fn a_rollback_that_stalls_takes_nothing_of_what_was_built_anew() {
    let whole = filled(Consistency::Azure, 2, 5).await;
    next::<Club>(&whole).await.migrations().apply().await.expect("applied");
    whole.clock().advance(Duration::from_secs(130));
    for at in 0.. {
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
            assert!(at > 30, "{at} calls");
            break;
        }
        let told = format!("stalled at call {at}: {taken:?}");
        store.clock().advance(Duration::from_secs(130));
        let db = next::<Club>(&store).await;
        if taken.is_err() {
            let plan = db.migrations().plan().await.expect("planned");
            assert!(plan.is_empty(), "{told}: {plan:?}");
            assert_built(&db, &told).await;
        } else {
            assert_clean(&db, &told).await; // it began after the others were through
        }
    }
}

/// The third release begins a migration while the first, which has none of the indexes, takes away those of the second.
#[tokio::test]
async fn what_takes_away_indexes_takes_no_migration_that_another_began() {
    let whole = filled(Consistency::Azure, 2, 5).await;
    next::<Club>(&whole).await.migrations().apply().await.expect("applied");
    whole.clock().advance(Duration::from_secs(130));
    let mut met = 0;
    for at in 0.. {
        let store = whole.fork().expect("in memory");
        let other = next::<unique::Club>(&store).await;
        let (began, beginner) = (Arc::new(AtomicBool::new(false)), other.clone());
        let has_begun = began.clone();
        let meanwhile = async move {
            let stopped = beginner.migrations().stop_when(|| true).apply().await.expect_err("it is to stop at once");
            assert_eq!(*stopped.kind(), ErrorKind::Stopped, "{stopped:?}");
            let status = beginner.migrations().status().await.expect("read").expect("that of the second");
            has_begun.store(status.steps.iter().any(|step| step.index == "by_badge"), Ordering::Relaxed);
        };
        let stalled = Program::sleeping::<first::Club>(&store, at, Box::pin(meanwhile)).await;
        let contracted = stalled.db.migrations().contract().await;
        if !stalled.has_stalled() {
            break;
        }
        if began.load(Ordering::Relaxed) {
            let status = other.migrations().status().await.expect("read").expect("it began");
            let told = format!("stalled at call {at}: {contracted:?}, {status:?}");
            assert!(status.finished.is_none(), "{told}");
            assert!(status.steps.iter().any(|step| step.index == "by_badge"), "{told}");
            met += 1;
        }
    }
    assert!(met > 3, "{met}");
}

#[tokio::test]
async fn a_pause_is_not_lost_to_a_rate_that_is_set_at_the_same_time() {
    let whole = filled(Consistency::Azure, 2, 20).await;
    let mut paused = 0;
    for at in (0..).step_by(3) {
        let store = whole.fork().expect("in memory");
        let other = next::<Club>(&store).await;
        let (set, seen) = (Arc::new(AtomicU64::new(0)), other.clone());
        let meanwhile = {
            let set = set.clone();
            async move {
                set.store(u64::from(other.migrations().pause().await.is_ok()), Ordering::SeqCst);
            }
        };
        let stalled = Program::sleeping::<Club>(&store, at, Box::pin(meanwhile)).await;
        stalled.db.migrations().apply().rate(5_000.0).batch(4).workers(1).await.expect("applied, or paused");
        if !stalled.has_stalled() {
            break;
        }
        if set.load(Ordering::SeqCst) == 1 {
            let MigrationStatus { paused: is_paused, finished, .. } =
                seen.migrations().status().await.expect("read").expect("there");
            assert!(is_paused || finished.is_some(), "stalled at call {at}");
            paused += 1;
        }
    }
    assert!(paused > 10, "{paused}");
}

/// Gives one row a page.
struct ShortPages;

impl FaultPlan for ShortPages {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        matches!(call.request, Request::Query(_)).then_some(Fault::ShortPage { rows: 1 })
    }
}

#[tokio::test]
async fn who_reads_for_long_is_told_that_what_he_reads_was_taken_away() {
    for mode in MODES {
        let store = filled(mode, 1, 20).await;
        let db = next::<Club>(&store).await;
        db.migrations().apply().await.expect("applied");
        let reader = if mode == Consistency::Azure { next::<Club>(&store).await } else { db.clone() };
        store.fail(ShortPages);
        let mut stream = Person::by_city().club("c0").stream(&reader);
        stream.next().await.expect("one of twenty").expect("read");
        store.fail(Script::new());
        db.migrations().rollback().await.expect("taken back");
        store.fail(ShortPages);
        let rest: Vec<_> = stream.collect().await;
        let last = rest.last().and_then(|last| last.as_ref().err()).map(|error| error.kind().clone());
        assert_eq!(last, Some(ErrorKind::IndexNotReady { index: "by_city" }), "{mode:?}: {} more", rest.len());
    }
}

/// Fails one read of the states, right after it was seen that they are others.
struct Unseen(bool);

impl FaultPlan for Unseen {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        let is_it = matches!(call.request, Request::Query(query) if query.table == "tmschema") && self.0;
        is_it.then(|| Fault::error(StoreErrorKind::Denied))
    }
}

#[tokio::test]
async fn who_could_not_read_the_states_does_not_go_by_those_of_before() {
    let store = filled(Consistency::Azure, 1, 5).await;
    let db = next::<Club>(&store).await;
    db.migrations().apply().await.expect("applied");
    let reader = next::<Club>(&store).await;
    let read = || Person::by_city().club("c0").count(&reader);
    assert_eq!(read().await.expect("read"), 5);
    db.migrations().rollback().await.expect("taken back");
    store.clock().advance(Duration::from_secs(61));
    store.fail(Unseen(true));
    read().await.expect_err("the states could not be read");
    store.fail(Script::new());
    let kind = read().await.expect_err("the index is gone").kind().clone();
    assert_eq!(kind, ErrorKind::IndexNotReady { index: "by_city" });
}

#[tokio::test]
async fn a_machine_that_was_suspended_learns_of_the_states_before_it_reads() {
    let store = filled(Consistency::Azure, 1, 5).await;
    let db = next::<Club>(&store).await;
    db.migrations().apply().await.expect("applied");
    let clock = Suspended::over(&store);
    let builder = Database::builder().clock(Arc::new(clock.clone())).sleep(Arc::new(Passing(store.clock().clone())));
    let asleep = builder.consistency(Consistency::Azure).with_store::<Club>(store.store()).await.expect("opened");
    let read = || Person::by_city().club("c0").count(&asleep);
    assert_eq!(read().await.expect("read"), 5);
    let before = store.clock().monotonic();
    db.migrations().rollback().await.expect("taken back");
    clock.slept((store.clock().monotonic() - before).as_secs());
    let kind = read().await.expect_err("the index is gone").kind().clone();
    assert_eq!(kind, ErrorKind::IndexNotReady { index: "by_city" });
}

#[tokio::test]
async fn a_machine_that_was_suspended_learns_of_the_states_before_it_writes() {
    let store = filled(Consistency::Azure, 1, 5).await;
    let clock = Suspended::over(&store);
    let builder = Database::builder().clock(Arc::new(clock.clone())).sleep(Arc::new(Passing(store.clock().clone())));
    let builder = builder.consistency(Consistency::Azure);
    let asleep = builder.with_store::<Club>(store.store()).await.expect("opened");
    asleep.ensure_tables().await.expect("ensured");
    let db = program::<Club>(&store).await;
    let before = store.clock().monotonic();
    db.migrations().apply().await.expect("applied, since the other is taken for gone");
    store.clock().advance(Duration::from_secs(3_600));
    let passed = store.clock().monotonic() - before;
    clock.slept(passed.as_secs());
    let first::Person { club, id, name, city, badge, visits } = first::person("c0", 77);
    asleep.insert(&super::Person { club, id, name, city, badge, visits }).await.expect("written");
    assert_built(&db, "after it woke").await;
}

/// The states that it holds have lapsed when the machine wakes: nothing is deleted on them any more, and the next call goes on.
#[tokio::test]
async fn a_rollback_that_slept_ends_at_once_and_goes_on_when_it_is_called_again() {
    let whole = filled(Consistency::Azure, 2, 12).await;
    next::<Club>(&whole).await.migrations().apply().await.expect("applied");
    whole.clock().advance(Duration::from_secs(130));
    let mut given_up = 0;
    for at in 0.. {
        let store = whole.fork().expect("in memory");
        let (clock, woke) = (store.clock().clone(), Arc::new(AtomicU64::new(0)));
        let noted = woke.clone();
        let meanwhile = async move {
            clock.advance(Duration::from_secs(100));
            noted.store(clock.monotonic().as_secs(), Ordering::SeqCst);
        };
        let slept = Program::sleeping::<Club>(&store, at, Box::pin(meanwhile)).await;
        let taken = slept.db.migrations().rollback().await;
        if !slept.has_stalled() {
            break;
        }
        if let Err(error) = taken {
            assert!(error.is_retryable(), "at call {at}: {error:?}");
            assert!(!error.to_string().contains("keep coming"), "at call {at}: {error}");
            let after = store.clock().monotonic().as_secs() - woke.load(Ordering::SeqCst);
            assert!(after < 200, "at call {at}: {after} seconds later"); // readers are waited for, and programs
            slept.db.migrations().rollback().await.expect("it goes on");
            given_up += 1;
        }
        assert_clean(&slept.db, &format!("slept at call {at}")).await;
        assert_eq!(all_rows(&slept.db, "People").await.len(), 0, "at call {at}");
    }
    assert!(given_up > 5, "{given_up}");
}

/// The store answers late: what is read was taken away since the states were looked at.
#[tokio::test]
async fn who_waits_long_for_what_he_reads_is_told_that_it_was_taken_away() {
    macro_rules! told {
        ($release:ident, $path:expr, $($read:expr),*) => {
            let whole = badged(Consistency::Azure, 1, 8).await;
            next::<$release::Club>(&whole).await.migrations().apply().await.expect("applied");
            whole.clock().advance(Duration::from_secs(130));
            $({
                let store = whole.fork().expect("in memory");
                let other = program::<$release::Club>(&store).await;
                let meanwhile = async move {
                    other.migrations().rollback().await.expect("taken back");
                };
                let reader = Program::sleeping::<$release::Club>(&store, 0, Box::pin(meanwhile)).await;
                let found: tablemodel::Result<usize> = $read($path, &reader.db).await;
                assert!(reader.has_stalled());
                let kind = found.expect_err("the index is gone").kind().clone();
                assert_eq!(kind, ErrorKind::IndexNotReady { index: "by_badge" }, "{}", stringify!($read));
            })*
        };
    }
    told!(
        unique,
        unique::Person::by_badge().club("c0"),
        async |path, db| Path::all(path, db).await.map(|all| all.len()),
        async |path, db| Path::count(path, db).await.map(|all| all as usize)
    );
    told!(
        unique,
        unique::Person::by_badge().club("c0").badge(3),
        async |path, db| Path::one(path, db).await.map(|one| usize::from(one.is_some())),
        async |path, db| Path::all(path, db).await.map(|all| all.len())
    );
    // In a table of its own.
    told!(
        claimed,
        claimed::Person::by_badge().badge(3),
        async |path, db| Path::one(path, db).await.map(|one| usize::from(one.is_some())),
        async |path, db| Path::all(path, db).await.map(|all| all.len()),
        async |path, db| Path::exists(path, db).await.map(usize::from)
    );
}
