//! Tombstones that stand for what is not there: of those that nobody waits for, a repair takes away each, and no other.

use tablemodel::{Properties, ValueRef, testing::TestDatabase};

use super::{fan, sponsor, stage};
use crate::everything::{Fan, Model};

/// The row keys of the tombstones of sponsors.
async fn tombstones(db: &TestDatabase) -> Vec<String> {
    let rows = stage(db).rows().await.into_iter().filter(|((table, ..), _)| table == "Sponsors");
    let is_dead = |row: &Properties| row.get("EntityType") == Some(ValueRef::String("Sponsor.~dead@1"));
    rows.filter(|(_, row)| is_dead(row)).map(|((_, partition, _), _)| partition).collect()
}

/// How many a repair takes away of a store in which nothing is wrong.
async fn swept(db: &TestDatabase) -> u64 {
    let repaired = db.repair().await.unwrap();
    assert!(repaired.found.is_clean() && repaired.left.is_empty(), "{:?}", repaired.found.violations);
    repaired.swept
}

#[tokio::test]
async fn a_tombstone_in_the_place_of_a_source_stays_while_somebody_waits_for_it_and_goes_with_a_repair_after_that() {
    let db = TestDatabase::atomic::<Model>().await.unwrap();
    let waits = |id: u32, backer| Fan { backer: Some(backer), ..fan(id) };
    let mut first = db.insert(&waits(1, 7)).await.unwrap();
    let second = db.insert(&waits(2, 7)).await.unwrap();
    db.insert(&waits(3, 8)).await.unwrap();
    assert_eq!(tombstones(&db).await, ["007", "008"]);
    assert_eq!(swept(&db).await, 0, "two wait for one, one for the other");
    first.backer = None;
    db.save(&mut first).await.unwrap();
    assert_eq!(swept(&db).await, 0, "one each");
    db.delete(second).await.unwrap();
    assert_eq!(swept(&db).await, 1, "none for the one");
    assert_eq!(tombstones(&db).await, ["008"]);
    db.insert(&sponsor(8)).await.unwrap();
    assert_eq!(tombstones(&db).await, Vec::<String>::new());
    assert_eq!(swept(&db).await, 0);
}
