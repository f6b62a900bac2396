//! The memory store keeps the contract, with and without commits across partitions.

use std::{sync::Arc, time::Duration};

use tablemodel_store::{
    Action, Batch, DateTime, MemoryStore, Properties, RowKey, TableStore, clock::ManualClock, conformance,
};

mod atomic_across {
    use super::*;

    async fn make() -> Arc<dyn TableStore> {
        Arc::new(MemoryStore::new())
    }

    tablemodel_store::conformance_tests!(make);
}

async fn make_one_batch_at_a_time() -> Arc<dyn TableStore> {
    Arc::new(MemoryStore::builder().atomic_across(false).build())
}

mod one_batch_at_a_time {
    tablemodel_store::conformance_tests!(super::make_one_batch_at_a_time); // a path, from where this stands
}

#[tokio::test]
async fn only_clauses_of_other_capabilities_are_skipped() {
    let make = || async { Arc::new(MemoryStore::new()) as Arc<dyn TableStore> };
    let report = conformance::run_all(make).await;
    assert!(report.broken.is_empty(), "{:?}", report.broken);
    let skipped: Vec<_> = report.skipped.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(skipped, ["single::several_batches_are_unsupported_and_write_nothing"]);
    assert_eq!(report.held.len() + skipped.len(), conformance::CLAUSES.len());
}

#[tokio::test]
async fn clones_are_one_store() {
    let store = MemoryStore::new();
    store.clone().create_table("Shared").await.unwrap();
    assert_eq!(store.list_tables().await.unwrap(), ["Shared"]);
}

#[tokio::test]
async fn timestamps_follow_the_clock_and_etags_rise_though_it_stands_or_steps_back() {
    let clock = ManualClock::new(DateTime::UNIX_EPOCH);
    let store = MemoryStore::builder().clock(clock.clone()).build();
    store.create_table("Table").await.unwrap();
    let put = async || {
        let batch = Batch::new("Table", "p").with("r", Action::InsertOrReplace(Properties::new()));
        store.commit(&[batch]).await.unwrap();
        let row = store.get("Table", &RowKey::new("p", "r")).await.unwrap().unwrap();
        assert_eq!(row.etag.stamp(), u64::try_from(row.timestamp.ticks()).ok());
        row.timestamp.ticks() - DateTime::UNIX_EPOCH.ticks()
    };
    assert_eq!([put().await, put().await], [0, 1]);
    clock.advance(Duration::from_secs(1));
    assert_eq!([put().await, put().await], [10_000_000, 10_000_001]);
    clock.step_back(Duration::from_secs(3600));
    assert_eq!(put().await, 10_000_002);
}
