//! The observing store keeps the contract, and its log says what was asked and what came.

use std::{ops::Bound, sync::Arc};

use tablemodel_store::{
    Action, Batch, KeyRange, MemoryStore, Properties, Query, RowKey, RowRange, StoreErrorKind, TableStore,
    observe::{BatchRecord, CallKind, CallRecord, ObservedStore},
};

async fn make() -> Arc<dyn TableStore> {
    Arc::new(ObservedStore::new(Arc::new(MemoryStore::new())))
}

tablemodel_store::conformance_tests!(make);

fn insert() -> Action {
    Action::Insert(Properties::new())
}

#[tokio::test]
async fn each_call_is_logged_with_what_came_of_it() {
    let store = ObservedStore::new(Arc::new(MemoryStore::new()));
    store.create_table("Tab").await.unwrap();
    let batch = Batch::new("Tab", "p").with("r", insert()).with("s", insert());
    store.commit(std::slice::from_ref(&batch)).await.unwrap();
    store.get("Tab", &RowKey::new("p", "r")).await.unwrap();
    store.get("Nowhere", &RowKey::new("p", "r")).await.unwrap_err();
    store.query(&Query::new("Tab", KeyRange::table()).limited(1)).await.unwrap();
    store.commit(&[batch]).await.unwrap_err();
    let ok = |call| CallRecord { call, error: None };
    let table = || "Tab".to_owned();
    let key = RowKey::new("p", "r");
    let operations = vec![("insert", "r".to_owned()), ("insert", "s".to_owned())];
    let commit =
        CallKind::Commit { batches: vec![BatchRecord { table: table(), partition: "p".to_owned(), operations }] };
    let nowhere = CallKind::Get { table: "Nowhere".to_owned(), key: key.clone(), found: false };
    let expected = [
        ok(CallKind::CreateTable { table: table() }),
        ok(commit.clone()),
        ok(CallKind::Get { table: table(), key, found: true }),
        CallRecord { call: nowhere, error: Some(StoreErrorKind::TableNotFound) },
        ok(CallKind::Query { table: table(), range: KeyRange::table(), rows: 1, more: true }),
        CallRecord { call: commit, error: Some(StoreErrorKind::RowExists) },
    ];
    assert_eq!(store.log(), expected);
    assert_eq!(store.take(), expected);
    assert_eq!(store.log(), []);
}

#[tokio::test]
async fn the_tally_tells_cost_classes_apart() {
    let store = ObservedStore::new(Arc::new(MemoryStore::new()));
    assert_eq!(store.tally().to_string(), "no calls");
    store.create_table("Tab").await.unwrap();
    store.commit(&[Batch::new("Tab", "p").with("r", insert()).with("s", insert())]).await.unwrap();
    let from_s = RowRange { lower: Bound::Included("s".to_owned()), upper: Bound::Unbounded };
    let slice = KeyRange::Table { after: None, before_partition: Some("q".to_owned()) };
    for range in [KeyRange::rows("p", from_s), KeyRange::partition("p"), KeyRange::table(), slice] {
        store.query(&Query::new("Tab", range)).await.unwrap();
    }
    store.get("Tab", &RowKey::new("p", "r")).await.unwrap();
    store.get("Tab", &RowKey::new("p", "x")).await.unwrap();
    let tally = store.tally();
    assert_eq!((tally.point_reads, tally.range_queries, tally.partition_scans, tally.table_scans), (2, 1, 1, 2));
    assert_eq!((tally.rows_read, tally.commits, tally.operations, tally.table_calls), (1 + 2 + 2 + 2 + 1, 1, 2, 1));
    let words = "2 point reads, 1 range query page, 1 partition scan page, 2 table scan pages, 1 commit of 2 operations, \
                 1 table call";
    assert_eq!(tally.to_string(), words);
}
