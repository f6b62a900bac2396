//! Reads while others write: an entity comes whole, as it was before or after, or as an error; rows that stay wrong are
//! corrupt, and named.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tablemodel::{
    ErrorKind, Properties, Value, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition, MemoryStore, Page, Query, StoreError, TableStore},
    testing::TestDatabase,
};

use super::{Document, Model, Stats, TABLE, assert_clean, database, document, keys, remove, rows, stats};
use crate::between::{Around, Between};

type Hook = Box<dyn FnMut(usize) -> BoxFuture<'static, ()> + Send>;

/// A store that gives short pages, and lets another program act after each that has more behind it.
struct Interleaved {
    page: AtomicUsize,
    pages: AtomicUsize,
    hook: Mutex<Option<Hook>>,
}

impl Interleaved {
    /// Pages of so many rows, and `hook` after each but the last of a query; it is told how often it was called before.
    fn between_pages(&self, rows: usize, hook: impl FnMut(usize) -> BoxFuture<'static, ()> + Send + 'static) {
        self.page.store(rows, Ordering::Relaxed);
        self.pages.store(0, Ordering::Relaxed);
        *self.hook.lock().expect("no test panicked") = Some(Box::new(hook));
    }
}

#[async_trait]
impl Between for Interleaved {
    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        let limit = query.limit.min(self.page.load(Ordering::Relaxed));
        let page = inner.query(&Query { limit, ..query.clone() }).await?;
        if page.continuation.is_some() {
            let call = self
                .hook
                .lock()
                .expect("no test panicked")
                .as_mut()
                .map(|hook| hook(self.pages.fetch_add(1, Ordering::Relaxed)));
            if let Some(call) = call {
                call.await;
            }
        }
        Ok(page)
    }
}

/// A reader whose pages are short, and a writer of the same store.
async fn pair() -> (Database, Arc<Around<Interleaved>>, TestDatabase) {
    let memory: Arc<dyn TableStore> = Arc::new(MemoryStore::new());
    let between = Interleaved { page: AtomicUsize::new(1_000), pages: AtomicUsize::new(0), hook: Mutex::new(None) };
    let store = Around::over(memory.clone(), between);
    let writer = TestDatabase::over::<Model>(|_| memory).await.expect("a database");
    let reader = TestDatabase::over::<Model>(|_| store.clone()).await.expect("a database");
    (reader.database().clone(), store, writer)
}

async fn one(db: &Database, id: u32) -> tablemodel::Result<Option<Stored<Stats>>> {
    Stats::find().department("Sales").id(id).one(db).await
}

fn days(of: u32) -> Stats {
    Stats { day: [of; 365], ..stats(1) }
}

#[tokio::test]
async fn an_entity_that_is_written_between_two_pages_comes_as_it_is_now() {
    let (reader, store, writer) = pair().await;
    writer.insert(&days(1)).await.unwrap();
    let other = writer.clone();
    store.between_pages(1, move |call| {
        let other = other.clone();
        Box::pin(async move {
            if call == 0 {
                other.upsert(&days(2)).await.map(drop).unwrap();
            }
        })
    });
    assert_eq!(*one(&reader, 1).await.unwrap().unwrap(), days(2));
    assert_eq!(store.pages.load(Ordering::Relaxed), 2, "it was read again, in pages of one row");
}

#[tokio::test]
async fn a_range_read_between_writes_gives_every_entity_whole() {
    let (reader, store, writer) = pair().await;
    for id in 1..=4 {
        writer.insert(&stats(id)).await.unwrap();
    }
    let other = writer.clone();
    store.between_pages(1, move |call| {
        let other = other.clone();
        Box::pin(async move {
            match call {
                0 => drop(other.upsert(&days(9)).await.unwrap()),
                2 => other.delete(one(&other, 2).await.unwrap().unwrap()).await.unwrap(),
                4 => drop(other.upsert(&Stats { day: [3; 365], ..stats(3) }).await.unwrap()),
                _ => {}
            }
        })
    });
    let found = Stats::find().department("Sales").all(&reader).await.unwrap();
    let ids: Vec<_> = found.iter().map(|found| found.id).collect();
    assert_eq!(ids, [1, 3, 4], "the one that was deleted half read is not there");
    assert_eq!(*found[0], days(9));
    assert!(found[1].day == [3; 365] || *found[1] == stats(3));
}

#[tokio::test]
async fn a_generation_that_is_swept_while_it_is_read_is_read_anew() {
    const MIB: usize = 1024 * 1024;
    let (reader, store, writer) = pair().await;
    writer.insert(&document(1, 1, Some(6 * MIB))).await.unwrap();
    let other = writer.clone();
    store.between_pages(2, move |call| {
        let other = other.clone();
        Box::pin(async move {
            if call == 1 {
                other.upsert(&document(1, 2, Some(7 * MIB))).await.map(drop).unwrap();
            }
        })
    });
    let found = Document::find().department("Sales").id(1).one(&reader).await.unwrap().unwrap();
    assert_eq!(*found, document(1, 2, Some(7 * MIB)));
}

#[tokio::test]
async fn an_export_beside_a_writer_holds_every_entity_whole() {
    const MIB: usize = 1024 * 1024;
    let (reader, store, writer) = pair().await;
    let (old, new) = (document(1, 1, Some(10 * MIB)), document(1, 2, Some(11 * MIB)));
    writer.insert(&old).await.unwrap();
    writer.insert(&stats(2)).await.unwrap();
    let (other, written) = (writer.clone(), new.clone());
    store.between_pages(3, move |call| {
        let (other, written) = (other.clone(), written.clone());
        Box::pin(async move {
            if call == 1 {
                other.upsert(&written).await.map(drop).unwrap();
            }
        })
    });
    let mut lines = Vec::new();
    let exported = reader.export(&mut lines).await.unwrap();
    let copy = database().await;
    copy.drop_tables().await.unwrap();
    assert_eq!(copy.import(lines.as_slice()).await.unwrap(), exported);
    copy.ensure_tables().await.unwrap();
    let found = Document::find().department("Sales").id(1).one(&copy).await.unwrap().unwrap();
    assert!(*found == old || *found == new, "{:?}", found.scan.as_ref().map(Vec::len));
    assert_eq!(*one(&copy, 2).await.unwrap().unwrap(), stats(2));
    copy.clock().advance(std::time::Duration::from_secs(3_601));
    assert_clean(&copy).await;
}

#[tokio::test]
async fn what_is_torn_for_good_is_exported_as_it_is() {
    let db = database().await;
    db.insert(&stats(1)).await.unwrap();
    remove(&db, "stats_000001 ~~01").await;
    let stored = rows(&db).await;
    let mut lines = Vec::new();
    db.export(&mut lines).await.unwrap();
    let copy = database().await;
    copy.drop_tables().await.unwrap();
    copy.import(lines.as_slice()).await.unwrap();
    assert_eq!(keys(&copy).await, stored.into_keys().collect::<Vec<_>>());
}

#[tokio::test]
async fn an_entity_that_keeps_changing_is_a_conflict_after_so_many_reads() {
    let (reader, store, writer) = pair().await;
    writer.insert(&days(1)).await.unwrap();
    let other = writer.clone();
    store.between_pages(1, move |call| {
        let other = other.clone();
        Box::pin(async move { other.upsert(&days(2 + call as u32)).await.map(drop).unwrap() })
    });
    let error = one(&reader, 1).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Conflict { current: Some(_) }), "{error:?}");
    assert!(store.pages.load(Ordering::Relaxed) < 20);
}

/// Writes a row as another program would.
async fn plant(db: &Database, row: &str, action: Action) {
    db.store().commit(&[Batch::new(TABLE, "Sales").with(row, action)]).await.expect("planted");
}

fn set(name: &'static str, value: impl Into<Value>) -> Action {
    Action::Merge([(name, value.into())].into_iter().collect::<Properties>(), Condition::Exists)
}

#[tokio::test]
async fn what_stays_wrong_is_corrupt_and_named_by_reads_and_by_verify() {
    let gone = || Action::Delete(Condition::Exists);
    let part = "stats_000001 ~~01";
    let head = "stats_000001";
    let cases: [(&str, Action, &str); 6] = [
        (part, gone(), part),
        (part, set("Day300", 7_i64), head),
        (part, set("Stray", 7), head),
        (head, set("_sum", 7_i64), head),
        (head, set("_parts", "two"), head),
        (head, set("_parts", 2), "stats_000001 ~~02"),
    ];
    for (row, action, named) in cases {
        let db = database().await;
        db.insert(&stats(1)).await.unwrap();
        db.insert(&stats(2)).await.unwrap();
        plant(&db, row, action).await;
        for error in [
            one(&db, 1).await.unwrap_err(),
            Stats::find().department("Sales").all(&db).await.unwrap_err(),
            Stats::by_name().department("Sales").name("n1").id(1).one(&db).await.unwrap_err(),
            db.patch(Stats::find().department("Sales").id(1), Stats::DAY.set(0, 1_u32)).await.unwrap_err(),
            db.upsert(&stats(1)).await.unwrap_err(),
            Model::rows(Stats::in_partition("Sales")).all(&db).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), &ErrorKind::Corrupt, "{error:?}");
            assert_eq!(error.key().map(|key| key.row.as_str()), Some(named), "{error:?}");
        }
        assert_eq!(*one(&db, 2).await.unwrap().unwrap(), stats(2));
        let found = db.verify().await.unwrap().violations;
        assert!(found.iter().any(|found| found.kind == ViolationKind::Corrupt && found.key.row == named), "{found:#?}");
    }
}

#[tokio::test]
async fn a_lost_chunk_is_corrupt() {
    for (name, is_lost) in [("Body_00", true), ("Body_02", true), ("Body_n", true), ("Body_09", false)] {
        let db = database().await;
        db.insert(&document(1, 100_000, None)).await.unwrap();
        let mut properties = rows(&db).await["doc_000001"].properties.clone();
        match is_lost {
            true => drop(properties.remove(name).expect("it was there")),
            false => drop(properties.insert("Body_04", "one too many")),
        }
        plant(&db, "doc_000001", Action::Replace(properties, Condition::Exists)).await;
        let error = Document::find().department("Sales").id(1).one(&db).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Corrupt, "{name}: {error:?}");
        assert!(error.to_string().contains("`body`"), "{error}");
        assert!(!db.verify().await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn an_orphan_is_read_by_nobody_and_reported_once_its_writer_cannot_publish_it() {
    let db = database().await;
    db.insert(&stats(1)).await.unwrap();
    let part = rows(&db).await["stats_000001 ~~01"].properties.clone();
    for orphan in ["stats_000001 ~~02", "stats_000001 ~~00000000000000ff~01", "stats_000009 ~~01"] {
        plant(&db, orphan, Action::Insert(part.clone())).await;
    }
    assert_clean(&db).await;
    assert_eq!(*one(&db, 1).await.unwrap().unwrap(), stats(1));
    assert_eq!(Stats::find().department("Sales").all(&db).await.unwrap().len(), 1);
    assert_eq!(Model::rows(Stats::in_partition("Sales")).all(&db).await.unwrap().len(), 1);
    db.clock().advance(std::time::Duration::from_secs(3_601));
    let found = db.verify().await.unwrap().violations;
    assert_eq!(found.iter().filter(|found| found.kind == ViolationKind::Orphan).count(), 3, "{found:#?}");
    assert_eq!(found.len(), 3);
    // A new entity takes the place over.
    db.insert(&stats(9)).await.unwrap();
    assert_eq!(*one(&db, 9).await.unwrap().unwrap(), stats(9));
}
