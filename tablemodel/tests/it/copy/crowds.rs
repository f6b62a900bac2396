//! Many holders that restrict one source, on a store that commits one partition at a time: each is put beside the source before it is
//! written, and the source is written with each.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{future::join_all, stream};
use tablemodel::{Consistency, Random, prelude::*, store::clock::Sleep, testing::TestDatabase};

use super::{Model, assert_exact, badge, database, employee, races::Yielding, settle};
use crate::between::Around;

/// Lets others go first, the more often the longer it is.
struct Turns;

#[async_trait]
impl Sleep for Turns {
    async fn sleep(&self, time: Duration) {
        if time == Duration::MAX {
            std::future::pending().await
        }
        for _ in 0..time.as_millis() {
            tokio::task::yield_now().await;
        }
    }
}

/// The same in every run.
struct Counter(AtomicU64);

impl Random for Counter {
    fn next(&self) -> u64 {
        self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed)
    }
}

/// One employee, and a program that lets others go first before each of its calls.
async fn open() -> (TestDatabase, Database) {
    let db = database(Consistency::Azure).await;
    db.insert(&employee("A", 1)).await.unwrap();
    let builder = Database::builder().clock(Arc::new(db.clock().clone())).random(Arc::new(Counter(AtomicU64::new(1))));
    let builder = builder.sleep(Arc::new(Turns)).deadline(Duration::MAX).consistency(Consistency::Azure);
    let other = builder.with_store::<Model>(Around::over(db.store(), Yielding)).await.unwrap();
    (db, other)
}

#[tokio::test]
async fn a_bulk_load_writes_all_holders_that_restrict_one_source() {
    let (db, other) = open().await;
    let report = other.bulk().insert_all(stream::iter((1..=300).map(|number| badge(number, 1)))).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (300, 0), "{:?}", report.failed.first());
    settle(&db).await;
    assert_exact(&db, "loaded").await;
}

#[tokio::test]
async fn writers_that_put_themselves_beside_one_source_at_once_wait_for_each_other() {
    let (db, other) = open().await;
    let badges: Vec<_> = (1..=20).map(|number| badge(number, 1)).collect();
    for written in join_all(badges.iter().map(|badge| other.insert(badge))).await {
        drop(written.unwrap());
    }
    settle(&db).await;
    assert_exact(&db, "written").await;
}
