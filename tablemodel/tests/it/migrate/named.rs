//! What is in the way of a migration names the call that is to be made: the one that was, or the one that goes on.

use std::time::Duration;

use tablemodel::{
    Consistency, Error, ErrorKind, RowKey,
    store::{Condition, TableStoreExt},
    testing::TestDatabase,
};

use super::{Club, Person, assert_clean, filled, next};

/// The release after that of [`Club`]: one index more.
mod more {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_city, row = "city_{city}_{id:04}", keep(visits)))]
    #[table(index(by_name, table = "People", partition = "{name}", row = "{club}_{id:04}", keys_only))]
    #[table(index(by_id, row = "id_{id:04}_{city}", keys_only))]
    #[table(list(of_city, row = "l_{city}"))]
    #[table(list(of_name, table = "Names", partition = "{name}", row = "in_{city}"))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) city: String,
        pub(super) badge: Option<u32>,
        pub(super) visits: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Club {
        Person(Person),
    }
}

/// Another program's row stands where that of a person has to.
fn taken() -> RowKey {
    RowKey::new("taken", "c9_0001")
}

/// A store with one outbox row that was tried ten times.
async fn poisoned() -> TestDatabase {
    let store = filled(Consistency::Azure, 1, 10).await;
    let db = next::<Club>(&store).await;
    db.migrations().apply().await.expect("applied");
    let mine = [("Mine", true)].into_iter().collect();
    store.store().insert("People", &taken(), mine).await.expect("planted");
    let (name, city) = ("taken".to_owned(), "Oslo".to_owned());
    let person = Person { club: "c9".into(), id: 1, name, city, badge: None, visits: 0 };
    db.insert(&person).await.expect("inserted");
    for _ in 0..40 {
        store.clock().advance(Duration::from_secs(600));
        db.relay().run_once().await.expect("tried");
    }
    assert_eq!(db.relay().poisoned().await.expect("told").len(), 1);
    db.close().await.expect("closed");
    store
}

fn assert_told(error: &Error, kind: &ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
}

#[tokio::test]
async fn a_poisoned_row_stops_every_call_and_each_is_told_to_come_again() {
    let store = poisoned().await;
    let db = next::<more::Club>(&store).await;
    let stopped = ["1 outbox rows could not be delivered", "`db.relay().poisoned()`"];
    let error = db.migrations().apply().await.expect_err("poisoned");
    assert_told(&error, &ErrorKind::Unavailable, &[&stopped[..], &["call `apply` again"]].concat());
    let error = db.migrations().rollback().await.expect_err("poisoned");
    assert_told(&error, &ErrorKind::Unavailable, &[&stopped[..], &["call `rollback` again"]].concat());
    let error = db.migrations().apply().await.expect_err("a rollback was interrupted");
    assert_told(&error, &ErrorKind::Unsupported, &["is being taken back", "call `rollback` first"]);
    assert!(!error.to_string().contains("contract"), "only one call goes on with it: {error}");

    db.store().delete("People", &taken(), Condition::Exists).await.expect("put right");
    db.migrations().rollback().await.expect("it tries what is poisoned too");
    assert!(db.migrations().apply().await.expect("applied").is_complete());
    assert_clean(&db, "at last").await;
}
