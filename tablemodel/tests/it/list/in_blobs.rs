//! Lists in blobs: short ones in their row, long ones beside the table; whatever is written and whatever fails, a list holds
//! the keys of its entities, and no blob is left that no row links.

mod crashes;
mod places;
mod sequences;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures_util::TryStreamExt;
use tablemodel::{
    Consistency, ErrorKind, RowKey, ValueRef,
    blob::{
        ObjectStore,
        object_store::{ObjectStoreExt, path::Path},
    },
    prelude::*,
    testing::TestDatabase,
};

use super::rows_in;
use crate::blob::faulty::FaultyBlobs;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Members", partition = "{team}", row = "m_{tag}_{id:04}")]
#[table(list(called, row = "n_{name}", store = blob(inline_below = 40)))]
#[table(list(living_in, row = "c_{city}", store = blob))]
struct Member {
    team: String,
    /// Long ones make long lists of few members, and names of blobs that cannot hold the key of a list.
    tag: String,
    id: u32,
    name: String,
    city: Option<String>,
}

#[derive(TableModel)]
enum Model {
    Member(Member),
}

const GRACE: Duration = Duration::from_secs(60 * 60);
const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];

fn member(id: u32) -> Member {
    Member { team: "A".into(), tag: "x".into(), id, name: "Jones".into(), city: None }
}

fn key(member: &Member) -> RowKey {
    RowKey::new(member.team.clone(), format!("m_{}_{:04}", member.tag, member.id))
}

async fn database(mode: Consistency) -> TestDatabase {
    match mode {
        Consistency::Azure => TestDatabase::new::<Model>().await.unwrap(),
        Consistency::Atomic => TestDatabase::atomic::<Model>().await.unwrap(),
    }
}

/// With blobs that are counted and fail on demand.
async fn faulty(mode: Consistency) -> (TestDatabase, Arc<FaultyBlobs>) {
    let mut blobs = None;
    let wrap = |inner| {
        let faulty = Arc::new(FaultyBlobs::new(inner));
        blobs = Some(faulty.clone());
        faulty as Arc<dyn ObjectStore>
    };
    let db = database(mode).await.with_blobs::<Model>(wrap).await.unwrap();
    (db, blobs.unwrap())
}

async fn members(db: &Database) -> Vec<Member> {
    let found = Member::find().team("A").all(db).await.unwrap();
    found.into_iter().map(Stored::into_inner).collect()
}

async fn one(db: &Database, id: u32) -> Stored<Member> {
    Member::find().team("A").tag("x").id(id).one(db).await.unwrap().unwrap()
}

async fn called(db: &Database, name: &str) -> Vec<RowKey> {
    let keys = Member::called().team("A").name(name).keys(db).await.unwrap();
    assert_eq!(Member::called().team("A").name(name).count(db).await.unwrap(), keys.len() as u64);
    keys
}

/// The blobs that the rows of lists link, and how many such rows there are.
async fn linked(db: &TestDatabase) -> (BTreeSet<String>, usize) {
    let rows = rows_in(&*db.store(), "Members").await;
    let lists: Vec<_> = rows.values().filter(|row| row.get("_count").is_some()).collect();
    let link = |name| match name {
        Some(ValueRef::String(name)) => Some(name.to_owned()),
        _ => None,
    };
    (lists.iter().filter_map(|row| link(row.get("_keys_in"))).collect(), lists.len())
}

async fn names_in(blobs: &dyn ObjectStore) -> BTreeSet<String> {
    let all: Vec<_> = blobs.list(Some(&Path::from("members"))).try_collect().await.unwrap();
    all.into_iter().map(|meta| meta.location.to_string()).filter(|name| !name.contains('.')).collect()
}

/// That the lists are those of the members that are there, whole, in order, and that no row of a list is left of another.
async fn assert_exact(db: &TestDatabase, told: &str) {
    let mut wanted: BTreeMap<(bool, String), Vec<RowKey>> = BTreeMap::new();
    for member in members(db).await {
        wanted.entry((true, member.name.clone())).or_default().push(key(&member));
        if let Some(city) = &member.city {
            wanted.entry((false, city.clone())).or_default().push(key(&member));
        }
    }
    for ((is_name, of), keys) in &wanted {
        let found = match is_name {
            true => called(db, of).await,
            false => Member::living_in().team("A").city(of).keys(db).await.unwrap(),
        };
        assert_eq!(found, *keys, "{told}: {of}");
    }
    assert_eq!(linked(db).await.1, wanted.len(), "{told}");
}

/// Collects what is unlinked: afterwards what is there is what is linked.
async fn assert_no_litter(db: &TestDatabase, told: &str) {
    for _ in 0..2 {
        db.clock().advance(GRACE);
        let _ = db.blobs().collect().await.unwrap();
    }
    assert_eq!(names_in(&*db.blob_store()).await, linked(db).await.0, "{told}");
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{told}: {:?}", verified.violations);
}

#[tokio::test]
async fn a_list_is_in_its_row_while_it_is_short_and_in_a_blob_while_it_is_long() {
    for mode in MODES {
        let db = database(mode).await;
        for (nth, is_outside) in [(1, false), (2, false), (3, false), (4, true), (5, true)] {
            db.insert(&member(nth)).await.unwrap();
            assert_eq!(linked(&db).await.0.len() == 1, is_outside, "{nth}");
            assert_exact(&db, "grown").await;
        }
        for (left, is_outside) in [(4, true), (3, false), (2, false), (1, false), (0, false)] {
            let gone = one(&db, 5 - left).await;
            db.delete(gone).await.unwrap();
            assert_eq!(linked(&db).await.0.len() == 1, is_outside, "{left}");
            assert_exact(&db, "shrunk").await;
        }
        assert_no_litter(&db, "emptied").await;
    }
}

/// What the page says of cost.
#[tokio::test]
async fn a_change_reads_and_writes_the_row_and_the_whole_blob() {
    let (db, blobs) = faulty(Consistency::Atomic).await;
    let mut batch = db.batch(Member::in_partition("A"));
    for id in 0..50 {
        batch.insert(&member(id));
    }
    batch.commit().await.unwrap();
    assert_eq!(blobs.calls(), 1, "a batch puts one blob a list");
    blobs.heal();
    db.forget_calls();
    db.insert(&member(60)).await.unwrap();
    assert_eq!((blobs.calls(), db.tally().to_string()), (2, "1 point read, 1 commit of 2 operations, 0 scans".into()));
    blobs.heal();
    db.forget_calls();
    assert_eq!(Member::called().team("A").name("Jones").keys(&db).await.unwrap().len(), 51);
    assert_eq!((blobs.calls(), db.calls().len()), (1, 1));
    assert_eq!(Member::called().team("A").name("Jones").count(&db).await.unwrap(), 51);
    assert_eq!((blobs.calls(), db.calls().len()), (1, 2));
    let entities = Member::called().team("A").name("Jones").all(&db).await.unwrap();
    assert_eq!(entities.len(), 51);
}

/// More keys than rows in chunks could name, and in one row for all that.
#[tokio::test]
async fn a_list_in_a_blob_has_no_limit_of_rows() {
    let db = database(Consistency::Atomic).await;
    let of =
        |id| Member { tag: format!("{:04}{}", id % 1_000, "t".repeat(900)), city: Some("Rome".into()), ..member(id) };
    let report = db.bulk().insert_all(futures_util::stream::iter((0..2_000).map(of))).await.unwrap();
    assert_eq!(report.into_result().unwrap().written, 2_000);
    let keys = Member::living_in().team("A").city("Rome").keys(&db).await.unwrap();
    assert_eq!(keys.len(), 2_000);
    assert!(keys.is_sorted());
    assert_exact(&db, "bulk").await;
    assert_no_litter(&db, "bulk").await;
}

/// The keys of a list that are too long for the name of a blob stand beside it.
#[tokio::test]
async fn a_list_of_a_long_name_keeps_its_blob() {
    let db = database(Consistency::Azure).await;
    for id in 0..9 {
        db.insert(&Member { name: "J".repeat(600), ..member(id) }).await.unwrap();
    }
    assert_exact(&db, "long").await;
    assert_no_litter(&db, "long").await;
    assert!(linked(&db).await.0.iter().all(|name| name.starts_with("members/_member/long/")));
}

/// Two programs that add to one list at the same moment.
#[tokio::test]
async fn who_loses_a_race_for_a_list_reads_it_again() {
    for mode in MODES {
        let db = database(mode).await;
        for id in 0..5 {
            db.insert(&member(id)).await.unwrap();
        }
        let others: Vec<_> = (10..20).map(member).collect();
        let inserts = others.iter().map(|member| db.insert(member));
        for result in futures_util::future::join_all(inserts).await {
            result.unwrap();
        }
        assert_exact(&db, "raced").await;
        assert_no_litter(&db, "raced").await;
    }
}

#[tokio::test]
async fn a_blob_that_is_lost_is_corrupt_to_readers_and_writers_and_made_anew_by_repair() {
    for mode in MODES {
        let db = database(mode).await;
        for id in 0..6 {
            db.insert(&member(id)).await.unwrap();
        }
        let name = linked(&db).await.0.into_iter().next().unwrap();
        db.blob_store().delete(&Path::from(name.as_str())).await.unwrap();
        let error = Member::called().team("A").name("Jones").keys(&db).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Corrupt, "{error}");
        assert_eq!(db.insert(&member(9)).await.unwrap_err().kind(), &ErrorKind::Corrupt);
        assert_eq!(linked(&db).await.0, [name].into(), "never written over");
        let repaired = db.repair().await.unwrap();
        assert_eq!((repaired.repaired, repaired.left.len()), (1, 0), "{:?}", repaired.left);
        db.insert(&member(9)).await.unwrap();
        assert_exact(&db, "repaired").await;
        assert_no_litter(&db, "repaired").await;
    }
}

/// Rows that another program, which keeps lists in rows, wrote.
mod in_rows {
    use super::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Members", entity_type = "Member", partition = "{team}", row = "m_{tag}_{id:04}")]
    #[table(list(called, row = "n_{name}"))]
    #[table(list(living_in, row = "c_{city}"))]
    pub(super) struct Rower {
        pub(super) team: String,
        pub(super) tag: String,
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) city: Option<String>,
    }

    #[derive(TableModel)]
    pub(super) enum Rowers {
        Rower(Rower),
    }
}

#[tokio::test]
async fn a_list_may_come_to_be_kept_in_a_blob_and_back() {
    use in_rows::{Rower, Rowers};
    let db = database(Consistency::Atomic).await;
    let of = |id| Member { tag: "t".repeat(800), ..member(id) };
    for id in 0..30 {
        db.insert(&of(id)).await.unwrap();
    }
    let rows = db.reopen::<Rowers>().await.unwrap();
    let Member { team, tag, id, name, city } = of(30);
    rows.insert(&Rower { team, tag, id, name, city }).await.unwrap();
    assert_eq!(Rower::called().team("A").name("Jones").keys(&rows).await.unwrap().len(), 31);
    assert_eq!(linked(&db).await.0.len(), 0, "in chunks by now");
    assert!(rows.verify().await.unwrap().is_clean());
    let db = rows.reopen::<Model>().await.unwrap();
    db.insert(&of(31)).await.unwrap();
    assert_exact(&db, "in chunks, which stay").await;
    assert_no_litter(&db, "in chunks").await;
}
