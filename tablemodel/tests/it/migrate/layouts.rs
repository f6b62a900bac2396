//! Changes of how an entity is cut into rows and blobs: read as they are, written as new one by one or all together, and of the old
//! layout nothing is left.

mod releases;

use std::time::Duration;

use tablemodel::{
    Consistency, IndexState, ValueRef,
    blob::object_store::{ObjectStoreExt, path::Path},
    prelude::*,
    testing::TestDatabase,
};

use self::releases::*;
use super::{MODES, all_rows, assert_clean, first, next, program, store_of};
use crate::crashes::replay;

fn body(id: u32, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u32).wrapping_mul(7).wrapping_add(id) as u8).collect()
}

const LENGTHS: [usize; 6] = [5_000, 0, 300_000, 10, 60_000, 4_000];

/// A store of a release that has ended, with notes of all lengths up to the longest.
async fn kept<R: Release>(mode: Consistency, notes: u32, longest: usize) -> TestDatabase {
    let db = store_of::<R::Model>(mode).await;
    for id in 0..notes {
        R::put(&db, id, body(id, LENGTHS[id as usize % LENGTHS.len()].min(longest))).await;
    }
    db.clock().advance(Duration::from_secs(130));
    db
}

fn expected(notes: u32, longest: usize) -> Notes {
    (0..notes).map(|id| (id, (0, body(id, LENGTHS[id as usize % LENGTHS.len()].min(longest))))).collect()
}

/// What a layout leaves in the tables.
#[derive(Clone, Copy)]
struct Left {
    /// Whether there may be parts.
    parts: bool,
    /// Values of blobs that are shorter stand in rows; none where there are no blobs.
    inline: Option<usize>,
}

const PLAIN: Left = Left { parts: false, inline: None };
const CUT: Left = Left { parts: true, inline: None };
const BLOB: Left = Left { parts: false, inline: Some(4_096) };

async fn assert_laid_out(db: &Database, left: Left, version: u32, told: &str) {
    for row in all_rows(db, "Notes").await {
        let Some(ValueRef::String(kind)) = row.properties.get("EntityType") else { panic!("{told}: {row:?}") };
        let is_entity = kind.starts_with("Note@") || kind.starts_with("Note.~part@");
        if !is_entity {
            continue;
        }
        assert!(kind.ends_with(&format!("@{version}")), "{told}: {kind} at {}", row.key);
        assert!(left.parts || kind.starts_with("Note@"), "{told}: a part at {}", row.key);
        match (row.properties.get("Body"), left.inline) {
            (Some(ValueRef::Binary(bytes)), Some(below)) => assert!(bytes.len() < below, "{told}: {}", bytes.len()),
            (Some(ValueRef::String(_)), None) => panic!("{told}: a link at {}", row.key),
            _ => {}
        }
        assert!(left.inline.is_some() || row.properties.get("Body_length").is_none(), "{told}: {}", row.key);
    }
}

/// Takes away what no row links; gives the number of blobs that are left.
async fn collected(db: &TestDatabase, program: &Database) -> u64 {
    for _ in 0..3 {
        db.clock().advance(Duration::from_secs(2 * 60 * 60));
        let _: tablemodel::Collected = program.blobs().collect().await.expect("collected");
    }
    program.blobs().count().await.expect("counted").examined
}

/// How many of the notes stand in blobs.
fn linked(notes: &Notes, left: Left) -> u64 {
    let is_link = |length: usize| left.inline.is_some_and(|below| length >= below);
    notes.values().filter(|(_, body)| is_link(body.len())).count() as u64
}

async fn rewritten<Old: Release, New: Release>(longest: usize, left: Left) {
    for mode in MODES {
        let told = format!("{mode:?}, {}", std::any::type_name::<New>());
        let store = kept::<Old>(mode, 12, longest).await;
        let mut notes = expected(12, longest);
        let is_part = |row: &tablemodel::Row| row.key.row.contains(" ~~");
        let parts = all_rows(&store, "Notes").await.iter().filter(|row| is_part(row)).count();
        assert!([0, 12].contains(&parts), "{told}: {parts} parts");
        let db = program::<New::Model>(&store).await;
        assert_eq!(New::notes(&db).await.expect("older rows are read"), notes, "{told}");
        assert_eq!(New::found(&db, 5).await.expect("read"), notes[&5].1, "{told}");

        New::star(&db, 4, 7).await;
        New::star(&db, 5, 8).await;
        (notes.get_mut(&4).unwrap().0, notes.get_mut(&5).unwrap().0) = (7, 8);
        New::save(&db, 3).await;
        New::delete(&db, 10).await;
        New::delete(&db, 11).await;
        notes.retain(|id, _| *id < 10);
        New::replace(&db, 9, body(1, 30_000)).await;
        notes.get_mut(&9).unwrap().1 = body(1, 30_000);
        assert_eq!(New::notes(&db).await.expect("both"), notes, "{told}: written");
        assert_clean(&db, &told).await;

        db.ensure_tables().await.expect("ensured");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete() && applied.failed == 0, "{told}: {applied:?}");
        assert_laid_out(&db, left, 2, &told).await;
        let parts = all_rows(&db, "Notes").await.iter().filter(|row| is_part(row)).count();
        assert_eq!(parts, if left.parts { notes.len() } else { 0 }, "{told}: parts");
        assert_eq!(New::notes(&db).await.expect("read"), notes, "{told}: rewritten");
        assert_clean(&db, &told).await;
        assert_eq!(db.migrations().plan().await.unwrap().rewrites[0].known, Some(2), "{told}");

        if mode == Consistency::Azure {
            db.migrations().rollback().await.expect("taken back");
            assert_eq!(New::notes(&db).await.expect("read"), notes, "{told}: taken back");
            assert_clean(&db, &told).await;
            let again = db.migrations().apply().await.expect("applied");
            assert!(again.steps.iter().all(|step| step.state == IndexState::Readable), "{told}: {again:?}");
        }
        assert_eq!(collected(&store, &db).await, linked(&notes, left), "{told}: blobs");
        assert_clean(&db, &told).await;
    }
}

#[tokio::test]
async fn an_entity_of_one_row_becomes_one_of_several() {
    rewritten::<plain::Program, plain_to_cut::Program>(60_000, CUT).await;
    rewritten::<plain::Program, plain_to_chunked::Program>(60_000, PLAIN).await;
}

#[tokio::test]
async fn an_entity_of_several_rows_becomes_one_of_one() {
    rewritten::<cut::Program, cut_to_plain::Program>(60_000, PLAIN).await;
    rewritten::<cut::Program, cut_to_wide::Program>(60_000, CUT).await;
}

#[tokio::test]
async fn a_property_becomes_a_blob() {
    rewritten::<plain::Program, plain_to_blob::Program>(60_000, BLOB).await;
    rewritten::<cut::Program, cut_to_blob::Program>(300_000, BLOB).await;
}

#[tokio::test]
async fn a_blob_becomes_a_property() {
    rewritten::<blob::Program, blob_to_plain::Program>(60_000, PLAIN).await;
    rewritten::<blob::Program, blob_to_cut::Program>(300_000, CUT).await;
    rewritten::<blob::Program, blob_to_careless::Program>(300_000, CUT).await;
}

#[tokio::test]
async fn the_length_from_which_on_a_value_is_a_blob_changes() {
    rewritten::<blob::Program, blob_to_links::Program>(60_000, Left { inline: Some(0), ..BLOB }).await;
    rewritten::<blob::Program, blob_to_rows::Program>(60_000, Left { inline: Some(50_000), ..BLOB }).await;
}

#[tokio::test]
async fn a_chain_of_upgrades_reads_the_content_that_its_last_asks_for() {
    for mode in MODES {
        let store = kept::<blob::Program>(mode, 6, 300_000).await;
        let between = program::<blob_to_links::Notes>(&store).await;
        blob_to_links::Program::save(&between, 2).await;
        blob_to_links::Program::save(&between, 5).await;
        drop(between);
        store.clock().advance(Duration::from_secs(130));
        let db = program::<links_to_cut::Notes>(&store).await;
        assert_eq!(links_to_cut::Program::notes(&db).await.expect("read"), expected(6, 300_000), "{mode:?}");
        db.ensure_tables().await.expect("ensured");
        db.migrations().apply().await.expect("applied");
        assert_laid_out(&db, CUT, 3, "chain").await;
        assert_eq!(links_to_cut::Program::notes(&db).await.expect("read"), expected(6, 300_000), "{mode:?}");
        assert_eq!(collected(&store, &db).await, 0, "{mode:?}");
    }
}

#[tokio::test]
async fn what_has_no_room_in_the_new_layout_is_set_aside_and_stays_whole() {
    let store = kept::<cut::Program>(Consistency::Azure, 6, 300_000).await;
    let db = next::<cut_to_plain::Notes>(&store).await;
    let applied = db.migrations().apply().await.expect("applied");
    assert!(!applied.is_complete() && applied.failed == 1, "{applied:?}");
    let failures = db.migrations().failures().await.expect("told");
    assert!(failures[0].error.contains("65536"), "{failures:?}");
    assert_eq!(cut_to_plain::Program::notes(&db).await.expect("read"), expected(6, 300_000));
    cut_to_plain::Program::replace(&db, 2, body(2, 10)).await;
    assert_eq!(db.migrations().retry_failures().await.expect("tried"), 0);
    assert!(db.migrations().apply().await.expect("applied").is_complete());
    assert_laid_out(&db, PLAIN, 2, "put right").await;
    assert_clean(&db, "put right").await;
}

#[tokio::test]
async fn a_blob_that_is_lost_is_told_where_its_content_is_asked_for() {
    let store = kept::<blob::Program>(Consistency::Azure, 5, 60_000).await;
    let old = program::<blob::Notes>(&store).await;
    let note = blob::Note::find().shelf("s").id(4).one(&old).await.unwrap().unwrap();
    let name = Path::parse(note.body.name().expect("a blob")).expect("a path");
    drop(old);
    store.clock().advance(Duration::from_secs(130));
    store.blob_store().delete(&name).await.expect("deleted");
    let db = next::<blob_to_plain::Notes>(&store).await;
    let error = blob_to_plain::Program::found(&db, 4).await.unwrap_err();
    assert_eq!(error.kind(), &tablemodel::ErrorKind::Corrupt, "{error:?}");
    assert_eq!(blob_to_plain::Program::found(&db, 3).await.expect("another"), body(3, 10));
    let applied = db.migrations().apply().await.expect("applied");
    assert!(applied.failed == 1 && !applied.is_complete(), "{applied:?}");
}

/// The lock lets none of these compile but the last; a program without one is not left with half of an entity either.
#[tokio::test]
async fn without_a_new_version_rows_are_read_as_they_are_or_refused() {
    for mode in MODES {
        let store = kept::<plain::Program>(mode, 6, 60_000).await;
        let db = program::<cut::Notes>(&store).await;
        assert_eq!(cut::Program::notes(&db).await.expect("whole values"), expected(6, 60_000), "{mode:?}");
        cut::Program::save(&db, 4).await;
        assert_eq!(cut::Program::notes(&db).await.expect("chunks too"), expected(6, 60_000), "{mode:?}");
        assert_clean(&db, "cut").await;
        let back = program::<plain::Notes>(&store).await;
        let error = plain::Program::found(&back, 4).await.unwrap_err();
        assert_eq!(error.kind(), &tablemodel::ErrorKind::Corrupt, "{error:?}");
        assert_eq!(plain::Program::found(&back, 3).await.expect("never cut"), body(3, 10), "{mode:?}");

        let store = kept::<blob::Program>(mode, 6, 60_000).await;
        let db = program::<plain::Notes>(&store).await;
        let error = plain::Program::found(&db, 4).await.unwrap_err();
        assert_eq!(error.kind(), &tablemodel::ErrorKind::Corrupt, "{error:?}");

        let db = program::<links::Notes>(&store).await;
        for id in 0..6 {
            links::Program::save(&db, id).await;
        }
        assert_eq!(links::Program::notes(&db).await.expect("read"), expected(6, 60_000), "{mode:?}");
        assert_laid_out(&db, Left { inline: Some(0), ..BLOB }, 1, "links").await;
        let db = program::<blob::Notes>(&store).await;
        for id in 0..6 {
            blob::Program::save(&db, id).await;
        }
        assert_eq!(blob::Program::notes(&db).await.expect("read"), expected(6, 60_000), "{mode:?}");
        assert_eq!(collected(&store, &db).await, 3, "{mode:?}: short ones are in their rows again");
        assert_clean(&db, "links").await;
    }
}

/// What a migration leaves that dies is whole, and whoever goes on ends with the new layout, and with no blob that nobody links.
async fn killed_anywhere<Old: Release, New: Release>(left: Left) {
    const NOTES: u32 = 2;
    for mode in MODES {
        let calls = replay::<first::Club, _, _>(
            (std::any::type_name::<New>(), 24),
            &kept::<Old>(mode, NOTES, 60_000).await,
            async |store| program::<New::Model>(store).await,
            async |db| {
                db.ensure_tables().await?;
                db.migrations().apply().workers(1).await.map(drop)
            },
            async |store, told| {
                let db = program::<New::Model>(store).await;
                let read = New::notes(&db).await.unwrap_or_else(|error| panic!("{told}: torn: {error:?}"));
                assert_eq!(read, expected(NOTES, 60_000), "{told}: before it goes on");
                db.ensure_tables().await.expect("ensured");
                let applied = db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert!(applied.is_complete(), "{told}: {applied:?}");
                assert_laid_out(&db, left, 2, told).await;
                assert_eq!(New::notes(&db).await.expect("read"), expected(NOTES, 60_000), "{told}");
                assert_eq!(collected(store, &db).await, linked(&expected(NOTES, 60_000), left), "{told}: blobs");
                assert_clean(&db, told).await;
            },
        )
        .await;
        assert!(calls > 10, "{calls} calls");
    }
}

#[tokio::test]
async fn a_change_of_layout_that_died_anywhere_is_taken_up() {
    killed_anywhere::<cut::Program, cut_to_plain::Program>(PLAIN).await;
    killed_anywhere::<plain::Program, plain_to_blob::Program>(BLOB).await;
    killed_anywhere::<blob::Program, blob_to_cut::Program>(CUT).await;
}
