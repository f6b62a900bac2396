//! A group that is worked on while the disk is busy with the one before.
//!
//! The disk is simulated, and says when a sync ends. It lets nothing be written meanwhile.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use tablemodel_store::{Action, Batch, EmbeddedStore, Receipts, RowKey, StoreError, StoreErrorKind, TableStore};
use tokio::task::unconstrained;

use super::{number, numbered};
use crate::disk::Disk;

/// Requests that one commit takes at most.
const GROUP: usize = 256;
const OTHERS: usize = 300;

type Commit = Pin<Box<dyn Future<Output = Result<Vec<Receipts>, StoreError>>>>;

/// Asks for a commit of this row; not for its end.
fn asked(store: &EmbeddedStore, row: usize) -> Commit {
    let store = store.clone();
    let mut commit: Commit = Box::pin(unconstrained(async move {
        let row = Batch::new("Table", "p").with(format!("{row}"), Action::Insert(numbered(1)));
        store.commit(&[row]).await
    }));
    assert!(is_pending(&mut commit));
    commit
}

fn is_pending(commit: &mut Commit) -> bool {
    matches!(commit.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

async fn is_there(store: &EmbeddedStore, row: usize) -> bool {
    store.get("Table", &RowKey::new("p", format!("{row}"))).await.unwrap().is_some()
}

/// A store whose disk is busy with a group of commits, 1 to 256, after one that it took; those behind it wait.
async fn busy() -> (Disk<()>, EmbeddedStore, Vec<Commit>, AtEnd) {
    let disk = Disk::new();
    let store = EmbeddedStore::builder().cache_bytes(1 << 20).open_backend(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    disk.let_end(0);
    let first = asked(&store, 0);
    disk.wait_for_sync();
    let others = (1..=OTHERS).map(|row| asked(&store, row)).collect();
    disk.let_end(1);
    first.await.unwrap();
    disk.wait_for_sync();
    let at_end = AtEnd(disk.clone());
    (disk, store, others, at_end)
}

/// Lets all syncs end before the store goes, which waits for them: also where a test fails.
struct AtEnd(Disk<()>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.let_all_end();
    }
}

#[tokio::test]
async fn a_commit_is_neither_seen_nor_answered_before_it_is_on_the_disk() {
    let (disk, store, mut others, _at_end) = busy().await;
    assert!(is_there(&store, 0).await);
    for row in [1, GROUP, OTHERS] {
        assert!(!is_there(&store, row).await, "{row}");
    }
    assert!(others.iter_mut().all(is_pending));
    disk.let_end(1);
    let mut last = others.split_off(GROUP);
    for (commit, row) in others.into_iter().zip(1..) {
        commit.await.unwrap();
        assert!(is_there(&store, row).await, "{row}");
    }
    disk.wait_for_sync();
    assert!(!is_there(&store, OTHERS).await);
    assert!(last.iter_mut().all(is_pending));
    disk.let_all_end();
    for commit in last {
        commit.await.unwrap();
    }
    assert!(is_there(&store, OTHERS).await);
    store.close().await.unwrap();
    let store = EmbeddedStore::builder().open_backend(Disk::<()>::holding(disk.bytes())).unwrap();
    assert_eq!(store.check().await.unwrap() as usize, 1 + OTHERS);
}

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
    assert!([1, 1 + GROUP].contains(&rows), "{rows}");
}

#[tokio::test]
async fn who_closes_a_store_or_lets_go_of_it_waits_for_the_group_on_its_way() {
    for closes in [true, false] {
        let (disk, store, others, _at_end) = busy().await;
        disk.let_all_end();
        if closes {
            store.close().await.unwrap();
        }
        drop(store);
        for commit in others {
            commit.await.unwrap();
        }
        let store = EmbeddedStore::builder().open_backend(Disk::<()>::holding(disk.bytes())).unwrap();
        assert_eq!(store.check().await.unwrap() as usize, 1 + OTHERS);
    }
}

/// Rows are kept when they are looked up, and one group changes them while the one before is on its way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_looks_a_row_up_while_it_changes_never_finds_an_older_one_than_was_acknowledged() {
    const ROWS: usize = 12;
    const TIMES: i64 = 300;
    let store = EmbeddedStore::builder().cache_bytes(4 << 20).open_backend(Disk::<()>::new()).unwrap();
    store.create_table("Table").await.unwrap();
    let rows: Vec<Arc<AtomicI64>> = (0..ROWS).map(|_| Arc::default()).collect();
    let mut tasks = Vec::new();
    for (row, acknowledged) in rows.into_iter().enumerate() {
        let (writes, reads, seen) = (store.clone(), store.clone(), Arc::clone(&acknowledged));
        tasks.push(tokio::spawn(async move {
            for time in 1..=TIMES {
                let row = Batch::new("Table", "p").with(format!("{row}"), Action::InsertOrReplace(numbered(time)));
                writes.commit(&[row]).await.unwrap();
                acknowledged.store(time, Ordering::SeqCst);
            }
        }));
        tasks.push(tokio::spawn(async move {
            let mut at_least = 0;
            while at_least < TIMES {
                at_least = seen.load(Ordering::SeqCst);
                let found = number(&reads, "Table", &row.to_string()).await.unwrap_or(0);
                assert!(found >= at_least, "row {row}: {found} was found after {at_least} was acknowledged");
                tokio::task::yield_now().await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}
