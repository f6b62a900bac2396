//! What bulk writing promises: everything that can be written is, nothing is reordered, and each failure is named.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread::available_parallelism,
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use tablemodel::{
    BulkReport, ErrorKind, RowKey,
    prelude::*,
    store::{
        Batch, EmbeddedStore, MemoryStore, Receipts, StoreError, StoreErrorKind, TableStore,
        fault::{Call, Request},
    },
    testing::{CallKind, Chances, Fault, TestDatabase},
};

use crate::between::{Around, Between};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Things", partition = "{part}", row = "{id:06}")]
#[table(index(by_code, row = "code_{code}", unique, keys_only))]
#[table(index(by_text, row = "text!{text}!{id:06}"))]
pub(super) struct Thing {
    part: String,
    id: u32,
    code: Option<u32>,
    text: String,
    body: Vec<u8>,
}

#[derive(TableModel)]
pub(super) enum Model {
    Thing(Thing),
}

pub(super) fn thing(part: u32, id: u32) -> Thing {
    Thing { part: format!("p{part}"), id, code: Some(id), text: format!("t{id}"), body: Vec::new() }
}

async fn embedded(directory: &tempfile::TempDir) -> TestDatabase {
    let path = directory.path().join("bulk.tablemodel");
    let store = EmbeddedStore::builder().durability(tablemodel::store::Durability::Relaxed);
    TestDatabase::over::<Model>(|clock| Arc::new(store.clock(clock).open(&path).unwrap())).await.unwrap()
}

/// Operations of each commit that reached the store.
fn batches(db: &TestDatabase) -> Vec<usize> {
    let sizes = db.calls().into_iter().filter_map(|call| match call.call {
        CallKind::Commit { batches } => Some(batches.iter().map(|batch| batch.operations.len()).sum()),
        _ => None,
    });
    sizes.collect()
}

async fn insert(db: &Database, things: Vec<Thing>) -> BulkReport {
    db.bulk().insert_all(stream::iter(things)).await.unwrap()
}

#[tokio::test]
async fn entities_are_grouped_by_partition_in_batches_of_at_most_a_hundred_rows() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let things: Vec<_> = (0..200).flat_map(|id| (0..3).map(move |part| thing(part, id))).collect();
    let report = insert(&db, things.clone()).await;
    assert_eq!((report.written, report.failed.len()), (600, 0));
    let batches = batches(&db);
    // 33 entities of three rows fill a batch: 6 full ones and one of two entities in each partition.
    assert_eq!(batches.len() as u64, report.batches);
    assert_eq!(batches.iter().filter(|rows| **rows == 99).count(), 18);
    assert_eq!(batches.iter().filter(|rows| **rows == 6).count(), 3);
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean());
    assert_eq!((verified.entities, verified.derived), (600, 1200));
}

#[tokio::test]
async fn large_entities_fill_a_batch_by_bytes() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let things: Vec<_> = (0..40).map(|id| Thing { body: vec![255; 60_000], ..thing(0, id) }).collect();
    let report = insert(&db, things).await;
    assert_eq!((report.written, report.failed.len()), (40, 0));
    assert!(report.batches >= 4, "{report:?}");
    let errors: Vec<_> = db.calls().into_iter().filter_map(|call| call.error).collect();
    assert_eq!(errors, [], "no batch was too large");
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn each_entity_that_cannot_be_written_is_reported_by_its_key_and_the_others_are_written() {
    each_failure_is_told(&TestDatabase::new::<Model>().await.unwrap()).await;
}

/// There a batch is given away while it is on its way, and planned again to say what was refused.
#[tokio::test]
async fn a_store_of_this_process_refuses_the_same_entities_in_the_same_words() {
    let db = Database::in_memory::<Model>().await.unwrap();
    db.ensure_tables().await.unwrap();
    each_failure_is_told(&db).await;
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open::<Model>(directory.path().join("bulk.tablemodel")).await.unwrap();
    db.ensure_tables().await.unwrap();
    each_failure_is_told(&db).await;
}

async fn each_failure_is_told(db: &Database) {
    db.insert(&thing(0, 7)).await.unwrap();
    db.insert(&Thing { code: Some(50), ..thing(0, 900) }).await.unwrap();
    let mut things: Vec<_> = (0..100).map(|id| thing(0, id)).collect();
    things[60].text = "x".repeat(1500); // its index key is too long
    things[61].id = 1_000_000; // its key does not fit
    things[62].body = vec![0; 70_000];
    let report = insert(db, things).await;
    assert_eq!((report.written, report.failed.len()), (95, 5));
    let failure = |row: &str| report.failed.iter().find(|error| error.key() == Some(&RowKey::new("p0", row)));
    assert_eq!(*failure("000007").unwrap().kind(), ErrorKind::AlreadyExists);
    let ErrorKind::UniqueViolation { index: "by_code", owner } = failure("000050").unwrap().kind() else {
        panic!("{:?}", report.failed)
    };
    assert_eq!(owner.as_ref(), Some(&RowKey::new("p0", "000900")));
    assert_eq!(*failure("000060").unwrap().kind(), ErrorKind::KeyTooLong);
    assert_eq!(*failure("000062").unwrap().kind(), ErrorKind::TooLarge);
    let unmade = report.failed.iter().find(|error| error.key().is_none()).unwrap();
    assert_eq!(*unmade.kind(), ErrorKind::KeyOverflow);
    assert!(unmade.to_string().contains("entity 62 of the load"), "{unmade}");
    for error in &report.failed {
        assert_eq!(error.entity(), Some("Thing"), "{error}");
        assert_eq!(error.operation(), None, "the user has no batch: {error}");
    }
    assert!(db.verify().await.unwrap().is_clean());
    assert_eq!(*report.into_result().unwrap_err().kind(), ErrorKind::KeyOverflow, "what cannot be made comes first");
}

#[tokio::test]
async fn of_two_entities_of_one_key_the_first_is_inserted_wherever_they_stand() {
    for distance in [1, 30, 200] {
        let db = TestDatabase::new::<Model>().await.unwrap();
        let mut things: Vec<_> = (0..300).map(|id| thing(0, id)).collect();
        things.insert(10 + distance, Thing { code: None, text: "second".into(), ..thing(0, 10) });
        let report = insert(&db, things).await;
        assert_eq!((report.written, report.failed.len()), (300, 1), "{distance}");
        assert_eq!(*report.failed[0].kind(), ErrorKind::AlreadyExists);
        let kept = Thing::find().part("p0").id(10).one(&db).await.unwrap().unwrap();
        assert_eq!(kept.text, "t10");
        assert!(db.verify().await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn of_two_entities_of_one_key_the_last_is_upserted_wherever_they_stand() {
    for distance in [1, 30, 200] {
        let db = TestDatabase::new::<Model>().await.unwrap();
        // The first batch meets a busy store, so that a later one could overtake it.
        let mut commits = 0;
        db.fail(move |call: &Call<'_>| {
            let Request::Commit(_) = call.request else { return None };
            commits += 1;
            (commits == 1).then(|| Fault::error(StoreErrorKind::Unavailable))
        });
        let mut things: Vec<_> = (0..300).map(|id| thing(0, id)).collect();
        things.insert(10 + distance, Thing { text: "second".into(), ..thing(0, 10) });
        let report = db.bulk().upsert_all(stream::iter(things)).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (301, 0), "{distance}: {report:?}");
        let kept = Thing::find().part("p0").id(10).one(&db).await.unwrap().unwrap();
        assert_eq!(kept.text, "second", "{distance}");
        assert!(db.verify().await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn upsert_all_replaces_what_is_there_with_its_index_rows() {
    let directory = tempfile::tempdir().unwrap();
    for db in [TestDatabase::new::<Model>().await.unwrap(), embedded(&directory).await] {
        insert(&db, (0..150).map(|id| thing(id % 2, id)).collect()).await.into_result().map(drop).unwrap();
        let again = (0..200).map(|id| Thing { text: format!("new {id}"), code: None, ..thing(id % 2, id) });
        let report = db.bulk().upsert_all(stream::iter(again)).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (200, 0), "{:?}", report.failed);
        assert_eq!(Thing::by_code().part("p0").count(&db).await.unwrap(), 0);
        assert_eq!(Thing::by_text().part("p0").text_starts_with("new").count(&db).await.unwrap(), 100);
        assert!(db.verify().await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn stop_on_error_takes_no_more_input_and_writes_nothing_after() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    let things = (0..100_000).map(move |id| {
        counted.fetch_add(1, Ordering::SeqCst);
        if id == 500 { Thing { body: vec![0; 70_000], ..thing(0, id) } } else { thing(0, id) }
    });
    let report = db.bulk().stop_on_error().insert_all(stream::iter(things)).await.unwrap();
    assert!(!report.failed.is_empty());
    let taken = taken.load(Ordering::SeqCst);
    assert!(taken < 5_000, "{taken} entities were taken");
    let there = Thing::find().part("p0").count(&db).await.unwrap();
    assert_eq!(there, report.written, "what is reported as written is there, and nothing else");
    let told = report.written + report.failed.len() as u64 + report.skipped;
    assert_eq!(told, taken as u64, "every entity that was taken is accounted for");
}

#[tokio::test]
async fn progress_only_grows_and_ends_at_what_was_written() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let mut told = Vec::new();
    let bulk = db.bulk().progress(|written| told.push(written));
    let report = bulk.insert_all(stream::iter((0..1000).map(|id| thing(id % 7, id)))).await.unwrap();
    assert_eq!(told.len() as u64, report.batches);
    assert!(told.is_sorted(), "{told:?}");
    assert_eq!(told.last(), Some(&1000));
}

#[tokio::test]
async fn faults_of_the_store_lose_no_entity_and_write_none_twice() {
    let directory = tempfile::tempdir().unwrap();
    for db in [TestDatabase::new::<Model>().await.unwrap(), embedded(&directory).await] {
        let chances = Chances::seeded(7)
            .with(200, Fault::error(StoreErrorKind::Unavailable))
            .with(100, Fault::LostReply)
            .with(20, Fault::error(StoreErrorKind::OutcomeUnknown));
        db.fail(chances);
        let report = insert(&db, (0..2000).map(|id| thing(id % 5, id)).collect()).await;
        db.fail(tablemodel::testing::Script::new());
        assert_eq!(report.written + report.failed.len() as u64, 2000);
        assert_eq!(report.failed.len(), 0, "{:?}", report.failed.first());
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean(), "{:?}", verified.violations);
        assert_eq!(verified.entities, 2000);
    }
}

#[tokio::test]
async fn a_store_that_stays_away_fails_each_entity_once_and_soon() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.fail(|call: &Call<'_>| call.request.writes().then(|| Fault::error(StoreErrorKind::Unavailable)));
    let report = insert(&db, (0..100).map(|id| thing(0, id)).collect()).await;
    assert_eq!((report.written, report.failed.len()), (0, 100));
    let keys: std::collections::BTreeSet<_> = report.failed.iter().map(|error| error.key().cloned()).collect();
    assert_eq!(keys.len(), 100, "each by its own key");
    assert!(report.failed.iter().all(tablemodel::Error::is_retryable));
    // Nothing reached the store: attempts are counted by the faults.
    assert_eq!(batches(&db).len(), 0);
}

#[tokio::test]
async fn memory_holds_a_bounded_number_of_entities_however_many_partitions_there_are() {
    const MOST: usize = 20_000 + 32 * 33;
    const THINGS: u32 = 25_000; // of which more wait than may, if none has to go
    let db = TestDatabase::new::<Model>().await.unwrap();
    let taken = Arc::new(AtomicUsize::new(0));
    let written = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (t, w, m) = (taken.clone(), written.clone(), most.clone());
    let things = (0..THINGS).map(move |id| {
        let taken = t.fetch_add(1, Ordering::SeqCst) + 1;
        m.fetch_max(taken - w.load(Ordering::SeqCst), Ordering::SeqCst);
        Thing { code: None, ..thing(id, id) }
    });
    let bulk = db.bulk().progress(move |count| written.store(count as usize, Ordering::SeqCst));
    let report = bulk.insert_all(stream::iter(things)).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (u64::from(THINGS), 0));
    let most = most.load(Ordering::SeqCst);
    assert!(most <= MOST, "{most} entities were held");
}

/// Answers once all others of the thread had many turns. Notes how many entities were taken when it is first asked to write some.
#[derive(Default)]
struct Slow {
    taken: Arc<AtomicUsize>,
    at_first: OnceLock<usize>,
}

#[async_trait]
impl Between for Slow {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        if batches.iter().any(|batch| batch.table == "Things") {
            self.at_first.get_or_init(|| self.taken.load(Ordering::SeqCst));
        }
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        inner.commit(batches).await
    }
}

async fn slow() -> (Database, Arc<Around<Slow>>) {
    let store = Around::over(Arc::new(MemoryStore::new()), Slow::default());
    let db = Database::builder().with_store::<Model>(store.clone()).await.unwrap();
    db.ensure_tables().await.unwrap();
    (db, store)
}

#[tokio::test]
async fn memory_holds_a_bounded_number_of_bytes_also_where_batches_are_large() {
    const BODY: usize = 60_000;
    const MIB: usize = 1024 * 1024;
    let (db, _) = slow().await;
    let (written, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (w, m) = (written.clone(), most.clone());
    let things = (0..3_000).map(move |id| {
        m.fetch_max(id as usize + 1 - w.load(Ordering::SeqCst), Ordering::SeqCst);
        Thing { body: vec![255; BODY], ..thing(0, id) }
    });
    let bulk = db.bulk().progress(move |count| written.store(count as usize, Ordering::SeqCst));
    let report = bulk.insert_iter(things).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (3_000, 0));
    // In two rows each, in which a byte is reckoned as two: what it is of is not looked at.
    let bytes = most.load(Ordering::SeqCst) * 2 * 2 * BODY;
    assert!((60 * MIB..=66 * MIB).contains(&bytes), "{bytes} bytes were held");
}

/// On one thread nobody plans before who makes the entities waits.
#[tokio::test]
async fn few_batches_are_made_ahead_of_those_that_are_planned() {
    const EACH: usize = 33;
    let planned = available_parallelism().map_or(1, usize::from).saturating_sub(1).max(1);
    let (db, store) = slow().await;
    let things = (planned + 50) * EACH;
    let taken = store.taken.clone();
    taken.store(0, Ordering::SeqCst);
    let report = db.bulk().insert_iter((0..things).map(|id| {
        taken.fetch_add(1, Ordering::SeqCst);
        thing(0, id as u32)
    }));
    assert_eq!(report.await.unwrap().written, things as u64);
    // Three that wait, one more that is full, and the one that is being filled.
    let at_first = store.at_first.get().unwrap().div_ceil(EACH);
    assert!((2..=planned + 5).contains(&at_first), "{at_first} batches were made");
}

#[tokio::test]
async fn a_slow_input_does_not_hold_up_what_is_due() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let (sender, receiver) = futures_util::stream::unfold((db.clone(), 0_u32), |(db, id)| async move {
        // After the first full batch the input waits until that batch was committed.
        if id == 40 {
            while Thing::find().part("p0").count(&db).await.unwrap() == 0 {
                tokio::task::yield_now().await;
            }
        }
        (id < 60).then(|| (thing(0, id), (db, id + 1)))
    })
    .boxed()
    .into_future()
    .await;
    let all = stream::iter(sender).chain(receiver);
    let writing = db.bulk().insert_all(all);
    let report = tokio::time::timeout(Duration::from_secs(20), writing).await.expect("not stuck").unwrap();
    assert_eq!((report.written, report.failed.len()), (60, 0));
}

#[tokio::test]
async fn a_read_only_database_refuses_before_the_first_entity_is_taken() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let reader = tablemodel::Database::builder().read_only().with_store::<Model>(db.store()).await.unwrap();
    let never = stream::iter((0..1).map(|_| -> Thing { panic!("an entity was taken") }));
    let error = reader.bulk().insert_all(never).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Denied);
}

/// All those of a kind are in one row.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "Listed", partition = "{part}", row = "{id:06}")]
#[table(list(of_kind, row = "k_{kind}"))]
struct Listed {
    part: String,
    id: u32,
    kind: u8,
}

#[derive(TableModel)]
enum Lists {
    Listed(Listed),
}

#[tokio::test]
async fn stop_on_error_sends_nothing_that_waited_for_what_failed() {
    let db = TestDatabase::new::<Lists>().await.unwrap();
    let listed = |id| Listed { part: "p".into(), id, kind: 1 };
    db.insert(&listed(0)).await.unwrap();
    let report = db.bulk().stop_on_error().insert_all(stream::iter((0..400).map(listed))).await.unwrap();
    assert_eq!(report.failed.len(), 1, "{:?}", report.failed);
    // With a row for each and one for the list, a batch takes 33.
    assert!(report.written < 50, "those in one batch with it, not the next: {}", report.written);
    assert_eq!(Listed::find().part("p").count(&db).await.unwrap(), report.written + 1);
}
