//! A fault at every store call of a move, in both modes, and at every call of the relay that finishes it.

use std::{cmp::Ordering, time::Duration};

use futures_util::FutureExt;
use tablemodel::{
    Consistency, ErrorKind, Result,
    prelude::*,
    store::{StoreError, StoreErrorKind, fault::Call},
    testing::{Fault, FaultPlan, Script, TestDatabase},
};

use super::{Guest, MODES, Member, Model, assert_exact, database, guests, member, members, settle};
use crate::{crashes::enumerate, stall::Program};

#[derive(Debug, Clone, Copy)]
enum Kind {
    Member,
    NewValues,
    OverTombstone,
    Row,
    Guest,
    Taken,
}

const KINDS: [Kind; 6] = [Kind::Member, Kind::NewValues, Kind::OverTombstone, Kind::Row, Kind::Guest, Kind::Taken];

async fn prepared(mode: Consistency, kind: Kind) -> TestDatabase {
    let db = database(mode).await;
    db.insert(&member("A", 1)).await.unwrap();
    db.insert(&Guest { club: "A".into(), id: 1, pass: 7 }).await.unwrap();
    let there = db.insert(&Member { email: None, ..member("B", 1) }).await.unwrap();
    if !matches!(kind, Kind::Taken) {
        db.delete(there).await.unwrap();
    }
    if !matches!(kind, Kind::OverTombstone) {
        for _ in 0..3 {
            db.clock().advance(Duration::from_secs(601));
            db.relay().run_once().await.unwrap();
        }
    }
    db
}

async fn run(db: &TestDatabase, kind: Kind) -> Result<()> {
    if let Kind::Guest = kind {
        let Some(mut guest) = Guest::find().club("A").id(1).one(db).await? else { return Ok(()) };
        (guest.club, guest.pass) = ("B".into(), 8);
        return db.rekey(&mut guest).await;
    }
    let Some(mut moved) = Member::find().club("A").id(1).one(db).await? else { return Ok(()) };
    match kind {
        Kind::Row => moved.id = 4,
        Kind::NewValues => {
            (moved.club, moved.email, moved.seat, moved.name) = ("B".into(), Some("n@x".into()), None, "new".into());
        }
        _ => moved.club = "B".into(),
    }
    match db.rekey(&mut moved).await {
        Err(error) if *error.kind() == ErrorKind::AlreadyExists && matches!(kind, Kind::Taken) => Ok(()),
        other => other,
    }
}

async fn everybody(db: &TestDatabase) -> (Vec<Member>, Vec<Guest>) {
    (members(db).await, guests(db).await)
}

/// Where a fault left the entity at its old key, the same move succeeds a minute later.
async fn moves_again(db: &TestDatabase, kind: Kind, told: &str) {
    let whole = prepared(db.consistency(), kind).await;
    run(&whole, kind).await.unwrap();
    db.clock().advance(Duration::from_secs(61));
    // Taking the key over from the move that died changes the entity: it is read anew.
    let again = match run(db, kind).await {
        Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => run(db, kind).await,
        other => other,
    };
    again.unwrap_or_else(|error| panic!("{told}: again: {error}"));
    assert_eq!(everybody(db).await, everybody(&whole).await, "{told}: again");
    assert_exact(db, &format!("{told}, again")).await;
}

#[tokio::test]
async fn a_fault_at_any_store_call_leaves_the_entity_at_one_key_with_its_rows() {
    let mut points = 0;
    for mode in MODES {
        for kind in KINDS {
            points += enumerate::<Model, _>(
                &format!("{mode:?} {kind:?}"),
                async || prepared(mode, kind).await,
                async |db| run(db, kind).await,
                async |db| settle(db).await,
                async |db| everybody(db).await,
                async |db, told, is_old| {
                    assert_exact(db, told).await;
                    if is_old {
                        moves_again(db, kind, told).await;
                    }
                },
            )
            .await;
        }
    }
    assert!(points > 500, "{points} points");
}

#[tokio::test]
async fn a_second_fault_while_a_relay_lets_the_entity_arrive_changes_nothing() {
    for kind in [Kind::Member, Kind::NewValues, Kind::Guest] {
        let whole = prepared(Consistency::Azure, kind).await;
        for call in 0..40 {
            for fault in [Fault::CrashAfter, Fault::LostReply] {
                let db = whole.fork().expect("in memory");
                db.fail(left());
                let _ = run(&db, kind).await;
                db.fail(Script::new());
                let db = db.reopen::<Model>().await.unwrap();
                db.clock().advance(Duration::from_secs(60));
                db.fail(Script::new().at(call, fault.clone()));
                let _ = db.relay().run_once().await;
                db.fail(Script::new());
                let db = db.reopen::<Model>().await.unwrap();
                settle(&db).await;
                let told = format!("{kind:?}, relay {fault:?} at {call}");
                let moved =
                    members(&db).await.into_iter().map(|m| m.club).chain(guests(&db).await.into_iter().map(|g| g.club));
                let moved: Vec<_> = moved.collect();
                let expected = if matches!(kind, Kind::Guest) { ["A", "B"] } else { ["B", "A"] };
                assert_eq!(moved, expected, "{told}");
                assert_exact(&db, &told).await;
            }
        }
    }
}

/// Dies once the entity has left: after the commit that carries the intent.
pub(super) fn left() -> impl tablemodel::testing::FaultPlan {
    use tablemodel::store::fault::{Call, Request};
    |call: &Call<'_>| match call.request {
        Request::Commit(batches) if batches[0].operations.iter().any(|o| o.row.starts_with("~~move|")) => {
            Some(Fault::CrashAfter)
        }
        _ => None,
    }
}

/// Dies before the commit with this number after the one that carries the intent.
pub(super) fn after_leaving(commits: usize) -> impl tablemodel::testing::FaultPlan {
    use tablemodel::store::fault::{Call, Request};
    let mut since = None;
    move |call: &Call<'_>| match call.request {
        Request::Commit(_) if since == Some(commits) => Some(Fault::CrashBefore),
        Request::Commit(batches) => {
            let leaves = batches[0].operations.iter().any(|o| o.row.starts_with("~~move|"));
            since = since.map(|since| since + 1).or(leaves.then_some(0));
            None
        }
        _ => None,
    }
}

/// Meanwhile a relay has taken away what leads to the partition, in which it found nothing to do.
#[tokio::test]
async fn an_entity_that_leaves_long_after_its_move_began_is_found_by_relays() {
    for at in 0.. {
        let db = database(Consistency::Azure).await;
        db.insert(&Guest { club: "A".into(), id: 1, pass: 7 }).await.unwrap();
        let other = db.clone();
        let meanwhile = async move {
            other.clock().advance(Duration::from_secs(601));
            for _ in 0..2 {
                let _ = other.relay().run_once().await; // the store may have died
            }
        };
        let program = Program::stalling::<Model>(&db, at, meanwhile.boxed()).await;
        let mut guest = Guest::find().club("A").id(1).one(&program.db).await.unwrap().unwrap();
        guest.club = "B".into();
        db.fail(left());
        let _ = program.db.rekey(&mut guest).await;
        db.fail(Script::new());
        let db = db.reopen::<Model>().await.unwrap();
        settle(&db).await;
        let told = format!("it stood still before call {at}");
        assert_eq!(guests(&db).await.len(), 1, "{told}");
        assert_exact(&db, &told).await;
        if !program.has_stalled() {
            assert!(at > 5, "{at} calls");
            break;
        }
    }
}

#[tokio::test]
async fn what_an_entity_on_its_way_still_has_is_no_damage() {
    for commits in 0.. {
        let db = prepared(Consistency::Azure, Kind::Member).await;
        db.fail(after_leaving(commits));
        let moved = run(&db, Kind::Member).await;
        let is_over = moved.is_ok();
        db.fail(Script::new());
        let db = db.reopen::<Model>().await.unwrap();
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean(), "{commits} commits after it left: {:?}", verified.violations);
        if is_over {
            assert!(commits > 2, "{commits}");
            break;
        }
        let repaired = db.repair().await.unwrap();
        assert_eq!((repaired.repaired, repaired.left.len()), (0, 0), "{commits} commits after it left");
    }
}

/// The reply to the batch by which it leaves is lost, and then the store does not answer: where it is cannot be told.
#[tokio::test]
async fn a_move_whose_decision_cannot_be_looked_up_is_of_unknown_outcome() {
    let mut unknown = 0;
    for at in 0.. {
        let db = prepared(Consistency::Azure, Kind::Member).await;
        db.fail(Outage { at, calls: 0 });
        let result = run(&db, Kind::Member).await;
        db.fail(Script::new());
        if result.is_ok() {
            break;
        }
        let error = result.expect_err("it did not end");
        db.clock().advance(Duration::from_secs(130));
        let db = db.reopen::<Model>().await.unwrap();
        let stays = Member::find().club("A").id(1).exists(&db).await.unwrap();
        settle(&db).await;
        assert!(stays || Member::find().club("B").id(1).exists(&db).await.unwrap(), "call {at}: it is lost");
        match error.kind() {
            ErrorKind::OutcomeUnknown => unknown += 1,
            kind => assert!(stays, "call {at}: {kind:?}, and it has left"),
        }
    }
    assert!(unknown > 1, "{unknown}");
}

/// From one call on the store is gone; that call is carried out, and its reply is lost.
struct Outage {
    at: usize,
    calls: usize,
}

impl FaultPlan for Outage {
    fn fault(&mut self, _: &Call<'_>) -> Option<Fault> {
        let call = self.calls;
        self.calls += 1;
        match call.cmp(&self.at) {
            Ordering::Less => None,
            Ordering::Equal => Some(Fault::LostReply),
            Ordering::Greater => Some(Fault::Error(StoreError::new(StoreErrorKind::Unavailable, "it is gone"))),
        }
    }
}
