//! `update_or_insert`: what is there is changed, what is not is inserted, whatever others do meanwhile.

use futures_util::FutureExt;
use tablemodel::{
    Error, ErrorKind,
    prelude::*,
    testing::{Call, Fault, Script, TestDatabase},
};

use super::{Account, Club, account, assert_clean, stored_account};

fn none() -> Account {
    Account { balance: 0, badge: Some(7), ..account("A", 1) }
}

async fn count(db: &Database) -> tablemodel::Result<Stored<Account>> {
    db.update_or_insert(Account::find().club("A").id(1), none, |account| Ok(account.balance += 1)).await
}

#[tokio::test]
async fn the_first_inserts_and_the_next_change_what_is_there() {
    let db = TestDatabase::new::<Club>().await.expect("opened");
    for balance in 1..=3 {
        assert_eq!(count(&db).await.expect("written").balance, balance);
    }
    let by_badge = || Account::by_badge().club("A").badge(7);
    let other = || Account { badge: Some(7), ..account("A", 2) };
    let found = db.update_or_insert(by_badge(), other, |account| Ok(account.balance += 1)).await.expect("written");
    assert_eq!((found.id, found.balance), (1, 4), "the one that has the value");
    assert_clean(&db).await;
}

#[tokio::test]
async fn what_the_change_refuses_is_neither_changed_nor_inserted() {
    let db = TestDatabase::new::<Club>().await.expect("opened");
    let refuse = |_: &mut Account| Err(Error::refused("no"));
    let path = || Account::find().club("A").id(1);
    let error = db.update_or_insert(path(), none, refuse).await.expect_err("refused");
    assert_eq!(*error.kind(), ErrorKind::Refused);
    assert!(!path().exists(&db).await.expect("read"));
}

#[tokio::test]
async fn an_entity_of_another_key_that_is_there_is_told() {
    let db = TestDatabase::new::<Club>().await.expect("opened");
    db.insert(&account("A", 2)).await.expect("inserted");
    let path = Account::find().club("A").id(1);
    let error = db.update_or_insert(path, || account("A", 2), |_| Ok(())).await.expect_err("another key");
    assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
}

#[tokio::test]
async fn what_another_inserts_or_deletes_between_read_and_write_is_heeded() {
    for is_there in [false, true] {
        let db = TestDatabase::new::<Club>().await.expect("opened");
        if is_there {
            count(&db).await.expect("inserted");
        }
        let other = db.reopen::<Club>().await.expect("opened");
        let mut between = Some(Box::pin(async move {
            match Account::find().club("A").id(1).one(&other).await? {
                Some(account) => other.delete(account).await,
                None => count(&other).await.map(drop),
            }
        }));
        db.fail(move |call: &Call<'_>| {
            if let Some(write) = between.take_if(|_| call.request.writes()) {
                write.now_or_never().expect("at once").expect("written");
            }
            None
        });
        let expected = if is_there { 1 } else { 2 };
        assert_eq!(count(&db).await.expect("written").balance, expected, "was there: {is_there}");
        db.fail(Script::new());
        assert_eq!(stored_account(&db, "A", 1).await.balance, expected);
        assert_clean(&db).await;
    }
}

#[tokio::test]
async fn a_lost_reply_counts_once() {
    let prepared = TestDatabase::new::<Club>().await.expect("opened");
    for call in 0..6 {
        let db = prepared.fork().expect("a copy");
        db.fail(Script::new().at(call, Fault::LostReply));
        count(&db).await.expect("written");
        count(&db).await.expect("written");
        db.fail(Script::new());
        assert_eq!(stored_account(&db, "A", 1).await.balance, 2, "call {call}");
    }
}
