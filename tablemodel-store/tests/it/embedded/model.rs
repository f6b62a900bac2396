//! The embedded store under random sequences of calls and many threads, also when it is opened again amid them.
//!
//! The checkers, and the proofs that they can fail, are `model`'s and `threads`'.

use std::sync::Arc;

use async_trait::async_trait;
use tablemodel_store::{
    Batch, Capabilities, EmbeddedStore, Page, Query, Receipts, Row, RowKey, StoreError, TableStore,
};
use tokio::sync::Mutex;

use super::place;
use crate::{disk::Disk, model::try_random, threads::stress};

fn open(disk: &Disk<()>) -> EmbeddedStore {
    EmbeddedStore::builder().cache_bytes(1 << 20).open_backend(disk.clone()).unwrap()
}

/// A store that is closed and opened again before every third call.
struct Reopened {
    disk: Disk<()>,
    store: Mutex<(usize, EmbeddedStore)>,
}

impl Reopened {
    fn new() -> Self {
        let disk = Disk::new();
        let store = Mutex::new((0, open(&disk)));
        Self { disk, store }
    }

    async fn store(&self) -> EmbeddedStore {
        let mut store = self.store.lock().await;
        store.0 += 1;
        if store.0.is_multiple_of(3) {
            store.1.close().await.unwrap();
            store.1 = open(&self.disk);
        }
        store.1.clone()
    }
}

#[async_trait]
impl TableStore for Reopened {
    fn capabilities(&self) -> Capabilities {
        Capabilities { atomic_across: true, may_lose_reply: false, ordered: true, read_only: false }
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        self.store().await.create_table(name).await
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        self.store().await.delete_table(name).await
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        self.store().await.list_tables().await
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.store().await.get(table, key).await
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        self.store().await.query(query).await
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.store().await.commit(batches).await
    }
}

#[test]
fn the_embedded_store_agrees_with_the_model() {
    try_random(128, || Arc::new(open(&Disk::new()))).unwrap();
}

#[test]
fn the_embedded_store_agrees_with_the_model_though_it_is_opened_again_and_again() {
    try_random(64, || Arc::new(Reopened::new())).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_lose_no_update_and_see_no_half_batch() {
    let (_directory, path) = place();
    stress(Arc::new(EmbeddedStore::open(path).unwrap())).await;
}
