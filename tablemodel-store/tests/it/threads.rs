//! Many threads on one store: no update is lost, and no reader sees half a batch.

use std::sync::Arc;

use tablemodel_store::{
    Action, Batch, Condition, KeyRange, MemoryStore, Properties, Query, RowKey, StoreErrorKind, TableStore, Value,
    ValueRef,
};

const WRITERS: i32 = 8;
const ROUNDS: i32 = 100;
const ROWS: [&str; 4] = ["a", "b", "c", "d"];

fn number(number: i32) -> Properties {
    Properties::from_iter([("N", number)])
}

/// Raises a counter under its ETag, and marks all rows of a partition with one batch, each `ROUNDS` times.
async fn write(store: Arc<dyn TableStore>, writer: i32) {
    let counter = RowKey::new("counter", "");
    for round in 0..ROUNDS {
        let mark = |batch: Batch, row: &str| batch.with(row, Action::InsertOrReplace(number(writer * ROUNDS + round)));
        store.commit(&[ROWS.into_iter().fold(Batch::new("Table", "marked"), mark)]).await.unwrap();
        loop {
            let row = store.get("Table", &counter).await.unwrap().unwrap();
            let Some(ValueRef::Int32(count)) = row.properties.get("N") else { panic!("the counter has no number") };
            let raise = Action::Replace(number(count + 1), Condition::Match(row.etag));
            match store.commit(&[Batch::new("Table", "counter").with("", raise)]).await {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), StoreErrorKind::ConditionNotMet),
            }
        }
    }
}

/// Reads the partition again and again; all its rows must carry one mark.
async fn read(store: Arc<dyn TableStore>) {
    for _ in 0..ROUNDS * 4 {
        let rows = store.query(&Query::new("Table", KeyRange::partition("marked"))).await.unwrap().rows;
        let marks: Vec<_> = rows.iter().map(|row| row.properties.get("N").map(ValueRef::to_value)).collect();
        assert!(
            marks.is_empty() || marks.len() == ROWS.len() && marks.iter().all(|mark| *mark == marks[0]),
            "{marks:?}"
        );
    }
}

/// Writers and readers on all threads of the runtime.
pub(crate) async fn stress(store: Arc<dyn TableStore>) {
    store.create_table("Table").await.unwrap();
    store.commit(&[Batch::new("Table", "counter").with("", Action::Insert(number(0)))]).await.unwrap();
    let readers = (0..2).map(|_| tokio::spawn(read(store.clone())));
    let tasks: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(store.clone(), writer))).chain(readers).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let row = store.get("Table", &RowKey::new("counter", "")).await.unwrap().unwrap();
    assert_eq!(row.properties.get("N").map(ValueRef::to_value), Some(Value::Int32(WRITERS * ROUNDS)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_lose_no_update_and_see_no_half_batch() {
    stress(Arc::new(MemoryStore::new())).await;
}

/// How often the stress is tried at most, since who comes between whom is the scheduler's choice.
const TRIES: usize = 100;

/// The stress can fail: a store whose writers come between each other is found out.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stores_whose_writers_come_between_each_other_are_found_out() {
    for bug in ["conditions are checked before the write, not with it", "operations are committed one by one"] {
        let mut tries = 0;
        while tokio::spawn(stress(crate::sabotage::store_with(bug))).await.is_ok() {
            tries += 1;
            assert!(tries < TRIES, "the stress did not notice that {bug}");
        }
    }
}
