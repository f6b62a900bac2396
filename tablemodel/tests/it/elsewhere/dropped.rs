//! Tables that are dropped and made again while the marker of a partition is on its way, or remembered: what is written afterwards has one.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tablemodel::{
    Consistency,
    prelude::*,
    store::{Batch, Receipts, StoreError, TableStore},
    testing::{Script, TestDatabase},
};

use super::{Model, assert_exact, settle, worker, workers};
use crate::{
    between::{Around, Between},
    tools::DieInDelivery,
};

/// The program itself drops its tables, and makes them again, after its first marker was written and before it hears of that.
#[derive(Default)]
struct Dropping {
    program: OnceLock<Database>,
    has_dropped: AtomicBool,
}

#[async_trait]
impl Between for Dropping {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let written = inner.commit(batches).await;
        let is_marker = batches.iter().any(|batch| batch.table == "tmdirty");
        if is_marker && !self.has_dropped.swap(true, Ordering::SeqCst) {
            let program = self.program.get().expect("opened");
            program.drop_tables().await.expect("dropped");
            program.ensure_tables().await.expect("made again");
        }
        written
    }
}

#[tokio::test]
async fn a_marker_that_was_dropped_before_its_writer_heard_of_it_is_written_again() {
    for has_written in [false, true] {
        let db = TestDatabase::new::<Model>().await.unwrap();
        let around = Around::over(db.store(), Dropping::default());
        let builder = Database::builder().clock(Arc::new(db.clock().clone())).consistency(Consistency::Azure);
        let program = builder.with_store::<Model>(around.clone()).await.unwrap();
        around.program.set(program.clone()).expect("once");
        if has_written {
            program.insert(&worker("A", 1)).await.expect("the second marker is there");
            assert!(around.has_dropped.load(Ordering::SeqCst));
        }
        db.fail(DieInDelivery);
        drop(program.insert(&worker("A", 2)).await);
        db.fail(Script::new());
        let db = db.reopen::<Model>().await.unwrap();
        settle(&db).await;
        let there = workers(&db).await;
        assert_eq!(there.len(), 1 + usize::from(has_written));
        assert_exact(&db, &there, &format!("{has_written}")).await;
    }
}

#[tokio::test]
async fn a_marker_that_another_program_dropped_is_written_again_once_its_writer_renews_its_lease() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let writer = db.reopen::<Model>().await.unwrap();
    writer.insert(&worker("A", 1)).await.unwrap();
    db.drop_tables().await.unwrap();
    db.ensure_tables().await.unwrap();
    db.clock().advance(Duration::from_secs(25));
    db.fail(DieInDelivery);
    drop(writer.insert(&worker("A", 2)).await);
    db.fail(Script::new());
    let db = db.reopen::<Model>().await.unwrap();
    settle(&db).await;
    assert_exact(&db, &[worker("A", 2)], "delivered").await;
}
