//! A group that is worked on while the disk is busy with the one before.
//!
//! The disk is simulated, and says when a sync ends. It lets nothing be written meanwhile.

mod failing;

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::Duration,
};

use tablemodel_store::{
    Action, Batch, Condition, EmbeddedStore, Properties, Receipts, RowKey, StoreError, StoreErrorKind, TableStore,
    Value, ValueRef,
};
use tokio::task::unconstrained;

use super::{number, numbered};
use crate::disk::Disk;

/// Requests that come while the disk is busy.
const OTHERS: usize = 301;
/// Requests that a commit takes of those: half of them, so that the next has one less, and waits for the disk.
const GROUP: usize = OTHERS.div_ceil(2);
/// Requests that one commit takes at most.
const FULL_GROUP: usize = 256;
/// Rows that make room.
const ROOM: usize = 10;

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

fn is_pending<T>(asked: &mut Pin<Box<dyn Future<Output = T>>>) -> bool {
    matches!(asked.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

/// Asks for the end of the store.
fn closing(store: &EmbeddedStore) -> Pin<Box<dyn Future<Output = Result<(), StoreError>>>> {
    let store = store.clone();
    let mut closing: Pin<Box<dyn Future<Output = _>>> = Box::pin(unconstrained(async move { store.close().await }));
    assert!(is_pending(&mut closing));
    closing
}

async fn is_there(store: &EmbeddedStore, row: usize) -> bool {
    store.get("Table", &RowKey::new("p", format!("{row}"))).await.unwrap().is_some()
}

/// A store whose disk is busy with a group of commits, half of the others, after one that it took; those behind it wait.
async fn busy() -> (Disk<()>, EmbeddedStore, Vec<Commit>, AtEnd) {
    let disk = Disk::new();
    let store = EmbeddedStore::builder().cache_bytes(1 << 20).open_backend(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    make_room(&store).await;
    let busy = busied(disk, store, |store, row| asked(store, row)).await;
    assert_eq!(busy.0.syncs_aside(), 1, "the writer waits for the disk itself");
    busy
}

/// The same, of a store that is there; the others, by their numbers, ask for this.
async fn busied(
    disk: Disk<()>,
    store: EmbeddedStore,
    ask: impl Fn(&EmbeddedStore, usize) -> Commit,
) -> (Disk<()>, EmbeddedStore, Vec<Commit>, AtEnd) {
    disk.let_end(0);
    let first = asked(&store, 0);
    disk.wait_for_sync();
    let others = (1..=OTHERS).map(|number| ask(&store, number)).collect();
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
    assert_eq!(store.check().await.unwrap() as usize, ROOM + 1 + OTHERS);
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
        assert_eq!(store.check().await.unwrap() as usize, ROOM + 1 + OTHERS);
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

#[tokio::test]
async fn all_who_close_a_store_are_told_once_its_file_is_closed() {
    for fails in [false, true] {
        let (disk, store, mut others, _at_end) = busy().await;
        let mut closing = [closing(&store), closing(&store)];
        let mut late = asked(&store, OTHERS + 1);
        if fails {
            disk.fail_syncs();
        }
        thread::sleep(Duration::from_millis(20)); // the writer hears them
        assert!(closing.iter_mut().all(is_pending) && is_pending(&mut late) && others.iter_mut().all(is_pending));
        disk.let_all_end();
        let expected = if fails { Err(StoreErrorKind::Closed) } else { Ok(()) };
        for closed in closing {
            assert_eq!(closed.await.map_err(|error| error.kind()), expected);
        }
        assert_eq!(late.await.unwrap_err().kind(), StoreErrorKind::Closed);
        for commit in others {
            assert_eq!(commit.await.is_err(), fails);
        }
    }
}

/// Makes room in the file for all that follows: one that grows is synced at once, and the writer and who begins to read wait for that.
async fn make_room(store: &EmbeddedStore) {
    const ROWS: usize = 100;
    let commit = async |row: usize, action: Action| {
        store.commit(&[Batch::new("Table", "room").with(format!("{row}"), action)]).await.unwrap();
    };
    for row in 0..ROWS {
        let properties = Properties::from_iter([("Bytes", Value::Binary(vec![1; 60_000]))]);
        commit(row, Action::Insert(properties)).await;
    }
    // The last ones stay: the file would be cut.
    for row in 0..ROWS - ROOM {
        commit(row, Action::Delete(Condition::Exists)).await;
    }
}

/// A store with rows that do not fit its cache, and a group of commits on its way that replaces some of them; as many as it has, and row 0, were.
async fn larger_than_its_cache() -> (Disk<()>, EmbeddedStore, Vec<Commit>, AtEnd) {
    const LARGE: usize = 12_000;
    let disk = Disk::new();
    let store = EmbeddedStore::builder().cache_bytes(256 << 10).open_backend(disk.clone()).unwrap();
    store.create_table("Table").await.unwrap();
    let row = |row: usize, byte: u8| {
        let properties = Properties::from_iter([("Bytes", Value::Binary(vec![byte; LARGE]))]);
        Batch::new("Table", "large").with(format!("{row}"), Action::InsertOrReplace(properties))
    };
    for number in 0..OTHERS {
        store.commit(&[row(number, 0)]).await.unwrap();
    }
    make_room(&store).await;
    disk.let_end(0);
    let ask = |number: usize| {
        let (store, batch) = (store.clone(), row(number, 1));
        let mut commit: Commit = Box::pin(unconstrained(async move { store.commit(&[batch]).await }));
        assert!(is_pending(&mut commit));
        commit
    };
    let first = ask(0);
    disk.wait_for_sync();
    // Of three groups one gets to the disk, one is on its way, and the writer has the last one whole.
    let mut others: Vec<_> = (1..=3 * FULL_GROUP).map(|number| ask(number % OTHERS)).collect();
    disk.let_end(2);
    first.await.unwrap();
    for commit in others.drain(..FULL_GROUP) {
        commit.await.unwrap();
    }
    disk.wait_for_sync();
    let at_end = AtEnd(disk.clone());
    (disk, store, others, at_end)
}

#[tokio::test]
async fn readers_wait_for_no_sync_also_where_the_cache_is_full() {
    let (disk, store, mut others, _at_end) = larger_than_its_cache().await;
    thread::sleep(Duration::from_millis(100)); // the writer comes as far as it can with the next group
    let (done, read) = mpsc::channel();
    let reader = store.clone();
    thread::spawn(move || {
        for row in 0..OTHERS {
            let key = RowKey::new("large", format!("{row}"));
            let found = reader.get_at_once("Table", &key).unwrap().unwrap().unwrap();
            let Some(ValueRef::Binary(bytes)) = found.properties.get("Bytes") else { panic!("another value") };
            let replaced = u8::from(row <= FULL_GROUP);
            assert!(bytes.iter().all(|byte| *byte == replaced), "{row}");
        }
        done.send(()).unwrap();
    });
    read.recv_timeout(Duration::from_secs(20)).expect("a reader waited for the disk");
    assert!(others.iter_mut().all(is_pending));
    disk.let_all_end();
    for commit in others {
        commit.await.unwrap();
    }
    assert_eq!(store.check().await.unwrap() as usize, ROOM + OTHERS);
}

#[tokio::test]
async fn a_waker_that_panics_harms_nobody_else() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("planted");
        }
    }
    let (disk, store, mut others, _at_end) = busy().await;
    let waker = Waker::from(Arc::new(Panics));
    assert!(others[0].as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    disk.let_all_end();
    // Whoever is polled again has another waker.
    let first = others.remove(0);
    for commit in others {
        commit.await.unwrap();
    }
    first.await.unwrap();
    // Nothing holds the disk any more: these may be answered as soon as they are asked.
    let more = (1..=OTHERS).map(|row| {
        let (store, row) =
            (store.clone(), Batch::new("Table", "more").with(format!("{row}"), Action::Insert(numbered(1))));
        tokio::spawn(async move { store.commit(&[row]).await })
    });
    for commit in more.collect::<Vec<_>>() {
        commit.await.unwrap().unwrap();
    }
    store.close().await.unwrap();
}
