//! A migration beside a program of the release before, both of them `TestDatabase`s: who waits for the other moves the clock.

use std::time::Duration;

use tablemodel::{store::clock::Clock, testing::TestDatabase};

use crate::{
    migrate::{Club, assert_built, first},
    tools::within_a_minute,
};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A program of the first release that lives, and one of the second.
async fn releases() -> (TestDatabase, TestDatabase) {
    let old = TestDatabase::new::<first::Club>().await.unwrap();
    for id in 0..5 {
        old.insert(&first::person("c0", id)).await.unwrap();
    }
    let new = old.reopen::<Club>().await.unwrap();
    new.ensure_tables().await.unwrap();
    (old, new)
}

#[test]
fn a_program_that_is_silent_is_taken_for_gone_though_it_lives() {
    within_a_minute(|| async {
        let (_old, new) = releases().await;
        let begun = new.clock().monotonic();
        let applied = new.migrations().apply().await.unwrap();
        assert!(applied.is_complete(), "{applied:?}");
        let took = new.clock().monotonic() - begun;
        assert!(took >= seconds(120), "two minutes pass without a sign of it: {took:?}");
        assert_built(&new, "built").await;
    });
}

#[test]
fn a_program_that_writes_is_waited_for_until_it_ends() {
    within_a_minute(|| async {
        let (old, new) = releases().await;
        let begun = new.clock().monotonic();
        let writer = async {
            for _ in 0..20 {
                old.clock().passed(seconds(10)).await;
                let path = first::Person::find().club("c0").id(1);
                old.update(path, |person| Ok(person.visits += 1)).await.unwrap();
            }
            old.database().clone().close().await.unwrap();
        };
        let migration = async {
            // What the other wrote meanwhile without the indexes may be for the next call.
            for _ in 0..3 {
                if new.migrations().apply().await.unwrap().is_complete() {
                    return true;
                }
            }
            false
        };
        let ((), is_complete) = tokio::join!(writer, migration);
        let took = new.clock().monotonic() - begun;
        assert!(is_complete && took >= seconds(200), "{took:?}");
        assert_built(&new, "built").await;
    });
}
