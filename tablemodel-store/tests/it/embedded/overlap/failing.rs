//! A disk that fails or fills up while a group is on its way: who is told what, and what is there afterwards.
//!
//! The scenes are set by the file above.

use tablemodel_store::{Action, Batch, EmbeddedStore, RowKey, StoreErrorKind, TableStore};
use tokio::task::unconstrained;

use super::{Commit, GROUP, ROOM, asked, busied, busy, is_pending, make_room};
use crate::{disk::Disk, embedded::numbered};

#[tokio::test]
async fn where_the_disk_fails_the_group_on_its_way_is_unknown_and_the_next_is_not_written() {
    let (disk, store, mut others, _at_end) = busy().await;
    disk.fail_syncs();
    disk.let_all_end();
    let last = others.split_off(GROUP);
    for (commits, kind) in [(others, StoreErrorKind::OutcomeUnknown), (last, StoreErrorKind::Closed)] {
        for commit in commits {
            assert_eq!(commit.await.unwrap_err().kind(), kind);
        }
    }
    let after = store.get("Table", &RowKey::new("p", "0")).await.unwrap_err();
    assert_eq!(after.kind(), StoreErrorKind::Closed);
    assert!(after.to_string().contains("the disk failed"), "{after}");
    assert_eq!(store.close().await.unwrap_err().kind(), StoreErrorKind::Closed);
    let store = EmbeddedStore::builder().open_backend(Disk::<()>::holding(disk.bytes())).unwrap();
    let rows = store.check().await.unwrap() as usize;
    assert!([ROOM + 1, ROOM + 1 + GROUP].contains(&rows), "{rows}");
}

#[tokio::test]
async fn where_the_disk_fails_a_next_group_that_had_nothing_to_write_is_not_unknown() {
    let disk = Disk::new();
    let store = EmbeddedStore::builder().cache_bytes(1 << 20).open_backend(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    make_room(&store).await;
    // Those of the next group are refused: the row is there.
    let ask = |store: &EmbeddedStore, number: usize| asked(store, if number > GROUP { 0 } else { number });
    let (disk, _store, mut others, _at_end) = busied(disk, store, ask).await;
    disk.fail_syncs();
    disk.let_all_end();
    for commit in others.split_off(GROUP) {
        assert_eq!(commit.await.unwrap_err().kind(), StoreErrorKind::Closed);
    }
}

#[tokio::test]
async fn where_the_disk_fails_who_came_after_a_dropped_table_is_not_unknown() {
    let disk = Disk::new();
    let store = EmbeddedStore::builder().cache_bytes(1 << 20).open_backend(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    store.create_table("Dropped").await.unwrap();
    let rows = |from: usize| (from..from + 100).map(|row| format!("{row:06}"));
    for hundred in 0..150 {
        let rows = rows(hundred * 100);
        let batch = rows.fold(Batch::new("Dropped", "p"), |batch, row| batch.with(row, Action::Insert(numbered(1))));
        store.commit(&[batch]).await.unwrap();
    }
    make_room(&store).await;
    let ask = |store: &EmbeddedStore, number: usize| {
        if number > 1 {
            return asked(store, number);
        }
        let store = store.clone();
        let mut delete: Commit =
            Box::pin(unconstrained(async move { store.delete_table("Dropped").await.map(|()| Vec::new()) }));
        assert!(is_pending(&mut delete));
        delete
    };
    let (disk, _store, mut others, _at_end) = busied(disk, store, ask).await;
    disk.fail_syncs();
    disk.let_all_end();
    for (commits, kind) in [(others.split_off(GROUP), StoreErrorKind::Closed), (others, StoreErrorKind::OutcomeUnknown)]
    {
        for commit in commits {
            assert_eq!(commit.await.unwrap_err().kind(), kind);
        }
    }
}

#[tokio::test]
async fn where_the_disk_fills_up_the_group_before_is_there_and_nothing_of_the_next() {
    let disk = Disk::new();
    let store = EmbeddedStore::builder().cache_bytes(1 << 20).open_backend(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    let (disk, store, mut others, _at_end) = busied(disk, store, |store, row| asked(store, row)).await;
    disk.limit(0);
    disk.let_all_end();
    let last = others.split_off(GROUP);
    for commit in others {
        commit.await.unwrap();
    }
    // Of those behind it half or all are the next group, as the writer comes to them before or after the disk is done.
    let mut kinds = Vec::new();
    for commit in last {
        let error = commit.await.unwrap_err();
        assert!(error.to_string().contains("no room on the disk"), "{error}");
        kinds.push(error.kind());
    }
    let refused = kinds.iter().take_while(|kind| **kind == StoreErrorKind::Denied).count();
    assert!(refused >= kinds.len() / 2, "{kinds:?}");
    assert!(kinds.iter().skip(refused).all(|kind| *kind == StoreErrorKind::Closed), "{kinds:?}");
    let more = Batch::new("Table", "p").with("more", Action::Insert(numbered(1)));
    let after = store.commit(&[more]).await.unwrap_err();
    assert_eq!(after.kind(), StoreErrorKind::Closed, "{after}");
    drop(store);
    let store = EmbeddedStore::builder().open_backend(Disk::<()>::holding(disk.bytes())).unwrap();
    assert_eq!(store.check().await.unwrap() as usize, 1 + GROUP);
}
