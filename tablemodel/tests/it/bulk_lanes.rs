//! How loads ask for their commits: as one of many, which those who are in a hurry may overtake.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use async_trait::async_trait;
use tablemodel::{
    Observer, Row, RowKey, StoreCall,
    prelude::*,
    store::{Batch, Capabilities, MemoryStore, Page, Query, Receipts, StoreError, TableStore},
};

use crate::{
    bulk::{self, thing},
    bulk_shared::{self, sale},
    claims::{self, Member, member},
};

/// Commits that write rows of this table: of those in a hurry, and of many.
struct Asked {
    table: &'static str,
    now: AtomicUsize,
    of_many: AtomicUsize,
}

impl Asked {
    fn count(&self, by: &AtomicUsize, batches: &[Batch]) {
        by.fetch_add(batches.iter().any(|batch| batch.table == self.table).into(), Relaxed);
    }

    /// Those since the last time.
    fn taken(&self) -> (usize, usize) {
        (self.now.swap(0, Relaxed), self.of_many.swap(0, Relaxed))
    }
}

struct Asking(MemoryStore, Arc<Asked>);

#[async_trait]
impl TableStore for Asking {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        self.0.create_table(name).await
    }
    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        self.0.delete_table(name).await
    }
    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        self.0.list_tables().await
    }
    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.0.get(table, key).await
    }
    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        self.0.query(query).await
    }
    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.1.count(&self.1.now, batches);
        self.0.commit(batches).await
    }
    async fn commit_owned(&self, batches: Vec<Batch>) -> Result<Vec<Receipts>, StoreError> {
        self.1.count(&self.1.of_many, &batches);
        self.0.commit(&batches).await
    }
}

struct Ignoring;

impl Observer for Ignoring {
    fn called(&self, _: &StoreCall) {}
}

/// Loads many of these entities, then one more, and writes another; how the commits of each were asked for.
async fn load<M: TableModel, E: TableEntity>(
    entity: impl Fn(u32) -> E + Copy + Send,
    is_atomic: bool,
    is_observed: bool,
) -> [(usize, usize); 3] {
    let (now, of_many) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let asked = Arc::new(Asked { table: E::SCHEMA.table, now, of_many });
    let store = MemoryStore::builder().atomic_across(is_atomic).build();
    let builder = if is_observed { Database::builder().observer(Arc::new(Ignoring)) } else { Database::builder() };
    let db = builder.with_store::<M>(Arc::new(Asking(store, asked.clone()))).await.unwrap();
    db.ensure_tables().await.unwrap();
    asked.taken();
    let mut told = Vec::new();
    for ids in [0..300, 300..301] {
        let written = ids.len() as u64;
        let report = db.bulk().insert_iter(ids.map(entity)).await.unwrap();
        assert_eq!(report.into_result().unwrap().written, written);
        told.push(asked.taken());
    }
    db.insert(&entity(301)).await.unwrap();
    [told[0], told[1], asked.taken()]
}

#[tokio::test]
async fn every_kind_of_load_asks_for_its_batches_as_one_of_many() {
    let member = |id| Member { badge: Some(id), ..member(["A", "B", "C"][id as usize % 3], id) };
    for (is_atomic, is_observed) in [(false, false), (false, true), (true, false), (true, true)] {
        let kinds = [
            ("plain", load::<bulk::Model, _>(|id| thing(id % 3, id), is_atomic, is_observed).await),
            ("in shared rows", load::<bulk_shared::Model, _>(|id| sale(id % 3, id), is_atomic, is_observed).await),
            ("with claims", load::<claims::Model, _>(member, is_atomic, is_observed).await),
        ];
        for (kind, [of_load, of_small_load, of_one]) in kinds {
            let told = format!("{kind}, atomic: {is_atomic}, observed: {is_observed}");
            assert!(of_load.1 >= 3, "{told}: {of_load:?}");
            // Else rows elsewhere follow each entity, in commits of their own.
            assert!(of_load.0 == 0 || !is_atomic, "{told}: {of_load:?}");
            assert_eq!((of_small_load.1, of_one.1), (0, 0), "{told}: nothing follows that could go with it");
        }
    }
}
