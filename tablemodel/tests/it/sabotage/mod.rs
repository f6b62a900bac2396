//! Sabotage: violations of every kind, planted at random in a healthy store of entities that use every room. All of them
//! are found, none is invented, and repair leaves the rows as they were.
//!
//! Here is the healthy store; the ways to damage it are in `damages`.

mod damages;
mod found;
mod litter;

use std::collections::{BTreeMap, BTreeSet};

use tablemodel::{
    Consistency, Properties,
    blob::object_store::{ObjectStoreExt, path::Path},
    prelude::*,
    store::{Action, Batch, TableStore, limits},
    testing::TestDatabase,
};

use crate::everything::{Doc, Fan, Model, Person, Sponsor, Stage, Team};

/// In how many partitions the entities are.
const CLUBS: u32 = 120;
/// How many of the clubs have no team.
const WITHOUT: u32 = 20;
const SPONSORS: u32 = 200;

type Place = (String, String, String);
type Rows = BTreeMap<Place, Properties>;

fn club(n: u32) -> String {
    format!("K{:03}", n % CLUBS)
}

fn person(n: u32) -> Person {
    Person {
        club: club(n),
        year: 2014 + (n % 2) as u16,
        id: n / CLUBS,
        name: format!("n{}", n % 31),
        zip: (!n.is_multiple_of(4)).then_some((n % 5) as u8),
        active: !n.is_multiple_of(3),
        seat: (!n.is_multiple_of(5)).then_some(n / CLUBS),
        city: format!("City {}", n % 90),
        skills: ["rust", "sql", "tea"][..(n % 4).min(3) as usize]
            .iter()
            .map(|skill| format!("{skill}{}", n % 17))
            .collect(),
        email: (!n.is_multiple_of(7)).then(|| format!("P{n}@x")),
        points: i64::from(n % 11),
        rate: (n.is_multiple_of(2)).then_some(f64::from(n % 40) / 4.0 - 5.0),
    }
}

fn doc(n: u32) -> Doc {
    let body = "abcdefgh".chars().cycle().take(10 + (n % 200) as usize).collect();
    let scan = ["short", "long enough for a blob"].get((n % 3) as usize).map(|scan| scan.as_bytes().into());
    let (topic, isbn) =
        ((!n.is_multiple_of(3)).then(|| format!("topic{}", n % 40)), (!n.is_multiple_of(4)).then_some(n));
    let (title, likes) = (format!("t{}", n % 3), (n.is_multiple_of(2)).then_some(i64::from(n)));
    Doc { club: club(n), id: n / CLUBS, title, topic, isbn, body, reads: n.into(), likes, scan }
}

fn fan(n: u32) -> Fan {
    let (card, backer) =
        ((!n.is_multiple_of(3)).then_some(n % 1_000).filter(|_| n < 1_000), Some((n % SPONSORS) as u8));
    Fan { club: club(n), id: n / CLUBS, nick: format!("f{}", n % 50), card, team: None, backer, backing: None }
}

fn team(n: u32) -> Team {
    let sponsor_id = (!n.is_multiple_of(4)).then_some((n % SPONSORS) as u8);
    Team { club: club(n), title: format!("Team {n}"), sponsor_id, sponsor: None, members: 0, points: 0, rates: 0.0 }
}

fn sponsor(n: u32) -> Sponsor {
    Sponsor {
        id: n as u8,
        name: format!("Sponsor {n}"),
        tier: (!n.is_multiple_of(3)).then_some((n % 5) as u8),
        note: 1,
    }
}

async fn insert_all<E: TableEntity + Send + 'static>(db: &Database, entities: Vec<E>) {
    let count = entities.len() as u64;
    let report = Box::pin(db.bulk().insert_all(futures_util::stream::iter(entities)).into_future()).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (count, 0), "{:?}", report.failed.first());
}

/// About so many entities of all types, where partitions are written at once.
async fn healthy(entities: u32) -> TestDatabase {
    let db = TestDatabase::atomic::<Model>().await.unwrap();
    let (teams, docs, fans) = (CLUBS - WITHOUT, entities / 10, entities / 6);
    insert_all(&db, (0..SPONSORS).map(sponsor).collect()).await;
    insert_all(&db, (0..teams).map(team).collect()).await;
    insert_all(&db, (0..fans).map(fan).collect()).await;
    insert_all(&db, (0..docs).map(doc).collect()).await;
    insert_all(&db, (0..entities - SPONSORS - teams - fans - docs).map(person).collect()).await;
    db
}

/// The same rows and blobs in a database of its own.
async fn copied(rows: &Rows, objects: &BTreeMap<String, Vec<u8>>, mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<Model>(mode).await;
    let mut batches: Vec<Batch> = Vec::new();
    for ((table, partition, row), properties) in rows {
        let fits = |batch: &&mut Batch| {
            let is_same = batch.table == *table && batch.partition == *partition;
            is_same && batch.operations.len() < limits::MAX_BATCH_OPERATIONS
        };
        let action = Action::Insert(properties.clone());
        match batches.last_mut().filter(fits) {
            Some(batch) => *batch = std::mem::replace(batch, Batch::new("", "")).with(row.clone(), action),
            None => batches.push(Batch::new(table.as_str(), partition.clone()).with(row.clone(), action)),
        }
    }
    for batch in batches {
        db.store().commit(&[batch]).await.expect("copied");
    }
    for (name, content) in objects {
        db.blob_store().put(&Path::from(name.as_str()), content.clone().into()).await.expect("copied");
    }
    db
}

fn stage(db: &TestDatabase) -> Stage {
    Stage { db: db.database().clone(), blobs: db.blob_store(), clock: db.clock().clone() }
}

async fn write(store: &dyn TableStore, place: &Place, action: Action) {
    let batch = Batch::new(place.0.as_str(), place.1.clone()).with(place.2.clone(), action);
    store.commit(&[batch]).await.unwrap_or_else(|error| panic!("{place:?}: {error}"));
}

/// A small generator: what is hit is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// What is to be found: for each damage all the rows that show it.
type Planted = BTreeMap<Place, &'static str>;

/// Who was hit already: no two damages meet in one entity.
type Hit = BTreeSet<(String, String)>;
