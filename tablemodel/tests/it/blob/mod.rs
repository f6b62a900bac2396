//! Large values as blobs: a row never links what is not there, a live blob is never deleted, nothing is fetched unasked.

mod backups;
mod collecting;
mod crashes;
pub(crate) mod faulty;
mod files;
mod moved;
mod names;
mod round_trip;
mod sequences;
mod streams;
mod unknown;
mod verifying;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures_util::TryStreamExt;
use tablemodel::{
    ValueRef,
    blob::{ObjectStore, object_store::path::Path},
    prelude::*,
    store::{KeyRange, Query},
    testing::TestDatabase,
};

/// The enumeration of faults of this room.
pub(crate) use self::crashes::a_fault_at_any_call_leaves_the_old_or_the_new_and_no_more_blobs_than_are_linked as enumerate;
use self::faulty::FaultyBlobs;

/// A person with a portrait that is small or large, and perhaps a film.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{team}", row = "p_{name}", allow_scan)]
#[table(index(by_age, row = "age_{age}_{name}", keys_only))]
pub(crate) struct Person {
    pub(crate) team: String,
    pub(crate) name: String,
    pub(crate) age: u8,
    #[table(blob(inline_below = 16))]
    pub(crate) portrait: Blob,
    #[table(blob(inline_below = 0))]
    pub(crate) film: Option<Blob>,
}

#[derive(Debug, TableModel)]
pub(crate) enum People {
    Person(Person),
    #[table(other)]
    Other(Row),
}

const GRACE: Duration = Duration::from_secs(60 * 60);

pub(crate) fn person(name: &str, portrait: &[u8]) -> Person {
    Person { team: "A".into(), name: name.into(), age: 30, portrait: portrait.into(), film: None }
}

/// Content over the threshold.
fn large(seed: u8) -> Vec<u8> {
    (0..100).map(|n| seed.wrapping_add(n)).collect()
}

async fn database() -> TestDatabase {
    TestDatabase::new::<People>().await.expect("opened")
}

/// A database whose blobs are counted and fail on demand.
async fn faulty() -> (TestDatabase, Arc<FaultyBlobs>) {
    let mut blobs = None;
    let wrap = |inner| {
        let faulty = Arc::new(FaultyBlobs::new(inner));
        blobs = Some(faulty.clone());
        faulty as Arc<dyn ObjectStore>
    };
    let db = database().await.with_blobs::<People>(wrap).await.expect("opened");
    (db, blobs.expect("wrapped"))
}

async fn read(db: &Database, name: &str) -> Stored<Person> {
    Person::find().team("A").name(name).one(db).await.expect("read").expect("there")
}

/// The names of blobs that are there, without what stands beside them.
async fn names_in(blobs: &dyn ObjectStore) -> BTreeSet<String> {
    let all: Vec<_> = blobs.list(Some(&Path::from("people"))).try_collect().await.expect("listed");
    all.into_iter().map(|meta| meta.location.to_string()).filter(|name| !name.contains('.')).collect()
}

/// The names that rows link.
async fn linked(db: &TestDatabase) -> BTreeSet<String> {
    let rows = db.store().query(&Query::new("People", KeyRange::table())).await.expect("read").rows;
    let names = rows.iter().flat_map(|row| ["Portrait", "Film"].map(|name| row.properties.get(name)));
    names
        .filter_map(|value| if let Some(ValueRef::String(name)) = value { Some(name.to_owned()) } else { None })
        .collect()
}

/// Collects until nothing is left to collect: what is unlinked is found, waits, and goes.
async fn settle(db: &TestDatabase) {
    for _ in 0..2 {
        db.clock().advance(GRACE);
        let _ = db.blobs().collect().await.expect("collected");
    }
}
