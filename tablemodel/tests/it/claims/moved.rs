//! An entity that goes to another key, and takes a value there that it was about to take before.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, Result,
    prelude::*,
    store::fault::{Call, Request},
    testing::{Fault, FaultPlan, Script, TestDatabase},
};

use super::{Member, Model, assert_exact, database, find, member, members, settle};
use crate::crashes::enumerate;

const V: &str = "v@x";

#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    Save,
    Rekey,
    Far,
    Update,
}

const HOW: [How; 4] = [How::Save, How::Rekey, How::Far, How::Update];

/// Dies when the entity's batch is about to be committed.
fn at_commit() -> impl FaultPlan {
    |call: &Call<'_>| match call.request {
        Request::Commit(batches) if batches[0].table == "Club" => Some(Fault::CrashBefore),
        _ => None,
    }
}

/// Member 1 has no value, and a program died as it was about to give it two.
async fn after_a_crash(later: u64) -> TestDatabase {
    let db = database(Consistency::Azure).await;
    let mut m = db.insert(&Member { email: None, badge: None, ..member("A", 1) }).await.unwrap();
    (m.email, m.badge) = (Some(V.into()), Some(7));
    db.fail(at_commit());
    let _ = db.save(&mut m).await;
    db.fail(Script::new());
    let db = db.reopen::<Model>().await.unwrap();
    db.clock().advance(Duration::from_secs(later));
    db
}

fn there(how: How) -> (&'static str, u32) {
    (if how == How::Far { "B" } else { "A" }, 2)
}

async fn move_with(db: &Database, how: How) -> Result<()> {
    let Some(mut m) = Member::find().club("A").id(1).one(db).await? else { return Ok(()) };
    let change = |m: &mut Member| {
        (m.club, m.id) = (there(how).0.into(), there(how).1);
        (m.email, m.badge) = (Some(V.into()), Some(7));
    };
    change(&mut m);
    match how {
        How::Save => db.save(&mut m).await,
        How::Rekey | How::Far => db.rekey(&mut m).await,
        How::Update => db.update(Member::find().club("A").id(1), |m| Ok(change(m))).await.map(drop),
    }
}

#[tokio::test]
async fn an_entitys_own_old_claim_is_no_obstacle_to_its_move() {
    for later in [0, 61, 120] {
        for how in HOW {
            let (db, told) = (after_a_crash(later).await, format!("{how:?}, {later} s later"));
            move_with(&db, how).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            settle(&db).await;
            assert_exact(&db, &told).await;
            let (club, id) = there(how);
            let moved = find(&db, club, id).await.unwrap_or_else(|| panic!("{told}: it is not there"));
            assert_eq!((moved.email.as_deref(), moved.badge), (Some(V), Some(7)), "{told}");
            assert!(db.verify().await.unwrap().is_clean(), "{told}");
        }
    }
}

/// It gave the value up, and its claim is not released yet.
#[tokio::test]
async fn nor_is_one_of_a_value_that_it_gave_up() {
    for how in HOW {
        let db = database(Consistency::Azure).await;
        let with = Member { email: Some(V.into()), badge: Some(7), ..member("A", 1) };
        let mut m = db.insert(&with).await.unwrap();
        (m.email, m.badge) = (None, None);
        db.fail(crate::tools::DieInDelivery);
        let _ = db.save(&mut m).await;
        db.fail(Script::new());
        let db = db.reopen::<Model>().await.unwrap();
        move_with(&db, how).await.unwrap_or_else(|error| panic!("{how:?}: {error:?}"));
        settle(&db).await;
        assert_exact(&db, &format!("{how:?}")).await;
    }
}

/// That it is let go of changes nothing of the entity: one that cannot move can be moved elsewhere, as it was read.
#[tokio::test]
async fn after_a_move_that_was_refused_it_is_as_it_was_read() {
    for how in [How::Save, How::Rekey, How::Far] {
        let db = after_a_crash(61).await;
        let (club, id) = there(how);
        db.insert(&Member { email: None, badge: None, ..member(club, id) }).await.unwrap();
        let mut m = find(&db, "A", 1).await.unwrap();
        (m.club, m.id, m.email) = (club.into(), id, Some(V.into()));
        let refused = if how == How::Save { db.save(&mut m).await } else { db.rekey(&mut m).await };
        assert_eq!(refused.unwrap_err().kind(), &ErrorKind::AlreadyExists, "{how:?}");
        m.id = 9;
        let moved = if how == How::Save { db.save(&mut m).await } else { db.rekey(&mut m).await };
        moved.unwrap_or_else(|error| panic!("{how:?}: {error:?}"));
        settle(&db).await;
        assert_exact(&db, &format!("{how:?}")).await;
    }
}

#[tokio::test]
async fn a_fault_at_any_store_call_of_such_a_move_leaves_it_here_or_there() {
    let mut points = 0;
    for how in [How::Save, How::Far] {
        points += enumerate::<Model, _>(
            &format!("{how:?}"),
            async || after_a_crash(61).await,
            async |db| move_with(db, how).await,
            async |db| settle(db).await,
            async |db| members(db).await,
            async |db, told, is_old| {
                assert_exact(db, told).await;
                if is_old {
                    let again = match move_with(db, how).await {
                        // Of a reservation that it left itself: who takes that away changes the entity first.
                        Err(error) if how == How::Far && matches!(error.kind(), ErrorKind::Conflict { .. }) => {
                            move_with(db, how).await
                        }
                        moved => moved,
                    };
                    again.unwrap_or_else(|error| panic!("{told}: again: {error:?}"));
                    settle(db).await;
                    assert_exact(db, &format!("{told}, again")).await;
                }
            },
        )
        .await;
    }
    assert!(points > 200, "{points} points");
}
