//! Repair beside a program that writes: what an entity comes to want after it was looked at, stays.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use tablemodel::{
    Consistency, Row, RowKey,
    prelude::*,
    store::{Action, Batch, StoreError, TableStore},
    testing::TestDatabase,
};

use super::{Model, assert_exact, at, rows_in, worker};
use crate::between::{Around, Between};

/// Lets the worker go to Oslo right before the read of a row there, counted from the last.
struct Meddling {
    other: Database,
    left: AtomicUsize,
}

#[async_trait]
impl Between for Meddling {
    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        if self.left.load(Ordering::Relaxed) > 0 && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            let moved = self.other.update(at!("A", 1), |worker| Ok(worker.city = "Oslo".into())).await;
            drop(moved.expect("the worker goes to Oslo"));
        }
        inner.get(table, key).await
    }
}

/// In Rome, with a row left over in Oslo.
async fn left_over() -> TestDatabase {
    let db = TestDatabase::atomic::<Model>().await.unwrap();
    let mut stored = db.insert(&super::Worker { city: "Oslo".into(), ..worker("A", 1) }).await.unwrap();
    let rows = rows_in(&*db.store(), "Cities").await;
    let ((_, _, row), left) = rows.into_iter().next().expect("the row in Oslo");
    stored.city = "Rome".into();
    db.save(&mut stored).await.unwrap();
    let batch = Batch::new("Cities", "Oslo").with(row, Action::Insert(left));
    db.store().commit(&[batch]).await.unwrap();
    db
}

#[tokio::test]
async fn a_row_that_its_entity_comes_to_want_while_it_is_mended_stays() {
    let mut reads = 0;
    loop {
        reads += 1;
        let db = left_over().await;
        let meddling = Meddling { other: (*db).clone(), left: AtomicUsize::new(reads) };
        let meddling = Around::over(db.store(), meddling);
        let builder = Database::builder().consistency(Consistency::Atomic).clock(Arc::new(db.clock().clone()));
        let mending = builder.with_store::<Model>(meddling.clone()).await.unwrap();
        drop(mending.repair().await.unwrap());
        if meddling.left.load(Ordering::Relaxed) > 0 {
            break; // no read left to come before
        }
        let there = super::Worker { city: "Oslo".into(), ..worker("A", 1) };
        assert_exact(&db, &[there], &format!("before read {reads}")).await;
    }
    assert!(reads > 3, "{reads} reads");
}
