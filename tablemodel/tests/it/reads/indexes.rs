//! Index reads: what an index row says is believed only as far as its entity confirms it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use tablemodel::{
    DateTime, ErrorKind, Properties, Value,
    prelude::*,
    store::{Action, Batch, Condition, MemoryStore, Receipts, RowKey, StoreError, TableStore},
    testing::{
        CallKind, TestDatabase,
        example::{Company, Employee, employee},
    },
};

use super::fixture::{Event, Model, database, plain};
use crate::between::{Around, Between};

fn event(id: u32) -> Event {
    Event {
        room: "r".into(),
        name: "n".into(),
        id,
        city: "Oslo".into(),
        level: id as i16,
        at: DateTime::UNIX_EPOCH,
        code: Some(format!("c{id}")),
        tag: "T".into(),
        active: true,
    }
}

/// Takes the primary rows of these ids away, as a crash of another program could, and leaves their index rows.
pub(super) async fn plant_dangling(db: &TestDatabase, ids: &[u32]) {
    let all = Event::find().room("r").all(db).await.unwrap();
    let mut batch = Batch::new("Events", "r");
    for event in all.iter().filter(|event| ids.contains(&event.id)) {
        batch = batch.with(event.key().row.clone(), Action::Delete(Condition::Exists));
    }
    db.store().commit(&[batch]).await.unwrap();
}

/// An index row of `by_level` at `level` that names the entity `id`.
async fn plant_entry(db: &TestDatabase, level: i16, id: u32) {
    let row = Event::by_level().room("r").level(level).name("n").id(id).explain().keys.remove(0);
    let row = row.split("RowKey eq '").nth(1).unwrap().trim_end_matches('\'').to_owned();
    let mut properties = Properties::new();
    properties.insert("EntityType", "Event.by_level@1");
    properties.insert("_rk", format!("ev!n!{id:06}"));
    properties.insert("_seq", Value::Int64(1));
    let batch = Batch::new("Events", "r").with(row, Action::Insert(properties));
    db.store().commit(&[batch]).await.unwrap();
}

#[tokio::test]
async fn an_index_row_whose_entity_no_longer_wants_it_is_dropped() {
    let db = database(&[event(1), event(2)]).await;
    plant_entry(&db, 7, 1).await;
    plant_entry(&db, 8, 99).await;
    let found = plain(Event::by_level().room("r").all(&db).await.unwrap());
    assert_eq!(found, [event(1), event(2)], "neither at its old level, nor without an entity");
    assert!(Event::by_level().room("r").level(7).name("n").id(1).one(&db).await.unwrap().is_none());
    assert!(!Event::by_level().room("r").level(7).name("n").id(1).exists(&db).await.unwrap());
    assert!(!Event::by_level().room("r").level(8).name("n").id(99).exists(&db).await.unwrap());
    let first = plain(Event::by_level().room("r").level_between(7..).first(1, &db).await.unwrap());
    assert!(first.is_empty());
    assert_eq!(Event::by_level().room("r").level_between(7..).delete_all(&db).await.unwrap(), 0);
    assert_eq!(Event::find().room("r").count(&db).await.unwrap(), 2);
}

#[tokio::test]
async fn delete_all_over_an_index_spares_an_entity_that_leaves_the_range_meanwhile() {
    let db = database(&[event(1)]).await;
    let other = db.reopen::<Model>().await.unwrap();
    let racing = Racing::around(&db, async move {
        let path = Event::find().room("r").name("n").id(1);
        other
            .update(path, |event| {
                event.level = 100;
                Ok(())
            })
            .await
            .unwrap();
    });
    let late = tablemodel::Database::builder().with_store::<Model>(racing).await.unwrap();
    assert_eq!(Event::by_level().room("r").level(1).delete_all(&late).await.unwrap(), 0);
    let left = Event::find().room("r").name("n").id(1).one(&db).await.unwrap();
    assert_eq!(left.map(|event| event.level), Some(100));
}

/// Its new row may stand where the range was read already.
#[tokio::test]
async fn delete_all_over_an_index_finds_an_entity_that_goes_to_another_place_in_the_range_meanwhile() {
    let db = database(&[event(1), event(2)]).await;
    let other = db.reopen::<Model>().await.unwrap();
    let racing = Racing::around(&db, async move {
        for (id, level) in [(1, 100), (2, 0)] {
            let path = Event::find().room("r").name("n").id(id);
            other.update(path, |event| Ok(event.level = level)).await.unwrap();
        }
    });
    let late = tablemodel::Database::builder().with_store::<Model>(racing).await.unwrap();
    assert_eq!(Event::by_level().room("r").level_between(0..200).delete_all(&late).await.unwrap(), 2);
    assert_eq!(Event::find().room("r").count(&db).await.unwrap(), 0);
    assert!(db.verify().await.unwrap().is_clean());
}

/// Another program, before the first commit of which employee 1 becomes number 9, with the same address.
async fn renumbered() -> (TestDatabase, tablemodel::Database) {
    let db = TestDatabase::new::<Company>().await.unwrap();
    db.insert(&employee(1)).await.unwrap();
    let other = db.reopen::<Company>().await.unwrap();
    let racing = Racing::around(&db, async move {
        let mut found = Employee::find().department("Sales").id(1).one(&other).await.unwrap().unwrap();
        found.id = 9;
        other.save(&mut found).await.unwrap();
    });
    let late = tablemodel::Database::builder().with_store::<Company>(racing).await.unwrap();
    (db, late)
}

#[tokio::test]
async fn who_writes_by_an_index_finds_an_entity_that_goes_to_another_row_key_meanwhile() {
    let path = || Employee::by_email().department("Sales").email("mail1@contoso.com");
    let (db, late) = renumbered().await;
    late.update(path(), |employee| Ok(employee.age = 31)).await.unwrap();
    let found = || Employee::find().department("Sales").id(9);
    assert_eq!(found().one(&db).await.unwrap().map(|employee| employee.age), Some(31));
    let (db, late) = renumbered().await;
    late.patch(path(), Employee::AGE.set(32)).await.unwrap();
    assert_eq!(found().one(&db).await.unwrap().map(|employee| employee.age), Some(32));
    let (db, late) = renumbered().await;
    let range = Employee::by_email().department("Sales").email_starts_with("mail");
    assert_eq!(range.delete_all(&late).await.unwrap(), 1);
    assert!(found().one(&db).await.unwrap().is_none());
    let gone = [late.update(path(), |_| Ok(())).await.map(drop), late.patch(path(), Employee::AGE.set(1)).await];
    assert_eq!(gone.map(|gone| gone.unwrap_err().kind().clone()), [ErrorKind::NotFound, ErrorKind::NotFound]);
}

#[tokio::test]
async fn what_was_seen_and_is_gone_is_not_found_when_loaded() {
    let db = database(&[event(1)]).await;
    let seen = Event::by_city().room("r").city("Oslo").all(&db).await.unwrap().remove(0);
    db.delete(seen.load(&db).await.unwrap()).await.unwrap();
    let error = seen.load(&db).await.unwrap_err();
    assert_eq!((error.kind(), error.key(), error.entity()), (&ErrorKind::NotFound, Some(seen.key()), Some("Event")));
}

#[tokio::test]
async fn an_index_that_keeps_less_than_a_copy_costs_a_point_read_a_result() {
    let db = database(&(0..40).map(event).collect::<Vec<_>>()).await;
    db.forget_calls();
    assert_eq!(Event::by_level().room("r").all(&db).await.unwrap().len(), 40);
    assert_eq!((db.tally().range_queries, db.tally().point_reads), (1, 40));
    db.forget_calls();
    assert_eq!(Event::by_city().room("r").all(&db).await.unwrap().len(), 40);
    assert_eq!((db.tally().range_queries, db.tally().point_reads), (1, 0));
    db.forget_calls();
    assert_eq!(Event::by_level().room("r").first(3, &db).await.unwrap().len(), 3);
    assert_eq!((db.tally().range_queries, db.tally().rows_read), (1, 6), "no more index rows than results");
}

#[tokio::test]
async fn no_more_than_sixteen_point_reads_are_in_flight() {
    let gauge = Gauge::default();
    let inner = gauge.clone();
    let db = TestDatabase::over::<Model>(move |clock| {
        Around::over(Arc::new(MemoryStore::builder().clock(clock).build()), inner)
    });
    let db = db.await.unwrap();
    for id in 0..64 {
        db.insert(&event(id)).await.unwrap();
    }
    let plain_store = tablemodel::Database::builder().with_store::<Model>(db.store()).await.unwrap();
    for read in 0..3 {
        gauge.0.most.store(0, Ordering::SeqCst);
        let ids: Vec<_> = (0..64).collect();
        let found = match read {
            0 => Event::by_level().room("r").all(&plain_store).await.unwrap().len(),
            1 => Event::find().room("r").name("n").get_many(ids, &plain_store).await.unwrap().len(),
            _ => {
                let stream = Event::by_level().room("r").stream(&plain_store);
                futures_util::TryStreamExt::try_collect::<Vec<_>>(stream).await.unwrap().len()
            }
        };
        assert_eq!((found, gauge.0.most.load(Ordering::SeqCst)), (64, 16), "read {read}");
    }
}

#[tokio::test]
async fn a_stream_reads_a_page_when_it_is_asked_for_and_none_ahead() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let events: Vec<_> = (0..2500).map(|id| Event { active: false, code: None, ..event(id) }).collect();
    let report = db.bulk().insert_all(futures_util::stream::iter(events)).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (2500, 0));
    db.forget_calls();
    let mut stream = Box::pin(Event::by_city().room("r").stream(&db));
    let mut pages = Vec::new();
    while let Some(found) = futures_util::StreamExt::next(&mut stream).await {
        found.unwrap();
        pages.push(db.calls().iter().filter(|call| matches!(call.call, CallKind::Query { .. })).count());
    }
    assert_eq!(pages.len(), 2500);
    for (place, read) in pages.iter().enumerate() {
        assert_eq!(*read, place / 1000 + 1, "pages read when result {place} came");
    }
}

/// How many point reads are in flight, which take their time, and the most that were.
#[derive(Clone, Default)]
struct Gauge(Arc<Levels>);

#[derive(Default)]
struct Levels {
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl Between for Gauge {
    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        let now = self.0.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(now, Ordering::SeqCst);
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let row = inner.get(table, key).await;
        self.0.now.fetch_sub(1, Ordering::SeqCst);
        row
    }
}

/// A store in which another program acts once, right before the first commit.
struct Racing {
    act: tokio::sync::Mutex<Option<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl Racing {
    fn around(db: &TestDatabase, act: impl Future<Output = ()> + Send + 'static) -> Arc<Around<Self>> {
        Around::over(db.store(), Self { act: tokio::sync::Mutex::new(Some(Box::pin(act))) })
    }
}

#[async_trait]
impl Between for Racing {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let act = self.act.lock().await.take();
        if let Some(act) = act {
            act.await;
        }
        inner.commit(batches).await
    }
}
