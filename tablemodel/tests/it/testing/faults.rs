//! Faults that take time by the clock of the test, and plans that act on the database between two calls.

use std::time::Duration;

use futures_util::FutureExt;
use tablemodel::{
    prelude::*,
    store::{clock::Clock, fault::Call},
    testing::{Fault, Script, TestDatabase},
};

use crate::{
    elsewhere::{Model, Worker, at, worker},
    tools::within_a_minute,
};

#[tokio::test]
async fn a_delayed_call_takes_its_time_by_the_clock_of_the_test() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.insert(&worker("A", 1)).await.unwrap();
    for db in [db.fork().unwrap(), db.reopen::<Model>().await.unwrap()] {
        let begun = db.clock().monotonic();
        db.fail(Script::new().at(0, Fault::Delay(Duration::from_secs(5))));
        for _ in 0..2 {
            assert!(at!("A", 1).exists(&db).await.unwrap());
            assert_eq!(db.clock().monotonic() - begun, Duration::from_secs(5), "the first call alone");
        }
    }
}

#[tokio::test]
async fn calls_that_are_delayed_at_once_take_their_time_together() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    for id in 1..=3 {
        db.insert(&worker("A", id)).await.unwrap();
    }
    db.fail(|_: &Call<'_>| Some(Fault::Delay(Duration::from_secs(5))));
    let begun = db.clock().monotonic();
    let (one, other) = tokio::join!(at!("A", 1).exists(&db), at!("A", 2).exists(&db));
    assert!(one.unwrap() && other.unwrap());
    assert_eq!(db.clock().monotonic() - begun, Duration::from_secs(5));
    assert!(at!("A", 3).exists(&db).await.unwrap());
    assert_eq!(db.clock().monotonic() - begun, Duration::from_secs(10), "one after the others takes its own");
}

#[test]
fn a_plan_may_have_another_program_write_between_two_calls() {
    within_a_minute(|| async {
        let db = TestDatabase::new::<Model>().await.unwrap();
        db.insert(&worker("A", 1)).await.unwrap();
        let other = db.reopen::<Model>().await.unwrap();
        let write = async move { other.update(at!("A", 1), |worker| Ok(worker.age = 50)).await.map(drop) };
        let mut between = Some(Box::pin(write));
        db.fail(move |call: &Call<'_>| {
            if let Some(write) = between.take_if(|_| call.request.writes()) {
                write.now_or_never().expect("a store in memory answers at once").expect("written");
            }
            None
        });
        db.update(at!("A", 1), |worker| Ok(worker.name = "other".into())).await.unwrap();
        let found = at!("A", 1).one(&db).await.unwrap().expect("there");
        let expected = Worker { age: 50, name: "other".into(), ..worker("A", 1) };
        assert_eq!(*found, expected, "what was written meanwhile is not lost");
        assert!(db.verify().await.unwrap().is_clean());
    });
}
