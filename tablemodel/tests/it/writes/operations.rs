//! Operation ids: a retried write recognises its own first attempt, and says so where it cannot tell.
//!
//! Each test loses a reply; another writer may come between.

use std::sync::Arc;

use futures_util::FutureExt;
use tablemodel::{
    ErrorKind, ValueRef,
    prelude::*,
    store::{
        KeyRange, MemoryStore, Query, TableStore,
        fault::{Call, FaultStore},
    },
    testing::{Fault, Script, TestDatabase},
};

use super::{Account, Club, Member, account, assert_clean, member, row, stored_account, stored_member};
use crate::tools::block_on;

/// A database, and another program over the same store.
async fn two_programs() -> (TestDatabase, Database) {
    let store: Arc<dyn TableStore> = Arc::new(MemoryStore::new());
    let db = TestDatabase::over::<Club>(|_| store.clone()).await.expect("a database");
    let other = Arc::new(FaultStore::new(store, Script::new()));
    (db, Database::builder().with_store::<Club>(other).await.expect("the same store"))
}

fn lost() -> Script {
    Script::new().at(0, Fault::LostReply)
}

/// The reply of the first commit is lost; before the next commit, `between` happens.
fn lose_then(db: &TestDatabase, between: impl Future<Output = ()> + Send + 'static) {
    let mut between = Some(Box::pin(between));
    let mut commits = 0;
    db.fail(move |call: &Call<'_>| {
        if !call.request.writes() {
            return None;
        }
        commits += 1;
        match commits {
            1 => Some(Fault::LostReply),
            2 => {
                let between = between.take().expect("the second commit comes once");
                between.now_or_never().expect("a store in memory answers at once");
                None
            }
            _ => None,
        }
    });
}

#[tokio::test]
async fn every_write_but_a_delete_recognises_its_own_first_attempt() {
    let (db, _) = two_programs().await;
    db.fail(lost());
    let mut stored = db.insert(&member("A", 1)).await.expect("recognised");
    stored.age += 1;
    db.fail(lost());
    db.save(&mut stored).await.expect("recognised");
    stored.id = 9;
    db.fail(lost());
    db.save(&mut stored).await.expect("a move, recognised");
    assert_eq!(*stored, *stored_member(&db, "A", 9).await, "and current again");
    stored.age += 1;
    db.save(&mut stored).await.expect("so it can be saved again");
    db.fail(Script::new().at(1, Fault::LostReply));
    db.upsert(&Member { age: 1, ..member("A", 9) }).await.expect("recognised");
    db.insert(&account("A", 1)).await.expect("inserted");
    db.fail(Script::new().at(1, Fault::LostReply));
    db.patch(Account::find().club("A").id(1), Account::BALANCE.set(3)).await.expect("recognised");
    db.fail(Script::new().at(1, Fault::LostReply));
    db.update(Account::find().club("A").id(1), |account| Ok(account.balance += 1)).await.expect("recognised");
    assert_eq!(stored_account(&db, "A", 1).await.balance, 4, "and done once");
    let mut account = stored_account(&db, "A", 1).await;
    account.balance = 8;
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&member("A", 2)).save(&mut account).delete(stored_member(&db, "A", 9).await);
    db.fail(lost());
    batch.commit().await.expect("recognised");
    account.balance = 9;
    db.save(&mut account).await.expect("current after the batch");
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_delete_whose_reply_is_lost_cannot_tell() {
    let (db, _) = two_programs().await;
    let stored = db.insert(&member("A", 1)).await.expect("inserted");
    db.fail(lost());
    let error = db.delete(stored).await.expect_err("cannot tell");
    assert_eq!(*error.kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(db.verify().await.expect("verify runs").rows, 0);
}

#[tokio::test]
async fn a_row_that_another_writer_moved_on_is_recognised_and_its_etag_not_reused() {
    let (db, other) = two_programs().await;
    let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
    stored.city = "Rome".into();
    lose_then(&db, async move {
        let path = Member::find().club("A").id(1);
        other.update(path, |member| Ok(member.age = 99)).await.expect("updated");
    });
    db.save(&mut stored).await.expect("recognised among the last operations");
    stored.city = "Bern".into();
    let error = db.save(&mut stored).await.expect_err("not current");
    assert!(matches!(error.kind(), ErrorKind::Conflict { .. }), "{error:?}");
    let current = stored_member(&db, "A", 1).await;
    assert_eq!((current.age, current.city.as_str()), (99, "Rome"));
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_row_that_is_gone_after_a_lost_reply_is_an_unknown_outcome() {
    let (db, other) = two_programs().await;
    lose_then(&db, async move {
        let stored = stored_member(&other, "A", 1).await;
        other.delete(stored).await.expect("deleted");
        other.insert(&Member { age: 1, ..member("A", 1) }).await.expect("another life of the key");
    });
    let error = db.insert(&member("A", 1)).await.expect_err("not ours any more");
    assert_eq!(*error.kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(stored_member(&db, "A", 1).await.age, 1);
}

#[tokio::test]
async fn the_last_four_operations_are_kept_and_no_more() {
    for (others, recognised) in [(3, true), (4, false)] {
        let (db, other) = two_programs().await;
        let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
        stored.city = "Rome".into();
        lose_then(&db, async move {
            for _ in 0..others {
                let path = Member::find().club("A").id(1);
                other.update(path, |member| Ok(member.age += 1)).await.expect("updated");
            }
        });
        let answer = db.save(&mut stored).await;
        assert_eq!(answer.is_ok(), recognised, "{others} others: {answer:?}");
        let row = row(&db, "A", "m_0001").await.expect("there");
        match row.properties.get("_ops") {
            Some(ValueRef::Binary(ids)) => assert_eq!(ids.len(), 64),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_failure_after_a_lost_reply_never_says_that_nothing_was_written() {
    use tablemodel::store::StoreErrorKind as E;
    for kind in [E::Denied, E::Closed, E::TooLarge, E::InvalidInput, E::TableNotFound, E::Corrupt] {
        let (db, _) = two_programs().await;
        db.fail(lost().at(1, Fault::error(kind)));
        let error = db.insert(&member("A", 1)).await.expect_err("cannot tell");
        assert_eq!(*error.kind(), ErrorKind::OutcomeUnknown, "{kind:?}");
    }
}

/// How many programs have a lease.
async fn leases(store: &dyn TableStore) -> usize {
    let rows = store.query(&Query::new("tmschema", KeyRange::table())).await.expect("read").rows;
    rows.iter().filter(|row| row.key.row.starts_with("app|")).count()
}

/// That none takes the other's lease, or write, for its own.
async fn assert_two_programs(one: &TestDatabase, two: &TestDatabase) {
    one.insert(&member("A", 1)).await.expect("written");
    two.insert(&member("A", 2)).await.expect("written");
    assert_eq!(leases(&*one.store()).await, 2);
    let mut theirs = member("A", 3);
    theirs.age += 40;
    one.insert(&member("A", 3)).await.expect("written");
    lose_then(two, async {});
    let error = two.insert(&theirs).await.expect_err("it is the other's");
    assert_eq!(*error.kind(), ErrorKind::OutcomeUnknown, "{error:?}");
}

#[tokio::test]
async fn test_databases_over_one_store_are_two_programs() {
    let store: Arc<dyn TableStore> = Arc::new(MemoryStore::new());
    let one = TestDatabase::over::<Club>(|_| store.clone()).await.expect("a database");
    let two = TestDatabase::over::<Club>(|_| store.clone()).await.expect("another");
    assert_two_programs(&one, &two).await;
}

#[tokio::test]
async fn a_test_database_and_one_over_its_store_are_two_programs() {
    let one = TestDatabase::new::<Club>().await.expect("a database");
    let two = TestDatabase::over::<Club>(|_| one.store()).await.expect("another");
    assert_two_programs(&one, &two).await;
}

#[test]
fn test_databases_that_are_opened_on_two_threads_are_two_programs() {
    let store: Arc<dyn TableStore> = Arc::new(MemoryStore::new());
    for id in [1, 2] {
        let shared = store.clone();
        let write = move || {
            block_on(async {
                let db = TestDatabase::over::<Club>(|_| shared).await.expect("a database");
                db.insert(&member("A", id)).await.expect("written");
            });
        };
        std::thread::spawn(write).join().expect("written");
    }
    block_on(async { assert_eq!(leases(&*store).await, 2) });
}
