//! A relay in a task of its own, as a program runs it: it works when the test moves the clock, goes on after a busy store, and ends where
//! waiting mends nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tablemodel::{
    DateTime, ErrorKind,
    store::{
        StoreErrorKind,
        fault::{Call, Request},
    },
    testing::{CallKind, Fault, Script, TestDatabase},
};

use crate::{
    elsewhere::{Model, assert_exact, leftovers, worker},
    tools::within_a_minute,
};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Lets the other tasks of this thread go on until they wait.
async fn others() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

/// How often all sixteen lists of partitions to look after were asked for.
fn rounds(db: &TestDatabase) -> usize {
    let of_markers = |kind: &CallKind| matches!(kind, CallKind::Query { table, .. } if table == "tmdirty");
    db.calls().iter().filter(|record| of_markers(&record.call)).count() / 16
}

/// Nobody reads an outbox row: who writes one leaves it to a relay.
fn unread(call: &Call<'_>) -> Option<Fault> {
    let Request::Get(_, key) = call.request else { return None };
    key.row.starts_with("~~out|").then(|| Fault::error(StoreErrorKind::Unavailable))
}

/// What fails a relay that looks for work.
fn of_relays(call: &Call<'_>, kind: StoreErrorKind) -> Option<Fault> {
    let Request::Query(query) = call.request else { return None };
    (query.table == "tmdirty").then(|| Fault::error(kind))
}

/// A worker whose rows elsewhere are still to come.
async fn undelivered() -> TestDatabase {
    let db = TestDatabase::new::<Model>().await.unwrap();
    leave(&db).await;
    db
}

async fn leave(db: &TestDatabase) {
    db.fail(unread);
    db.insert(&worker("A", 1)).await.unwrap();
    db.fail(Script::new());
    assert!(!leftovers(db).await.is_empty(), "an outbox row");
    db.forget_calls();
}

async fn assert_delivered(db: &TestDatabase) {
    assert_eq!(leftovers(db).await, []);
    assert_exact(db, &[worker("A", 1)], "delivered").await;
}

#[test]
fn a_relay_beside_a_test_works_when_the_clock_is_moved_and_at_no_other_time() {
    within_a_minute(|| async {
        let db = TestDatabase::new::<Model>().await.unwrap();
        db.forget_calls();
        let relay = tokio::spawn(db.relay().run());
        others().await;
        assert_eq!(rounds(&db), 1, "it begins with one");
        leave(&db).await;
        others().await;
        db.clock().advance(seconds(4));
        others().await;
        assert_eq!(db.calls(), [], "five seconds are not over");
        db.clock().advance(seconds(60));
        others().await;
        assert_eq!(rounds(&db), 1);
        assert_delivered(&db).await;
        relay.abort();
        assert!(relay.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn a_relay_waits_for_as_long_as_it_was_told() {
    within_a_minute(|| async {
        let db = undelivered().await;
        let relay = tokio::spawn(db.relay().every(seconds(3_600)).run());
        others().await;
        assert_eq!(rounds(&db), 1);
        db.clock().advance(seconds(3_599));
        others().await;
        assert_eq!(rounds(&db), 1);
        db.clock().advance(seconds(1));
        others().await;
        assert_eq!(rounds(&db), 2);
        assert_delivered(&db).await;
        relay.abort();
    });
}

#[test]
fn a_relay_without_a_pause_waits_until_the_clock_moves() {
    within_a_minute(|| async {
        for pause in [Duration::ZERO, Duration::from_nanos(99)] {
            let db = TestDatabase::new::<Model>().await.unwrap();
            db.forget_calls();
            let relay = tokio::spawn(db.relay().every(pause).run());
            others().await;
            assert_eq!(rounds(&db), 1, "{pause:?}");
            db.clock().advance(Duration::from_millis(1));
            others().await;
            assert_eq!(rounds(&db), 2, "{pause:?}");
            relay.abort();
        }
    });
}

#[test]
fn a_relay_waits_for_ever_at_the_end_of_time() {
    within_a_minute(|| async {
        let db = TestDatabase::atomic::<Model>().await.unwrap();
        db.forget_calls();
        let relay = tokio::spawn(db.relay().run());
        others().await;
        assert_eq!(rounds(&db), 1);
        db.clock().set(DateTime::MAX);
        others().await;
        assert_eq!((rounds(&db), relay.is_finished()), (2, false));
        relay.abort();
        assert!(relay.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn a_relay_goes_on_once_the_store_is_no_longer_busy() {
    within_a_minute(|| async {
        let db = undelivered().await;
        let is_busy = Arc::new(AtomicBool::new(true));
        let asked = is_busy.clone();
        db.fail(move |call: &Call<'_>| {
            of_relays(call, StoreErrorKind::Unavailable).filter(|_| asked.load(Ordering::SeqCst))
        });
        let relay = tokio::spawn(db.relay().run());
        for _ in 0..3 {
            others().await;
            assert_eq!((rounds(&db), relay.is_finished()), (0, false));
            db.clock().advance(seconds(60));
        }
        is_busy.store(false, Ordering::SeqCst);
        others().await;
        assert_delivered(&db).await;
        assert!(!relay.is_finished());
        relay.abort();
    });
}

#[test]
fn a_relay_ends_with_what_waiting_does_not_mend() {
    within_a_minute(|| async {
        let db = undelivered().await;
        let relay = tokio::spawn(db.relay().run());
        others().await;
        db.fail(|call: &Call<'_>| of_relays(call, StoreErrorKind::Denied));
        db.clock().advance(seconds(60));
        let error = relay.await.expect("it does not panic").expect_err("it ends");
        assert_eq!(*error.kind(), ErrorKind::Denied, "{error:?}");
    });
}
