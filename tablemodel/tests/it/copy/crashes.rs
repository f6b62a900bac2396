//! A fault at every store call of every operation, in both modes: after a relay has run, every copy is what its source is,
//! and the entities are as before or as after.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, Result,
    prelude::*,
    store::StoreErrorKind,
    testing::{Fault, Script, TestDatabase},
};

use super::{
    Badge, Department, Desk, Employee, MODES, Model, Note, assert_exact, at, badge, database, department, desk,
    employee, note, settle,
};
use crate::{
    crashes::{assert_met, every, faults, is_of_fault},
    points::ALL,
    tools::Outcomes,
};

#[derive(Debug, Clone, Copy)]
enum Kind {
    InsertDesk,
    InsertDepartment,
    InsertBadge,
    Repoint,
    RepointBeside,
    RepointBadge,
    ToNone,
    DeleteDesk,
    SaveSource,
    PatchSource,
    MoveSource,
    DeleteSource,
    DeleteHeld,
    InsertSource,
    Batch,
}

const KINDS: [Kind; 15] = [
    Kind::InsertDesk,
    Kind::InsertDepartment,
    Kind::InsertBadge,
    Kind::Repoint,
    Kind::RepointBeside,
    Kind::RepointBadge,
    Kind::ToNone,
    Kind::DeleteDesk,
    Kind::SaveSource,
    Kind::PatchSource,
    Kind::MoveSource,
    Kind::DeleteSource,
    Kind::DeleteHeld,
    Kind::InsertSource,
    Kind::Batch,
];

/// Employees 1 to 3, of whom 3 is held by a badge; two departments and two desks of 1; employee 4 was deleted, and a desk
/// waits for it.
async fn prepared(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    for id in 1..=4 {
        db.insert(&employee("A", id)).await.unwrap();
    }
    for number in 1..=2 {
        db.insert(&department("A", number, 1)).await.unwrap();
    }
    for (place, id) in [(1, 1), (2, 1), (4, 4)] {
        db.insert(&desk(place, id)).await.unwrap();
    }
    db.insert(&badge(3, 3)).await.unwrap();
    db.insert(&note(1, 1)).await.unwrap();
    let gone = at!("A", 4).one(&db).await.unwrap().unwrap();
    db.delete(gone).await.unwrap();
    assert_exact(&db, "prepared").await;
    db
}

async fn run(db: &TestDatabase, kind: Kind) -> Result<()> {
    match kind {
        Kind::InsertDesk => db.insert(&desk(9, 1)).await.map(drop),
        Kind::InsertDepartment => db.insert(&department("A", 9, 2)).await.map(drop),
        Kind::InsertBadge => db.insert(&badge(9, 1)).await.map(drop),
        Kind::Repoint => db.update(Desk::find().room("r1").place(1), |d| Ok(d.sitter = Some(2))).await.map(drop),
        Kind::RepointBeside => db
            .update(Department::find().name("A").number(1), |d| Ok((d.manager_id, d.budget) = (Some(2), 8)))
            .await
            .map(drop),
        Kind::RepointBadge => db.update(Badge::find().number(3), |b| Ok(b.id = 2)).await.map(drop),
        Kind::ToNone => db.update(Desk::find().room("r1").place(1), |d| Ok(d.sitter = None)).await.map(drop),
        Kind::DeleteDesk => match Desk::find().room("r2").place(2).one(db).await? {
            Some(desk) => db.delete(desk).await,
            None => Ok(()),
        },
        Kind::SaveSource => db.update(at!("A", 1), |e| Ok(e.first_name = "Ann".into())).await.map(drop),
        Kind::PatchSource => db.patch(at!("A", 1), Employee::FIRST_NAME.set("Ann")).await,
        Kind::MoveSource => {
            let Some(mut source) = at!("A", 1).one(db).await? else { return Ok(()) };
            source.id = 4;
            db.save(&mut source).await
        }
        Kind::DeleteSource | Kind::DeleteHeld => {
            let id = if matches!(kind, Kind::DeleteHeld) { 3 } else { 1 };
            match at!("A", id).one(db).await? {
                Some(source) => db.delete(source).await,
                None => Ok(()),
            }
        }
        Kind::InsertSource => db.insert(&employee("A", 4)).await.map(drop),
        Kind::Batch => {
            let (source, holder) = (at!("A", 1).one(db).await?, Department::find().name("A").number(1).one(db).await?);
            let (Some(mut source), Some(holder)) = (source, holder) else { return Ok(()) };
            source.first_name = "Ann".into();
            let mut batch = db.batch(Employee::in_partition("A"));
            batch.insert(&department("A", 7, 1)).save(&mut source).delete(holder).insert(&department("A", 8, 2));
            batch.commit().await
        }
    }
}

/// The entities, without their copies.
async fn entities(db: &TestDatabase) -> Vec<String> {
    let mut all = Vec::new();
    for employee in Employee::find().department("A").all(db).await.unwrap() {
        all.push(format!("{:?}", *employee));
    }
    for mut department in Department::find().name("A").all(db).await.unwrap() {
        department.manager = None;
        all.push(format!("{:?}", *department));
    }
    for room in ["r0", "r1", "r2"] {
        for mut desk in Desk::find().room(room).all(db).await.unwrap() {
            desk.who = None;
            all.push(format!("{:?}", *desk));
        }
    }
    for number in [1, 3, 9] {
        if let Some(badge) = Badge::find().number(number).one(db).await.unwrap() {
            all.push(format!("badge {number} of {}", badge.id));
        }
        if let Some(note) = Note::find().number(number).one(db).await.unwrap() {
            all.push(format!("note {number} of {:?}", note.id));
        }
    }
    all
}

#[tokio::test]
pub(crate) async fn a_fault_at_any_store_call_leaves_every_copy_as_its_source_is() {
    let mut points = 0;
    for mode in MODES {
        let whole = prepared(mode).await;
        for kind in KINDS {
            let db = whole.fork().expect("in memory");
            let before = entities(&db).await;
            db.forget_calls();
            let plain = run(&db, kind).await;
            assert_eq!(plain.is_ok(), !matches!(kind, Kind::DeleteHeld), "{kind:?}: {plain:?}");
            let (calls, after) = (db.calls(), entities(&db).await);
            assert_exact(&db, &format!("{mode:?} {kind:?} without a fault")).await;
            let (faults, mut outcomes, mut tried) = (faults(), Outcomes::new(), 0);
            for (call, fault) in every(&calls, &faults) {
                let told = format!("{mode:?} {kind:?}, {fault:?} at call {call} of {}", calls.len());
                let db = whole.fork().expect("in memory");
                db.fail(Script::new().at(call, fault));
                let result = run(&db, kind).await;
                db.fail(Script::new());
                let db = db.reopen::<Model>().await.unwrap();
                let found = async {
                    settle(&db).await;
                    let now = entities(&db).await;
                    assert!(now == before || now == after, "{told}: {now:?}");
                    assert_exact(&db, &told).await;
                    now
                };
                let now = outcomes.of(&db, Box::pin(found)).await;
                if result.is_ok() {
                    assert_eq!(*now, after, "{told}: acknowledged");
                }
                if let Err(error) = &result {
                    let is_refusal = matches!(error.kind(), ErrorKind::Restricted { .. });
                    assert!(is_refusal || is_of_fault(error), "{told}: {error}");
                }
                tried += 1;
            }
            assert_met(tried, &calls, &faults, ALL, &format!("{mode:?} {kind:?}"));
            points += calls.len() * faults.len();
        }
    }
    assert!(points > 1_000, "{points} points");
}

/// The writer dies after its batch is written; then the relay meets a fault at each of its calls.
#[tokio::test]
async fn a_fault_at_any_store_call_of_the_relay_changes_nothing() {
    let mut points = 0;
    let whole = prepared(Consistency::Azure).await;
    for kind in [Kind::InsertDesk, Kind::Repoint, Kind::SaveSource, Kind::DeleteSource, Kind::MoveSource, Kind::Batch] {
        let db = whole.fork().expect("in memory");
        db.fail(super::races::die_in_delivery);
        let _ = run(&db, kind).await;
        db.fail(Script::new());
        let left = db.reopen::<Model>().await.unwrap();
        left.clock().advance(Duration::from_secs(60));
        let db = left.fork().expect("in memory");
        db.relay().run_once().await.unwrap();
        let calls = db.calls();
        assert_exact(&db, &format!("{kind:?}, without a fault")).await;
        let away = Fault::error(StoreErrorKind::Unavailable);
        let faults = [Fault::CrashBefore, Fault::CrashAfter, Fault::LostReply, away];
        let (mut outcomes, mut tried) = (Outcomes::new(), 0);
        for (call, fault) in every(&calls, &faults) {
            let told = format!("{kind:?}, {fault:?} at call {call} of the relay");
            let db = left.fork().expect("in memory");
            db.fail(Script::new().at(call, fault));
            let _ = db.relay().run_once().await;
            db.fail(Script::new());
            let db = db.reopen::<Model>().await.unwrap();
            let found = async {
                settle(&db).await;
                assert_exact(&db, &told).await;
            };
            outcomes.of(&db, Box::pin(found)).await;
            tried += 1;
        }
        assert_met(tried, &calls, &faults, ALL, &format!("{kind:?}"));
        points += calls.len() * faults.len();
    }
    assert!(points > 300, "{points} points");
}

/// The writer of a badge dies after it has claimed its employee.
#[tokio::test]
async fn a_claim_left_behind_holds_its_source_until_it_expires() {
    let db = prepared(Consistency::Azure).await;
    let before_the_badge = |call: &tablemodel::store::fault::Call<'_>| match call.request {
        tablemodel::store::fault::Request::Commit([batch, ..]) if batch.table == "Badges" => Some(Fault::CrashBefore),
        _ => None,
    };
    db.fail(before_the_badge);
    let _ = db.insert(&badge(9, 2)).await;
    db.fail(Script::new());
    let db = db.reopen::<Model>().await.unwrap();
    assert!(Badge::find().number(9).one(&db).await.unwrap().is_none());
    let delete = || async { db.delete(at!("A", 2).one(&db).await?.unwrap()).await };
    assert_eq!(delete().await.unwrap_err().kind(), &ErrorKind::Unavailable);
    db.clock().advance(Duration::from_secs(1_199));
    assert_eq!(delete().await.unwrap_err().kind(), &ErrorKind::Unavailable);
    db.clock().advance(Duration::from_secs(2));
    delete().await.unwrap();
    settle(&db).await;
    assert_exact(&db, "deleted").await;
    let left = super::all_rows(&*db.store()).await.into_keys().filter(|(_, _, row)| row.contains("|bearer|5|00009"));
    assert_eq!(left.count(), 0, "the claim is gone too");

    let db = prepared(Consistency::Azure).await;
    db.insert(&badge(9, 2)).await.unwrap(); // over what is there, and settled
    assert!(matches!(db.insert(&badge(9, 1)).await.unwrap_err().kind(), ErrorKind::AlreadyExists));
    db.delete(at!("A", 1).one(&db).await.unwrap().unwrap()).await.unwrap(); // the claim of the insert was taken back
}

/// A badge was read before others gave it back and away again.
#[tokio::test]
async fn a_refused_write_takes_its_claim_back_where_the_holder_had_let_the_source_go_before() {
    let db = prepared(Consistency::Azure).await;
    let path = || Badge::find().number(3);
    db.update(path(), |badge| Ok(badge.id = 2)).await.unwrap();
    let mut stale = path().one(&db).await.unwrap().unwrap();
    db.update(path(), |badge| Ok(badge.id = 1)).await.unwrap();
    let of_three = || async {
        let rows = super::all_rows(&*db.store()).await.into_iter();
        let rows = rows.filter(|((_, _, row), _)| row.starts_with("~~ref|6|e_0003|Badge.bearer|"));
        rows.map(|(_, properties)| properties).collect::<Vec<_>>()
    };
    let before = of_three().await;
    assert!(before.len() == 1 && before[0].get("_dead").is_some(), "{before:?}");
    stale.id = 3;
    assert!(matches!(db.save(&mut stale).await.unwrap_err().kind(), ErrorKind::Conflict { .. }));
    assert_eq!(of_three().await, before, "what fences off late deliveries is there again");
    db.delete(at!("A", 3).one(&db).await.unwrap().unwrap()).await.unwrap();
    settle(&db).await;
    assert_exact(&db, "deleted").await;
    db.clock().advance(Duration::from_secs(1_200));
    settle(&db).await;
    assert_eq!(of_three().await, [], "swept");
}
