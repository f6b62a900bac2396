//! What the documentation says that each write costs, by the log of store calls.
//!
//! Counted, never timed.

use tablemodel::testing::TestDatabase;

use super::{Account, Member, account, database, member, plant_row, stored_account, stored_member, tombstone};

async fn cost<T>(db: &TestDatabase, write: impl Future<Output = tablemodel::Result<T>>) -> String {
    db.forget_calls();
    write.await.expect("written");
    calls(db)
}

/// The calls in words; a write never scans.
fn calls(db: &TestDatabase) -> String {
    let calls = db.tally().to_string();
    calls.strip_suffix(", 0 scans").map(str::to_owned).unwrap_or(calls)
}

#[tokio::test]
async fn each_write_costs_what_it_says() {
    let db = database().await;
    // The row itself, by_name, by_email, by_city, active.
    assert_eq!(cost(&db, db.insert(&member("A", 1))).await, "1 commit of 5 operations");
    assert_eq!(cost(&db, db.insert(&account("A", 1))).await, "1 commit of 2 operations");
    let mut stored = stored_member(&db, "A", 1).await;
    assert_eq!(
        cost(&db, db.save(&mut stored)).await,
        "1 commit of 1 operation",
        "nothing changed but the row's number"
    );
    stored.age = 1;
    assert_eq!(cost(&db, db.save(&mut stored)).await, "1 commit of 3 operations", "whole copy and kept property");
    stored.city = "Rome".into();
    assert_eq!(
        cost(&db, db.save(&mut stored)).await,
        "1 commit of 4 operations",
        "whole copy, and the city's row moves"
    );
    stored.is_active = false;
    assert_eq!(cost(&db, db.save(&mut stored)).await, "1 commit of 4 operations", "one condition ends, one begins");
    let upsert = cost(&db, db.upsert(&member("A", 2))).await;
    assert_eq!(upsert, "1 point read, 1 commit of 5 operations");
    let upsert = cost(&db, db.upsert(&member("A", 2))).await;
    assert_eq!(upsert, "1 point read, 1 commit of 1 operation");
    let update = db.update(Member::find().club("A").id(2), |_| Ok(()));
    assert_eq!(cost(&db, update).await, "1 point read, 1 commit of 1 operation");
    let update = db.update(Member::by_email().club("A").email("m2@x"), |_| Ok(()));
    assert_eq!(cost(&db, update).await, "2 point reads, 1 commit of 1 operation");
    let patch = db.patch(Account::find().club("A").id(1), Account::BALANCE.set(1));
    assert_eq!(cost(&db, patch).await, "1 point read, 1 commit of 1 operation");
    let patch = db.patch(Account::find().club("A").id(1), Account::MEMO.set(None));
    assert_eq!(cost(&db, patch).await, "1 point read, 1 commit of 1 operation");
    let stored = stored_member(&db, "A", 2).await;
    assert_eq!(cost(&db, db.delete(stored)).await, "1 commit of 5 operations");
    let mut account = stored_account(&db, "A", 1).await;
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&member("A", 3)).save(&mut account);
    assert_eq!(cost(&db, batch.commit()).await, "1 commit of 6 operations");
    let mut batch = db.batch(Member::in_partition("A"));
    batch.upsert(&member("A", 3)).patch(Account::find().club("A").id(1), Account::BALANCE.set(2));
    assert_eq!(cost(&db, batch.commit()).await, "2 point reads, 1 commit of 2 operations");
    assert_eq!(cost(&db, db.batch(Member::in_partition("A")).commit()).await, "no calls");
}

#[tokio::test]
async fn a_refusal_costs_one_look_at_what_is_there() {
    let db = database().await;
    db.insert(&member("A", 1)).await.expect("inserted");
    db.forget_calls();
    db.insert(&member("A", 1)).await.expect_err("there");
    assert_eq!(calls(&db), "1 point read, 1 commit of 5 operations");
    plant_row(&db, "A", "m_0002", tombstone("Member", 3, 5)).await;
    let over = cost(&db, db.insert(&member("A", 2))).await;
    assert_eq!(over, "1 point read, 2 commits of 10 operations", "a tombstone costs a second attempt");
}

#[tokio::test]
async fn bulk_costs_a_request_for_as_many_entities_as_a_batch_takes() {
    let db = database().await;
    let accounts: Vec<_> = (0..200).map(|id| account("A", id)).collect();
    let bulk = db.bulk().insert_all(futures_util::stream::iter(accounts));
    assert_eq!(cost(&db, bulk).await, "4 commits of 400 operations");
}
