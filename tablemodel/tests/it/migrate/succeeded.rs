//! A migration that a program of a newer version takes up than the one which began it.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind,
    prelude::*,
    testing::{Fault, Script},
};

use super::{
    assert_clean, filled, first, next, program,
    rewrites::{second, third},
};

/// The program of the second release began, and died; that of the third goes on, beside another of the second.
#[tokio::test]
async fn a_newer_program_that_takes_a_migration_up_waits_for_older_ones_before_it_writes_as_its_own_version() {
    let store = filled(Consistency::Azure, 1, 30).await;
    let one = next::<second::Club>(&store).await;
    store.fail(Script::new().at(60, Fault::CrashAfter));
    let died = one.migrations().apply().workers(1).batch(5).await;
    assert!(died.is_err(), "{died:?}");
    store.fail(Script::new());
    let store = store.reopen::<first::Club>().await.expect("opened");
    store.clock().advance(Duration::from_secs(130));
    let other = program::<second::Club>(&store).await;
    assert!(other.migrations().plan().await.expect("planned").unfinished.is_some(), "it died while it was at work");
    let live = async {
        for _ in 0..300 {
            let found = second::Person::find().club("c0").id(1).one(&other).await.expect("of its own version");
            let mut found = found.expect("there");
            found.visits += 1;
            other.save(&mut found).await.expect("written");
            tokio::task::yield_now().await;
        }
    };
    let newer = next::<third::Club>(&store).await;
    let migrations = newer.migrations();
    let taken = async { migrations.apply().wait(Duration::from_secs(30)).await };
    let (_, taken) = tokio::join!(live, taken);
    let error = taken.expect_err("a program of the second release is alive");
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    drop(other);
    store.clock().advance(Duration::from_secs(130));
    let applied = newer.migrations().apply().await.expect("applied");
    assert!(applied.is_complete(), "{applied:?}");
    assert_clean(&newer, "at its end").await;
}
