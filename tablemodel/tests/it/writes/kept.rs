//! A store that is verified, repaired, exported, loaded and cleared in part beside a crowd: nothing is reported that is not so, and nothing
//! is lost.

use std::cell::Cell;

use futures_util::future::{join, join_all};
use tablemodel::{ErrorKind, prelude::*, testing::TestDatabase};
use tokio::task::yield_now;

use crate::{
    crowds::program,
    migrate::{MODES, assert_clean, store_of},
    moves::together::Dice,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "shop", sharded(parts = i64))]
struct Shop {
    shop: String,
    motto: String,
    #[table(aggregate)]
    visits: i64,
    #[table(aggregate)]
    most: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Shop)]
struct Motto {
    motto: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Towns", partition = "{town}", row = "town")]
struct Town {
    town: u32,
    #[table(aggregate)]
    spent: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "v_{id:05}")]
#[table(index(by_ticket, row = "t_{ticket:05}", unique, keys_only))]
#[table(index(by_card, table = "Cards", partition = "{card}", row = "card", unique, keys_only))]
#[table(index(by_day, table = "Days", partition = "{day}", row = "{shop}_{id:05}", keep(cents)))]
#[table(list(of_day, row = "d_{day}"))]
#[table(list(of_town, table = "Lists", partition = "{town}", row = "l"))]
#[table(count(Shop, key(shop = shop), into = visits), max(Shop, key(shop = shop), of = cents, into = most))]
#[table(sum(Shop, key(shop = shop), of = cents, into = parts), sum(Town, key(town = town), of = cents, into = spent))]
struct Visit {
    shop: String,
    id: u32,
    ticket: u32,
    card: Option<u32>,
    day: u32,
    town: u32,
    cents: i64,
    #[table(copy_of(Shop, key(shop = shop)))]
    under: Option<Motto>,
}

#[derive(TableModel)]
enum Model {
    Shop(Shop),
    Town(Town),
    Visit(Visit),
}

const SHOPS: [&str; 2] = ["A", "B"];
const TASKS: u32 = 16;
/// Those that are loaded, and deleted at once.
const LOADED: std::ops::Range<u32> = 20_000..20_030;

fn visit(dice: &mut Dice, id: u32) -> Visit {
    Visit {
        shop: SHOPS[id as usize % 2].into(),
        id,
        ticket: id + 100 * dice.roll(3) as u32,
        card: (dice.roll(2) == 0).then_some(id + 100 * dice.roll(2) as u32),
        day: dice.roll(2) as u32,
        town: dice.roll(2) as u32,
        cents: dice.roll(90) as i64,
        under: None,
    }
}

/// What a task leaves of the visit that is its own.
async fn live(db: &Database, seed: u64, id: u32) -> tablemodel::Result<Option<Visit>> {
    let mut dice = Dice(seed * 1_000 + u64::from(id) + 1);
    let mut own: Option<Stored<Visit>> = None;
    for _ in 0..6 {
        let new = visit(&mut dice, id);
        let path = Visit::find().shop(&new.shop).id(id);
        own = match (own, dice.roll(5)) {
            (None, _) => Some(db.insert(&new).await?),
            (Some(read), 0) => match db.delete(read).await {
                // The shop has another motto.
                Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => path.one(db).await?,
                deleted => deleted.map(|()| None)?,
            },
            (Some(_), 1) => Some(db.upsert(&new).await?),
            (Some(_), _) => Some(db.update(path, |visit| Ok(*visit = new.clone())).await?),
        };
    }
    Ok(own.map(|visit| Visit { under: None, ..(*visit).clone() }))
}

/// Until the others are over: the rows of one moment are those of one moment.
async fn look(db: &Database, is_over: &Cell<bool>, told: &str) -> tablemodel::Result<()> {
    while !is_over.get() {
        let verified = db.verify().await?;
        assert!(verified.violations.is_empty(), "{told}: {:#?}", verified.violations);
        let repaired = db.repair().await?;
        assert!(repaired.repaired == 0 && repaired.left.is_empty(), "{told}: {repaired:#?}");
        let _ = db.export(&mut Vec::new()).await?;
        yield_now().await;
    }
    Ok(())
}

/// Gives how many it has left there.
async fn load(db: &Database, seed: u64) -> tablemodel::Result<usize> {
    let mut dice = Dice(seed * 77 + 1);
    for is_last in [false, true] {
        let visits: Vec<_> = LOADED.map(|id| visit(&mut dice, id)).collect();
        db.bulk().upsert_iter(visits).await?.into_result()?;
        for shop in SHOPS {
            db.update(Shop::find().shop(shop), |shop| Ok(shop.motto.push('!'))).await?;
            if !is_last {
                Visit::find().shop(shop).id_between(LOADED).delete_all(db).await?;
            }
        }
    }
    Ok(LOADED.len())
}

async fn assert_all(db: &TestDatabase, lived: &[Option<Visit>], loaded: usize, told: &str) {
    assert_clean(db, told).await;
    let mut all = Vec::new();
    for name in SHOPS {
        let shop = Shop::find().shop(name).one(db).await.unwrap().expect("there");
        let visits = Visit::find().shop(name).all(db).await.unwrap();
        assert!(
            visits.iter().all(|visit| visit.under.as_ref().is_some_and(|under| under.motto == shop.motto)),
            "{told}"
        );
        let cents = || visits.iter().map(|visit| visit.cents);
        assert_eq!((shop.visits, shop.most), (visits.len() as i64, cents().max()), "{told}");
        let parts = db.total(Shop::find().shop(name), Shop::PARTS).await.unwrap();
        assert_eq!(parts, cents().sum::<i64>(), "{told}");
        all.extend(visits.iter().map(|visit| Visit { under: None, ..(**visit).clone() }));
    }
    for number in 0..2 {
        let town = Town::find().town(number).one(db).await.unwrap().expect("there");
        let own: Vec<_> = all.iter().filter(|visit| visit.town == number).collect();
        assert_eq!(town.spent, own.iter().map(|visit| visit.cents).sum::<i64>(), "{told}");
        assert_eq!(Visit::of_town().town(number).keys(db).await.unwrap().len(), own.len(), "{told}");
        let of_day = all.iter().filter(|visit| visit.day == number).count();
        assert_eq!(Visit::by_day().day(number).all(db).await.unwrap().len(), of_day, "{told}");
    }
    let (mut own, of_load): (Vec<_>, Vec<_>) = all.into_iter().partition(|visit| visit.id < TASKS);
    own.sort_by_key(|visit| visit.id);
    assert_eq!(own, lived.iter().flatten().cloned().collect::<Vec<_>>(), "{told}");
    assert_eq!(of_load.len(), loaded, "{told}");
}

#[tokio::test]
async fn what_keeps_a_store_beside_a_crowd_finds_nothing_and_loses_nothing() {
    for mode in MODES {
        let (db, told, seed) = (store_of::<Model>(mode).await, format!("{mode:?}"), mode as u64 + 1);
        for (town, shop) in (0..).zip(SHOPS) {
            db.insert(&Shop { shop: shop.into(), motto: String::new(), visits: 0, most: None }).await.unwrap();
            db.insert(&Town { town, spent: 0 }).await.unwrap();
        }
        let (program, is_over) = (program::<Model>(&db).await, Cell::new(false));
        let crowd = async {
            let lives = join_all((0..TASKS).map(|id| live(&program, seed, id)));
            let written = join(lives, load(&program, seed)).await;
            is_over.set(true);
            written
        };
        let ((lived, loaded), looked) = join(crowd, look(&program, &is_over, &told)).await;
        looked.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        let loaded = loaded.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        let lived = lived.into_iter().map(|own| own.unwrap_or_else(|error| panic!("{told}: {error:?}")));
        assert_all(&db, &lived.collect::<Vec<_>>(), loaded, &told).await;
    }
}
