//! Repair beside a program that writes: what an entity comes to want after it was looked at, stays.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use tablemodel::{
    Consistency, Row, RowKey,
    prelude::*,
    store::{Action, Batch, Capabilities, Page, Query, Receipts, StoreError, TableStore},
    testing::TestDatabase,
};

use super::{Model, assert_exact, at, rows_in, worker};

/// Lets the worker go to Oslo right before the read of a row there, counted from the last.
struct Meddling {
    store: Arc<dyn TableStore>,
    other: Database,
    left: AtomicUsize,
}

#[async_trait]
impl TableStore for Meddling {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        self.store.create_table(name).await
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        self.store.delete_table(name).await
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        self.store.list_tables().await
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        if self.left.load(Ordering::Relaxed) > 0 && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            let moved = self.other.update(at!("A", 1), |worker| Ok(worker.city = "Oslo".into())).await;
            drop(moved.expect("the worker goes to Oslo"));
        }
        self.store.get(table, key).await
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        self.store.query(query).await
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.store.commit(batches).await
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
        let meddling = Arc::new(Meddling { store: db.store(), other: (*db).clone(), left: AtomicUsize::new(reads) });
        let builder = Database::builder().consistency(Consistency::Atomic).clock(Arc::new(db.clock().clone()));
        let mending = builder.with_store::<Model>(meddling.clone()).await.unwrap();
        mending.repair().await.unwrap();
        if meddling.left.load(Ordering::Relaxed) > 0 {
            break; // no read left to come before
        }
        let there = super::Worker { city: "Oslo".into(), ..worker("A", 1) };
        assert_exact(&db, &[there], &format!("before read {reads}")).await;
    }
    assert!(reads > 3, "{reads} reads");
}
