//! Holders of copies that they must have, which move: their source stays until they have arrived, or they keep what it said.

use std::time::Duration;

use futures_util::FutureExt;
use tablemodel::{Consistency, ErrorKind, Result, prelude::*, testing::TestDatabase};

use super::{Badge, Employee, MODES, Name, at, badge, employee, settle};
use crate::{crashes::enumerate, stall::Program};

/// In the partition of its employee.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "lead_{number:02}")]
struct Lead {
    department: String,
    number: u8,
    id: u32,
    #[table(copy_of(Employee, key(department = department, id = id), on_delete = restrict))]
    who: Name,
}

/// Keeps what it copied, and must have.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stamps", partition = "{number}", row = "stamp")]
struct Stamp {
    number: u32,
    department: String,
    id: u32,
    #[table(copy_of(Employee, key(department = department, id = id), on_delete = keep))]
    by: Name,
}

#[derive(TableModel)]
enum Bound {
    Employee(Employee),
    Badge(Badge),
    Lead(Lead),
    Stamp(Stamp),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Badge,
    Lead,
    Stamp,
}

const KINDS: [Kind; 3] = [Kind::Badge, Kind::Lead, Kind::Stamp];

async fn prepared(mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<Bound>(mode).await;
    for department in ["A", "B"] {
        db.insert(&employee(department, 1)).await.unwrap();
    }
    let nobody = || Name { first_name: "nobody".into() };
    db.insert(&badge(1, 1)).await.unwrap();
    db.insert(&Lead { department: "A".into(), number: 1, id: 1, who: nobody() }).await.unwrap();
    db.insert(&Stamp { number: 1, department: "A".into(), id: 1, by: nobody() }).await.unwrap();
    settle(&db).await;
    db
}

async fn run(db: &Database, kind: Kind) -> Result<()> {
    match kind {
        Kind::Badge => {
            let Some(mut moved) = Badge::find().number(1).one(db).await? else { return Ok(()) };
            (moved.number, moved.department) = (2, "B".into());
            db.rekey(&mut moved).await
        }
        Kind::Lead => {
            let Some(mut moved) = Lead::find().department("A").number(1).one(db).await? else { return Ok(()) };
            moved.department = "B".into();
            db.rekey(&mut moved).await
        }
        Kind::Stamp => {
            let Some(mut moved) = Stamp::find().number(1).one(db).await? else { return Ok(()) };
            (moved.number, moved.department) = (2, "B".into());
            db.rekey(&mut moved).await
        }
    }
}

/// What the holder copies, where it is at its old key, and at its new one.
async fn places(db: &Database, kind: Kind) -> [Option<Name>; 2] {
    let mut names = [None, None];
    for (name, (number, department)) in names.iter_mut().zip([(1, "A"), (2, "B")]) {
        *name = match kind {
            Kind::Badge => Badge::find().number(number).one(db).await.unwrap().map(|badge| badge.bearer.clone()),
            Kind::Lead => {
                Lead::find().department(department).number(1).one(db).await.unwrap().map(|lead| lead.who.clone())
            }
            Kind::Stamp => Stamp::find().number(number).one(db).await.unwrap().map(|stamp| stamp.by.clone()),
        };
    }
    names
}

async fn remove_source(db: &Database) -> Result<()> {
    match at!("B", 1).one(db).await? {
        Some(source) => db.delete(source).await,
        None => Ok(()),
    }
}

async fn assert_clean(db: &TestDatabase, told: &str) {
    db.clock().advance(Duration::from_secs(4_000));
    settle(db).await;
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean() && verified.pending == 0, "{told}: {verified:#?}");
}

#[tokio::test]
async fn a_fault_at_any_store_call_leaves_the_holder_at_one_key_with_its_copy() {
    let mut points = 0;
    for (mode, kind) in MODES.into_iter().flat_map(|mode| KINDS.map(|kind| (mode, kind))) {
        points += enumerate::<Bound, _>(
            &format!("{mode:?} {kind:?}"),
            async || prepared(mode).await,
            async |db| run(db, kind).await,
            async |db| settle(db).await,
            async |db| places(db, kind).await,
            async |db, told, is_old| {
                if is_old {
                    db.clock().advance(Duration::from_secs(2_000));
                    let again = match run(db, kind).await {
                        Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => run(db, kind).await,
                        other => other,
                    };
                    again.unwrap_or_else(|error| panic!("{told}: again: {error}"));
                }
                assert_clean(db, told).await;
                let held = remove_source(db).await;
                let is_restricted = held.as_ref().is_err_and(|e| matches!(e.kind(), ErrorKind::Restricted { .. }));
                assert_eq!(is_restricted, !matches!(kind, Kind::Stamp), "{told}: {held:?}");
            },
        )
        .await;
    }
    assert!(points > 200, "{points} points");
}

/// Another deletes the new source before each call of the move, at once or after every time that anybody waits.
#[tokio::test]
async fn a_source_that_is_deleted_while_its_holder_moves_stays_or_the_holder_does() {
    let mut points = 0;
    let whole = prepared(Consistency::Azure).await;
    for (kind, stall) in KINDS.into_iter().flat_map(|kind| [0, 61, 2_000].map(|stall| (kind, stall))) {
        for call in 0.. {
            let told = format!("{kind:?} stalls {stall} s before call {call}");
            let db = whole.fork().expect("in memory");
            let other = db.clone();
            let (tell, heard) = tokio::sync::oneshot::channel();
            let meanwhile = async move {
                other.clock().advance(Duration::from_secs(stall));
                tell.send(remove_source(&other).await).expect("it is awaited");
            };
            let program = Program::stalling::<Bound>(&db, call, meanwhile.boxed()).await;
            let moved = run(&program.db, kind).await;
            if !program.has_stalled() {
                break;
            }
            points += 1;
            let removed = heard.await.unwrap();
            let told = format!("{told}: moved {moved:?}, removed {removed:?}");
            settle(&db).await;
            let places = places(&db, kind).await;
            assert!(places[0].is_some() != places[1].is_some(), "{told}: {places:?}");
            let is_there = at!("B", 1).exists(&db).await.unwrap();
            assert_eq!(is_there, removed.is_err(), "{told}");
            let restricts = !matches!(kind, Kind::Stamp);
            assert!(!restricts || places[1].is_none() || is_there, "{told}: a copy without its source");
            assert_clean(&db, &told).await;
        }
    }
    assert!(points > 60, "{points} points");
}

#[tokio::test]
async fn a_holder_whose_new_source_is_not_there_stays_where_it_is() {
    for (mode, kind) in MODES.into_iter().flat_map(|mode| KINDS.map(|kind| (mode, kind))) {
        let db = prepared(mode).await;
        remove_source(&db).await.unwrap();
        let before = places(&db, kind).await;
        let refused = run(&db, kind).await.unwrap_err();
        assert_eq!(refused.kind(), &ErrorKind::NotFound, "{mode:?} {kind:?}: {refused}");
        settle(&db).await;
        assert_eq!(places(&db, kind).await, before, "{mode:?} {kind:?}");
        assert_clean(&db, &format!("{mode:?} {kind:?}")).await;
    }
}

/// What it keeps of a source that is gone goes with it.
#[tokio::test]
async fn a_holder_that_keeps_its_copy_moves_without_its_source() {
    for mode in MODES {
        let db = prepared(mode).await;
        let mut lead = Lead::find().department("A").number(1).one(&db).await.unwrap().unwrap();
        lead.department = "B".into();
        db.rekey(&mut lead).await.unwrap();
        db.delete(Badge::find().number(1).one(&db).await.unwrap().unwrap()).await.unwrap();
        settle(&db).await;
        db.delete(at!("A", 1).one(&db).await.unwrap().unwrap()).await.unwrap();
        settle(&db).await;
        let mut stamp = Stamp::find().number(1).one(&db).await.unwrap().unwrap();
        let kept = stamp.by.clone();
        stamp.number = 2;
        db.rekey(&mut stamp).await.unwrap();
        settle(&db).await;
        assert_eq!(places(&db, Kind::Stamp).await, [None, Some(kept)], "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

/// What restricts a deletion may have been written by the very batch that deletes.
#[tokio::test]
async fn a_batch_cannot_take_away_what_an_earlier_change_of_it_must_have() {
    for mode in MODES {
        let db = prepared(mode).await;
        db.insert(&employee("A", 2)).await.unwrap();
        let lead = |number| Lead { department: "A".into(), number, id: 2, who: Name { first_name: String::new() } };
        let restricted = |result: Result<()>, told: &str| {
            let error = result.expect_err(told);
            assert!(matches!(error.kind(), ErrorKind::Restricted { .. }), "{mode:?}, {told}: {error}");
        };
        let found = async || at!("A", 2).one(&db).await.unwrap().unwrap();
        let mut batch = db.batch(Employee::in_partition("A"));
        batch.insert(&lead(7)).delete(found().await);
        restricted(batch.commit().await, "inserted");

        let mut pointed = Lead::find().department("A").number(1).one(&db).await.unwrap().unwrap();
        pointed.id = 2;
        let mut batch = db.batch(Employee::in_partition("A"));
        batch.save(&mut pointed).delete(found().await);
        restricted(batch.commit().await, "pointed there");

        let mut moved = found().await;
        moved.id = 3;
        let mut batch = db.batch(Employee::in_partition("A"));
        batch.upsert(&lead(7)).save(&mut moved);
        restricted(batch.commit().await, "moved away");

        let inserted = db.insert(&lead(7)).await.unwrap();
        let mut batch = db.batch(Employee::in_partition("A"));
        batch.delete(inserted).delete(found().await);
        batch.commit().await.expect("nothing holds it any more");
        assert!(db.verify().await.unwrap().is_clean());
    }
}

/// The move may have happened: that it did not cannot be said.
#[tokio::test]
async fn a_move_in_one_commit_whose_reply_is_lost_before_the_store_goes_says_so() {
    use tablemodel::{
        store::{
            StoreErrorKind,
            fault::{Call, Request},
        },
        testing::Fault,
    };
    for kind in KINDS {
        let db = prepared(Consistency::Atomic).await;
        let mut is_lost = false;
        db.fail(move |call: &Call<'_>| match call.request {
            Request::Commit(_) if !is_lost => {
                is_lost = true;
                Some(Fault::LostReply)
            }
            _ if is_lost => Some(Fault::error(StoreErrorKind::Unavailable)),
            _ => None,
        });
        let error = run(&db, kind).await.expect_err("nothing can be read");
        assert_eq!(error.kind(), &ErrorKind::OutcomeUnknown, "{kind:?}: {error}");
    }
}
