//! What an observer is told of calls: their kind, table, rows, bytes and time, and nothing of what is in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use tablemodel::{
    DateTime, ErrorKind, Observer, StoreCall,
    prelude::*,
    store::{
        Batch, KeyRange, MemoryStore, Query, Receipts, StoreError, StoreErrorKind, TableStore,
        clock::{Clock, ManualClock},
        fault::{Call, Fault, FaultStore, Request, Script},
        size,
    },
    testing::example::{Company, Employee, employee},
};

use crate::{
    between::{Around, Between},
    elsewhere::{self, at, worker},
    heard::{self, Heard},
    migrate::Passing,
};

#[derive(Default)]
struct Calls(Mutex<Vec<StoreCall>>);

impl Observer for Calls {
    fn called(&self, call: &StoreCall) {
        self.0.lock().unwrap().push(call.clone());
    }
}

impl Calls {
    /// Those since the last time.
    fn all(&self) -> Vec<StoreCall> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Operation, rows and bytes of those since the last time; on table `Company` alone.
    fn taken(&self) -> Vec<(&'static str, usize, usize)> {
        let calls = self.all();
        let told = format!("{calls:?}");
        assert!(["Sales", "mail", "empid"].iter().all(|value| !told.contains(value)), "{told}");
        let of_table = calls.into_iter().filter(|call| call.table == "Company");
        of_table.map(|call| (call.operation, call.rows, call.bytes)).collect()
    }

    /// Operation, table and error of those on tables since the last time.
    fn on_tables(&self) -> Vec<(&'static str, String, Option<StoreErrorKind>)> {
        let calls = self.all().into_iter().filter(|call| call.operation.contains("_table"));
        let told = |call: StoreCall| {
            assert_eq!((call.class, call.part, call.rows, call.bytes), (None, 0, 0, 0), "{call:?}");
            (call.operation, call.table, call.error)
        };
        calls.map(told).collect()
    }
}

#[tokio::test]
async fn an_observer_is_told_of_rows_and_bytes_and_of_no_value() {
    let directory = tempfile::tempdir().unwrap();
    let calls = Arc::new(Calls::default());
    let builder = || Database::builder().observer(calls.clone());
    let stores = [
        builder().in_memory::<Company>().await.unwrap(),
        builder().open::<Company>(directory.path().join("company")).await.unwrap(),
    ];
    for db in stores {
        db.ensure_tables().await.unwrap();
        calls.taken();
        for id in 1..=2 {
            db.insert(&employee(id)).await.unwrap();
        }
        let written = calls.taken();
        assert!(written.iter().all(|(operation, rows, bytes)| (*operation, *rows) == ("commit", 2) && *bytes > 0));
        assert_eq!(written.len(), 2);
        let page = db.store().query(&Query::new("Company", KeyRange::table())).await.unwrap();
        let bytes = |row: &tablemodel::Row| size::row_bytes(&row.key.partition, &row.key.row, &row.properties);
        let mut primary: Vec<_> = page.rows.iter().filter(|row| row.key.row.starts_with("empid")).map(bytes).collect();
        let path = || Employee::find().department("Sales");
        path().id(1).one(&db).await.unwrap().unwrap();
        assert_eq!(calls.taken(), [("get", 1, primary[0])]);
        assert!(path().id(3).one(&db).await.unwrap().is_none());
        assert_eq!(calls.taken(), [("get", 0, 0)]);
        assert_eq!(path().all(&db).await.unwrap().len(), 2);
        let all = calls.taken();
        let sum = primary.drain(..).sum::<usize>();
        assert!(matches!(all[..], [("query", 2, bytes)] if bytes == sum), "{all:?} {sum}");
        assert_eq!(path().id_between(2..).first(1, &db).await.unwrap().len(), 1);
        assert_eq!(calls.taken().len(), 1);
    }
}

/// Notes what is committed, and refuses what is of several tables, where it is to.
#[derive(Default)]
struct Noting {
    commits: Mutex<Vec<Vec<Batch>>>,
    refuses: AtomicBool,
}

#[async_trait]
impl Between for Noting {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.commits.lock().unwrap().push(batches.to_vec());
        if self.refuses.load(Relaxed) && batches.iter().any(|batch| batch.table != batches[0].table) {
            return Err(StoreError::new(StoreErrorKind::Denied, "no room"));
        }
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn a_commit_is_told_once_for_each_of_its_tables_with_the_rows_and_bytes_of_that() {
    let (calls, store) = (Arc::new(Calls::default()), Around::over(Arc::new(MemoryStore::new()), Noting::default()));
    let builder = Database::builder().observer(calls.clone());
    let db = builder.with_store::<elsewhere::Model>(store.clone()).await.unwrap();
    db.ensure_tables().await.unwrap();
    calls.all();
    store.commits.lock().unwrap().clear();
    db.insert(&worker("A", 1)).await.unwrap();
    store.refuses.store(true, Relaxed);
    assert_eq!(db.insert(&worker("A", 2)).await.unwrap_err().kind(), &ErrorKind::Denied);

    let told: Vec<_> = calls.all().into_iter().filter(|call| call.operation == "commit").collect();
    let told: Vec<&[StoreCall]> = told.chunk_by(|_, next| next.part > 0).collect();
    let commits = store.commits.lock().unwrap().clone();
    assert_eq!(told.len(), commits.len(), "{told:?}");
    let mut outcomes = Vec::new();
    for (calls, batches) in told.into_iter().zip(&commits) {
        let mut tables = BTreeMap::<&str, (usize, usize)>::new();
        for batch in batches {
            let (rows, bytes) = tables.entry(&batch.table).or_default();
            *rows += batch.operations.len();
            *bytes += size::batch_bytes(batch);
        }
        assert_eq!(calls.iter().map(|call| call.part).collect::<Vec<_>>(), Vec::from_iter(0..tables.len()));
        let of_tables = calls.iter().map(|call| (call.table.as_str(), (call.rows, call.bytes)));
        assert_eq!(of_tables.collect::<BTreeMap<_, _>>(), tables);
        let outcome = |call: &StoreCall| (call.attempt, call.elapsed, call.error);
        assert!(calls.iter().all(|call| outcome(call) == outcome(&calls[0])), "{calls:?}");
        if tables.len() > 1 {
            assert!(tables.keys().eq(&["Badges", "Cities", "Company"]) && batches.len() > 3, "{calls:?}");
            outcomes.push(calls[0].error);
        }
    }
    assert_eq!(outcomes, [None, Some(StoreErrorKind::Denied)]);
}

#[tokio::test]
async fn tracing_is_told_the_same_as_an_observer() {
    let calls = Arc::new(Calls::default());
    let heard = heard::calls_of(async {
        let db = Database::builder().observer(calls.clone()).in_memory::<elsewhere::Model>().await.unwrap();
        db.ensure_tables().await.unwrap();
        db.insert(&worker("A", 1)).await.unwrap();
        at!("A", 1).one(&db).await.unwrap().unwrap();
    });
    let heard = heard.await;
    assert!(heard.iter().any(|call| call["operation"] == "commit" && call["part"] == "2"), "{heard:?}");
    assert_eq!(heard, calls.all().iter().map(fields).collect::<Vec<_>>());
}

/// A call, as an event tells it.
fn fields(call: &StoreCall) -> Heard {
    let mut fields = Heard::from([
        ("message", "store call".to_owned()),
        ("operation", call.operation.to_owned()),
        ("table", call.table.clone()),
        ("part", call.part.to_string()),
        ("rows", call.rows.to_string()),
        ("bytes", call.bytes.to_string()),
        ("attempt", call.attempt.to_string()),
        ("elapsed_us", format!("{} as a number", call.elapsed.as_micros())),
        ("error", format!("{:?}", call.error)),
    ]);
    fields.extend(call.class.map(|class| ("class", class.to_string())));
    fields
}

#[tokio::test]
async fn calls_on_tables_are_told_and_how_the_store_answered_them() {
    let calls = Arc::new(Calls::default());
    let builder = Database::builder().prefix("app").observer(calls.clone());
    let db = builder.in_memory::<Company>().await.unwrap();
    assert!(calls.on_tables().is_empty());
    let told = |operation: &'static str, table: &str, error| (operation, table.to_owned(), error);
    for error in [None, Some(StoreErrorKind::TableExists)] {
        db.ensure_tables().await.unwrap();
        let created = ["appCompany", "apptmschema"].map(|table| told("create_table", table, error));
        assert_eq!(calls.on_tables(), created);
    }
    db.list_tables().await.unwrap();
    assert_eq!(calls.on_tables(), [told("list_tables", "", None)]);
    db.drop_tables().await.unwrap();
    let deleted = ["appCompany", "apptmschema"].map(|table| told("delete_table", table, None));
    let never_there = told("delete_table", "apptmdirty", Some(StoreErrorKind::TableNotFound));
    assert_eq!(calls.on_tables(), [&[never_there][..], &deleted[..]].concat());
}

/// How long a call takes in the store below.
fn time(operation: &str) -> Duration {
    let operations = ["get", "query", "commit", "create_table", "delete_table", "list_tables"];
    let place = operations.iter().position(|known| *known == operation).unwrap();
    Duration::from_secs(1 + place as u64)
}

fn slow(call: &Call<'_>) -> Option<Fault> {
    let operation = match call.request {
        Request::Get(..) => "get",
        Request::Query(_) => "query",
        Request::Commit(_) => "commit",
        Request::CreateTable(_) => "create_table",
        Request::DeleteTable(_) => "delete_table",
        Request::ListTables => "list_tables",
    };
    Some(Fault::Delay(time(operation)))
}

fn stopped() -> ManualClock {
    ManualClock::new(DateTime::from_unix_seconds(1_600_000_000).unwrap())
}

#[tokio::test]
async fn how_long_a_call_took_is_told_by_the_clock_of_the_database() {
    let (calls, clock) = (Arc::new(Calls::default()), stopped());
    let rows = MemoryStore::builder().clock(clock.clone()).build();
    let store = FaultStore::new(Arc::new(rows), slow).sleeping(clock.clone());
    let builder = Database::builder().clock(Arc::new(clock)).observer(calls.clone());
    let db = builder.with_store::<Company>(Arc::new(store)).await.unwrap();
    db.ensure_tables().await.unwrap();
    db.insert(&employee(1)).await.unwrap();
    Employee::find().department("Sales").id(1).one(&db).await.unwrap().unwrap();
    assert_eq!(Employee::find().department("Sales").all(&db).await.unwrap().len(), 1);
    db.list_tables().await.unwrap();
    db.drop_tables().await.unwrap();
    let told = calls.all();
    assert!(told.iter().all(|call| call.elapsed == time(call.operation)), "{told:?}");
    assert_eq!(told.iter().map(|call| call.operation).collect::<BTreeSet<_>>().len(), 6, "{told:?}");
}

#[tokio::test]
async fn each_attempt_is_told_without_the_pause_before_the_next() {
    let (calls, clock) = (Arc::new(Calls::default()), stopped());
    let rows = MemoryStore::builder().clock(clock.clone()).build();
    let store = FaultStore::new(Arc::new(rows), Script::new());
    let builder = Database::builder().clock(Arc::new(clock.clone())).sleep(Arc::new(Passing(clock.clone())));
    let db = builder.observer(calls.clone()).with_store::<Company>(Arc::new(store.clone())).await.unwrap();
    db.ensure_tables().await.unwrap();
    db.insert(&employee(1)).await.unwrap();
    let read = async || drop(Employee::find().department("Sales").id(1).one(&db).await.unwrap().unwrap());
    let list = async || drop(db.list_tables().await.unwrap());
    for is_of_rows in [true, false] {
        let (next, busy, begun) = (store.calls(), Fault::error(StoreErrorKind::Unavailable), clock.monotonic());
        store.replan(Script::new().at(next, busy.clone()).at(next + 1, busy));
        calls.all();
        match is_of_rows {
            true => read().await,
            false => list().await,
        }
        let told: Vec<_> = calls.all().iter().map(|call| (call.attempt, call.error, call.elapsed)).collect();
        let busy = Some(StoreErrorKind::Unavailable);
        assert_eq!(told, [(0, busy, Duration::ZERO), (1, busy, Duration::ZERO), (2, None, Duration::ZERO)]);
        assert!(clock.monotonic() > begun, "it paused");
    }
}

/// Counts how often it is asked what time has passed.
#[derive(Default)]
struct Asked(AtomicUsize);

impl Clock for Asked {
    fn now(&self) -> DateTime {
        DateTime::from_unix_seconds(1_600_000_000).unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.0.fetch_add(1, Relaxed);
        Duration::ZERO
    }
}

#[tokio::test]
async fn the_time_of_a_call_is_taken_only_where_somebody_listens() {
    let mut asked = Vec::new();
    for listens in [false, true] {
        let clock = Arc::new(Asked::default());
        let builder = Database::builder().clock(clock.clone());
        let builder = if listens { builder.observer(Arc::new(Calls::default())) } else { builder };
        let db = builder.in_memory::<Company>().await.unwrap();
        db.ensure_tables().await.unwrap();
        db.insert(&employee(1)).await.unwrap();
        let before = clock.0.load(Relaxed);
        Employee::find().department("Sales").id(1).one(&db).await.unwrap().unwrap();
        asked.push(clock.0.load(Relaxed) - before);
    }
    assert_eq!(asked[1], asked[0] + 2, "before the call and after it");
}
