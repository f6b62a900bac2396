//! Comfort over the port: whatever pages a store gives, every row comes once and in order; writes of one row say what became of it.

use std::sync::Arc;

use tablemodel_store::{
    Batch, Capabilities, Condition, KeyRange, MemoryStore, Page, Properties, Query, Receipts, Row, RowKey, StoreError,
    StoreErrorKind,
    StoreErrorKind::*,
    TableStore, TableStoreExt,
    fault::{Chances, Fault, FaultPlan, FaultStore, Script},
};

fn key(row: &str) -> RowKey {
    RowKey::new("p", row)
}

fn numbered(number: i64) -> Properties {
    Properties::from_iter([("N", number)])
}

fn kind<T: std::fmt::Debug>(result: Result<T, StoreError>) -> StoreErrorKind {
    result.unwrap_err().kind()
}

/// A store with the rows `0` to `9`, whose calls from then on meet these faults.
async fn filled(plan: impl FaultPlan) -> FaultStore {
    let inner = MemoryStore::new();
    inner.ensure_table("Tab").await.unwrap();
    for number in 0..10 {
        inner.insert("Tab", &key(&number.to_string()), numbered(number)).await.unwrap();
    }
    FaultStore::new(Arc::new(inner), plan)
}

/// All of its rows, four a page.
fn by_fours() -> Query {
    Query::new("Tab", KeyRange::table()).limited(4)
}

/// Pages of 0, 1, 4, 0, 0, 4 and 1 rows.
fn uneven() -> Script {
    Script::new()
        .at(0, Fault::EmptyPage)
        .at(1, Fault::ShortPage { rows: 1 })
        .at(3, Fault::EmptyPage)
        .at(4, Fault::EmptyPage)
}

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.key.row.as_str()).collect()
}

const ALL: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// What is left of a query, row by row.
async fn one_by_one(store: &dyn TableStore, query: &Query) -> Vec<Row> {
    let (mut rows, mut found) = (store.rows(query), Vec::new());
    while let Some(row) = rows.next().await.unwrap() {
        found.push(row);
    }
    found
}

#[tokio::test]
async fn all_rows_come_over_pages_that_are_empty_or_short() {
    let store = filled(uneven()).await;
    let rows = store.query_all(&by_fours()).await.unwrap();
    assert_eq!((names(&rows), store.calls()), (ALL.to_vec(), 7));
    let store = filled(uneven()).await;
    assert_eq!(one_by_one(&store, &by_fours()).await.len(), 10);
    assert_eq!(store.calls(), 7);
}

#[tokio::test]
async fn rows_one_by_one_are_those_of_all_at_once() {
    for seed in 0..16 {
        let plan = || {
            let empty = Chances::seeded(seed).with(400, Fault::EmptyPage);
            empty.with(300, Fault::ShortPage { rows: 1 }).with(100, Fault::ShortPage { rows: 3 })
        };
        let all = filled(plan()).await.query_all(&by_fours()).await.unwrap();
        let found = one_by_one(&filled(plan()).await, &by_fours()).await;
        assert_eq!((names(&all), names(&found)), (ALL.to_vec(), ALL.to_vec()), "seed {seed}");
    }
}

#[tokio::test]
async fn pages_are_asked_for_as_rows_are_needed() {
    let store = filled(Script::new()).await;
    let mut rows = store.rows(&by_fours());
    assert_eq!(store.calls(), 0);
    let mut calls = Vec::new();
    while rows.next().await.unwrap().is_some() {
        calls.push(store.calls());
    }
    assert_eq!(calls, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
    assert_eq!(rows.next().await.unwrap(), None, "it stays at its end");
    assert_eq!(store.calls(), 3);
}

#[tokio::test]
async fn after_a_failed_page_no_row_is_lost() {
    let store = filled(Script::new().at(1, Fault::error(Unavailable)).at(2, Fault::LostReply)).await;
    let query = by_fours();
    let (mut rows, mut found, mut failures) = (store.rows(&query), Vec::new(), 0);
    loop {
        match rows.next().await {
            Ok(Some(row)) => found.push(row),
            Ok(None) => break,
            Err(error) => {
                assert_eq!((error.kind(), found.len()), (Unavailable, 4));
                failures += 1;
            }
        }
    }
    assert_eq!((names(&found), failures), (ALL.to_vec(), 2));

    let store = filled(Script::new().at(1, Fault::error(Unavailable))).await;
    assert_eq!(kind(store.query_all(&query).await), Unavailable, "a part of the rows is not all of them");
}

#[tokio::test]
async fn a_query_goes_on_from_its_own_continuation() {
    let store = filled(Script::new()).await;
    let mut query = by_fours();
    query.continuation = store.query(&query).await.unwrap().continuation;
    let rest = store.query_all(&query).await.unwrap();
    assert_eq!(names(&rest), ALL[4..]);
    assert_eq!(one_by_one(&store, &query).await, rest);
}

#[tokio::test]
async fn a_query_that_the_store_refuses_is_refused() {
    let store = filled(Script::new()).await;
    let nowhere = Query::new("Nowhere", KeyRange::table());
    assert_eq!(kind(store.query_all(&nowhere).await), TableNotFound);
    assert_eq!(kind(store.rows(&nowhere).next().await), TableNotFound);
    assert_eq!(kind(store.query_all(&by_fours().limited(0)).await), InvalidInput);
    let none = Query::new("Tab", KeyRange::partition("q"));
    assert_eq!(store.query_all(&none).await.unwrap(), []);
}

#[tokio::test]
async fn a_row_is_inserted_and_replaced_as_it_was_read() {
    let store: Arc<dyn TableStore> = Arc::new(MemoryStore::new());
    assert!(store.ensure_table("Tab").await.unwrap());
    let first = store.insert("Tab", &key("r"), numbered(1)).await.unwrap();
    assert_eq!(kind(store.insert("Tab", &key("r"), numbered(2)).await), RowExists);
    let as_read = Condition::Match(first);
    let second = store.replace("Tab", &key("r"), numbered(2), as_read.clone()).await.unwrap();
    let row = store.get("Tab", &key("r")).await.unwrap().unwrap();
    assert_eq!((row.properties, row.etag), (numbered(2), second.clone()));
    assert_eq!(kind(store.replace("Tab", &key("r"), numbered(3), as_read).await), ConditionNotMet);
    let third = store.replace("Tab", &key("r"), numbered(3), Condition::Exists).await.unwrap();
    assert_ne!(second, third);
    assert_eq!(kind(store.replace("Tab", &key("absent"), numbered(3), Condition::Exists).await), RowNotFound);
}

#[tokio::test]
async fn a_row_is_deleted_under_its_condition() {
    let store = filled(Script::new()).await;
    let stale = store.get("Tab", &key("3")).await.unwrap().unwrap().etag;
    let etag = store.replace("Tab", &key("3"), numbered(-3), Condition::Exists).await.unwrap();
    assert_eq!(kind(store.delete("Tab", &key("3"), Condition::Match(stale)).await), ConditionNotMet);
    store.delete("Tab", &key("3"), Condition::Match(etag)).await.unwrap();
    assert_eq!(kind(store.delete("Tab", &key("3"), Condition::Exists).await), RowNotFound);
    store.delete("Tab", &key("4"), Condition::Exists).await.unwrap();
    assert_eq!(names(&store.query_all(&by_fours()).await.unwrap()), ["0", "1", "2", "5", "6", "7", "8", "9"]);
}

#[tokio::test]
async fn a_table_is_created_unless_it_is_there() {
    let store = FaultStore::new(Arc::new(MemoryStore::new()), Script::new().at(0, Fault::LostReply));
    assert_eq!(kind(store.ensure_table("Tab").await), OutcomeUnknown);
    assert!(!store.ensure_table("Tab").await.unwrap(), "it was created");
    store.insert("Tab", &key("r"), numbered(1)).await.unwrap();
    assert!(!store.ensure_table("tab").await.unwrap(), "names are compared without case");
    assert!(store.get("Tab", &key("r")).await.unwrap().is_some());
    assert!(store.ensure_table("Other").await.unwrap());
    assert_eq!(kind(store.ensure_table("not a name").await), InvalidInput);
    assert_eq!(store.list_tables().await.unwrap(), ["Other", "Tab"]);
}

/// Its futures may be awaited by any task.
#[tokio::test]
async fn a_task_reads_a_store_that_it_shares() {
    let store: Arc<dyn TableStore> = Arc::new(filled(uneven()).await);
    let task = {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut rows = store.rows(&by_fours());
            let first = rows.next().await.unwrap().unwrap();
            (first.key.row, store.query_all(&by_fours()).await.unwrap().len())
        })
    };
    assert_eq!(task.await.unwrap(), ("0".to_owned(), 10));
}

/// Says of no write what became of it.
struct Silent(MemoryStore);

#[async_trait::async_trait]
impl TableStore for Silent {
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
        self.0.commit(batches).await.map(|_| Vec::new())
    }
}

#[tokio::test]
async fn a_write_without_a_receipt_is_not_said_to_have_failed() {
    let store = Silent(MemoryStore::new());
    store.ensure_table("Tab").await.unwrap();
    assert_eq!(kind(store.insert("Tab", &key("r"), numbered(1)).await), OutcomeUnknown);
    assert!(store.get("Tab", &key("r")).await.unwrap().is_some());
    assert_eq!(kind(store.delete("Tab", &key("r"), Condition::Exists).await), OutcomeUnknown);
}
