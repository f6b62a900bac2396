//! Tasks of one program that meet in a row, over a `TestDatabase`: they take turns, as over any other database.
//!
//! On one thread, where every call of the store lets the other tasks go first: so that all have read before the first of them writes.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tablemodel::{
    RowKey,
    prelude::*,
    store::{Batch, MemoryStore, Page, Query, Receipts, StoreError, TableStore},
    testing::TestDatabase,
};
use tokio::task::{JoinSet, yield_now};

use crate::{
    between::{Around, Between},
    tools::within_a_minute,
};

const TASKS: u32 = 60;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", partition = "{shop}", row = "o_{id:06}")]
#[table(count(Shop, key(name = shop), into = orders))]
struct Order {
    shop: String,
    id: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", partition = "{name}", row = "shop")]
struct Shop {
    name: String,
    visits: i64,
    #[table(aggregate)]
    orders: i64,
}

#[derive(TableModel)]
enum Model {
    Order(Order),
    Shop(Shop),
}

/// Each call takes a while, and before a commit something may happen: nothing else before those that it makes.
#[derive(Default)]
struct Busy {
    before: Mutex<Vec<BoxFuture<'static, ()>>>,
    happens: AtomicBool,
}

impl Busy {
    async fn act(&self) {
        if self.happens.swap(true, Ordering::SeqCst) {
            return;
        }
        let next = self.before.lock().unwrap().pop();
        if let Some(next) = next {
            next.await;
        }
        self.happens.store(false, Ordering::SeqCst);
    }
}

#[async_trait]
impl Between for Busy {
    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        yield_now().await;
        inner.get(table, key).await
    }

    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        yield_now().await;
        inner.query(query).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        yield_now().await;
        self.act().await;
        inner.commit(batches).await
    }
}

/// A shop, and the store that it is in.
async fn open() -> (TestDatabase, Arc<Around<Busy>>) {
    let mut around = None;
    let made = TestDatabase::over::<Model>(|clock| {
        let rows: Arc<dyn TableStore> = Arc::new(MemoryStore::builder().clock(clock).build());
        around.insert(Around::over(rows, Busy::default())).clone()
    });
    let db = made.await.unwrap();
    db.insert(&Shop { name: "A".into(), visits: 0, orders: 0 }).await.unwrap();
    (db, around.unwrap())
}

async fn visit(db: &Database) -> tablemodel::Result<()> {
    db.update(Shop::find().name("A"), |shop| Ok(shop.visits += 1)).await.map(drop)
}

/// All at once; each has to succeed.
async fn together<F>(db: &TestDatabase, write: impl Fn(Database, u32) -> F)
where
    F: Future<Output = tablemodel::Result<()>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(write(db.database().clone(), task));
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("no task panics").unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn tasks_that_meet_in_a_total_all_count() {
    within_a_minute(|| async {
        let (db, _) = open().await;
        together(&db, |db, id| async move { db.insert(&Order { shop: "A".into(), id }).await.map(drop) }).await;
        let shop = Shop::find().name("A").one(&db).await.unwrap().unwrap();
        assert_eq!(shop.orders, i64::from(TASKS));
    });
}

#[test]
fn tasks_that_update_one_entity_all_change_it() {
    within_a_minute(|| async {
        let (db, _) = open().await;
        together(&db, |db, _| async move { visit(&db).await }).await;
        let shop = Shop::find().name("A").one(&db).await.unwrap().unwrap();
        assert_eq!(shop.visits, i64::from(TASKS));
    });
}

/// The second write that happens before a commit waits for the turn of the one that commits, which waits for it.
async fn wait_for_each_other(db: &TestDatabase, around: &Around<Busy>) {
    for _ in 0..2 {
        let its = db.database().clone();
        around.before.lock().unwrap().push(Box::pin(async move { visit(&its).await.unwrap() }));
    }
    visit(db).await.unwrap();
    assert!(around.before.lock().unwrap().is_empty());
    assert_eq!(Shop::find().name("A").one(db).await.unwrap().unwrap().visits, 3);
}

#[test]
fn two_who_wait_for_each_other_go_on() {
    within_a_minute(|| async {
        let (db, around) = open().await;
        wait_for_each_other(&db, &around).await;
    });
}

/// Each of its calls could be one that those who wait are waiting for.
#[test]
fn two_who_wait_for_each_other_go_on_beside_one_who_reads_for_ever() {
    within_a_minute(|| async {
        let (db, around) = open().await;
        let its = db.database().clone();
        let reads = tokio::spawn(async move {
            loop {
                assert!(Shop::find().name("A").exists(&its).await.unwrap());
                for _ in 0..1_000 {
                    yield_now().await;
                }
            }
        });
        wait_for_each_other(&db, &around).await;
        assert!(!reads.is_finished());
        reads.abort();
    });
}
