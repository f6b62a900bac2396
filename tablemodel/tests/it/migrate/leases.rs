//! Leases: whom a migration waits for, and who may not write.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, IndexState, RowKey,
    prelude::*,
    store::StoreErrorKind,
    testing::{Call, Fault, FaultPlan, Request},
};

use super::{Club, Person, assert_built, filled, first, next, program, states};

/// Refuses every write to the schema table.
struct NoLeases;

impl FaultPlan for NoLeases {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        match call.request {
            Request::Commit(batches) if batches.iter().any(|batch| batch.table == "tmschema") => {
                Some(Fault::error(StoreErrorKind::Unavailable))
            }
            _ => None,
        }
    }
}

#[tokio::test]
async fn a_program_that_cannot_tell_that_it_is_there_stops_writing_until_it_can() {
    let store = filled(Consistency::Azure, 1, 3).await;
    let db = program::<first::Club>(&store).await;
    db.insert(&first::person("c0", 10)).await.expect("with a lease");
    store.fail(NoLeases);
    store.clock().advance(Duration::from_secs(59));
    db.insert(&first::person("c0", 11)).await.expect("the lease still holds");
    store.clock().advance(Duration::from_secs(1));
    let error = db.insert(&first::person("c0", 12)).await.expect_err("it is over");
    assert_eq!((error.kind(), error.is_retryable()), (&ErrorKind::LeaseExpired, true));
    assert!(first::Person::find().club("c0").id(12).one(&db).await.unwrap().is_none());
    store.fail(tablemodel::testing::Script::new());
    db.insert(&first::person("c0", 12)).await.expect("it has a new one");
}

#[tokio::test]
async fn a_lease_costs_a_read_and_a_write_each_twenty_seconds() {
    let store = filled(Consistency::Azure, 1, 3).await;
    let db = program::<first::Club>(&store).await;
    for (seconds, calls) in [(0, 1), (19, 1), (1, 3), (0, 1)] {
        store.clock().advance(Duration::from_secs(seconds));
        store.forget_calls();
        db.update(first::Person::find().club("c0").id(1), |_| Ok(())).await.unwrap();
        let made = store.calls().len() - 1; // the entity is read
        assert_eq!(made, calls, "after {seconds} s more");
    }
}

#[tokio::test]
async fn rows_are_written_only_once_no_program_without_the_index_is_alive() {
    let store = filled(Consistency::Azure, 1, 20).await;
    let old = program::<first::Club>(&store).await;
    old.insert(&first::person("c0", 100)).await.expect("it writes");
    let db = next::<Club>(&store).await;
    let error = db.migrations().apply().wait(Duration::from_secs(30)).await.expect_err("it waits");
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("do not have the indexes in their model"), "{error}");
    assert_eq!(states(&db).await, [IndexState::DeleteOnly; 4], "a state that it may be beside");
    old.update(first::Person::find().club("c0").id(100), |p| Ok(p.city = "Rome".into())).await.expect("still");
    let applied = db.migrations().apply().wait(Duration::from_secs(300)).await.expect("it has been silent");
    assert!(applied.is_complete());
    assert_built(&db, "built").await;
}

#[tokio::test]
async fn a_program_that_was_silent_learns_of_the_states_before_it_writes() {
    let store = filled(Consistency::Azure, 1, 20).await;
    let (db, idle) = (next::<Club>(&store).await, program::<Club>(&store).await);
    let mut read = Person::find().club("c0").id(1).one(&idle).await.unwrap().expect("there");
    db.migrations().apply().await.expect("applied");
    read.city = "Paris".into();
    read.name = "other".into();
    idle.save(&mut read).await.expect_err("it was touched meanwhile");
    let mut read = Person::find().club("c0").id(1).one(&idle).await.unwrap().expect("there");
    read.city = "Paris".into();
    idle.save(&mut read).await.expect("saved");
    assert_built(&db, "by the states as they are").await;
}

#[tokio::test]
async fn leases_that_are_over_are_swept_and_do_not_travel() {
    let store = filled(Consistency::Azure, 1, 3).await;
    let leases = async || {
        let rows = super::all_rows(&store, "tmschema").await;
        rows.into_iter().filter(|row| row.key.row.starts_with("app|")).map(|row| row.key).collect::<Vec<RowKey>>()
    };
    let db = next::<Club>(&store).await;
    assert_eq!(leases().await.len(), 2);
    db.migrations().apply().await.expect("applied");
    assert_eq!(leases().await.len(), 1, "the first program's is gone");
    let mut lines = Vec::new();
    db.export(&mut lines).await.expect("exported");
    assert!(!String::from_utf8(lines).unwrap().contains("app|"));
}
