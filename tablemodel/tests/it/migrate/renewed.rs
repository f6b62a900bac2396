//! Leases that several tasks, or handles, of one program see to at once.

use std::{
    cmp::Ordering::{Equal, Greater, Less},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use tablemodel::{
    Consistency, Row, RowKey,
    prelude::*,
    store::{Batch, Page, Query, Receipts, StoreError, StoreErrorKind, TableStore},
    testing::TestDatabase,
};
use tokio::task::{JoinHandle, yield_now};

use super::{all_rows, filled, first, program_over};
use crate::between::{Around, Between};

/// Where leases and states stand.
const SCHEMA: &str = "tmschema";

/// What becomes of a read of the states.
const ANSWERED: usize = 0;
const NEVER_ANSWERED: usize = 1;
const REFUSED: usize = 2;

/// Holds back the answer to one write of a lease until it is told to give it, and the answers to those before until that one was made.
struct Late {
    /// Which one, of those that are made once it is armed.
    held: usize,
    armed: AtomicBool,
    written: AtomicUsize,
    answers: AtomicBool,
    reads: AtomicUsize,
    /// Whether there was a read that was not answered.
    was_read: AtomicBool,
}

impl Late {
    async fn read(&self, table: &str) -> Result<(), StoreError> {
        let becomes = if table == SCHEMA { self.reads.load(SeqCst) } else { ANSWERED };
        self.was_read.fetch_or(becomes != ANSWERED, SeqCst);
        match becomes {
            NEVER_ANSWERED => std::future::pending().await,
            REFUSED => Err(StoreError::new(StoreErrorKind::Unavailable, "it is busy")),
            _ => Ok(()),
        }
    }

    fn holds(&self, number: usize) -> bool {
        match number.cmp(&self.held) {
            Less => self.written.load(SeqCst) <= self.held,
            Equal => !self.answers.load(SeqCst),
            Greater => false,
        }
    }
}

#[async_trait]
impl Between for Late {
    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.read(table).await?;
        inner.get(table, key).await
    }

    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        self.read(&query.table).await?;
        inner.query(query).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let receipts = inner.commit(batches).await;
        if self.armed.load(SeqCst) && batches.iter().any(|batch| batch.table == SCHEMA) {
            let number = self.written.fetch_add(1, SeqCst);
            while self.holds(number) {
                yield_now().await;
            }
        }
        receipts
    }
}

/// A program with a lease, over a store that holds the answer to this one of its writes of leases from now on.
async fn holding(held: usize) -> (TestDatabase, Arc<Around<Late>>, Database) {
    let store = filled(Consistency::Azure, 1, 3).await;
    let late = Late {
        held,
        armed: AtomicBool::new(false),
        written: AtomicUsize::new(0),
        answers: AtomicBool::new(false),
        reads: AtomicUsize::new(ANSWERED),
        was_read: AtomicBool::new(false),
    };
    let late = Around::over(store.store(), late);
    let db = program_over::<first::Club>(&store, late.clone()).await;
    db.insert(&first::person("c0", 100)).await.expect("with a lease");
    late.armed.store(true, SeqCst);
    (store, late, db)
}

/// A write in a task of its own.
fn insert(db: &Database, id: u32) -> JoinHandle<tablemodel::Result<()>> {
    let db = db.clone();
    tokio::spawn(async move { db.insert(&first::person("c0", id)).await.map(drop) })
}

async fn leases(store: &TestDatabase) -> usize {
    let rows = all_rows(store, SCHEMA).await;
    rows.iter().filter(|row| row.key.row.starts_with("app|")).count()
}

/// That the program writes, now and whenever its lease is renewed.
async fn assert_writes(store: &TestDatabase, db: &Database, told: &str) {
    for id in 20..26 {
        let written = db.insert(&first::person("c0", id)).await;
        written.unwrap_or_else(|error| panic!("{told}, {id}: {error:?}"));
        store.clock().advance(Duration::from_secs(19));
    }
}

/// It had its lease after the other, and let what that had read of the states lapse, before it read them itself.
#[tokio::test]
async fn a_task_that_is_dropped_or_fails_while_two_renew_the_lease_keeps_no_other_from_writing() {
    for reads in [NEVER_ANSWERED, REFUSED] {
        let told = if reads == REFUSED { "refused" } else { "dropped" };
        let (store, late, db) = holding(1).await;
        store.clock().advance(Duration::from_secs(61));
        let (first, second) = (insert(&db, 10), insert(&db, 11));
        first.await.expect("not dropped").expect("with a new lease");
        late.reads.store(reads, SeqCst);
        late.answers.store(true, SeqCst);
        while !late.was_read.load(SeqCst) {
            yield_now().await;
        }
        if reads == NEVER_ANSWERED {
            second.abort();
            second.await.expect_err("dropped");
        } else {
            second.await.expect("not dropped").expect("the other's lease holds");
        }
        late.reads.store(ANSWERED, SeqCst);
        assert_writes(&store, &db, told).await;
    }
}

#[tokio::test]
async fn a_handle_that_is_closed_while_another_refreshes_the_lease_leaves_it_to_take_a_new_one() {
    let (store, late, db) = holding(0).await;
    store.clock().advance(Duration::from_secs(21));
    let written = insert(&db, 10);
    while late.written.load(SeqCst) == 0 {
        yield_now().await;
    }
    db.clone().close().await.expect("closed");
    let others = leases(&store).await;
    late.answers.store(true, SeqCst);
    written.await.expect("not dropped").expect("with a new lease");
    assert_eq!(leases(&store).await, others + 1, "migrations see the program");
    assert_writes(&store, &db, "closed").await;
}
