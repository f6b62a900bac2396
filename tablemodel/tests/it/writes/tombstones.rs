//! Tombstones, planted as FORMAT.md draws them: reads pass over them, inserts replace them under their number.
//!
//! No room of this release leaves one; those to come do.

use std::time::Duration;

use tablemodel::{ErrorKind, RowKey, prelude::*};

use super::{Club, Member, account, assert_clean, database, member, plant_row, row, stored_member, ticks, tombstone};

#[tokio::test]
async fn every_read_passes_over_a_tombstone() {
    let db = database().await;
    db.insert(&member("A", 1)).await.expect("inserted");
    db.insert(&member("A", 2)).await.expect("inserted");
    plant_row(&db, "A", "m_0002", tombstone("Member", 3, 5)).await;
    let path = || Member::find().club("A").id(2);
    assert!(path().one(&db).await.expect("read").is_none());
    assert!(!path().exists(&db).await.expect("read"));
    let all = || Member::find().club("A");
    assert_eq!(all().all(&db).await.expect("read").len(), 1);
    assert_eq!(all().count(&db).await.expect("read"), 1);
    assert_eq!(all().get_many([1, 2], &db).await.expect("read").iter().flatten().count(), 1);
    let keys = [1, 2].map(|id| RowKey::new("A", format!("m_{id:04}")));
    assert_eq!(db.get_many::<Member>(keys).await.expect("read").iter().flatten().count(), 1);
    // Its index rows dangle: what loads the entity does not find it.
    assert_eq!(Member::by_city().club("A").city("Oslo").all(&db).await.expect("read").len(), 1);
    assert!(Member::by_email().club("A").email("m2@x").one(&db).await.expect("read").is_none());
    let rows = Club::rows(Member::in_partition("A")).all(&db).await.expect("read");
    assert_eq!(rows, [Club::Member(member("A", 1))]);
    assert_eq!(Club::rows(Member::in_partition("A")).count(&db).await.expect("read"), 1);
}

#[tokio::test]
async fn a_tombstone_is_not_an_entity_to_writes() {
    let db = database().await;
    let stored = db.insert(&member("A", 1)).await.expect("inserted");
    let mut saved = stored.clone();
    plant_row(&db, "A", "m_0001", tombstone("Member", 3, 5)).await;
    let path = || Member::find().club("A").id(1);
    let is_not_found = |error: tablemodel::Error| assert_eq!(*error.kind(), ErrorKind::NotFound, "{error:?}");
    is_not_found(db.update(path(), |_| Ok(())).await.expect_err("gone"));
    is_not_found(db.save(&mut saved).await.expect_err("gone"));
    is_not_found(db.delete(stored).await.expect_err("gone"));
    plant_row(&db, "A", "a_0001", tombstone("Account", 1, 5)).await;
    let patch = super::Account::BALANCE.set(1);
    is_not_found(db.patch(super::Account::find().club("A").id(1), patch).await.expect_err("gone"));
}

#[tokio::test]
async fn a_tombstone_alone_is_no_violation() {
    let db = database().await;
    plant_row(&db, "A", "m_0001", tombstone("Member", 3, 5)).await;
    plant_row(&db, "A", "m_0002", tombstone("Member", 9, 5)).await;
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_write_over_a_tombstone_takes_a_higher_number_whatever_the_clock_says() {
    for ahead in [-1_000_000, 0, 1_000_000] {
        let db = database().await;
        let dead = ticks(&db) + ahead;
        for id in 1..=4 {
            plant_row(&db, "A", &format!("m_{id:04}"), tombstone("Member", 2, dead)).await;
        }
        let least = ticks(&db).max(dead + 1);
        assert_eq!(db.insert(&member("A", 1)).await.expect("inserted").sequence(), least);
        assert_eq!(db.upsert(&member("A", 2)).await.expect("upserted").sequence(), least);
        let mut batch = db.batch(Member::in_partition("A"));
        batch.insert(&member("A", 3));
        batch.commit().await.expect("inserted");
        assert_eq!(stored_member(&db, "A", 3).await.sequence(), least);
        let mut moved = db.insert(&member("A", 9)).await.expect("inserted");
        moved.id = 4;
        db.save(&mut moved).await.expect("moved onto it");
        assert!(moved.sequence() >= least && moved.sequence() > ticks(&db));
        assert_clean(&db).await;
    }
}

#[tokio::test]
async fn the_greatest_number_is_no_overflow() {
    let db = database().await;
    plant_row(&db, "A", "m_0001", tombstone("Member", 3, i64::MAX)).await;
    assert_eq!(db.insert(&member("A", 1)).await.expect("inserted").sequence(), i64::MAX);
}

#[tokio::test]
async fn a_tombstone_of_another_type_blocks() {
    let db = database().await;
    plant_row(&db, "A", "a_0001", tombstone("Member", 3, 5)).await;
    let error = db.insert(&account("A", 1)).await.expect_err("another's");
    assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
    let error = db.upsert(&account("A", 1)).await.expect_err("another's");
    assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
}

#[tokio::test]
async fn of_two_inserters_over_one_tombstone_one_wins() {
    let db = database().await;
    for round in 0..20 {
        plant_row(&db, "A", &format!("m_{round:04}"), tombstone("Member", 3, 5)).await;
        let (a, b) = (member("A", round), Member { age: 99, ..member("A", round) });
        let (a, b) = tokio::join!(db.insert(&a), db.insert(&b));
        assert_eq!(usize::from(a.is_ok()) + usize::from(b.is_ok()), 1);
        let error = a.err().or(b.err()).expect("one loses");
        assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
    }
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_fresh_life_of_a_really_deleted_key_starts_at_the_clock() {
    let db = database().await;
    let first = db.insert(&member("A", 1)).await.expect("inserted");
    let before = first.sequence();
    db.delete(first).await.expect("deleted");
    assert!(row(&db, "A", "m_0001").await.is_none(), "entities whose rows share a partition are really deleted");
    db.clock().advance(Duration::from_secs(1));
    assert_eq!(db.insert(&member("A", 1)).await.expect("inserted").sequence(), before + 10_000_000);
}
