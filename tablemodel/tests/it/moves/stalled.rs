//! A delivery that stalls while its move is taken back.

use std::time::Duration;

use tablemodel::{
    Consistency,
    store::{KeyRange, Query},
    testing::{Fault, Script, TestDatabase},
};

use super::{ORIGINS, before, filled, first, new_rows, next, program};
use crate::stall::Program;

/// Whether an outbox row waits for a relay.
async fn is_pending(store: &TestDatabase) -> bool {
    let rows = store.store().query(&Query::new("Flights", KeyRange::table())).await.expect("read").rows;
    rows.iter().any(|row| row.key.row.starts_with("~~out|") && row.properties.get("_delivered").is_none())
}

/// A complete move, and a write whose program died before it delivered anything.
async fn left_behind() -> TestDatabase {
    for call in 0.. {
        let store = filled(Consistency::Azure, 1, 2).await;
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        store.fail(Script::new().at(call, Fault::CrashAfter));
        let moved =
            db.update(first::Flight::find().carrier("C0").number(1), |f| Ok(f.origin = ORIGINS[4].into())).await;
        drop(db);
        store.fail(Script::new());
        let store = store.reopen::<before::Model>().await.expect("opened");
        store.clock().advance(Duration::from_secs(130));
        if is_pending(&store).await {
            return store;
        }
        assert!(moved.is_err(), "no call leaves an outbox row");
    }
    unreachable!("calls are counted up")
}

#[tokio::test]
async fn what_was_under_way_to_a_shadow_leaves_nothing_once_the_move_is_taken_back() {
    let mut stalled = 0;
    for at in 0.. {
        let store = left_behind().await;
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
