//! Tasks that are written together, some of which move what they wrote to other keys, within the partition of a total and to another;
//! and entities so large that few of them are one batch.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use tablemodel::{Consistency, prelude::*, testing::TestDatabase};

use super::{Model, Shop, Visit, dice, program, visit};
use crate::migrate::{MODES, assert_clean, store_of};

const SHOPS: [&str; 2] = ["A", "B"];

async fn shops(mode: Consistency) -> TestDatabase {
    let db = store_of::<Model>(mode).await;
    for shop in SHOPS {
        db.insert(&Shop { shop: shop.into(), visits: 0, spent: 0 }).await.unwrap();
    }
    db
}

/// That these are all, each where it says, and that all that is derived says so too.
async fn assert_all(db: &TestDatabase, all: &BTreeMap<(String, u32), Visit>, told: &str) {
    assert_clean(db, told).await;
    for shop in SHOPS {
        let own: Vec<_> = all.values().filter(|visit| visit.shop == shop).cloned().collect();
        let there: Vec<_> = Visit::find().shop(shop).all(db).await.unwrap().iter().map(|one| (**one).clone()).collect();
        assert_eq!(there, own, "{told}: {shop}");
        let total = Shop::find().shop(shop).one(db).await.unwrap().unwrap();
        let spent = own.iter().map(|visit| i64::from(visit.cents)).sum();
        assert_eq!((total.visits, total.spent), (own.len() as i64, spent), "{told}: {shop}");
        for visit in &own {
            let found = Visit::by_ticket().shop(shop).ticket(visit.ticket).one(db).await.unwrap();
            assert_eq!(found.map(|found| found.id), Some(visit.id), "{told}: {visit:?}");
        }
        for day in 0..2 {
            let listed = Visit::of_day().shop(shop).day(day).keys(db).await.unwrap().len();
            assert_eq!(listed, own.iter().filter(|visit| visit.day == day).count(), "{told}: {shop}, day {day}");
        }
    }
}

/// One of many tasks, with a visit of its own.
async fn live(db: &Database, seed: u32, id: u32) -> tablemodel::Result<Visit> {
    let mut own = db.insert(&visit(id)).await?;
    for round in 0..6 {
        let roll = |sides| dice(seed * 1_000 + id, round * 10 + sides, sides);
        match roll(4) {
            0 => {
                own.shop = SHOPS[roll(2) as usize].into();
                own.id = id + 100 * roll(5);
                own.cents += 1;
                db.rekey(&mut own).await?;
            }
            1 => {
                own.day = roll(2);
                db.save(&mut own).await?;
            }
            2 => own = db.upsert(&Visit { cents: roll(90), ..(*own).clone() }).await?,
            _ => {
                let path = Visit::find().shop(&own.shop).id(own.id);
                own = db.update(path, |visit| Ok(visit.cents += 1)).await?;
            }
        }
    }
    Ok((*own).clone())
}

#[tokio::test]
async fn who_moves_to_other_keys_beside_a_crowd_is_counted_where_it_arrives() {
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (0..6).map(move |seed| (mode, seed))) {
        let db = shops(mode).await;
        let program = program(&db).await;
        let told = format!("{mode:?}, seed {seed}");
        let mut all = BTreeMap::new();
        for lived in join_all((0..40).map(|id| live(&program, seed, id))).await {
            let own = lived.unwrap_or_else(|error| panic!("{told}: {error}"));
            all.insert((own.shop.clone(), own.id), own);
        }
        assert_eq!(all.len(), 40, "{told}");
        assert_all(&db, &all, &told).await;
    }
}

#[tokio::test]
async fn what_is_too_large_for_one_batch_goes_in_several() {
    for mode in MODES {
        let db = shops(mode).await;
        let program = program(&db).await;
        let told = format!("{mode:?}");
        // 64 KB each: sixty of them are nearly 4 MB, and a batch has rows of the framework too.
        let large = |id| Visit { note: "x".repeat(32_000), ..visit(id) };
        let inserted = join_all((0..150).map(async |id| program.insert(&large(id)).await)).await;
        let all: BTreeMap<_, _> = (0..)
            .map(|id| ("A".to_owned(), id))
            .zip(inserted.into_iter().map(|one| {
                let own = one.unwrap_or_else(|error| panic!("{told}: {error}"));
                (*own).clone()
            }))
            .collect();
        assert_eq!(all.len(), 150);
        assert_all(&db, &all, &told).await;
    }
}
