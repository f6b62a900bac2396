//! A disk that fills up or fails: a typed error, and nothing acknowledged is lost.
//!
//! The disk is simulated.

use tablemodel_store::{Action, Batch, Durability, EmbeddedStore, KeyRange, Query, StoreErrorKind, TableStore};

use super::numbered;
use crate::disk::Disk;

const ROWS: i64 = 20;

/// A batch whose rows all carry its number.
fn batch(number: i64) -> Batch {
    (0..ROWS).fold(Batch::new("Table", format!("{number:04}")), |batch, row| {
        batch.with(format!("{row:04}"), Action::Insert(numbered(number)))
    })
}

async fn fill_up(durability: Durability, room: usize) {
    let disk = Disk::<()>::new();
    let open = |disk: Disk<()>| EmbeddedStore::builder().cache_bytes(1 << 20).durability(durability).open_backend(disk);
    let store = open(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    disk.limit(room);
    let mut acknowledged = 0;
    let error = loop {
        match store.commit(&[batch(acknowledged)]).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 5_000, "the disk never filled");
    };
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("no room on the disk"), "{error}");
    let after = store.commit(&[batch(acknowledged + 1)]).await.unwrap_err();
    assert_eq!(after.kind(), StoreErrorKind::Closed, "{after}");
    let read = store.query(&Query::new("Table", KeyRange::table())).await.unwrap_err();
    assert_eq!(read.kind(), StoreErrorKind::Closed, "{read}");
    drop(store);

    // `Denied` says that nothing of the failed batch was written.
    let store = open(Disk::holding(disk.bytes())).unwrap();
    let rows = store.check().await.unwrap();
    assert_eq!(rows, (acknowledged * ROWS) as u64, "{acknowledged} batches were acknowledged");
    store.commit(&[batch(acknowledged)]).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_told_and_loses_nothing_acknowledged() {
    for room in (0..16).map(|step| 20_000 + 19_997 * step) {
        fill_up(Durability::Durable, room).await;
        fill_up(Durability::QuickReopen, room).await;
    }
}

#[tokio::test]
async fn a_failed_sync_leaves_the_outcome_unknown_and_the_batch_whole_or_absent() {
    let disk = Disk::<()>::new();
    let store = EmbeddedStore::builder().open_backend(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    store.commit(&[batch(0)]).await.unwrap();
    disk.fail_syncs();
    let error = store.commit(&[batch(1)]).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::OutcomeUnknown, "{error}");
    assert_eq!(store.commit(&[batch(2)]).await.unwrap_err().kind(), StoreErrorKind::Closed);
    assert_eq!(store.close().await.unwrap_err().kind(), StoreErrorKind::Closed);
    drop(store);
    let store = EmbeddedStore::builder().open_backend(Disk::<()>::holding(disk.bytes())).unwrap();
    let rows = store.check().await.unwrap() as i64;
    assert!(rows == ROWS || rows == 2 * ROWS, "{rows}");
}

#[tokio::test]
async fn who_closes_a_store_whose_disk_fails_is_told_so() {
    let disk = Disk::<()>::new();
    let store = EmbeddedStore::builder().durability(Durability::Bulk).open_backend(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    for number in 0..3 {
        store.commit(&[batch(number)]).await.unwrap();
    }
    disk.fail_syncs();
    for _ in 0..2 {
        store.close().await.unwrap_err();
    }
}

/// Only the record that stamps were not used is kept from the disk.
#[tokio::test]
async fn a_disk_that_fails_once_all_is_on_it_fails_no_close() {
    let disk = Disk::<()>::new();
    let store = EmbeddedStore::builder().durability(Durability::Relaxed).open_backend(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    store.commit(&[batch(0)]).await.unwrap();
    store.flush().await.unwrap();
    disk.fail_syncs();
    store.close().await.unwrap();
    let store = EmbeddedStore::builder().open_backend(Disk::<()>::holding(disk.bytes())).unwrap();
    assert_eq!(store.query(&Query::new("Table", KeyRange::table())).await.unwrap().rows.len() as i64, ROWS);
}
