//! Violations planted in a healthy store: all are found, none is invented, and repair leaves the store clean.

use std::{collections::BTreeMap, time::Duration};

use tablemodel::{
    Consistency, DateTime, Properties, RowKey, Value, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::{Script, TestDatabase},
};

use super::{Model, Rows, Worker, assert_exact, at, leftovers, rows_in, settle, worker, workers};
use crate::{
    migrate::MODES,
    tools::{DieInDelivery, unmarked},
};

/// Of each kind.
const PLANTED: usize = 20;
/// Two fences, and more.
const LONG: Duration = Duration::from_secs(1_201);

async fn healthy(mode: Consistency, entities: u32) -> TestDatabase {
    let db = crate::migrate::store_of::<Model>(mode).await;
    let all = (0..entities).map(|id| Worker {
        city: format!("c{}", id % 90),
        badge: (id % 3 != 0).then_some(id % 40),
        skills: (0..id % 4).map(|skill| format!("s{skill}")).collect(),
        ..worker(if id % 2 == 0 { "A" } else { "B" }, id)
    });
    let report = db.bulk().insert_all(futures_util::stream::iter(all)).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (u64::from(entities), 0));
    db
}

async fn write(db: &TestDatabase, key: &(String, String, String), action: Action) {
    let batch = Batch::new(&key.0, key.1.clone()).with(key.2.clone(), action);
    db.store().commit(&[batch]).await.expect("planted");
}

fn with(row: &Properties, name: &'static str, value: impl Into<Value>) -> Action {
    let mut row = row.clone();
    row.insert(name, value);
    Action::Replace(row, Condition::Exists)
}

/// One way to damage an index row elsewhere, and what that is.
type Damage = (fn(&Properties) -> Action, ViolationKind);

const OF_ROWS: [Damage; 6] = [
    (|_| Action::Delete(Condition::Exists), ViolationKind::Missing),
    (|row| with(row, "_dead", true), ViolationKind::Missing),
    (|row| with(row, "Name", "other"), ViolationKind::Stale),
    (|row| with(row, "_rk", "w_9999"), ViolationKind::Stale),
    (|row| with(row, "_seq", i64::MAX), ViolationKind::Stale),
    (|row| with(row, "EntityType", "Worker.by_city@7"), ViolationKind::Stale),
];

async fn index_rows(db: &TestDatabase) -> Rows {
    rows_in(&*db.store(), "Cities").await
}

type Planted = BTreeMap<(String, RowKey), ViolationKind>;

async fn plant(db: &TestDatabase) -> Planted {
    let mut planted = Planted::new();
    let mut note = |key: &(String, String, String), kind| {
        planted.insert((key.0.clone(), RowKey::new(key.1.clone(), key.2.clone())), kind);
    };
    let rows: Vec<_> = index_rows(db).await.into_iter().collect();
    let mut at = 17;
    for (damage, kind) in OF_ROWS {
        for _ in 0..PLANTED {
            at = (at + 79) % rows.len();
            write(db, &rows[at].0, damage(&rows[at].1)).await;
            note(&rows[at].0, kind);
        }
    }
    // Rows of entities that do not want them, or never lived.
    for n in 0..PLANTED {
        at = (at + 79) % rows.len();
        let mut row = rows[at].1.clone();
        if n % 2 == 0 {
            row.insert("_rk", format!("w_9{n:04}"));
        }
        let key = ("Cities".to_owned(), "Nowhere".to_owned(), format!("X_{n:04}"));
        write(db, &key, Action::Insert(row)).await;
        note(&key, ViolationKind::Dangling);
    }
    for key in lose(db).await {
        note(&key, ViolationKind::Undelivered);
    }
    planted
}

/// Outbox rows that no relay will find.
async fn lose(db: &TestDatabase) -> Vec<(String, String, String)> {
    let mut lost = Vec::new();
    for n in 0..PLANTED {
        let mut row = Properties::new();
        row.insert("EntityType", "Worker.~outbox@1");
        row.insert("_seq", i64::MAX - 1);
        row.insert("_rk", format!("w_8{n:04}"));
        row.insert("_entries", format!("[[\"by_city\",\"Cities\",\"Gone\",\"Y_{n:04}\"]]"));
        let key = ("Company".to_owned(), "Lost".to_owned(), format!("~~out|w_8{n:04}|{:020}", i64::MAX - 1));
        write(db, &key, Action::Insert(row)).await;
        lost.push(key);
    }
    lost
}

#[tokio::test]
async fn each_of_many_outbox_rows_of_one_type_is_delivered_by_one_repair() {
    let db = healthy(Consistency::Atomic, 10).await;
    assert_eq!(lose(&db).await.len(), PLANTED);
    let repaired = db.repair().await.unwrap();
    assert_eq!((repaired.repaired, repaired.left), (PLANTED as u64, vec![]));
    assert_eq!(db.verify().await.unwrap().violations, []);
}

/// The deletion was under way in the other mode, and nothing leads relays to it.
#[tokio::test]
async fn a_deletion_that_no_relay_finds_is_carried_out_whole_by_one_repair() {
    for mode in MODES {
        let db = healthy(Consistency::Azure, 0).await;
        let all = [1, 2, 3].map(|id| worker("A", id));
        for worker in &all {
            db.insert(worker).await.unwrap();
        }
        settle(&db).await;
        let gone = at!("A", 2).one(&db).await.unwrap().unwrap();
        db.fail(DieInDelivery);
        let _unknown = db.delete(gone).await;
        db.fail(Script::new());
        let db = unmarked::<Model>(&db.reopen::<Model>().await.unwrap(), mode).await;
        let found = db.verify().await.unwrap().violations;
        assert!(matches!(&*found, [it] if it.kind == ViolationKind::Undelivered), "{mode:?}: {found:?}");
        let repaired = db.repair().await.unwrap();
        assert_eq!((repaired.repaired, repaired.left), (1, vec![]), "{mode:?}");
        assert_exact(&db, &[all[0].clone(), all[2].clone()], &format!("{mode:?}")).await;
        if mode == Consistency::Azure {
            db.clock().advance(LONG);
            db.relay().run_once().await.unwrap();
        }
        assert_eq!(leftovers(&db).await, [], "{mode:?}");
    }
}

#[tokio::test]
async fn every_planted_violation_is_found_none_is_invented_and_repair_leaves_none() {
    // Of the latter the rows of each table are several pages.
    for (mode, entities) in [(Consistency::Azure, 1_000), (Consistency::Atomic, 3_000)] {
        let db = healthy(mode, entities).await;
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}");
        let before = workers(&db).await;
        let planted = plant(&db).await;
        let found: Planted = db
            .verify()
            .await
            .unwrap()
            .violations
            .into_iter()
            .map(|violation| ((violation.table, violation.key), violation.kind))
            .collect();
        // A row that names another owner is missed by its own entity, and wanted by no other: one place, either word.
        let differ: Vec<_> = planted.iter().filter(|(key, kind)| found.get(*key) != Some(kind)).collect();
        let differ: Vec<_> =
            differ.iter().filter(|(key, _)| found.get(*key) != Some(&ViolationKind::Dangling)).collect();
        assert!(differ.is_empty(), "{mode:?}: {differ:?}");
        assert_eq!(found.len(), planted.len(), "{mode:?}");

        let repaired = db.repair().await.unwrap();
        assert_eq!(repaired.left, [], "{mode:?}");
        assert_exact(&db, &before, "repaired").await;
    }
}

/// The tombstones of a worker in this department, and of its row in a city.
async fn bury(db: &TestDatabase, department: &str) {
    for (table, row) in [("Company", "w_0777".to_owned()), ("Cities", format!("{department}_0777"))] {
        let mut dead = Properties::new();
        dead.insert("EntityType", if table == "Company" { "Worker.~dead@1" } else { "Worker.by_city@1" });
        dead.insert("_seq", 7_i64);
        if table == "Cities" {
            dead.insert("_dead", true);
            dead.insert("_pk", department);
            dead.insert("_rk", "w_0777");
        }
        write(db, &(table.into(), department.into(), row), Action::Insert(dead)).await;
    }
}

#[tokio::test]
async fn tombstones_that_nothing_sweeps_are_found_and_taken_away() {
    let db = healthy(Consistency::Azure, 10).await;
    bury(&db, "A").await;
    assert!(db.verify().await.unwrap().is_clean(), "they may still be needed");
    db.clock().advance(LONG);
    let kinds: Vec<_> = db.verify().await.unwrap().violations.into_iter().map(|violation| violation.kind).collect();
    assert_eq!(kinds, [ViolationKind::Leftover; 2]);
    assert_eq!(db.repair().await.unwrap().left, []);
    assert!(db.verify().await.unwrap().is_clean());
    assert_eq!(leftovers(&db).await, Vec::<(String, String, String)>::new());
}

/// As an export leaves it that came past the tombstones before a relay had swept them, and past the marker when that was gone.
#[tokio::test]
async fn tombstones_that_no_relay_finds_any_more_are_found_and_swept() {
    for mode in MODES {
        let db = healthy(mode, 10).await;
        bury(&db, "Lost").await;
        let mut outbox = Properties::new();
        outbox.insert("EntityType", "Worker.~outbox@1");
        outbox.insert("_seq", 7_i64);
        outbox.insert("_rk", "w_0777");
        outbox.insert("_entries", r#"[["by_city","Cities","Lost","Lost_0777"]]"#);
        outbox.insert("_delivered", DateTime::from_unix_seconds(1_577_836_800).unwrap());
        let row = format!("~~out|w_0777|{:020}", 7);
        write(&db, &("Company".into(), "Lost".into(), row), Action::Insert(outbox)).await;
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}: a marker may be there soon");
        db.clock().advance(LONG);
        let verified = db.verify().await.unwrap();
        let kinds: Vec<_> = verified.violations.iter().map(|of| (of.kind, of.key.row.as_str())).collect();
        assert_eq!(kinds, [(ViolationKind::Leftover, "~~out|w_0777|00000000000000000007")], "{mode:?}");
        assert_eq!(verified.pending, 0, "{mode:?}: it was delivered");
        let repaired = db.repair().await.unwrap();
        assert_eq!((repaired.repaired, repaired.left), (1, vec![]), "{mode:?}");
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}");
        db.clock().advance(Duration::from_secs(601));
        db.relay().run_once().await.unwrap();
        assert_eq!(leftovers(&db).await, [], "{mode:?}");
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}");
    }
}

#[tokio::test]
async fn a_walk_in_pieces_finds_what_a_whole_one_does() {
    let db = healthy(Consistency::Atomic, 500).await;
    plant(&db).await;
    let whole = db.verify().await.unwrap();
    let mut pieces = db.verify().rows(100).await.unwrap();
    let mut count = 1;
    while let Some(next) = pieces.next.take() {
        let piece = db.verify().from(next).rows(100).await.unwrap();
        pieces.violations.extend(piece.violations);
        pieces.rows += piece.rows;
        pieces.next = piece.next;
        count += 1;
    }
    assert!(count > 5, "{count} pieces");
    assert_eq!((pieces.rows, pieces.violations), (whole.rows, whole.violations));
}

/// As an export leaves it that came past the entity before it changed, and past its rows elsewhere after that.
#[tokio::test]
async fn rows_that_are_ahead_of_their_entity_are_brought_to_what_it_is() {
    let db = healthy(Consistency::Azure, 0).await;
    let mut there = db.insert(&worker("A", 1)).await.unwrap();
    let key = ("Company".to_owned(), "A".to_owned(), "w_0001".to_owned());
    let was = rows_in(&*db.store(), "Company").await[&key].clone();
    for city in ["Oslo", "Bern", "Oslo"] {
        there.city = city.into();
        there.badge = Some(9);
        db.save(&mut there).await.unwrap();
    }
    write(&db, &key, Action::Replace(was, Condition::Exists)).await;
    db.clock().advance(Duration::from_secs(1));
    let repaired = db.repair().await.unwrap();
    assert_eq!(repaired.left, []);
    assert_exact(&db, &[worker("A", 1)], "repaired").await;
}
