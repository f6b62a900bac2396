//! What was under way to shadows when its program died: delivered while the move is taken back, and met by programs that know of no move.

use std::time::Duration;

use tablemodel::{
    Consistency,
    prelude::*,
    store::{KeyRange, Query},
    testing::{Fault, Script, TestDatabase},
};

use super::{ORIGINS, assert_clean, before, filled, first, new_flights, new_rows, next, program, second};
use crate::stall::Program;

/// Whether an outbox row waits for a relay.
async fn is_pending(store: &TestDatabase) -> bool {
    let rows = store.store().query(&Query::new("Flights", KeyRange::table())).await.expect("read").rows;
    rows.iter().any(|row| row.key.row.starts_with("~~out|") && row.properties.get("_delivered").is_none())
}

async fn moves(db: &Database) -> tablemodel::Result<()> {
    db.update(first::Flight::find().carrier("C0").number(1), |f| Ok(f.origin = ORIGINS[4].into())).await.map(drop)
}

async fn changes(db: &Database) -> tablemodel::Result<()> {
    db.update(first::Flight::find().carrier("C0").number(1), |f| Ok(f.seats = 900)).await.map(drop)
}

async fn comes(db: &Database) -> tablemodel::Result<()> {
    let (carrier, origin) = ("C0".to_owned(), ORIGINS[4].to_owned());
    db.insert(&first::Flight { carrier, number: 9, origin, seats: 9 }).await.map(drop)
}

/// A complete move, and a write whose program died before it delivered anything.
async fn left_behind(write: impl AsyncFn(&Database) -> tablemodel::Result<()>) -> TestDatabase {
    for call in 0.. {
        let store = filled(Consistency::Azure, 1, 2).await;
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        store.fail(Script::new().at(call, Fault::CrashAfter));
        let written = write(&db).await;
        drop(db);
        store.fail(Script::new());
        let store = store.reopen::<before::Model>().await.expect("opened");
        store.clock().advance(Duration::from_secs(130));
        if is_pending(&store).await {
            return store;
        }
        assert!(written.is_err(), "no call leaves an outbox row");
    }
    unreachable!("calls are counted up")
}

#[tokio::test]
async fn what_was_under_way_to_a_shadow_leaves_nothing_once_the_move_is_taken_back() {
    let mut stalled = 0;
    for at in 0.. {
        let store = left_behind(moves).await;
        let other = program::<first::Model>(&store).await;
        let meanwhile = async move {
            other.migrations().rollback().await.expect("taken back");
        };
        let relay = Program::stalling::<first::Model>(&store, at, Box::pin(meanwhile)).await;
        let _ = relay.db.relay().drain().await; // it may be told that it is late
        if !relay.has_stalled() {
            break;
        }
        stalled += 1;
        let rows = new_rows(&relay.db).await;
        assert!(rows.is_empty(), "stalled at call {at}: {rows:?}");
    }
    assert!(stalled > 5, "{stalled} calls");
}

/// What a write has left to be done is not done by a release that knows of no move, and was put back.
async fn assert_is_left(write: impl AsyncFn(&Database) -> tablemodel::Result<()>, flights: usize, told: &str) {
    let store = left_behind(write).await;
    let old = program::<before::Model>(&store).await;
    let report = old.relay().drain().await.expect("the round goes on");
    assert!((report.delivered, report.failed) == (0, 0) && report.waiting > 0, "{told}: {report:?}");
    drop(old);
    store.clock().advance(Duration::from_secs(1_300)); // overdue
    let repaired = program::<before::Model>(&store).await.repair().await.expect("repaired");
    assert!(!repaired.left.is_empty(), "{told}: {repaired:?}");
    assert!(is_pending(&store).await, "{told}");
    store.clock().advance(Duration::from_secs(130));

    let db = next::<second::Model>(&store).await;
    assert_eq!(new_flights(&db, 1).await.expect("readable").len(), 2, "{told}: as they were");
    assert_clean(&db, told).await;
    let was = new_flights(&db, 1).await.expect("readable");
    assert_eq!(was.len(), flights, "{told}: {was:?}");
    db.migrations().contract().await.expect("switched");
    assert_eq!(new_flights(&db, 1).await.expect("readable"), was, "{told}");
}

#[tokio::test]
async fn what_was_under_way_to_a_shadow_is_left_by_a_program_that_knows_of_no_move() {
    assert_is_left(moves, 2, "to another key").await;
    assert_is_left(changes, 2, "at its key").await;
    assert_is_left(comes, 3, "a new one").await;
}
