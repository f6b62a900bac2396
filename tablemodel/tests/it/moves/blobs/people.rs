//! The persons of a store, in either form, and the blobs that are there.
//!
//! Of the forms of the module above.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures_util::TryStreamExt;
use tablemodel::{Consistency, Row, ValueRef, blob::ObjectStore, prelude::*, testing::TestDatabase};

use super::{NEW, before, first, second};
pub(crate) use crate::migrate::{MODES, assert_clean, next, program};
use crate::{
    blob::faulty::FaultyBlobs,
    moves::{kind, live_rows},
};

pub(super) const TEAMS: [&str; 3] = ["A", "B", "C"];
pub(super) const NAMES: [&str; 3] = ["kim", "lee", "max"];

/// After this a blob that no row links may go.
pub(super) const GRACE: Duration = Duration::from_secs(60 * 60);

/// Content that is kept in a blob.
pub(super) fn large(seed: u8) -> Vec<u8> {
    (0..100).map(|n| seed.wrapping_add(n)).collect()
}

/// One person of each name in team A, as the first program wrote them, which has ended: of the first the portrait is in the row.
pub(super) async fn filled(mode: Consistency) -> (TestDatabase, Arc<FaultyBlobs>) {
    let mut blobs = None;
    let wrap = |inner| {
        let faulty = Arc::new(FaultyBlobs::new(inner));
        blobs = Some(faulty.clone());
        faulty as Arc<dyn ObjectStore>
    };
    let made = match mode {
        Consistency::Azure => TestDatabase::new::<before::Model>().await,
        Consistency::Atomic => TestDatabase::atomic::<before::Model>().await,
    };
    let db = made.expect("a database in memory").with_blobs::<before::Model>(wrap).await.expect("opened");
    for (seed, name) in NAMES.into_iter().enumerate() {
        let portrait = if seed == 0 { vec![1, 2, 3].into() } else { large(seed as u8).into() };
        let film = Some(large(100 + seed as u8).into());
        db.insert(&before::Person { team: "A".into(), name: name.into(), portrait, film }).await.expect("written");
    }
    db.clock().advance(Duration::from_secs(130));
    let blobs = blobs.expect("wrapped");
    blobs.heal();
    (db, blobs)
}

/// By team and name: the contents of portrait and film.
pub(super) type People = BTreeMap<(String, String), (Vec<u8>, Option<Vec<u8>>)>;

async fn content(db: &Database, blob: &Blob) -> Vec<u8> {
    blob.bytes(db).await.expect("what is linked is there").to_vec()
}

pub(super) async fn contents(db: &Database, portrait: &Blob, film: Option<&Blob>) -> (Vec<u8>, Option<Vec<u8>>) {
    let film = match film {
        Some(film) => Some(content(db, film).await),
        None => None,
    };
    (content(db, portrait).await, film)
}

pub(super) async fn old_people(db: &Database) -> People {
    let mut all = People::new();
    for team in TEAMS {
        for p in first::Person::find().team(team).all(db).await.expect("read") {
            all.insert((p.team.clone(), p.name.clone()), contents(db, &p.portrait, p.film.as_ref()).await);
        }
    }
    all
}

pub(super) async fn new_people(db: &Database) -> People {
    let mut all = People::new();
    for name in NAMES {
        for p in second::Person::find().name(name).all(db).await.expect("read") {
            all.insert((p.team.clone(), p.name.clone()), contents(db, &p.image, p.film.as_ref()).await);
        }
    }
    all
}

/// Collects until nothing is left to collect.
pub(super) async fn settle(db: &Database, store: &TestDatabase) {
    for _ in 0..2 {
        store.clock().advance(GRACE);
        let _ = db.blobs().collect().await.expect("collected");
    }
}

async fn names(store: &TestDatabase) -> Vec<String> {
    let all: Vec<_> = store.blob_store().list(None).try_collect().await.expect("listed");
    all.into_iter().map(|meta| meta.location.to_string()).filter(|name| name != "=now").collect()
}

/// The blobs that rows link, of either form.
pub(super) async fn linked(db: &Database) -> BTreeSet<String> {
    let mut rows: Vec<Row> = live_rows(db, "People").await;
    rows.extend(live_rows(db, NEW).await);
    let values = rows.iter().flat_map(|row| ["Portrait", "Image", "Film"].map(|name| row.properties.get(name)));
    values
        .filter_map(|value| if let Some(ValueRef::String(name)) = value { Some(name.to_owned()) } else { None })
        .collect()
}

/// The rows of the new form.
pub(super) async fn new_rows(db: &Database) -> usize {
    live_rows(db, NEW).await.iter().filter(|row| kind(row) == "Person@2").count()
}

/// That after a while exactly those blobs are there that rows link, with nothing beside others.
pub(super) async fn assert_no_litter(db: &Database, store: &TestDatabase, told: &str) {
    if db.consistency() == Consistency::Azure {
        db.relay().drain().await.expect("drained");
    }
    settle(db, store).await;
    let (all, linked) = (names(store).await, linked(db).await);
    let blobs: BTreeSet<_> = all.iter().filter(|name| !name.contains('.')).cloned().collect();
    assert_eq!(blobs, linked, "{told}");
    let is_alone = |name: &&String| name.split_once('.').is_some_and(|(blob, _)| !linked.contains(blob));
    assert_eq!(all.iter().find(is_alone), None, "{told}: left beside a blob that is gone");
    assert_clean(db, told).await;
}
