//! What a later release keeps beside entities, at keys of the framework's that are of no kind of this one: it is left alone, and so is the
//! marker of its partition.

use std::time::Duration;

use tablemodel::{
    Properties, Value,
    store::{Action, Batch},
    testing::TestDatabase,
};

use super::{Model, assert_exact, rows_in, worker};

/// The reserved intent of an archive, as FORMAT.md draws it, set aside by a relay of its own.
fn intent() -> Properties {
    let pairs: [(&str, Value); 7] = [
        ("EntityType", "Worker.~to-archive@1".into()),
        ("_rk", "w_0001".into()),
        ("_seq", 1_i64.into()),
        ("_move", "0".repeat(32).into()),
        ("_table", "Archive".into()),
        ("_attempts", 10_i32.into()),
        ("_poison", "the archive is full".into()),
    ];
    pairs.into_iter().collect()
}

async fn plant(db: &TestDatabase, row: &str) {
    let batch = Batch::new("Company", "A").with(row, Action::Insert(intent()));
    db.store().commit(&[batch]).await.expect("planted");
}

fn archiving() -> String {
    format!("~~out_archive|w_0001|{}", "0".repeat(32))
}

/// Whether the marker of partition `A` is there.
async fn is_marked(db: &TestDatabase) -> bool {
    rows_in(&*db.store(), "tmdirty").await.keys().any(|(_, _, row)| row == "Company|A")
}

#[tokio::test]
async fn work_of_a_later_release_waits_for_it_with_the_marker_of_its_partition() {
    let db = TestDatabase::new::<Model>().await.expect("a database");
    db.insert(&worker("A", 1)).await.expect("inserted");
    plant(&db, &archiving()).await;
    for _ in 0..3 {
        db.clock().advance(Duration::from_secs(3_600));
        let report = db.relay().run_once().await.expect("the relay runs");
        assert_eq!((report.waiting, report.failed, report.poisoned, report.delivered), (1, 0, 0, 0), "{report:?}");
        assert!(!report.is_settled() && is_marked(&db).await);
    }
    assert_eq!(db.relay().poisoned().await.expect("read"), [], "it is not this relay's to try again or discard");
    let rows = rows_in(&*db.store(), "Company").await;
    assert_eq!(rows[&("Company".to_owned(), "A".to_owned(), archiving())], intent());

    let at = ("Company".to_owned(), "A".to_owned(), archiving());
    let there = db.store().get("Company", &tablemodel::RowKey::new(at.1, at.2)).await.expect("read").expect("there");
    let error = db.delete_row("Company", &there).await.expect_err("the framework's");
    assert_eq!(*error.kind(), tablemodel::ErrorKind::Unsupported);
}

/// The relay cannot tell whose it is, and need not.
#[tokio::test]
async fn work_of_a_later_release_for_an_entity_of_another_model_waits_too() {
    let db = TestDatabase::new::<Model>().await.expect("a database");
    db.insert(&worker("A", 1)).await.expect("inserted");
    let mut theirs = intent();
    theirs.insert("EntityType", "Stranger.~to-archive@1");
    let batch = Batch::new("Company", "A").with(archiving(), Action::Insert(theirs));
    db.store().commit(&[batch]).await.expect("planted");
    db.clock().advance(Duration::from_secs(3_600));
    let report = db.relay().run_once().await.expect("the relay runs");
    assert_eq!((report.waiting, report.failed, report.poisoned), (1, 0, 0), "{report:?}");
    assert!(!report.is_settled() && is_marked(&db).await);
}

#[tokio::test]
async fn the_marker_goes_where_there_is_no_such_work() {
    let db = TestDatabase::new::<Model>().await.expect("a database");
    db.insert(&worker("A", 1)).await.expect("inserted");
    assert!(is_marked(&db).await);
    db.clock().advance(Duration::from_secs(3_600));
    db.relay().run_once().await.expect("the relay runs");
    assert!(!is_marked(&db).await);
}

#[tokio::test]
async fn rows_of_a_later_releases_kinds_are_neither_judged_nor_repaired() {
    for db in [TestDatabase::new::<Model>().await, TestDatabase::atomic::<Model>().await] {
        let db = db.expect("a database");
        db.insert(&worker("A", 1)).await.expect("inserted");
        for row in [archiving(), "~~later|w_0001".to_owned()] {
            plant(&db, &row).await;
        }
        let before = rows_in(&*db.store(), "Company").await;
        let repaired = db.repair().await.expect("repair runs");
        assert!(repaired.found.is_clean() && repaired.left.is_empty(), "{repaired:?}");
        assert_eq!(repaired.found.foreign, 2);
        assert_eq!(rows_in(&*db.store(), "Company").await, before);
        assert_exact(&db, &[worker("A", 1)], "beside them").await;
    }
}
