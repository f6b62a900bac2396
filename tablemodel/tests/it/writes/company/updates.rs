//! Tasks that update one entity at the same time: each changes what the one before it left, and one write saves it.

mod faults;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use futures_util::future::{join, join_all};
use tablemodel::{
    Consistency, Error, ErrorKind,
    prelude::*,
    store::{Batch, Receipts, StoreError, TableStore},
    testing::{Script, TestDatabase},
};
use tokio::task::JoinSet;

use super::{super::turns::Steps, commits};
use crate::{
    between::{Around, Between},
    dropped::Slow,
    migrate::{MODES, assert_clean, store_of},
};

/// With an index row that moves, a value of its own, a total that others add to, and one that it adds to.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stock", partition = "{shop}", row = "i_{id:03}")]
#[table(index(by_left, row = "l_{left:05}_{id:03}"))]
#[table(index(by_label, row = "n_{label}", unique, keys_only))]
#[table(sum(Shelf, key(shop = shop), of = left, into = items))]
struct Item {
    shop: String,
    id: u32,
    left: u32,
    label: Option<String>,
    #[table(aggregate)]
    sales: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stock", partition = "{shop}", row = "shelf")]
struct Shelf {
    shop: String,
    #[table(aggregate)]
    items: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stock", partition = "{shop}", row = "s_{number:05}")]
#[table(count(Item, key(shop = shop, id = item), into = sales))]
struct Sale {
    shop: String,
    number: u32,
    item: u32,
}

#[derive(TableModel)]
enum Model {
    Item(Item),
    Shelf(Shelf),
    Sale(Sale),
}

const TASKS: u32 = 40;

fn item(id: u32, left: u32) -> Item {
    Item { shop: "A".into(), id, left, label: None, sales: 0 }
}

/// With an item of which so many are left.
async fn store(mode: Consistency, left: u32) -> TestDatabase {
    let db = store_of::<Model>(mode).await;
    db.insert(&Shelf { shop: "A".into(), items: 0 }).await.unwrap();
    db.insert(&item(1, left)).await.unwrap();
    db
}

async fn program(db: &TestDatabase) -> Database {
    over(db, Slow::over(db.store())).await
}

async fn over(db: &TestDatabase, store: Arc<dyn TableStore>) -> Database {
    let builder = Database::builder().consistency(db.consistency()).clock(Arc::new(db.clock().clone()));
    builder.sleep(Arc::new(Steps)).with_store::<Model>(store).await.unwrap()
}

fn take(item: &mut Item) -> tablemodel::Result<()> {
    item.left = item.left.checked_sub(1).ok_or_else(|| Error::refused("sold out"))?;
    Ok(())
}

/// Takes one; how many it has left.
async fn buy(db: &Database) -> tablemodel::Result<u32> {
    db.update(Item::find().shop("A").id(1), take).await.map(|item| item.left)
}

/// What is left, as every row says.
async fn left(db: &TestDatabase, told: &str) -> u32 {
    db.fail(Script::new());
    assert_clean(db, told).await;
    let item = Item::find().shop("A").id(1).one(db).await.unwrap().expect("there");
    let by_left = Item::by_left().shop("A").left(item.left).id(1).one(db).await.unwrap();
    assert_eq!(by_left.map(|found| found.left), Some(item.left), "{told}");
    let shelf = Shelf::find().shop("A").one(db).await.unwrap().expect("there");
    assert_eq!(shelf.items, i64::from(item.left), "{told}");
    item.left
}

#[tokio::test]
async fn each_is_told_what_it_left_and_few_writes_save_it() {
    for mode in MODES {
        let db = store(mode, 100).await;
        let program = program(&db).await;
        db.forget_calls();
        let bought = join_all((0..TASKS).map(|_| buy(&program))).await;
        let told: BTreeSet<_> = bought.into_iter().map(|left| left.unwrap()).collect();
        assert_eq!(told, (60..100).collect(), "{mode:?}");
        // The first attempts, of which one is saved, and those of all others.
        assert!(commits(&db) <= TASKS as usize + 2, "{mode:?}: {} commits", commits(&db));
        assert_eq!(left(&db, &format!("{mode:?}")).await, 60);
    }
}

#[tokio::test]
async fn what_one_refuses_is_so_of_what_is_stored() {
    for mode in MODES {
        let db = store(mode, 25).await;
        let program = program(&db).await;
        let bought = join_all((0..TASKS).map(|_| buy(&program))).await;
        let told: BTreeSet<_> = bought.iter().filter_map(|left| left.as_ref().ok()).copied().collect();
        assert_eq!(told, (0..25).collect(), "{mode:?}");
        for refused in bought.into_iter().filter_map(|left| left.err()) {
            assert!(refused.to_string().contains("sold out"), "{mode:?}: {refused}");
        }
        assert_eq!(left(&db, &format!("{mode:?}")).await, 0);
    }
}

#[tokio::test]
async fn whose_change_cannot_be_stored_is_told_so_and_no_other() {
    for mode in MODES {
        let db = store(mode, 100).await;
        db.insert(&Item { label: Some("taken".into()), ..item(2, 0) }).await.unwrap();
        let program = program(&db).await;
        let update = async |task: u32| {
            let change = |item: &mut Item| {
                match task {
                    13 => item.label = Some("taken".into()),
                    21 => item.shop = "B".into(),
                    34 => item.label = Some("free".into()),
                    _ => {}
                }
                take(item)
            };
            program.update(Item::find().shop("A").id(1), change).await.map(drop)
        };
        for (task, updated) in (0..).zip(join_all((0..TASKS).map(update)).await) {
            let told = format!("{mode:?}, {task}: {updated:?}");
            match (task, updated.map_err(|error| error.kind().clone())) {
                (13, Err(ErrorKind::UniqueViolation { .. })) | (21, Err(ErrorKind::KeyChanged)) => {}
                (13 | 21, _) => panic!("{told}"),
                (_, updated) => assert_eq!(updated, Ok(()), "{told}"),
            }
        }
        let there = Item::find().shop("A").id(1).one(&db).await.unwrap().expect("there");
        assert_eq!(there.label.as_deref(), Some("free"), "{mode:?}");
        assert_eq!(left(&db, &format!("{mode:?}")).await, 100 - (TASKS - 2), "{mode:?}");
    }
}

#[tokio::test]
async fn who_panics_is_not_the_others_matter() {
    for mode in MODES {
        let db = store(mode, 100).await;
        let program = program(&db).await;
        let mut running = JoinSet::new();
        for task in 0..TASKS {
            let program = program.clone();
            running.spawn(async move {
                let change = |item: &mut Item| {
                    assert!(task != 17, "expected of this test");
                    take(item)
                };
                program.update(Item::find().shop("A").id(1), change).await.map(drop)
            });
        }
        let mut panicked = 0;
        while let Some(updated) = running.join_next().await {
            match updated {
                Ok(updated) => updated.unwrap_or_else(|error| panic!("{mode:?}: {error}")),
                Err(_) => panicked += 1,
            }
        }
        assert_eq!((panicked, left(&db, &format!("{mode:?}")).await), (1, 61), "{mode:?}");
    }
}

#[tokio::test]
async fn those_who_sell_beside_those_who_update_all_count() {
    for mode in MODES {
        let db = store(mode, 100).await;
        let program = program(&db).await;
        let sell = async |number| program.insert(&Sale { shop: "A".into(), number, item: 1 }).await.map(drop);
        let sales = join_all((0..TASKS).map(sell));
        let (bought, sold) = join(join_all((0..TASKS).map(|_| buy(&program))), sales).await;
        sold.into_iter().for_each(|sold| sold.unwrap());
        let told: BTreeSet<_> = bought.into_iter().map(|left| left.unwrap()).collect();
        assert_eq!(told, (60..100).collect(), "{mode:?}");
        assert_eq!(left(&db, &format!("{mode:?}")).await, 60);
        let item = Item::find().shop("A").id(1).one(&db).await.unwrap().expect("there");
        assert_eq!(item.sales, i64::from(TASKS), "{mode:?}");
    }
}

#[tokio::test]
async fn of_those_who_insert_or_update_one_inserts_and_all_have_their_say() {
    for mode in MODES {
        let db = store(mode, 0).await;
        let program = program(&db).await;
        let add = |item: &mut Item| {
            item.left += 1;
            Ok(())
        };
        let path = || Item::find().shop("A").id(5);
        let counted =
            join_all((0..TASKS).map(async |_| program.update_or_insert(path(), || item(5, 0), add).await)).await;
        let told: BTreeSet<_> = counted.into_iter().map(|counted| counted.unwrap().left).collect();
        assert_eq!(told, (1..=TASKS).collect(), "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

/// Another program takes one right before each of the first commits.
struct Buying {
    db: Database,
    times: AtomicU32,
}

#[async_trait]
impl Between for Buying {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let is_next = |left: u32| left.checked_sub(1);
        if self.times.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_next).is_ok() {
            buy(&self.db).await.expect("bought");
        }
        tokio::task::yield_now().await;
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn what_another_program_changes_meanwhile_is_changed_once_more() {
    for (mode, times) in MODES.into_iter().flat_map(|mode| [1, 5, 12].map(|times| (mode, times))) {
        let db = store(mode, 100).await;
        let between = Buying { db: (*db).clone(), times: AtomicU32::new(times) };
        let program = over(&db, Around::over(Slow::over(db.store()), between)).await;
        let told = format!("{mode:?}, {times}");
        let bought = join_all((0..TASKS).map(|_| buy(&program))).await;
        let told_left: BTreeSet<_> =
            bought.into_iter().map(|left| left.unwrap_or_else(|error| panic!("{told}: {error}"))).collect();
        assert_eq!(told_left.len(), TASKS as usize, "{told}");
        assert_eq!(left(&db, &told).await, 100 - TASKS - times, "{told}");
    }
}

/// Another program brings thirty right before the first commit after all have tried alone.
struct Restocking {
    db: Database,
    commits: AtomicU32,
}

#[async_trait]
impl Between for Restocking {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        if self.commits.fetch_add(1, Ordering::SeqCst) == TASKS {
            let restock = |item: &mut Item| {
                item.left += 30;
                Ok(())
            };
            self.db.update(Item::find().shop("A").id(1), restock).await.expect("restocked");
        }
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn nobody_is_refused_for_what_is_never_stored() {
    for mode in MODES {
        let db = store(mode, 10).await;
        let between = Restocking { db: (*db).clone(), commits: AtomicU32::new(0) };
        let program = over(&db, Around::over(Slow::over(db.store()), between)).await;
        for bought in join_all((0..TASKS).map(|_| buy(&program))).await {
            bought.unwrap_or_else(|error| panic!("{mode:?}: {error}"));
        }
        assert_eq!(left(&db, &format!("{mode:?}")).await, 0);
    }
}
