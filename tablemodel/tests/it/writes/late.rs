//! A store that never answers some calls: each is given up at its deadline, and what it did is found out.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tablemodel::{
    DateTime, ErrorKind, Row, RowKey,
    prelude::*,
    store::{
        Batch, Capabilities, MemoryStore, Page, Query, Receipts, StoreError, TableStore,
        clock::{Clock, ManualClock},
    },
    testing::example::{Company, Employee, employee},
};

use crate::{
    between::{Around, Between},
    migrate::Passing,
};

/// Whether a call that is never answered is carried out.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Silence {
    Before,
    After,
}

/// What a call asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Call {
    Read,
    Write,
}

/// Silences by the calls from now on, the first of them last.
#[derive(Default)]
struct Silent {
    plan: Mutex<Vec<(Call, Silence)>>,
}

impl Silent {
    async fn call<T>(&self, call: Call, carried_out: impl Future<Output = T> + Send) -> T {
        let next = self.plan.lock().unwrap().pop_if(|(planned, _)| *planned == call);
        match next.map(|(_, silence)| silence) {
            None => carried_out.await,
            Some(Silence::Before) => std::future::pending().await,
            Some(Silence::After) => {
                carried_out.await;
                std::future::pending().await
            }
        }
    }
}

#[async_trait]
impl Between for Silent {
    fn capabilities(&self, inner: Capabilities) -> Capabilities {
        Capabilities { may_lose_reply: true, ..inner }
    }

    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.call(Call::Read, inner.get(table, key)).await
    }

    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        self.call(Call::Read, inner.query(query)).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.call(Call::Write, inner.commit(batches)).await
    }
}

/// A database over such a store, which is asked no more than a minute for anything, and its clock.
async fn opened() -> (Database, Arc<Around<Silent>>, ManualClock) {
    let clock = ManualClock::new(DateTime::from_unix_seconds(1_600_000_000).unwrap());
    let inner = MemoryStore::builder().clock(Arc::new(clock.clone())).build();
    let store = Around::over(Arc::new(inner), Silent::default());
    let builder = Database::builder().clock(Arc::new(clock.clone())).sleep(Arc::new(Passing(clock.clone())));
    let db = builder.deadline(DEADLINE).with_store::<Company>(store.clone()).await.unwrap();
    db.ensure_tables().await.unwrap();
    (db, store, clock)
}

const DEADLINE: Duration = Duration::from_secs(30);

fn at(id: u32) -> impl tablemodel::Path<State: tablemodel::Complete, Found = Stored<Employee>> {
    Employee::find().department("Sales").id(id)
}

#[tokio::test]
async fn a_read_that_is_not_answered_is_asked_again_after_its_deadline() {
    let (db, store, clock) = opened().await;
    db.insert(&employee(1)).await.unwrap();
    for late in [1, 7, 8] {
        *store.plan.lock().unwrap() = vec![(Call::Read, Silence::Before); late];
        let begun = clock.monotonic();
        let found = at(1).one(&db).await;
        let passed = clock.monotonic() - begun;
        assert!(passed >= DEADLINE * late as u32 && passed < DEADLINE * (late as u32 + 1), "{passed:?}");
        if late < 8 {
            assert_eq!(found.unwrap().as_deref(), Some(&employee(1)));
            continue;
        }
        let error = found.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Unavailable);
        assert!(error.to_string().contains("deadline"), "{error}");
    }
}

#[tokio::test]
async fn a_write_that_is_not_answered_happens_once_whether_it_was_carried_out_or_not() {
    for silences in
        [vec![Silence::Before], vec![Silence::After], vec![Silence::After, Silence::Before, Silence::Before]]
    {
        let (db, store, _) = opened().await;
        *store.plan.lock().unwrap() = silences.iter().rev().map(|silence| (Call::Write, *silence)).collect();
        let mut stored = db.insert(&employee(1)).await.unwrap_or_else(|error| panic!("{silences:?}: {error}"));
        assert_eq!(db.insert(&employee(1)).await.unwrap_err().kind(), &ErrorKind::AlreadyExists);
        *store.plan.lock().unwrap() = silences.iter().rev().map(|silence| (Call::Write, *silence)).collect();
        stored.age = 31;
        db.save(&mut stored).await.unwrap_or_else(|error| panic!("{silences:?}: {error}"));
        stored.age = 32;
        db.save(&mut stored).await.unwrap_or_else(|error| panic!("{silences:?}: {error}"));
        assert_eq!(at(1).one(&db).await.unwrap().map(|employee| employee.age), Some(32));
        assert!(db.verify().await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn a_write_that_nobody_answers_may_have_happened() {
    for silence in [Silence::Before, Silence::After] {
        let (db, store, _) = opened().await;
        let mut plan = vec![(Call::Write, Silence::Before); 20];
        *plan.last_mut().unwrap() = (Call::Write, silence);
        *store.plan.lock().unwrap() = plan;
        let written = db.insert(&employee(1)).await;
        store.plan.lock().unwrap().clear();
        let is_there = at(1).one(&db).await.unwrap().is_some();
        assert_eq!(is_there, silence == Silence::After);
        match written {
            Ok(_) => assert!(is_there, "{silence:?}"),
            Err(error) => assert_eq!(error.kind(), &ErrorKind::OutcomeUnknown, "{silence:?}: {error}"),
        }
        assert!(db.verify().await.unwrap().is_clean());
    }
}

/// Answers once others had a turn; whether it says that it loses replies.
struct Slow(bool);

#[async_trait]
impl Between for Slow {
    fn capabilities(&self, inner: Capabilities) -> Capabilities {
        Capabilities { may_lose_reply: self.0, ..inner }
    }

    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        tokio::task::yield_now().await;
        inner.get(table, key).await
    }

    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        tokio::task::yield_now().await;
        inner.query(query).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        tokio::task::yield_now().await;
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn a_call_of_a_store_that_loses_no_reply_has_no_deadline() {
    for may_lose_reply in [true, false] {
        let clock = ManualClock::new(DateTime::from_unix_seconds(1_600_000_000).unwrap());
        let store = Around::over(Arc::new(MemoryStore::new()), Slow(may_lose_reply));
        // Whoever waits for the deadline sees it pass at once.
        let builder = Database::builder().sleep(Arc::new(clock)).deadline(Duration::from_millis(1));
        let opened = builder.with_store::<Company>(store).await;
        if may_lose_reply {
            assert_eq!(opened.unwrap_err().kind(), &ErrorKind::Unavailable);
            continue;
        }
        let db = opened.unwrap();
        db.ensure_tables().await.unwrap();
        db.insert(&employee(1)).await.unwrap();
        assert_eq!(at(1).one(&db).await.unwrap().as_deref(), Some(&employee(1)));
    }
}
