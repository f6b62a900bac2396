//! How fast a backfill goes where nobody said: at full speed while the program writes nothing else, and slowly while it does.

use std::{cell::Cell, time::Duration};

use tablemodel::{
    Consistency,
    prelude::*,
    store::clock::{Clock, Sleep},
    testing::TestDatabase,
};

use super::{Passing, assert_clean, filled, next, unique};

const PERSONS: u32 = 5_000;

/// The time that a migration takes beside a program that makes so many writes, ten a second.
async fn taken(store: &TestDatabase, db: &Database, rate: Option<f64>, writes: u32) -> Duration {
    store.clock().advance(Duration::from_secs(60)); // whatever was written is not recent any more
    let (begun, over) = (store.clock().monotonic(), Cell::new(Duration::ZERO));
    let writer = async {
        for write in 0..writes {
            if !over.get().is_zero() {
                break;
            }
            let path = unique::Person::find().club(format!("c{}", write % 5)).id(write % 7);
            let written = db.update(path, |person| {
                person.visits += 1;
                Ok(())
            });
            written.await.expect("written");
            Passing(store.clock().clone()).sleep(Duration::from_millis(100)).await;
        }
    };
    let migration = async {
        let apply = db.migrations().apply();
        let apply = rate.into_iter().fold(apply, |apply, rate| apply.rate(rate));
        let applied = apply.await.expect("applied");
        assert!(applied.is_complete() && applied.touched >= u64::from(PERSONS), "{applied:?}");
        over.set(store.clock().monotonic() - begun);
    };
    tokio::join!(writer, migration);
    assert_clean(db, "applied").await;
    db.migrations().rollback().await.expect("taken back");
    over.get()
}

#[tokio::test]
async fn a_backfill_makes_way_for_the_writes_of_its_program() {
    let store = filled(Consistency::Atomic, 5, PERSONS / 5).await;
    let db = next::<unique::Club>(&store).await;
    let seconds = Duration::from_secs;
    let alone = taken(&store, &db, None, 0).await;
    assert!(alone < seconds(1), "nobody waits: {alone:?}");
    let beside = taken(&store, &db, None, u32::MAX).await;
    assert!(beside >= seconds(18) && beside < seconds(60), "250 a second: {beside:?}");
    let at_first = taken(&store, &db, None, 10).await;
    assert!(at_first >= seconds(4) && at_first < seconds(15), "until five seconds after the last write: {at_first:?}");
    let asked = taken(&store, &db, Some(1e9), u32::MAX).await;
    assert!(asked < seconds(5), "as was asked for: {asked:?}");
}
