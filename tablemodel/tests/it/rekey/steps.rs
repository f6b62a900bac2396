//! The rows of a move on its way, as FORMAT.md draws them, and what others see and may do meanwhile.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, Properties, RowKey, Value, ValueRef, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition, KeyRange, Query},
    testing::{Fault, FaultPlan, Script, TestDatabase},
};

use super::{
    Guest, Member, Model, Rows, all_rows, assert_exact, crashes::left, database, find, guests, member, members, settle,
};

pub(super) async fn moving(plan: impl FaultPlan) -> TestDatabase {
    moving_to(member("B", 1), plan).await
}

async fn moving_to(to: Member, plan: impl FaultPlan) -> TestDatabase {
    let db = database(Consistency::Azure).await;
    let mut moved = db.insert(&member("A", 1)).await.unwrap();
    *moved = to;
    db.fail(plan);
    let _ = db.rekey(&mut moved).await;
    db.fail(Script::new());
    db.reopen::<Model>().await.unwrap()
}

/// Dies before the entity leaves: the new key is reserved.
fn reserved() -> impl FaultPlan {
    use tablemodel::store::fault::{Call, Request};
    |call: &Call<'_>| match call.request {
        Request::Commit(batches) if batches[0].operations.iter().any(|o| o.row.starts_with("~~move|")) => {
            Some(Fault::CrashBefore)
        }
        _ => None,
    }
}

#[tokio::test]
async fn a_reserved_key_is_a_tombstone_to_readers_and_the_entity_is_at_its_old_key() {
    let db = moving(reserved()).await;
    let rows = all_rows(&db).await;
    let row = &rows[&("Club".into(), "B".into(), "m_0001".into())];
    let names: Vec<_> = row.iter().map(|(name, _)| name.as_str().to_owned()).collect();
    assert_eq!(names, ["EntityType", "_claim", "_expires", "_held", "_move", "_pk", "_rk", "_seq"]);
    assert_eq!(row.get("EntityType"), Some(ValueRef::String("Member.~dead@1")));
    assert_eq!(row.get("_held"), Some(ValueRef::String("[\"seat_0000000001\"]")));
    assert_eq!(members(&db).await, [member("A", 1)]);
    let seat = Member::by_seat().club("B").seat(1);
    assert!(seat.one(&db).await.unwrap().is_none());

    let wish = Member { seat: None, email: None, nick: None, ..member("B", 1) };
    assert_eq!(db.insert(&wish).await.unwrap_err().kind(), &ErrorKind::Unavailable);
    assert_eq!(db.upsert(&wish).await.unwrap_err().kind(), &ErrorKind::Unavailable);
    let seated = Member { email: None, nick: None, seat: Some(1), ..member("B", 2) };
    let error = db.insert(&seated).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable, "the move may still fail: {error}");
    db.clock().advance(Duration::from_secs(61));
    let other = db.fork().expect("in memory");
    other.insert(&seated).await.expect("nobody has the seat, whichever key is asked for first");
    settle(&other).await;
    assert_exact(&other, "the seat was taken over").await;
    db.insert(&wish).await.unwrap();
    let wish = Member { email: None, nick: None, seat: Some(1), ..member("B", 2) };
    db.insert(&wish).await.unwrap(); // the seat went with the reservation
    settle(&db).await;
    assert_exact(&db, "the key was taken over").await;
    assert_eq!(members(&db).await.len(), 3);
}

#[tokio::test]
async fn an_entity_that_has_left_is_in_its_intent_and_whoever_needs_its_key_lets_it_arrive() {
    for other in ["relay", "insert there", "insert here", "its value"] {
        let db = moving(left()).await;
        let rows = all_rows(&db).await;
        let (key, intent) = rows.iter().find(|((_, _, row), _)| row.starts_with("~~move|")).expect("an intent");
        assert!(key.1 == "A" && key.2.starts_with("~~move|m_0001|"), "{key:?}");
        for (name, value) in
            [("EntityType", "Member.~move@1"), ("_pk", "B"), ("_rk", "m_0001"), ("_from", "m_0001"), ("Email", "e1@x")]
        {
            assert_eq!(intent.get(name), Some(ValueRef::String(value)), "{name}");
        }
        assert!(members(&db).await.is_empty(), "between two commits it is at neither key");

        match other {
            "insert there" => {
                let error = db.insert(&Member { email: None, ..member("B", 1) }).await.unwrap_err();
                assert_eq!(error.kind(), &ErrorKind::AlreadyExists, "{error}");
            }
            "insert here" => {
                let new = Member { email: None, nick: None, ..member("A", 1) };
                db.insert(&new).await.unwrap();
                let stored = find(&db, "A", 1).await.unwrap();
                db.delete(stored).await.unwrap();
            }
            "its value" => {
                db.clock().advance(Duration::from_secs(61));
                let error = db.insert(&Member { seat: None, nick: None, id: 9, ..member("C", 1) }).await.unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::UniqueViolation { index: "by_email", .. }), "{error}");
            }
            _ => {}
        }
        settle(&db).await;
        assert_eq!(members(&db).await, [member("B", 1)], "{other}");
        assert_exact(&db, other).await;
    }
}

#[tokio::test]
async fn a_moved_entity_can_be_written_at_once_and_its_tombstone_is_swept_after_the_fence() {
    let db = moving(left()).await;
    settle(&db).await;
    db.update(Member::find().club("B").id(1), |m| Ok(m.name = "Ann".into())).await.unwrap();
    for _ in 0..4 {
        db.clock().advance(Duration::from_secs(601));
        db.relay().run_once().await.unwrap();
    }
    assert_exact(&db, "swept").await;
    assert_eq!(all_rows(&db).await.len(), 6, "{:?}", all_rows(&db).await.keys());
}

#[tokio::test]
async fn opening_in_the_atomic_mode_lets_arrive_what_has_left() {
    let db = moving(left()).await;
    let builder = Database::builder().clock(std::sync::Arc::new(db.clock().clone()));
    let atomic = builder.consistency(Consistency::Atomic).with_store::<Model>(db.store()).await.unwrap();
    assert_eq!(members(&db).await, [member("B", 1)]);
    assert_exact(&db, "drained").await;
    assert_eq!(all_rows(&db).await.len(), 6, "{:?}", all_rows(&db).await.keys());
    let mut moved = find(&atomic, "B", 1).await.unwrap();
    moved.club = "C".into();
    atomic.rekey(&mut moved).await.unwrap();
    assert_exact(&db, "moved on").await;

    // A reservation that nobody is coming for is nobody's.
    let db = moving(reserved()).await;
    let builder = Database::builder().clock(std::sync::Arc::new(db.clock().clone()));
    let atomic = builder.consistency(Consistency::Atomic).with_store::<Model>(db.store()).await.unwrap();
    atomic.insert(&Member { email: None, ..member("B", 1) }).await.unwrap();
    assert_exact(&db, "taken").await;
}

#[tokio::test]
async fn an_arrival_that_is_set_aside_names_its_new_key_and_cannot_be_discarded() {
    let to = Member { id: 4, ..member("B", 1) };
    let db = moving_to(to.clone(), left()).await;
    for _ in 0..12 {
        db.clock().advance(Duration::from_secs(600));
        db.fail(|call: &tablemodel::store::fault::Call<'_>| match call.request {
            tablemodel::store::fault::Request::Commit(batches) if batches[0].partition == "B" => {
                Some(Fault::error(tablemodel::store::StoreErrorKind::Denied))
            }
            _ => None,
        });
        let _ = db.relay().run_once().await;
        db.fail(Script::new());
    }
    let poisoned = db.relay().poisoned().await.unwrap();
    let poisoned = poisoned.iter().find(|row| row.row.row.starts_with("~~move|")).expect("the intent is set aside");
    assert_eq!((&poisoned.entity, poisoned.row.partition.as_str()), (&RowKey::new("B", "m_0004"), "A"));
    assert_eq!(db.relay().discard(poisoned).await.unwrap_err().kind(), &ErrorKind::Unsupported);
    db.relay().retry(poisoned).await.unwrap();
    settle(&db).await;
    assert_eq!(members(&db).await, [to]);
    assert_exact(&db, "retried").await;
}

/// Takes away what leads relays to the partition.
async fn lose_marker(db: &TestDatabase, partition: &str) {
    let markers = db.store().query(&Query::new("tmdirty", KeyRange::table())).await.unwrap().rows;
    let marker = markers.into_iter().find(|marker| marker.key.row == format!("Club|{partition}")).expect("a marker");
    let batch = Batch::new("tmdirty", marker.key.partition).with(marker.key.row, Action::Delete(Condition::Exists));
    db.store().commit(&[batch]).await.unwrap();
}

#[tokio::test]
async fn a_move_that_no_relay_finds_or_finishes_is_reported_and_finished_by_a_repair() {
    for is_lost in [true, false] {
        let told = if is_lost { "lost" } else { "overdue" };
        let db = database(Consistency::Azure).await;
        let mut guest = db.insert(&Guest { club: "A".into(), id: 1, pass: 7 }).await.unwrap();
        guest.club = "B".into();
        db.fail(left());
        let _ = db.rekey(&mut guest).await;
        db.fail(Script::new());
        let db = db.reopen::<Model>().await.unwrap();
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean() && verified.pending == 1, "{told}: {verified:#?}");
        match is_lost {
            true => lose_marker(&db, "A").await,
            false => db.clock().advance(Duration::from_secs(601)),
        }
        let repaired = db.repair().await.unwrap();
        let found: Vec<_> = repaired.found.violations.iter().map(|of| (of.kind, of.key.row.get(..14))).collect();
        assert_eq!(found, [(ViolationKind::Undelivered, Some("~~move|g_0001|"))], "{told}");
        assert_eq!((repaired.repaired, repaired.left.len()), (1, 0), "{told}: {:?}", repaired.left);
        assert_eq!(guests(&db).await, [Guest { club: "B".into(), id: 1, pass: 7 }], "{told}");
        assert!(db.verify().await.unwrap().is_clean(), "{told}");
        assert_exact(&db, told).await;
    }
}

/// Its outbox row is in the same partition.
#[tokio::test]
async fn a_lost_move_of_an_entity_with_rows_elsewhere_is_finished_by_a_repair() {
    let db = moving(left()).await;
    lose_marker(&db, "A").await;
    let repaired = db.repair().await.unwrap();
    assert!(repaired.found.violations.iter().all(|of| of.kind == ViolationKind::Undelivered), "{:#?}", repaired.found);
    assert_eq!((repaired.repaired, repaired.left.len()), (2, 0), "{:?}", repaired.left);
    assert_eq!(members(&db).await, [member("B", 1)]);
    settle(&db).await;
    assert_exact(&db, "repaired").await;
}

/// By its type, or by where it left: who moves is between two keys, and has its unique values until somebody has mended that.
#[tokio::test]
async fn a_move_that_cannot_be_read_is_told_and_what_its_entity_has_is_kept() {
    for (name, value) in [("EntityType", Value::from("Member.~move@x")), ("_from", Value::from(7))] {
        let db = moving(left()).await;
        let rows = all_rows(&db).await;
        let (intent, whole) = rows.iter().find(|((_, _, row), _)| row.starts_with("~~move|")).expect("an intent");
        let put = async |row: Properties| {
            let batch = Batch::new("Club", "A").with(intent.2.clone(), Action::Replace(row, Condition::Exists));
            db.store().commit(&[batch]).await.unwrap();
        };
        let mut damaged = whole.clone();
        damaged.insert(name, value);
        put(damaged).await;
        db.clock().advance(Duration::from_secs(3_600));
        let repaired = db.repair().await.unwrap();
        let left: Vec<_> = repaired.left.iter().map(|(of, _)| of.key.row.as_str()).collect();
        assert!(left.contains(&intent.2.as_str()), "{name}: {left:?}");
        let claims = |rows: Rows| rows.into_iter().filter(|((table, ..), _)| table == "Emails").collect::<Rows>();
        assert_eq!(claims(all_rows(&db).await), claims(rows.clone()), "{name}");
        put(whole.clone()).await;
        drop(db.repair().await.unwrap());
        settle(&db).await;
        assert_eq!(members(&db).await, [member("B", 1)], "{name}");
        assert_exact(&db, name).await;
    }
}

/// The checker of these tests is one that can fail.
#[tokio::test]
async fn an_entity_at_both_keys_is_found() {
    let db = database(Consistency::Azure).await;
    db.insert(&Guest { club: "A".into(), id: 1, pass: 7 }).await.unwrap();
    let row = all_rows(&db).await.remove(&("Club".into(), "A".into(), "g_0001".into())).unwrap();
    db.store().commit(&[Batch::new("Club", "B").with("g_0001", Action::Insert(row))]).await.unwrap();
    let check = tokio::spawn(async move { assert_exact(&db, "planted").await });
    assert!(check.await.unwrap_err().is_panic());
}

/// Of one row that may be full.
#[derive(Debug, Clone, PartialEq, Default, TableEntity)]
#[table(name = "Scans", partition = "{shelf}", row = "s_{id}")]
#[rustfmt::skip]
struct Scan {
    shelf: String,
    id: u32,
    a: Vec<u8>, b: Vec<u8>, c: Vec<u8>, d: Vec<u8>, e: Vec<u8>, f: Vec<u8>, g: Vec<u8>, h: Vec<u8>,
    i: Vec<u8>, j: Vec<u8>, k: Vec<u8>, l: Vec<u8>, m: Vec<u8>, n: Vec<u8>, o: Vec<u8>, p: Vec<u8>,
}

#[derive(TableModel)]
enum Scans {
    Scan(Scan),
}

#[tokio::test]
async fn what_a_move_adds_to_a_full_row_is_refused_before_anything_is_written() {
    let db = TestDatabase::new::<Scans>().await.unwrap();
    let page = || vec![0; 65_536];
    let mut scan =
        Scan { shelf: "A".into(), id: 1, a: page(), b: page(), c: page(), d: page(), e: page(), ..Scan::default() };
    (scan.f, scan.g, scan.h, scan.i, scan.j) = (page(), page(), page(), page(), page());
    (scan.k, scan.l, scan.m, scan.n, scan.o) = (page(), page(), page(), page(), page());
    scan.p = page();
    let mut stored = loop {
        match db.insert(&scan).await {
            Ok(stored) => break stored,
            Err(error) => assert_eq!(error.kind(), &ErrorKind::TooLarge, "{error}"),
        }
        scan.p.truncate(scan.p.len() - 16);
    };
    stored.shelf = "B".into();
    db.forget_calls();
    let error = db.rekey(&mut stored).await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::TooLarge, Some("Scan")), "{error}");
    assert_eq!(db.tally().commits, 0);
    stored.shelf = "A".into();
    stored.p.truncate(10_000);
    db.save(&mut stored).await.unwrap();
    stored.shelf = "B".into();
    db.rekey(&mut stored).await.unwrap();
    assert_eq!(Scan::find().shelf("B").id(1).one(&db).await.unwrap().unwrap().p.len(), 10_000);
}

/// Whose keys may be as long as a store takes.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Notes", partition = "{shelf}", row = "{title}")]
struct Note {
    shelf: String,
    title: String,
}

#[derive(TableModel)]
enum Notes {
    Note(Note),
}

#[tokio::test]
async fn keys_that_are_too_long_to_move_are_told_before_anything_is_written() {
    let db = TestDatabase::new::<Notes>().await.unwrap();
    let text = |length| "x".repeat(length);
    for (shelf, title, to) in [(1, 985, 2), (1_019, 3, 2), (1, 4, 1_019)] {
        let mut note = db.insert(&Note { shelf: text(shelf), title: text(title) }).await.unwrap();
        note.shelf = text(to);
        db.forget_calls();
        let error = db.rekey(&mut note).await.unwrap_err();
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::KeyTooLong, Some("Note")), "{error}");
        assert!(error.to_string().contains("1 characters too long"), "{error}");
        assert_eq!(db.tally().commits, 0);
    }
    let mut note = db.insert(&Note { shelf: text(1_018), title: text(984) }).await.unwrap();
    note.shelf = "y".repeat(1_018);
    db.rekey(&mut note).await.unwrap();
    assert!(Note::find().shelf(note.shelf.as_str()).title(note.title.as_str()).exists(&db).await.unwrap());
}
