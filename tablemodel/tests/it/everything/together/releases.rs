//! A release that comes while a program of the one before is at work: that takes nothing of the newer one's for wrong, and does over and over
//! nothing that it does in vain.

use std::time::Duration;

use futures_util::FutureExt;
use tablemodel::{
    ValueRef,
    prelude::*,
    store::{
        StoreErrorKind,
        fault::{Call, Request},
    },
    testing::{Fault, FaultPlan, Script, TestDatabase},
};

use super::super::{
    Fan, Model, Sponsor, Team,
    rooms::{assert_exact, stage},
};
use super::found::{Teams, fan, person, team};
use crate::{
    stall::Program,
    tools::{DieInDelivery, rows_in},
};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn sponsor() -> Sponsor {
    Sponsor { id: 0, name: "Acme".into(), tier: None, note: 0 }
}

/// A program of the newer release comes. Its persons count in their team, whether that is there or not.
async fn persons_come(new: TestDatabase) {
    new.ensure_tables().await.unwrap();
    new.insert(&person()).await.unwrap();
}

async fn assert_settled(db: &TestDatabase, told: &str) {
    let stage = stage(&db.reopen::<Model>().await.unwrap());
    stage.settle().await;
    assert_exact(&stage, told).await;
}

#[tokio::test]
async fn a_program_that_looked_at_the_states_before_there_were_sources_repairs_no_total_of_theirs() {
    for has_team in [true, false] {
        let old = TestDatabase::new::<Teams>().await.unwrap();
        old.insert(&sponsor()).await.unwrap();
        if has_team {
            old.insert(&team("Reds")).await.unwrap();
        }
        persons_come(old.reopen::<Model>().await.unwrap()).await;
        let repaired = old.repair().await.unwrap();
        assert!(!repaired.found.is_clean(), "{has_team}: it knew of them before");
        assert_settled(&old, &format!("{has_team}")).await;
    }
}

#[tokio::test]
async fn a_repair_during_which_sources_come_mends_no_total_of_theirs() {
    for has_team in [true, false] {
        for at in 0.. {
            let old = TestDatabase::new::<Teams>().await.unwrap();
            if has_team {
                old.insert(&team("Reds")).await.unwrap();
            }
            let come = persons_come(old.reopen::<Model>().await.unwrap());
            let program = Program::stalling::<Teams>(&old, at, come.boxed()).await;
            drop(program.db.repair().await.unwrap());
            if !program.has_stalled() {
                assert!(at > 2, "{at} calls");
                break;
            }
            assert_settled(&old, &format!("{has_team}, before call {at}")).await;
        }
    }
}

/// Programs of both releases. The newer one has renamed a sponsor, and died before it told anybody: a team copies it, which both know, and a
/// fan.
async fn renamed() -> (TestDatabase, TestDatabase) {
    let old = TestDatabase::new::<Teams>().await.unwrap();
    let new = old.reopen::<Model>().await.unwrap();
    new.ensure_tables().await.unwrap();
    new.insert(&sponsor()).await.unwrap();
    new.insert(&Team { sponsor_id: Some(0), ..team("Reds") }).await.unwrap();
    new.insert(&Fan { backer: Some(0), ..fan(0) }).await.unwrap();
    new.fail(DieInDelivery);
    let _ = new.patch(Sponsor::find().id(0_u8), Sponsor::NAME.set("Bell")).await;
    new.fail(Script::new());
    let new = old.reopen::<Model>().await.unwrap();
    old.clock().advance(seconds(61));
    (old, new)
}

/// How often it was looked for who copies, since this was asked before.
fn walks(db: &TestDatabase) -> usize {
    let walks = db.calls().iter().filter(|call| format!("{call:?}").contains("~~ref|")).count();
    db.forget_calls();
    walks
}

#[tokio::test]
async fn a_relay_does_its_part_of_a_row_that_it_leaves_once_in_a_while() {
    let (old, new) = renamed().await;
    let relay = old.relay();
    old.forget_calls();
    for (wait, is_time) in [(0, true), (5, false), (290, false), (10, true), (5, false)] {
        old.clock().advance(seconds(wait));
        let round = relay.run_once().await.unwrap();
        assert_eq!((round.delivered, round.waiting, round.failed), (0, 1, 0), "{wait}: {round:?}");
        assert_eq!(walks(&old) > 0, is_time, "{wait}");
        let team = Team::find().club("A").one(&new).await.unwrap().expect("there");
        assert_eq!(team.sponsor.as_ref().map(|sponsor| sponsor.name.as_str()), Some("Bell"), "{wait}");
        old.forget_calls();
    }
    // Who has all does not wait for that.
    assert_eq!(new.relay().run_once().await.unwrap().delivered, 1);
    assert_settled(&old, "delivered").await;
}

/// Nobody can write a team.
struct Unwritable(StoreErrorKind);

impl FaultPlan for Unwritable {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        match call.request {
            Request::Commit(batches) if batches.iter().any(|batch| batch.table == "Everything") => {
                Some(Fault::error(self.0))
            }
            _ => None,
        }
    }
}

#[tokio::test]
async fn a_relay_does_its_part_of_a_row_that_it_leaves_as_soon_as_the_store_is_back() {
    let (old, new) = renamed().await;
    let relay = old.relay();
    old.fail(Unwritable(StoreErrorKind::Unavailable));
    let round = relay.run_once().await.unwrap();
    assert_eq!((round.failed, round.poisoned), (1, 0), "{round:?}");
    old.fail(Script::new());
    old.clock().advance(seconds(5));
    let round = relay.run_once().await.unwrap();
    assert_eq!((round.failed, round.waiting), (0, 1), "{round:?}");
    let team = Team::find().club("A").one(&new).await.unwrap().expect("there");
    assert_eq!(team.sponsor.as_ref().map(|sponsor| sponsor.name.as_str()), Some("Bell"));
}

#[tokio::test]
async fn a_relay_tries_its_part_of_a_row_that_it_leaves_ever_more_seldom_while_a_target_cannot_be_written() {
    let (old, new) = renamed().await;
    let relay = old.relay();
    old.fail(Unwritable(StoreErrorKind::Unavailable));
    let mut tried = Vec::new();
    for number in 0..12 {
        let round = relay.run_once().await.unwrap();
        assert_eq!((round.failed + round.waiting, round.poisoned), (1, 0), "{number}: {round:?}");
        tried.extend((round.failed > 0).then_some(number));
        old.clock().advance(seconds(5));
    }
    assert_eq!(tried, [0, 1, 2, 3, 5, 9]); // once 1, 2, 4, 8 and 16 seconds have passed
    old.fail(Script::new());
    old.clock().advance(seconds(32));
    let round = relay.run_once().await.unwrap();
    assert_eq!((round.failed, round.waiting), (0, 1), "{round:?}");
    let team = Team::find().club("A").one(&new).await.unwrap().expect("there");
    assert_eq!(team.sponsor.as_ref().map(|sponsor| sponsor.name.as_str()), Some("Bell"));
}

#[tokio::test]
async fn a_relay_that_fails_at_a_row_which_it_leaves_sets_it_not_aside() {
    let (old, new) = renamed().await;
    let relay = old.relay();
    old.fail(Unwritable(StoreErrorKind::Corrupt));
    for tried in 0..12 {
        let round = relay.run_once().await.unwrap();
        assert_eq!((round.failed, round.poisoned), (1, 0), "after {tried}: {round:?}");
        old.clock().advance(seconds(301));
    }
    old.fail(Script::new());
    let rows = rows_in(&*old.store(), "Sponsors").await;
    let left = rows.iter().find(|((_, _, row), _)| row.starts_with("~~out|")).expect("it is left");
    assert_eq!(left.1.get("_attempts"), Some(ValueRef::Int32(0)));
    // A repair says what it takes.
    let left = old.repair().await.unwrap().left;
    assert!(left.iter().any(|(_, why)| why.contains("`Fan|~backing`")), "{left:#?}");
    assert_eq!(new.relay().run_once().await.unwrap().delivered, 1);
    assert_settled(&old, "delivered").await;
}
