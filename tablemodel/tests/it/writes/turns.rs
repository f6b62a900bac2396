//! Many tasks of one program that meet in a row: they take turns, and none is told that the store was busy.
//!
//! On one thread, with every call of the store taking several steps: so that all have read before the first of them writes.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tablemodel::{
    Consistency,
    prelude::*,
    store::{
        MemoryStore, TableStore,
        clock::Sleep,
        fault::{Call, Fault, FaultPlan, FaultStore, Request},
    },
};
use tokio::task::JoinSet;

const TASKS: u32 = 60;
const MODES: [Consistency; 2] = [Consistency::Atomic, Consistency::Azure];

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", partition = "{shop}", row = "o_{id:06}")]
#[table(count(Shop, key(name = shop), into = orders))]
#[table(count(Town, key(name = town), into = orders))]
#[table(list(of_day, row = "day_{day}"))]
struct Order {
    shop: String,
    id: u32,
    town: String,
    day: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", partition = "{name}", row = "shop")]
struct Shop {
    name: String,
    visits: i64,
    motto: String,
    #[table(aggregate)]
    orders: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Towns", partition = "{name}", row = "town")]
struct Town {
    name: String,
    #[table(aggregate)]
    orders: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Buyers", partition = "{shop}", row = "buyer_{id}")]
struct Buyer {
    shop: String,
    id: u32,
    name: String,
    #[table(aggregate)]
    sales: i64,
    #[table(aggregate)]
    spent: i64,
    #[table(aggregate)]
    most: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Buyer)]
struct Card {
    name: String,
}

/// Whose write meets others in its own row, in those of two buyers, and in two lists.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Sales", partition = "{shop}_{number}", row = "sale")]
#[table(list(of_cents, table = "Lists", partition = "{shop}", row = "l_{cents}"))]
#[table(count(Buyer, key(shop = shop, id = buyer), into = sales))]
#[table(sum(Buyer, key(shop = shop, id = buyer), of = cents, into = spent))]
#[table(max(Buyer, key(shop = shop, id = buyer), of = cents, into = most))]
struct Sale {
    shop: String,
    number: u32,
    buyer: u32,
    cents: u32,
    #[table(copy_of(Buyer, key(shop = shop, id = buyer), on_delete = clear))]
    card: Option<Card>,
}

#[derive(TableModel)]
enum Model {
    Order(Order),
    Shop(Shop),
    Town(Town),
    Buyer(Buyer),
    Sale(Sale),
}

/// Each call takes a while; commits are counted.
#[derive(Clone, Default)]
struct Slow(Arc<AtomicU32>);

impl FaultPlan for Slow {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        self.0.fetch_add(u32::from(matches!(call.request, Request::Commit(_))), Ordering::Relaxed);
        Some(Fault::Delay(Duration::from_millis(1)))
    }
}

/// A while is three steps of the others; a second, for which a turn is waited for, and ten, for which a reply is, never pass.
pub(super) struct Steps;

#[async_trait]
impl Sleep for Steps {
    async fn sleep(&self, time: Duration) {
        if time == Duration::from_secs(1) || time >= Duration::from_secs(10) {
            std::future::pending::<()>().await;
        }
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
    }
}

async fn database(mode: Consistency) -> Database {
    counted(mode, Slow::default()).await
}

async fn counted(mode: Consistency, slow: Slow) -> Database {
    let store: Arc<dyn TableStore> = Arc::new(FaultStore::new(Arc::new(MemoryStore::new()), slow).sleeping(Steps));
    let builder = Database::builder().sleep(Arc::new(Steps)).consistency(mode);
    let db = builder.with_store::<Model>(store).await.unwrap();
    db.ensure_tables().await.unwrap();
    let shop = Shop { name: "A".into(), visits: 0, motto: String::new(), orders: 0 };
    db.insert(&shop).await.unwrap();
    db
}

/// All at once; each has to succeed.
async fn together<F>(db: &Database, told: &str, write: impl Fn(Database, u32) -> F)
where
    F: Future<Output = tablemodel::Result<()>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(write(db.clone(), task));
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("no task panics").unwrap_or_else(|error| panic!("{told}: {error}"));
    }
    assert!(db.verify().await.unwrap().is_clean(), "{told}");
}

fn order(shop: &str, id: u32, town: &str, day: &str) -> Order {
    Order { shop: shop.into(), id, town: town.into(), day: day.into() }
}

#[tokio::test]
async fn those_who_meet_in_a_total_beside_them_all_count() {
    for mode in MODES {
        let db = database(mode).await;
        let insert = |db: Database, id: u32| async move {
            db.insert(&order("A", id, &format!("t{id}"), &format!("d{id}"))).await.map(drop)
        };
        together(&db, &format!("{mode:?}"), insert).await;
        let shop = Shop::find().name("A").one(&db).await.unwrap().unwrap();
        assert_eq!(shop.orders, i64::from(TASKS));
    }
}

#[tokio::test]
async fn those_who_meet_in_a_total_elsewhere_all_count() {
    for mode in MODES {
        let db = database(mode).await;
        let insert = |db: Database, id: u32| async move {
            db.insert(&order(&format!("s{id}"), id, "Rome", "monday")).await.map(drop)
        };
        together(&db, &format!("{mode:?}"), insert).await;
        // In the second mode each was delivered by its writer, and none left to a relay.
        assert_eq!(db.total(Town::find().name("Rome"), Town::ORDERS).await.unwrap(), i64::from(TASKS), "{mode:?}");
    }
}

#[tokio::test]
async fn those_who_meet_in_a_list_all_stand_in_it() {
    let db = database(Consistency::Atomic).await;
    let insert =
        |db: Database, id: u32| async move { db.insert(&order("s0", id, &format!("t{id}"), "monday")).await.map(drop) };
    together(&db, "list", insert).await;
    assert_eq!(Order::of_day().shop("s0").day("monday").keys(&db).await.unwrap().len(), TASKS as usize);
}

#[tokio::test]
async fn those_who_update_one_entity_all_change_it() {
    for mode in MODES {
        let db = database(mode).await;
        let visit = |db: Database, _| async move {
            let visited = db.update(Shop::find().name("A"), |shop| {
                shop.visits += 1;
                Ok(())
            });
            visited.await.map(drop)
        };
        together(&db, &format!("{mode:?}"), visit).await;
        assert_eq!(Shop::find().name("A").one(&db).await.unwrap().unwrap().visits, i64::from(TASKS));
    }
}

/// Others patch it, or count in it, one after the other without an end: none of them waits for what it reads before it writes.
#[tokio::test]
async fn who_updates_an_entity_is_not_kept_from_it_by_others() {
    const OTHERS: u32 = 8;
    const UPDATES: i64 = 20;
    for mode in MODES {
        let db = database(mode).await;
        let shop = || Shop::find().name("A");
        let (ended, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let mut others = JoinSet::new();
        for other in 0..OTHERS {
            let (db, ended, written) = (db.clone(), Arc::clone(&ended), Arc::clone(&written));
            others.spawn(async move {
                while !ended.load(Ordering::Relaxed) {
                    let number = written.fetch_add(1, Ordering::Relaxed);
                    match other % 2 {
                        0 => db.patch(shop(), Shop::MOTTO.set(format!("m{number}"))).await.unwrap(),
                        _ => drop(db.insert(&order("A", number, "Rome", &format!("d{number}"))).await.unwrap()),
                    }
                }
            });
        }
        for _ in 0..UPDATES {
            let visit = |shop: &mut Shop| {
                shop.visits += 1;
                Ok(())
            };
            db.update(shop(), visit).await.unwrap_or_else(|error| panic!("{mode:?}: {error}"));
        }
        ended.store(true, Ordering::Relaxed);
        while let Some(other) = others.join_next().await {
            other.expect("no task panics");
        }
        assert!(written.load(Ordering::Relaxed) > OTHERS, "they wrote meanwhile");
        assert_eq!(shop().one(&db).await.unwrap().unwrap().visits, UPDATES, "{mode:?}");
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}");
    }
}

#[tokio::test]
async fn those_who_patch_one_entity_all_do() {
    for mode in MODES {
        let db = database(mode).await;
        let patch = |db: Database, task: u32| async move {
            db.patch(Shop::find().name("A"), Shop::MOTTO.set(format!("m{task}"))).await
        };
        together(&db, &format!("{mode:?}"), patch).await;
    }
}

#[tokio::test]
async fn those_who_move_from_one_partition_to_another_all_arrive() {
    for mode in MODES {
        let slow = Slow::default();
        let db = counted(mode, slow.clone()).await;
        for id in 0..TASKS {
            db.insert(&order("A", id, "Rome", "monday")).await.unwrap();
        }
        let leave = |db: Database, id: u32| async move {
            let mut order = Order::find().shop("A").id(id).one(&db).await?.expect("inserted");
            order.shop = "B".into();
            db.rekey(&mut order).await
        };
        slow.0.store(0, Ordering::Relaxed);
        together(&db, &format!("{mode:?}"), leave).await;
        let commits = slow.0.load(Ordering::Relaxed);
        assert!(commits < 14 * TASKS, "{commits} commits of {TASKS} entities: they met again and again");
        let orders = |shop: &str| db.total(Shop::find().name(shop), Shop::ORDERS);
        assert_eq!((orders("A").await.unwrap(), orders("B").await.unwrap()), (0, i64::from(TASKS)), "{mode:?}");
        assert_eq!(Order::of_day().shop("B").day("monday").keys(&db).await.unwrap().len(), TASKS as usize);
    }
}

/// Each in its own row and those of two buyers, of which it knows one only once it has read what it replaces; or in a buyer's, and those of all
/// who copy it.
#[tokio::test]
async fn those_who_meet_in_several_rows_all_write() {
    for mode in MODES {
        let db = database(mode).await;
        let buyer = |id, name: &str| Buyer { shop: "A".into(), id, name: name.into(), sales: 0, spent: 0, most: None };
        for id in 0..3 {
            db.insert(&buyer(id, "Jo")).await.unwrap();
        }
        let sell = move |db: Database, task: u32| async move {
            for round in task * 4..task * 4 + 4 {
                let dice = round.wrapping_mul(0x9E37_79B9).swap_bytes();
                let (number, id, cents) = (dice % 3, dice / 3 % 3, dice / 9 % 7);
                match dice / 63 % 3 {
                    0 => db.upsert(&buyer(id, &format!("n{cents}"))).await.map(drop)?,
                    _ => db.upsert(&Sale { shop: "A".into(), number, buyer: id, cents, card: None }).await.map(drop)?,
                }
            }
            Ok(())
        };
        together(&db, &format!("{mode:?}"), sell).await;
    }
}
