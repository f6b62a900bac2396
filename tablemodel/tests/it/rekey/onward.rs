//! Entities that move on before their first move is over: the values that their first key's claims name go all the way with
//! them.

use std::time::Duration;

use futures_util::FutureExt;
use tablemodel::{
    ErrorKind, ValueRef,
    testing::{Script, TestDatabase},
};

use super::{
    Member, Model, all_rows, assert_exact, crashes::after_leaving, find, member, members, settle, steps::moving,
};
use crate::stall::Program;

async fn is_under_way(db: &TestDatabase) -> bool {
    all_rows(db).await.keys().any(|(_, _, row)| row.starts_with("~~move|"))
}

/// That the entity is at its last key alone, with its value, which nobody else can take.
async fn assert_moved_on(db: &TestDatabase, told: &str) {
    settle(db).await;
    assert_eq!(members(db).await, [member("C", 1)], "{told}");
    assert_exact(db, told).await;
    db.clock().advance(Duration::from_secs(61));
    let other = Member { id: 9, seat: None, nick: None, ..member("A", 1) };
    let error = db.insert(&other).await.expect_err(told);
    assert!(matches!(error.kind(), ErrorKind::UniqueViolation { index: "by_email", .. }), "{told}: {error}");
}

/// Wherever either move dies, what is on its way is no damage, and relays bring all of it to the last key.
#[tokio::test]
async fn an_entity_that_moves_on_before_its_value_was_handed_over_keeps_it() {
    let mut points = 0;
    for first in 0.. {
        let arrived = moving(after_leaving(first)).await;
        if find(&arrived, "B", 1).await.is_none() {
            continue;
        }
        if !is_under_way(&arrived).await {
            break;
        }
        for second in 0.. {
            let told = format!("the first move died {first} commits after it left, the second {second}");
            let db = arrived.fork().expect("in memory");
            let mut moved = find(&db, "B", 1).await.unwrap();
            moved.club = "C".into();
            db.fail(after_leaving(second));
            let is_over = db.rekey(&mut moved).await.is_ok();
            db.fail(Script::new());
            let db = db.reopen::<Model>().await.unwrap();
            let verified = db.verify().await.unwrap();
            assert!(verified.is_clean(), "{told}: {:?}", verified.violations);
            assert_moved_on(&db, &told).await;
            points += 1;
            if is_over {
                break;
            }
        }
    }
    assert!(points > 10, "{points} points");
}

/// At its new key, while its claim names the old one, and a relay would finish its move.
async fn arrived_without_its_value() -> TestDatabase {
    let claim = ("Emails".to_owned(), "e1@x".to_owned(), "email".to_owned());
    for commits in 0..40 {
        let db = moving(after_leaving(commits)).await;
        let rows = all_rows(&db).await;
        let is_claimed = rows[&claim].get("_pk") == Some(ValueRef::String("A"));
        if is_claimed && find(&db, "B", 1).await.is_some() {
            db.clock().advance(Duration::from_secs(11));
            return db;
        }
    }
    panic!("its value goes with it at once");
}

#[tokio::test]
async fn a_first_move_that_a_relay_finishes_while_the_entity_moves_on_takes_no_value_from_it() {
    let arrived = arrived_without_its_value().await;
    for at in 0.. {
        let db = arrived.fork().expect("in memory");
        let other = db.clone();
        let meanwhile = async move { assert!(other.relay().run_once().await.is_ok()) };
        let program = Program::stalling::<Model>(&db, at, meanwhile.boxed()).await;
        let mut moved = find(&program.db, "B", 1).await.unwrap();
        moved.club = "C".into();
        program.db.rekey(&mut moved).await.unwrap();
        if !program.has_stalled() {
            assert!(at > 10, "{at} calls");
            break;
        }
        assert_moved_on(&db, &format!("the relay ran before call {at}")).await;
    }
}
