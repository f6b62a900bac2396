//! Programs of two versions that write one store while the tool applies: no update is lost, no row of an index is missing or stale.
//!
//! On a store that commits one partition at a time; time passes where somebody sleeps. How often is bounded by operations; more with
//! `TABLEMODEL_TOGETHER=seeds`.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tablemodel_store::clock::{ManualClock, Sleep};

use crate::{
    ErrorKind, Random,
    cli::{
        outcome::DONE,
        store::{Tool, apply_for_tests},
    },
    prelude::*,
    testing::TestDatabase,
};

/// The first release.
mod old {
    use crate::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}", crate = "crate")]
    #[table(index(by_name, row = "name_{name}_{id:04}", keys_only))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) city: String,
        pub(super) visits: i64,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Club {
        Person(Person),
    }
}

/// The second: another property, which the first does not read, and two more indexes. The first may read its rows.
mod new {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", version = 2, previous = super::old::Person, readable_by = 1)]
    #[table(partition = "{club}", row = "p_{id:04}", crate = "crate")]
    #[table(index(by_name, row = "name_{name}_{id:04}", keys_only))]
    #[table(index(by_city, row = "city_{city}_{id:04}", keep(visits)))]
    #[table(index(anywhere, table = "People", partition = "{name}", row = "{club}_{id:04}", keep(city)))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) city: String,
        pub(super) visits: i64,
        pub(super) note: Option<String>,
    }

    impl Upgrade<super::old::Person> for Person {
        fn upgrade(old: super::old::Person) -> Result<Self, UpgradeError> {
            let super::old::Person { club, id, name, city, visits } = old;
            Ok(Self { club, id, name, city, visits, note: None })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Club {
        Person(Person),
    }
}

/// Numbers from a seed; also a program's randomness.
struct Dice(AtomicU64);

impl Random for Dice {
    fn next(&self) -> u64 {
        let mut mixed = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// Sleeping takes time, and lets others run.
struct Passing(ManualClock);

#[async_trait::async_trait]
impl Sleep for Passing {
    async fn sleep(&self, time: Duration) {
        if time == Duration::MAX {
            std::future::pending().await
        }
        self.0.advance(time);
        tokio::task::yield_now().await;
    }
}

async fn program<M: TableModel>(store: &TestDatabase, seed: u64) -> Database {
    let builder = Database::builder().clock(Arc::new(store.clock().clone())).random(Arc::new(Dice(seed.into())));
    let builder = builder.sleep(Arc::new(Passing(store.clock().clone()))).deadline(Duration::MAX);
    builder.consistency(store.consistency()).with_store::<M>(store.store()).await.unwrap()
}

const CLUBS: u64 = 3;
const PERSONS: u64 = 20;

/// How often each person was written, as the writers were told.
type Made = BTreeMap<(String, u32), i64>;

/// A program that changes persons at random, each change a visit. The first release may not write over rows of the second.
macro_rules! writer {
    ($name:ident, $model:ident) => {
        async fn $name(store: &TestDatabase, seed: u64, writes: u32) -> Made {
            let (db, dice) = (program::<$model::Club>(store, seed << 32).await, Dice(seed.into()));
            let roll = |sides: u64| dice.next() % sides;
            let mut made = Made::new();
            for _ in 0..writes {
                let (club, id) = (format!("c{}", roll(CLUBS)), roll(PERSONS) as u32);
                let (city, name) = (format!("t{}", roll(4)), format!("n{}", roll(5)));
                let is_moved = roll(3) > 0;
                let change = |person: &mut $model::Person| {
                    person.visits += 1;
                    if is_moved {
                        (person.city, person.name) = (city.clone(), name.clone());
                    }
                    Ok(())
                };
                match db.update($model::Person::find().club(&club).id(id), change).await {
                    Ok(_) => *made.entry((club, id)).or_default() += 1,
                    Err(error) => assert!(
                        matches!(
                            error.kind(),
                            ErrorKind::Conflict { .. } | ErrorKind::Unavailable | ErrorKind::UnknownVersion
                        ),
                        "{error:?}"
                    ),
                }
                Passing(store.clock().clone()).sleep(Duration::from_millis(500 + roll(3_000))).await;
            }
            db.close().await.unwrap();
            made
        }
    };
}

writer!(old_writer, old);
writer!(new_writer, new);

async fn filled() -> TestDatabase {
    let store = TestDatabase::new::<old::Club>().await.unwrap();
    for club in 0..CLUBS {
        for id in 0..PERSONS as u32 {
            let (club, name, city) = (format!("c{club}"), format!("n{}", id % 5), format!("t{}", id % 4));
            store.insert(&old::Person { club, id, name, city, visits: 0 }).await.unwrap();
        }
    }
    store.clock().advance(Duration::from_secs(130));
    store
}

/// That each person has the visits that were acknowledged, and each row of an index that it should have.
async fn assert_nothing_lost(db: &Database, made: &Made, told: &str) {
    db.relay().drain().await.unwrap();
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{told}: {:?}", verified.violations);
    for club in (0..CLUBS).map(|club| format!("c{club}")) {
        for id in 0..PERSONS as u32 {
            let person = new::Person::find().club(&club).id(id).one(db).await.unwrap().unwrap();
            let acknowledged = made.get(&(club.clone(), id)).copied().unwrap_or(0);
            assert_eq!(person.visits, acknowledged, "{told}: {club} {id}");
            let by_city = new::Person::by_city().club(&club).city(&person.city).id(id).exists(db).await.unwrap();
            let anywhere = new::Person::anywhere().name(&person.name).club(&club).id(id).exists(db).await.unwrap();
            assert!(by_city && anywhere, "{told}: {club} {id}");
        }
    }
}

#[tokio::test]
async fn programs_of_two_versions_write_while_the_tool_applies() {
    let seeds = std::env::var("TABLEMODEL_TOGETHER").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(6);
    let mut refused = 0;
    for seed in 1..=seeds {
        let store = filled().await;
        let db = program::<new::Club>(&store, seed).await;
        let tool = Tool { db: db.clone(), plans: Vec::new(), golden: Default::default(), stop: Default::default() };
        let words = ["--rate", "5", "--batch", "7", "--workers", "3", "--wait", "4000"];
        let (applied, first, second, third) = tokio::join!(
            apply_for_tests(&tool, &words),
            old_writer(&store, seed * 7, 60),
            new_writer(&store, seed * 11, 150),
            new_writer(&store, seed * 13, 90)
        );
        assert_eq!(applied.code, DONE, "seed {seed}: {applied:?}");
        refused += 60 - first.values().sum::<i64>();
        let mut made = first;
        for (key, count) in second.into_iter().chain(third) {
            *made.entry(key).or_default() += count;
        }
        assert_nothing_lost(&db, &made, &format!("seed {seed}")).await;
    }
    assert!(refused > 0, "the first release met rows of the second");
}
