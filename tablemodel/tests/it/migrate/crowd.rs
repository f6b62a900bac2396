//! Many tasks of one program that meet in what is being built: a total, a list, a copy and values that are unique, which a release adds to
//! entities that are there.

use std::{collections::BTreeMap, time::Duration};

use futures_util::future::{join, join_all};
use tablemodel::{Consistency, ErrorKind, prelude::*};

use super::{MODES, assert_clean, next, store_of};
use crate::{crowds::program, moves::together::Dice};

mod first {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Shops", entity_type = "Shop", partition = "{shop}", row = "shop")]
    pub(super) struct Shop {
        pub(super) shop: String,
        pub(super) motto: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Shops", entity_type = "Visit", partition = "{shop}", row = "v_{id:04}")]
    pub(super) struct Visit {
        pub(super) shop: String,
        pub(super) id: u32,
        pub(super) ticket: u32,
        pub(super) day: u32,
        pub(super) cents: i64,
        pub(super) note: String,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Shop(Shop),
        Visit(Visit),
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "shop")]
struct Shop {
    shop: String,
    motto: String,
    #[table(aggregate, default)]
    visits: i64,
    #[table(aggregate, default)]
    spent: i64,
    #[table(aggregate)]
    most: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Shop)]
struct Motto {
    motto: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "v_{id:04}")]
#[table(index(by_ticket, row = "t_{ticket:04}", unique, keys_only))]
#[table(index(by_day, table = "Days", partition = "{day}", row = "{shop}_{id:04}", keep(cents)))]
#[table(list(of_day, row = "d_{day}"))]
#[table(count(Shop, key(shop = shop), into = visits))]
#[table(sum(Shop, key(shop = shop), of = cents, into = spent))]
#[table(max(Shop, key(shop = shop), of = cents, into = most))]
struct Visit {
    shop: String,
    id: u32,
    ticket: u32,
    day: u32,
    cents: i64,
    note: String,
    #[table(copy_of(Shop, key(shop = shop)))]
    under: Option<Motto>,
}

#[derive(TableModel)]
enum Model {
    Shop(Shop),
    Visit(Visit),
}

const SHOPS: [&str; 2] = ["A", "B"];

/// One change of the visit that is a task's own: what it leaves.
async fn change(
    db: &Database,
    dice: &mut Dice,
    (shop, id): (&str, u32),
    own: Option<Stored<Visit>>,
) -> tablemodel::Result<Option<Stored<Visit>>> {
    let (day, cents) = (dice.roll(2) as u32, dice.roll(90) as i64);
    let new = Visit {
        shop: shop.into(),
        id,
        ticket: id + 50 * dice.roll(9) as u32,
        day,
        cents,
        note: String::new(),
        under: None,
    };
    let path = || Visit::find().shop(shop).id(id);
    Ok(match own {
        None => Some(db.insert(&new).await?),
        Some(_) if dice.roll(4) == 0 => Some(db.upsert(&new).await?),
        Some(mut there) if dice.roll(4) == 0 => {
            (there.day, there.ticket) = (day, new.ticket);
            db.save(&mut there).await?;
            Some(there)
        }
        Some(there) if dice.roll(5) == 0 => {
            db.delete(there).await?;
            None
        }
        Some(_) if dice.roll(3) == 0 => {
            db.patch(path(), Visit::NOTE.set(format!("{cents}"))).await?;
            path().one(db).await?
        }
        Some(_) => Some(db.update(path(), |there| Ok((there.cents, there.day) = (cents, day))).await?),
    })
}

/// What a task does with the visit that is its own: gives what it left.
async fn live(db: &Database, seed: u64, id: u32) -> tablemodel::Result<Option<Visit>> {
    let (mut dice, shop) = (Dice(seed * 1_000 + u64::from(id) + 1), SHOPS[id as usize % 2]);
    let read = || Visit::find().shop(shop).id(id);
    let mut own = read().one(db).await?;
    for _ in 0..10 {
        own = match change(db, &mut dice, (shop, id), own).await {
            // Another program writes what they meet in, and follows the shop.
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Conflict { .. }) => {
                read().one(db).await?
            }
            changed => changed?,
        };
    }
    Ok(own.map(|there| (*there).clone()))
}

async fn rename(db: &Database, seed: u64) -> tablemodel::Result<()> {
    let mut dice = Dice(seed * 77 + 1);
    for _ in 0..6 {
        let (shop, motto) = (SHOPS[dice.roll(2) as usize], format!("motto {}", dice.roll(100)));
        match db.update(Shop::find().shop(shop), |shop| Ok(shop.motto.clone_from(&motto))).await {
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Conflict { .. }) => {}
            renamed => drop(renamed?),
        }
    }
    Ok(())
}

/// That these are all, and that all that is built says so.
async fn assert_all(db: &Database, all: &BTreeMap<(String, u32), Visit>, told: &str) {
    assert_clean(db, told).await;
    for name in SHOPS {
        let shop = Shop::find().shop(name).one(db).await.unwrap().unwrap();
        let own: Vec<_> = all.values().filter(|visit| visit.shop == name).collect();
        let said: Vec<_> = Visit::find().shop(name).all(db).await.unwrap().iter().map(|one| (**one).clone()).collect();
        assert_eq!(said.len(), own.len(), "{told}: {name}");
        for (said, own) in said.iter().zip(&own) {
            let expected = Visit { under: Some(Motto { motto: shop.motto.clone() }), ..(*own).clone() };
            assert_eq!(*said, expected, "{told}");
            let found = Visit::by_ticket().shop(name).ticket(own.ticket).one(db).await.unwrap();
            assert_eq!(found.map(|found| found.id), Some(own.id), "{told}: {own:?}");
        }
        let cents: Vec<_> = own.iter().map(|visit| visit.cents).collect();
        let totals = (cents.len() as i64, cents.iter().sum(), cents.iter().copied().max());
        assert_eq!((shop.visits, shop.spent, shop.most), totals, "{told}: {name}");
        for day in 0..2 {
            let listed = Visit::of_day().shop(name).day(day).keys(db).await.unwrap().len();
            assert_eq!(listed, own.iter().filter(|visit| visit.day == day).count(), "{told}: {name}, day {day}");
        }
    }
    for day in 0..2 {
        let rows = Visit::by_day().day(day).all(db).await.unwrap().len();
        assert_eq!(rows, all.values().filter(|visit| visit.day == day).count(), "{told}: day {day}");
    }
}

#[tokio::test]
async fn a_crowd_leaves_what_each_of_it_said_while_what_it_meets_in_is_built() {
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (1..=3).map(move |seed| (mode, seed))) {
        let told = format!("{mode:?}, seed {seed}");
        let store = store_of::<first::Model>(mode).await;
        for shop in SHOPS {
            store.insert(&first::Shop { shop: shop.into(), motto: "old".into() }).await.unwrap();
        }
        // So many that the release does not build it all before it begins.
        for id in 0..230 {
            let shop = SHOPS[id as usize % 2].to_owned();
            let visit =
                first::Visit { shop, id, ticket: 1_000 + id, day: id % 2, cents: i64::from(id), note: String::new() };
            store.insert(&visit).await.unwrap();
        }
        store.clock().advance(Duration::from_secs(130));
        let db = program::<Model>(&store).await;
        db.ensure_tables().await.unwrap();
        assert!(!db.migrations().plan().await.unwrap().is_empty(), "{told}");
        // In the atomic mode one program owns the store.
        let builder = if mode == Consistency::Atomic { db.clone() } else { next::<Model>(&store).await };
        let work = async { builder.migrations().apply().batch(7).wait(Duration::from_secs(2_000)).await };
        let lives = join_all((0..30).map(|id| live(&db, seed, id)));
        let (applied, (lived, renamed)) = join(work, join(lives, rename(&db, seed))).await;
        let applied = applied.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        assert!(applied.is_complete(), "{told}: {applied:?}");
        renamed.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        let mut all: BTreeMap<_, _> = (30..230)
            .map(|id| {
                let shop = SHOPS[id as usize % 2].to_owned();
                let (ticket, day, cents) = (1_000 + id, id % 2, i64::from(id));
                ((shop.clone(), id), Visit { shop, id, ticket, day, cents, note: String::new(), under: None })
            })
            .collect();
        for lived in lived {
            let own = lived.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            all.extend(own.map(|own| ((own.shop.clone(), own.id), own)));
        }
        assert_all(&db, &all, &told).await;
    }
}
