//! Sequence numbers: they start at the clock, every write adds one, and a later life of a key is higher.
//!
//! The clock is the test's.

use std::time::Duration;

use super::{Account, Member, account, assert_clean, database, member, row, stored_account, stored_member, ticks};

#[tokio::test]
async fn they_start_at_the_clock_and_every_write_adds_one() {
    let db = database().await;
    let start = ticks(&db);
    let mut stored = db.insert(&account("A", 1)).await.expect("inserted");
    assert_eq!(stored.sequence(), start);
    db.clock().advance(Duration::from_secs(60));
    stored.balance = 1;
    db.save(&mut stored).await.expect("saved");
    assert_eq!(stored.sequence(), start + 1);
    assert_eq!(db.upsert(&account("A", 1)).await.expect("upserted").sequence(), start + 2);
    db.patch(Account::find().club("A").id(1), Account::BALANCE.set(4)).await.expect("patched");
    assert_eq!(stored_account(&db, "A", 1).await.sequence(), start + 3);
    db.patch(Account::find().club("A").id(1), Account::MEMO.set(None)).await.expect("patched");
    assert_eq!(stored_account(&db, "A", 1).await.sequence(), start + 4);
    let updated = db.update(Account::find().club("A").id(1), |_| Ok(())).await.expect("updated");
    assert_eq!(updated.sequence(), start + 5);
}

#[tokio::test]
async fn derived_rows_carry_the_number_they_were_written_at() {
    let db = database().await;
    let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
    let first = stored.sequence();
    stored.points = 99;
    db.save(&mut stored).await.expect("saved");
    let sequence = async |key: &str| match row(&db, "A", key).await.expect("there").properties.get("_seq") {
        Some(tablemodel::ValueRef::Int64(sequence)) => sequence,
        other => panic!("{other:?}"),
    };
    assert_eq!(sequence("active_0001").await, first + 1, "it keeps what changed");
    assert_eq!(sequence("name_Jones_0001").await, first + 1, "a whole copy");
    assert_eq!(sequence("email_m1@x").await, first, "it keeps other things");
    assert_eq!(sequence("city_Oslo_0001").await, first, "it keeps nothing");
}

#[tokio::test]
async fn a_moved_entity_is_above_both_its_own_past_and_the_clock() {
    let db = database().await;
    let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
    let before = stored.sequence();
    stored.id = 2;
    db.save(&mut stored).await.expect("moved");
    assert_eq!(stored.sequence(), before + 1);
    db.clock().advance(Duration::from_secs(1));
    stored.id = 3;
    db.save(&mut stored).await.expect("moved");
    assert_eq!(stored.sequence(), ticks(&db), "so that no earlier life of the key can be above it");
    db.clock().step_back(Duration::from_secs(3600));
    let before = stored.sequence();
    stored.id = 1;
    db.save(&mut stored).await.expect("moved");
    assert_eq!(stored.sequence(), before + 1, "with a clock behind");
    assert_clean(&db).await;
}

#[tokio::test]
async fn delete_and_insert_of_one_key_in_one_batch_never_goes_back() {
    let db = database().await;
    let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
    for _ in 0..5 {
        db.save(&mut stored).await.expect("saved");
    }
    let before = stored.sequence();
    db.clock().step_back(Duration::from_secs(3600));
    let mut batch = db.batch(Member::in_partition("A"));
    batch.delete(stored).insert(&Member { age: 1, ..member("A", 1) });
    batch.commit().await.expect("committed");
    assert_eq!(stored_member(&db, "A", 1).await.sequence(), before + 1);
}
