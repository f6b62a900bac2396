//! Indexes that were built, and then written beside by a program that does not have them: they are built anew before they are read.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, IndexState,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{Club, MODES, Person, all_rows, assert_built, assert_clean, filled, first, next};

/// 210 persons: too many to be migrated when tables are ensured.
async fn built(mode: Consistency) -> TestDatabase {
    let store = filled(mode, 3, 70).await;
    next::<Club>(&store).await.migrations().apply().await.expect("applied");
    store.clock().advance(Duration::from_secs(130));
    store
}

/// A program that lacks all indexes writes, changes and deletes, and ends.
async fn without(store: &TestDatabase) {
    let db = next::<first::Club>(store).await;
    let mut found = first::Person::find().club("c0").id(0).one(&db).await.expect("read").expect("there");
    found.city = "Kyiv".into();
    db.save(&mut found).await.expect("saved");
    let found = first::Person::find().club("c0").id(1).one(&db).await.expect("read").expect("there");
    db.delete(found).await.expect("deleted");
    db.upsert(&first::person("c1", 900)).await.expect("written");
    store.clock().advance(Duration::from_secs(130));
}

async fn assert_not_ready(db: &Database, told: &str) {
    let steps = db.migrations().plan().await.expect("planned").steps;
    assert_eq!(steps.len(), 4, "{told}");
    assert!(steps.iter().all(|step| step.state == IndexState::WriteOnly), "{told}: {steps:?}");
    let error = Person::by_city().club("c0").city("Oslo").all(db).await.expect_err("not complete");
    assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
    let error = Person::of_name().name("n1").city("Oslo").keys(db).await.expect_err("not complete");
    assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
}

#[tokio::test]
async fn an_index_that_a_program_wrote_beside_is_built_anew_before_it_is_read() {
    for mode in MODES {
        let (store, told) = (built(mode).await, format!("{mode:?}"));
        without(&store).await;
        let db = next::<Club>(&store).await;
        assert_not_ready(&db, &told).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_built(&db, &told).await;
        let paris = Person::by_city().club("c0").city("Kyiv").count(&db).await.expect("readable");
        assert_eq!(paris, 1, "{told}");
    }
}

#[tokio::test]
async fn a_program_that_only_reads_takes_no_index_out_of_use() {
    for mode in MODES {
        let store = built(mode).await;
        let builder = Database::builder().read_only().consistency(mode);
        let db = builder.with_store::<first::Club>(store.store()).await.expect("opened");
        assert!(first::Person::find().club("c0").id(0).one(&db).await.expect("read").is_some());
        drop(db);
        assert_built(&next::<Club>(&store).await, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn what_a_program_does_beside_a_migration_that_died_is_in_the_index_at_its_end() {
    for mode in MODES {
        let whole = filled(mode, 3, 70).await;
        let db = next::<Club>(&whole).await;
        drop(db);
        let mut done = 0;
        for call in (0..400).step_by(23) {
            let (store, told) = (whole.fork().expect("in memory"), format!("{mode:?}, call {call}"));
            let db = next::<Club>(&store).await;
            store.fail(Script::new().at(call, Fault::CrashAfter));
            let is_over = db.migrations().apply().workers(2).batch(20).await.is_ok();
            drop(db);
            store.fail(Script::new());
            let store = store.reopen::<first::Club>().await.expect("opened");
            store.clock().advance(Duration::from_secs(130));
            without(&store).await;
            let db = next::<Club>(&store).await;
            let applied = db.migrations().apply().batch(20).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            assert!(applied.is_complete(), "{told}: {applied:?}");
            // One that had begun and was not over has gone on; one that was over begins anew.
            assert_built(&db, &told).await;
            done += 1;
            if is_over {
                break;
            }
        }
        assert!(done > 2, "{mode:?}: {done}");
    }
}

#[tokio::test]
async fn a_repair_takes_away_no_row_of_another_programs_index() {
    for mode in MODES {
        let store = built(mode).await;
        let before = all_rows(&next::<Club>(&store).await, "Club").await.len();
        store.clock().advance(Duration::from_secs(130));
        let db = next::<first::Club>(&store).await;
        assert_clean(&db, "by a program without").await;
        assert_eq!(db.repair().await.expect("repaired").repaired, 0);
        assert_eq!(all_rows(&db, "Club").await.len(), before, "{mode:?}");
    }
}

/// Few entities are migrated when tables are ensured, in the atomic mode.
#[tokio::test]
async fn a_small_store_is_put_right_when_tables_are_ensured() {
    let store = filled(Consistency::Atomic, 1, 5).await;
    assert_built(&next::<Club>(&store).await, "at first").await;
    without_few(&store).await;
    assert_built(&next::<Club>(&store).await, "again").await;
}

async fn without_few(store: &TestDatabase) {
    let db = next::<first::Club>(store).await;
    db.insert(&first::person("c0", 70)).await.expect("written");
}
