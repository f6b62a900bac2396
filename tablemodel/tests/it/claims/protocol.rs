//! Single steps of the protocol of claims, as FORMAT.md draws its rows.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, Properties, RowKey, ValueRef,
    prelude::*,
    store::{
        Action, Batch, Condition,
        fault::{Call, Request},
    },
    testing::{Fault, FaultPlan, Script, TestDatabase},
};

use super::{Member, Model, all_rows, assert_exact, claims, database, find, member, settle};
use crate::tools::DieInDelivery;

const V: &str = "v@x";

fn wants(id: u32) -> Member {
    Member { email: Some(V.into()), badge: None, ..member("A", id) }
}

/// Dies when an entity's batch is about to be committed: its values are claimed.
fn crash_at_commit() -> impl FaultPlan {
    |call: &Call<'_>| match call.request {
        Request::Commit(batches) if batches[0].table == "Club" => Some(Fault::CrashBefore),
        _ => None,
    }
}

async fn after_a_crash(plan: impl FaultPlan) -> TestDatabase {
    let db = database(Consistency::Azure).await;
    db.insert(&member("A", 5)).await.unwrap(); // the partition's marker is written
    db.fail(plan);
    let _ = db.insert(&wants(1)).await;
    db.fail(Script::new());
    db.reopen::<Model>().await.unwrap()
}

async fn claim_row(db: &TestDatabase) -> Properties {
    all_rows(db).await.remove(&("Emails".into(), V.into(), "email".into())).expect("the claim")
}

#[tokio::test]
async fn a_pending_claim_names_its_entity_and_an_end_and_is_seen_by_no_read() {
    let db = after_a_crash(crash_at_commit()).await;
    let claim = claim_row(&db).await;
    let names: Vec<_> = claim.iter().map(|(name, _)| name.as_str().to_owned()).collect();
    assert_eq!(names, ["EntityType", "_claim", "_expires", "_pk", "_rk", "_seq"]);
    assert_eq!(claim.get("_claim"), Some(ValueRef::String("pending")));
    let end = tablemodel::store::clock::Clock::now(db.clock()).ticks() + 60 * 10_000_000;
    assert_eq!(claim.get("_expires"), Some(ValueRef::DateTime(tablemodel::DateTime::from_ticks(end))));
    assert!(Member::by_email().email(V).one(&db).await.unwrap().is_none());
    assert!(!Member::by_email().email(V).exists(&db).await.unwrap());
    assert_eq!(Member::by_email().email(V).count(&db).await.unwrap(), 0);
}

#[tokio::test]
async fn a_pending_claim_is_no_violation_whether_its_writer_is_at_work_or_died() {
    let db = after_a_crash(crash_at_commit()).await;
    for _ in 0..3 {
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean(), "{:?}", verified.violations);
        assert_eq!(claim_row(&db).await.get("_claim"), Some(ValueRef::String("pending")));
        db.clock().advance(Duration::from_secs(1_200));
        db.relay().run_once().await.unwrap();
    }
}

#[tokio::test]
async fn anothers_pending_claim_is_try_again_until_it_expires_and_then_belongs_to_nobody() {
    let db = after_a_crash(crash_at_commit()).await;
    let error = db.insert(&wants(2)).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable);
    assert!(error.is_retryable() && error.to_string().contains("by_email"), "{error}");
    db.clock().advance(Duration::from_secs(61));
    db.insert(&wants(2)).await.unwrap();
    assert_exact(&db, "stolen").await;
    // Where the first owner never was, a tombstone stands now, so that its write cannot succeed any more; until the fence.
    assert!(all_rows(&db).await.contains_key(&("Club".into(), "A".into(), "m_0001".into())));
    for _ in 0..3 {
        db.clock().advance(Duration::from_secs(601));
        db.relay().run_once().await.unwrap();
    }
    assert!(!all_rows(&db).await.contains_key(&("Club".into(), "A".into(), "m_0001".into())));
    assert_exact(&db, "swept").await;
}

#[tokio::test]
async fn ones_own_pending_claim_is_no_obstacle() {
    let db = after_a_crash(crash_at_commit()).await;
    db.insert(&wants(1)).await.unwrap();
    assert_exact(&db, "again").await;
}

#[tokio::test]
async fn an_expired_claim_of_an_entity_that_has_the_value_is_confirmed_for_it() {
    let db = after_a_crash(DieInDelivery).await;
    assert_eq!(claim_row(&db).await.get("_claim"), Some(ValueRef::String("pending")));
    db.clock().advance(Duration::from_secs(61));
    let error = db.insert(&wants(2)).await.unwrap_err();
    let owner = Some(RowKey::new("A", "m_0001"));
    assert_eq!(error.kind(), &ErrorKind::UniqueViolation { index: "by_email", owner });
    assert_eq!(claims(&db).await[V], ("A".into(), "m_0001".into(), true), "confirmed by the thief");
    assert!(Member::by_email().email(V).exists(&db).await.unwrap());
}

#[tokio::test]
async fn a_claim_that_another_program_took_away_comes_back_with_the_next_change_of_what_it_keeps() {
    for mode in super::MODES {
        let db = database(mode).await;
        let mut stored = db.insert(&wants(1)).await.unwrap();
        let delete = Action::Delete(Condition::Exists);
        db.store().commit(&[Batch::new("Emails", V).with("email", delete)]).await.unwrap();
        stored.name = "Ann".into();
        db.save(&mut stored).await.unwrap();
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn a_foreign_row_at_a_claims_key_is_an_error_and_stays() {
    for mode in super::MODES {
        let db = database(mode).await;
        let foreign: Properties = [("Mine", true)].into_iter().collect();
        db.store().commit(&[Batch::new("Emails", V).with("email", Action::Insert(foreign.clone()))]).await.unwrap();
        let error = db.insert(&wants(1)).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::AlreadyExists, "{mode:?}");
        assert!(error.to_string().contains("by_email"), "{error}");
        assert_eq!(claim_row(&db).await, foreign);
        assert!(find(&db, "A", 1).await.is_none(), "{mode:?}");
    }
}

/// U6: what scopes the value is part of its key. U7: an owner that is gone frees it.
#[tokio::test]
async fn a_deleted_entitys_value_is_free_at_once_and_its_claim_is_really_gone() {
    for mode in super::MODES {
        let db = database(mode).await;
        let stored = db.insert(&wants(1)).await.unwrap();
        db.delete(stored).await.unwrap();
        assert!(claims(&db).await.is_empty(), "{mode:?}");
        db.insert(&Member { email: Some(V.into()), ..member("B", 2) }).await.unwrap();
        db.insert(&member("A", 1)).await.unwrap();
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn the_cost_of_a_value_is_as_the_page_says() {
    let db = database(Consistency::Azure).await;
    let single = |id| Member { badge: None, ..member("A", id) };
    db.insert(&single(1)).await.unwrap();
    db.forget_calls();
    let mut stored = db.insert(&single(2)).await.unwrap();
    let claiming = db.calls().len();
    stored.email = None;
    db.forget_calls();
    db.save(&mut stored).await.unwrap();
    let releasing = db.calls().len();
    db.forget_calls();
    db.insert(&Member { email: None, ..single(3) }).await.unwrap();
    let without = db.calls().len();
    assert_eq!((claiming, without), (without + 5, without), "claim: a read and a write; settle: two reads and a write");
    assert!(releasing <= claiming, "{releasing} {claiming}");

    let db = database(Consistency::Atomic).await;
    db.forget_calls();
    db.insert(&member("A", 1)).await.unwrap();
    assert_eq!(db.calls().len(), 1, "{:?}", db.calls());
}

/// The checker of these tests is one that can fail.
#[tokio::test]
async fn a_planted_claim_without_its_entity_is_found() {
    let db = database(Consistency::Azure).await;
    db.insert(&wants(1)).await.unwrap();
    let mut planted = claim_row(&db).await;
    planted.insert("_rk", "m_0009");
    db.store().commit(&[Batch::new("Emails", "planted@x").with("email", Action::Insert(planted))]).await.unwrap();
    let check = tokio::spawn(async move { assert_exact(&db, "planted").await });
    assert!(check.await.unwrap_err().is_panic());
}

#[tokio::test]
async fn relays_settle_what_a_writer_left_however_often_they_run() {
    let db = after_a_crash(DieInDelivery).await;
    let mut other = db.insert(&Member { badge: None, ..member("B", 2) }).await.unwrap();
    other.email = Some("next@x".into());
    db.fail(DieInDelivery);
    let _ = db.save(&mut other).await;
    db.fail(Script::new());
    let db = db.reopen::<Model>().await.unwrap();
    for _ in 0..3 {
        settle(&db).await;
        assert_exact(&db, "settled").await;
    }
    assert!(claims(&db).await.values().all(|(_, _, confirmed)| *confirmed));
}

/// A row of another stands where one of the entity's is to be.
#[tokio::test]
async fn a_row_that_cannot_follow_holds_up_no_claim() {
    let db = database(Consistency::Azure).await;
    let foreign: Properties = [("Mine", true)].into_iter().collect();
    db.store().commit(&[Batch::new("Cities", "Oslo").with("A_0001", Action::Insert(foreign))]).await.unwrap();
    let mut there = db.insert(&member("A", 1)).await.unwrap();
    (there.city, there.email) = ("Oslo".into(), Some(V.into()));
    db.save(&mut there).await.unwrap();

    assert!(Member::by_email().email(V).one(&db).await.unwrap().is_some(), "it is found by what it has now");
    let free = member("A", 1).email;
    db.insert(&Member { email: free, ..member("B", 7) }).await.expect("nobody has this any more");
    for _ in 0..20 {
        db.clock().advance(Duration::from_secs(600));
        db.relay().run_once().await.unwrap();
    }
    let poisoned = db.relay().poisoned().await.unwrap();
    assert!(matches!(poisoned.as_slice(), [one] if one.error.contains("by_city")), "{poisoned:?}");
}
