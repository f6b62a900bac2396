//! Many writers at once, and the ways in which a store ends.
//!
//! Crashes are `kill`'s and `power_cut`'s.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tablemodel_store::{
    Action, Batch, Condition, Durability, EmbeddedStore, KeyRange, Properties, Query, RowKey, StoreErrorKind,
    TableStore, TableStoreExt,
};

use super::{number, numbered, place, put};

const DURABILITIES: [Durability; 4] =
    [Durability::Durable, Durability::QuickReopen, Durability::Relaxed, Durability::Bulk];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_commits_are_all_acknowledged_and_there() {
    for durability in DURABILITIES {
        let (_directory, path) = place();
        let store = EmbeddedStore::builder().durability(durability).open(&path).unwrap();
        store.create_table("Table").await.unwrap();
        let writers: Vec<_> = (0..64)
            .map(|writer| {
                let store = store.clone();
                tokio::spawn(async move {
                    for row in 0..20 {
                        let batch = Batch::new("Table", "p")
                            .with(format!("{writer}-{row}"), Action::InsertOrReplace(numbered(row)));
                        let receipts = match writer % 4 {
                            0 if row % 2 == 0 => store.commit(&[batch]).await, // the others are of many
                            _ => store.commit_owned(vec![batch]).await,
                        };
                        let receipts = receipts.unwrap().remove(0);
                        // A reader sees what was acknowledged before it began.
                        let key = RowKey::new("p", format!("{writer}-{row}"));
                        let read = store.get("Table", &key).await.unwrap().unwrap();
                        assert_eq!(Some(read.etag), receipts[0].etag);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        drop(store);
        let store = EmbeddedStore::open(&path).unwrap();
        assert_eq!(store.check().await.unwrap(), 64 * 20, "{durability:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_commit_spoils_none_of_its_group() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    let writers: Vec<_> = (0..64)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                // Half of them update a row that is not there, behind a row that would be.
                let mut batch = Batch::new("Table", "p").with(format!("{writer}"), Action::Insert(numbered(writer)));
                if writer % 2 == 1 {
                    batch = batch.with("missing", Action::Replace(Properties::new(), Condition::Exists));
                }
                store.commit(&[batch]).await.map_err(|error| (error.kind(), error.failed_at().unwrap().operation))
            })
        })
        .collect();
    for (writer, result) in writers.into_iter().enumerate() {
        let result = result.await.unwrap();
        let there = number(&store, "Table", &writer.to_string()).await.is_some();
        match writer % 2 {
            0 => assert!(result.is_ok() && there),
            _ => assert!(result == Err((StoreErrorKind::RowNotFound, 1)) && !there),
        }
    }
}

#[tokio::test]
async fn later_requests_see_earlier_ones_though_they_share_a_commit() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    // All are queued before any is answered; the queue keeps their order, since none is one of many.
    let row = || [Batch::new("New", "p").with("r", Action::Insert(numbered(1)))];
    let (rows, gone) = (row(), row());
    let results = tokio::join!(
        store.create_table("New"),
        store.commit(&rows),
        store.commit(&gone),
        store.delete_table("New"),
        store.create_table("New"),
    );
    results.0.unwrap();
    results.1.unwrap();
    assert_eq!(results.2.unwrap_err().kind(), StoreErrorKind::RowExists);
    results.3.unwrap();
    results.4.unwrap();
    assert_eq!(number(&store, "New", "r").await, None);
}

#[tokio::test]
async fn a_closed_store_answers_closed_on_every_handle() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    let other = store.clone();
    store.close().await.unwrap();
    store.close().await.unwrap();
    for store in [&store, &other] {
        let kinds = [
            put(store, "Table", "r", 1).await.unwrap_err().kind(),
            store.get("Table", &RowKey::new("p", "r")).await.unwrap_err().kind(),
            store.query(&Query::new("Table", KeyRange::table())).await.unwrap_err().kind(),
            store.list_tables().await.unwrap_err().kind(),
            store.create_table("Other").await.unwrap_err().kind(),
            store.flush().await.unwrap_err().kind(),
            store.stats().unwrap_err().kind(),
            store.check().await.unwrap_err().kind(),
        ];
        assert_eq!(kinds, [StoreErrorKind::Closed; 8]);
    }
}

#[tokio::test]
async fn what_was_asked_before_a_close_is_done() {
    let (_directory, path) = place();
    let store = EmbeddedStore::builder().durability(Durability::Bulk).open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    let (put, closed) = tokio::join!(put(&store, "Table", "r", 1), store.close());
    put.unwrap();
    closed.unwrap();
    let store = EmbeddedStore::open(&path).unwrap();
    assert_eq!(number(&store, "Table", "r").await, Some(1));
}

type Waiting<'a> = Pin<Box<dyn Future<Output = Result<(), StoreErrorKind>> + Send + 'a>>;

/// A commit in no hurry that has been asked for: it waits.
async fn waiting<'a>(store: &'a EmbeddedStore, batches: &'a [Batch]) -> Waiting<'a> {
    let mut commit: Waiting<'_> =
        Box::pin(async { store.commit_patiently(batches).await.map(drop).map_err(|error| error.kind()) });
    let is_pending = poll_fn(|context| Poll::Ready(commit.as_mut().poll(context).is_pending())).await;
    assert!(is_pending);
    commit
}

#[tokio::test]
async fn a_patient_commit_goes_behind_the_next_one_of_others() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    let [first, second] = ["first", "second"].map(|row| {
        [Batch::new("Table", "p").with(row, Action::Insert(numbered(1))).with("both", Action::Insert(numbered(1)))]
    });
    let first = waiting(&store, &first).await;
    let second = waiting(&store, &second).await;
    put(&store, "Table", "urgent", 1).await.unwrap();
    assert_eq!((first.await, second.await), (Ok(()), Err(StoreErrorKind::RowExists)));
    assert_eq!(number(&store, "Table", "second").await, None);
}

#[tokio::test]
async fn a_patient_commit_waits_for_others_not_for_ever() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    let alone = [Batch::new("Table", "p").with("alone", Action::Insert(numbered(1)))];
    assert_eq!(waiting(&store, &alone).await.await, Ok(()));
    assert_eq!(number(&store, "Table", "alone").await, Some(1));
}

#[tokio::test]
async fn patient_commits_that_wait_at_a_close_are_done() {
    for durability in DURABILITIES {
        let (_directory, path) = place();
        let store = EmbeddedStore::builder().durability(durability).open(&path).unwrap();
        store.create_table("Table").await.unwrap();
        let left = [Batch::new("Table", "p").with("left", Action::Insert(numbered(1)))];
        let commit = waiting(&store, &left).await;
        store.close().await.unwrap();
        assert_eq!(commit.await, Ok(()), "{durability:?}");
        let store = EmbeddedStore::open(&path).unwrap();
        assert_eq!(number(&store, "Table", "left").await, Some(1), "{durability:?}");
    }
}

#[tokio::test]
async fn a_commit_whose_caller_went_away_may_be_done_and_harms_nothing() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    for row in 0..50 {
        let row = row.to_string();
        let put = put(&store, "Table", &row, 1);
        let _ = tokio::time::timeout(Duration::ZERO, put).await;
    }
    put(&store, "Table", "last", 1).await.unwrap();
    assert_eq!(number(&store, "Table", "last").await, Some(1));
}

#[test]
fn a_store_works_without_a_runtime_of_tokio() {
    use std::{
        pin::pin,
        task::{Context, Poll, Wake, Waker},
        thread::Thread,
    };
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(done) => return done,
                Poll::Pending => std::thread::park(),
            }
        }
    }
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    block_on(store.create_table("Table")).unwrap();
    block_on(put(&store, "Table", "r", 1)).unwrap();
    assert_eq!(block_on(store.query(&Query::new("Table", KeyRange::table()))).unwrap().rows.len(), 1);
    block_on(store.close()).unwrap();
}

#[tokio::test]
async fn a_page_ends_after_some_bytes_or_after_many_rejected_rows() {
    use tablemodel_store::{Comparison, Filter, Value};
    let (_directory, path) = place();
    let store = EmbeddedStore::builder().durability(Durability::Bulk).open(&path).unwrap();
    store.create_table("Large").await.unwrap();
    for row in 0..12 {
        let large = Properties::from_iter((0..10).map(|name| (format!("P{name}"), Value::from(vec![7; 60_000]))));
        let batch = Batch::new("Large", "p").with(format!("{row:02}"), Action::Insert(large));
        store.commit(&[batch]).await.unwrap();
    }
    let mut query = Query::new("Large", KeyRange::table());
    let page = store.query(&query).await.unwrap();
    assert_eq!(page.rows.len(), 7, "4 MiB of 600,000 bytes each");
    query.continuation = page.continuation;
    let page = store.query(&query).await.unwrap();
    assert_eq!((page.rows.len(), page.continuation), (5, None));
    query.continuation = None;
    assert_eq!(store.query_all(&query).await.unwrap().len(), 12);

    store.create_table("Many").await.unwrap();
    super::fill(&store, "Many", 33_000).await;
    let last = Filter::compare("N", Comparison::GreaterOrEqual, 32_990_i64);
    let mut query = Query::new("Many", KeyRange::table()).filtered(last);
    let page = store.query(&query).await.unwrap();
    assert!(page.rows.is_empty() && page.continuation.is_some());
    query.continuation = page.continuation;
    let page = store.query(&query).await.unwrap();
    assert_eq!((page.rows.len(), page.continuation), (10, None));
}

/// Raises the number of both rows, in one batch, and reads them after each.
async fn raise(store: EmbeddedStore, most: i64) {
    for round in 1..=most {
        let rows = ["a", "b"]
            .into_iter()
            .fold(Batch::new("Table", "p"), |batch, row| batch.with(row, Action::InsertOrReplace(numbered(round))));
        store.commit(&[rows]).await.unwrap();
        assert_eq!(number(&store, "Table", "a").await, Some(round), "what was acknowledged is seen");
    }
}

/// Reads one row, then the other, until both have this number: no row ever goes back behind what was seen before.
async fn watch(store: EmbeddedStore, rows: [&'static str; 2], most: i64) {
    let mut seen = 0;
    while seen < most {
        for row in rows {
            let now = number(&store, "Table", row).await.unwrap_or_default();
            assert!(now >= seen, "row {row} is of round {now}, after one of round {seen}");
            seen = now;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn who_looks_rows_up_again_and_again_never_sees_one_older_than_what_was_seen() {
    for (durability, rounds) in [(Durability::Durable, 200), (Durability::Relaxed, 2_000)] {
        let (_directory, path) = place();
        let store = EmbeddedStore::builder().durability(durability).open(&path).unwrap();
        store.create_table("Table").await.unwrap();
        let readers = [["a", "b"], ["b", "a"]].map(|rows| tokio::spawn(watch(store.clone(), rows, rounds)));
        tokio::spawn(raise(store.clone(), rounds)).await.unwrap();
        for reader in readers {
            reader.await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_row_looked_up_before_is_seen_as_it_was_changed_and_gone_once_it_or_its_table_is_deleted() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    for round in 0..3 {
        store.create_table("Table").await.unwrap();
        for row in ["a", "b"] {
            assert_eq!(number(&store, "Table", row).await, None);
            put(&store, "Table", row, round).await.unwrap();
            assert_eq!(number(&store, "Table", row).await, Some(round));
            let merge = Action::Merge(numbered(round + 10), Condition::Exists);
            store.commit(&[Batch::new("Table", "p").with(row, merge)]).await.unwrap();
            assert_eq!(number(&store, "Table", row).await, Some(round + 10));
            // Refused, and taken back: the row is what it was.
            let refused = Batch::new("Table", "p").with(row, Action::InsertOrReplace(numbered(99)));
            let refused = refused.with("missing", Action::Delete(Condition::Exists));
            store.commit(&[refused]).await.unwrap_err();
            assert_eq!(number(&store, "Table", row).await, Some(round + 10));
        }
        store.commit(&[Batch::new("Table", "p").with("a", Action::Delete(Condition::Exists))]).await.unwrap();
        assert_eq!(number(&store, "Table", "a").await, None);
        store.delete_table("Table").await.unwrap();
        let gone = store.get("Table", &RowKey::new("p", "b")).await.unwrap_err();
        assert_eq!(gone.kind(), StoreErrorKind::TableNotFound);
    }
}

#[tokio::test]
async fn a_patient_commit_whose_caller_went_away_never_comes_after_what_he_asks_for_next() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    let batch = |n| [Batch::new("Table", "p").with("row", Action::InsertOrReplace(numbered(n)))];
    for n in 0..20 {
        let (gone, next) = (batch(2 * n), batch(2 * n + 1));
        let mut gone = Box::pin(store.commit_patiently(&gone));
        poll_fn(|context| Poll::Ready(gone.as_mut().poll(context).is_ready())).await;
        drop(gone);
        store.commit(&next).await.unwrap();
        assert_eq!(number(&store, "Table", "row").await, Some(2 * n + 1));
    }
}

/// Panics when it is asked once more than so often.
struct Panicking(std::sync::atomic::AtomicI32);

impl tablemodel_store::clock::Clock for Panicking {
    fn now(&self) -> tablemodel_store::DateTime {
        assert!(self.0.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) != 0, "the clock is broken");
        tablemodel_store::DateTime::UNIX_EPOCH
    }
}

#[tokio::test]
async fn a_clock_that_panics_is_not_taken_for_damage_of_the_file() {
    for asked in 0..6 {
        let (_directory, path) = place();
        let store = EmbeddedStore::open(&path).unwrap();
        store.create_table("Table").await.unwrap();
        store.close().await.unwrap();
        let clock = Arc::new(Panicking((asked + 1).into()));
        let store = EmbeddedStore::builder().clock(clock).open(&path).unwrap();
        let mut failure = None;
        for n in 0..10 {
            failure = failure.or(put(&store, "Table", &n.to_string(), n).await.err());
        }
        let failure = failure.expect("it is asked");
        assert_eq!(failure.kind(), StoreErrorKind::OutcomeUnknown, "{failure}");
        assert!(failure.to_string().contains("the clock is broken"), "{failure}");
        drop(store);
        let store = EmbeddedStore::open(&path).unwrap();
        put(&store, "Table", "again", 1).await.unwrap();
    }
}
