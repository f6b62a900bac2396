//! A writer whose write is refused gives back the values that it claimed, and no others.

use futures_util::FutureExt;
use tablemodel::{
    Consistency, ErrorKind, Result,
    prelude::*,
    store::{
        StoreErrorKind,
        fault::{Call, Request},
    },
    testing::{Fault, FaultPlan, Script, TestDatabase},
};

use super::{Member, Model, assert_exact, claims, database, member, members, settle};
use crate::{crashes::enumerate, stall::Program, tools::rows_in};

/// With a value that is unique in its partition, beside two that are unique elsewhere.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "e_{id:04}")]
#[table(index(by_desk, row = "desk_{desk}", unique, keys_only))]
#[table(index(by_email, table = "Emails", partition = "{email}", row = "email", unique, keys_only))]
#[table(index(by_phone, table = "Phones", partition = "{phone}", row = "phone", unique, keys_only))]
struct Worker {
    department: String,
    id: u32,
    desk: u32,
    email: String,
    phone: String,
}

#[derive(TableModel)]
enum Company {
    Worker(Worker),
}

fn worker(id: u32, desk: u32, email: &str, phone: &str) -> Worker {
    Worker { department: "A".into(), id, desk, email: email.into(), phone: phone.into() }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Refused {
    Desk,
    Key,
    Upsert,
    Batch,
    Save,
    SaveRow,
    Outdated,
    Rekey,
    RekeyValue,
}

const REFUSED: [Refused; 9] = [
    Refused::Desk,
    Refused::Key,
    Refused::Upsert,
    Refused::Batch,
    Refused::Save,
    Refused::SaveRow,
    Refused::Outdated,
    Refused::Rekey,
    Refused::RekeyValue,
];

/// A write that wants the address `b` and the phone `2`, and is refused since desk 1 or key 1 is taken, or the entity changed.
async fn refused(db: &TestDatabase, how: Refused) -> Result<()> {
    let mut second = Worker::find().department("A").id(2).one(db).await?.expect("there");
    (second.email, second.phone) = ("b".into(), "2".into());
    match how {
        Refused::Desk => db.insert(&worker(3, 1, "b", "2")).await.map(drop),
        Refused::Key => db.insert(&worker(1, 3, "b", "2")).await.map(drop),
        Refused::Upsert => db.upsert(&worker(3, 1, "b", "2")).await.map(drop),
        Refused::Batch => {
            let mut batch = db.batch(Worker::in_partition("A"));
            batch.insert(&worker(3, 3, "b", "2")).insert(&worker(4, 1, "c", "3"));
            batch.commit().await
        }
        Refused::Save => {
            second.desk = 1;
            db.save(&mut second).await
        }
        Refused::SaveRow => {
            (second.id, second.desk) = (5, 1);
            db.save(&mut second).await
        }
        Refused::Outdated => {
            db.update(Worker::find().department("A").id(2), |w| Ok(w.desk = 7)).await?;
            db.save(&mut second).await
        }
        Refused::Rekey => {
            db.update(Worker::find().department("A").id(2), |w| Ok(w.desk = 7)).await?;
            second.department = "B".into();
            db.rekey(&mut second).await
        }
        Refused::RekeyValue => {
            let other = Worker { department: "C".into(), ..worker(9, 9, "q", "2") };
            let other = db.insert(&other).await?;
            second.department = "B".into();
            let error = db.rekey(&mut second).await.unwrap_err();
            db.delete(other).await?;
            Err(error)
        }
    }
}

async fn pending(db: &TestDatabase) -> Vec<String> {
    let mut pending = Vec::new();
    for table in ["Emails", "Phones"] {
        let rows = rows_in(&*db.store(), table).await;
        let rows = rows.into_iter().filter(|(_, row)| row.get("_expires").is_some());
        pending.extend(rows.map(|((_, partition, _), _)| partition));
    }
    pending
}

#[tokio::test]
async fn what_a_refused_write_claimed_is_free_at_once() {
    for how in REFUSED {
        let db = TestDatabase::new::<Company>().await.unwrap();
        db.insert(&worker(1, 1, "one", "11")).await.unwrap();
        db.insert(&worker(2, 2, "two", "22")).await.unwrap();
        let error = refused(&db, how).await.unwrap_err();
        assert!(!error.is_retryable(), "{how:?}: {error:?}");
        assert_eq!(pending(&db).await, [""; 0], "{how:?}");
        let other = db.insert(&Worker { department: "D".into(), ..worker(1, 1, "b", "2") }).await;
        other.unwrap_or_else(|error| panic!("{how:?}: nobody has these values: {error:?}"));
        let second = Worker::by_email().email("two").one(&db).await.unwrap();
        assert_eq!(second.map(|w| w.id), Some(2), "{how:?}: it has what it had");
        assert!(db.verify().await.unwrap().is_clean(), "{how:?}");
    }
}

/// Another writer of the same entity counts on the claim, though the one that is refused wrote it last.
#[tokio::test]
async fn a_claim_that_was_there_already_stays() {
    let mut kept = 0;
    for at in 0.. {
        let db = TestDatabase::new::<Company>().await.unwrap();
        db.insert(&worker(1, 1, "one", "11")).await.unwrap();
        db.insert(&worker(2, 2, "two", "22")).await.unwrap();
        let other = db.clone();
        let (tell, heard) = tokio::sync::oneshot::channel();
        let meanwhile = async move {
            let refused = take(&other, 1).await.unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::UniqueViolation { index: "by_desk", .. }), "{refused:?}");
            let others = other.insert(&Worker { department: "D".into(), ..worker(3, 3, "b", "33") }).await;
            tell.send(others.map(drop)).expect("it is awaited");
        };
        let program = Program::stalling::<Company>(&db, at, meanwhile.boxed()).await;
        let taken = take(&program.db, 2).await;
        if !program.has_stalled() {
            break;
        }
        let others = heard.await.unwrap();
        assert!(taken.is_ok() != others.is_ok(), "call {at}: the value is in one hand: {taken:?}, {others:?}");
        kept += usize::from(others.is_err_and(|error| error.is_retryable()));
        settle(&db).await;
        assert!(db.verify().await.unwrap().is_clean(), "call {at}");
        let holder = Worker::by_email().email("b").one(&db).await.unwrap().expect("somebody has it");
        assert_eq!(holder.department, if taken.is_ok() { "A" } else { "D" }, "call {at}");
    }
    assert!(kept > 0, "a claim that was pending was met");
}

/// Worker 2 takes the address, and this desk.
async fn take(db: &Database, desk: u32) -> Result<()> {
    let mut w = Worker::find().department("A").id(2).one(db).await?.expect("there");
    (w.email, w.desk) = ("b".into(), desk);
    db.save(&mut w).await
}

/// The store answers no commit of an entity.
struct Mute;

impl FaultPlan for Mute {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        match call.request {
            Request::Commit(batches) if batches[0].table == "Club" => {
                Some(Fault::error(StoreErrorKind::OutcomeUnknown))
            }
            _ => None,
        }
    }
}

#[tokio::test]
async fn what_was_claimed_stays_where_it_is_not_known_what_became_of_the_write() {
    let db = database(Consistency::Azure).await;
    db.insert(&member("A", 1)).await.unwrap(); // the partition's marker is written
    db.fail(Mute);
    let error = db.insert(&Member { badge: None, ..member("A", 2) }).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::OutcomeUnknown);
    assert_eq!(claims(&db).await["a2@x"], ("A".into(), "m_0002".into(), false), "it may come to have it");
}

/// What is taken from another, whose claim had expired, is given back too.
#[tokio::test]
async fn a_refusal_at_any_fault_leaves_nothing_that_is_in_anybodys_way() {
    let prepared = async || {
        let db = database(Consistency::Azure).await;
        db.insert(&member("A", 1)).await.unwrap();
        let dying = |call: &Call<'_>| match call.request {
            Request::Commit(batches) if batches[0].table == "Club" => Some(Fault::CrashBefore),
            _ => None,
        };
        db.fail(dying);
        let _ = db.insert(&Member { badge: None, email: Some("stolen@x".into()), ..member("B", 8) }).await;
        db.fail(Script::new());
        let db = db.reopen::<Model>().await.unwrap();
        db.clock().advance(std::time::Duration::from_secs(61));
        db
    };
    // Another writes the entity once it was read.
    let refused = async |db: &TestDatabase| {
        let mut m = Member::find().club("A").id(1).one(db).await?.expect("there");
        db.update(Member::find().club("A").id(1), |m| Ok(m.name = "Ann".into())).await?;
        (m.email, m.badge) = (Some("stolen@x".into()), Some(7));
        match db.save(&mut m).await {
            Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => panic!("it was outdated"),
        }
    };
    let wish = Member { email: Some("stolen@x".into()), badge: Some(7), ..member("B", 2) };
    let points = enumerate::<Model, _>(
        "refused",
        prepared,
        refused,
        async |db| settle(db).await,
        async |db| members(db).await,
        async |db, told, _| {
            assert_exact(db, told).await;
            db.insert(&wish).await.unwrap_or_else(|e| panic!("{told}: {e}"));
            settle(db).await;
            assert_exact(db, &format!("{told}, taken")).await;
        },
    )
    .await;
    assert!(points > 50, "{points} points");
    let db = prepared().await;
    refused(&db).await.unwrap();
    assert!(claims(&db).await.values().all(|(_, _, confirmed)| *confirmed), "{:?}", claims(&db).await);
}
