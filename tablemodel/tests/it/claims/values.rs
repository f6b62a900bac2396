//! Every operation over unique values, in both modes.

use tablemodel::{Consistency, ErrorKind, RowKey, ViolationKind, prelude::*};

use super::{MODES, Member, Model, all_rows, assert_exact, claims, database, find, member, settle};
use crate::tools::{DieInDelivery, unmarked};

fn violated(error: &tablemodel::Error) -> (&'static str, RowKey) {
    match error.kind() {
        ErrorKind::UniqueViolation { index, owner: Some(owner) } => (index, owner.clone()),
        other => panic!("{other:?}: {error}"),
    }
}

#[tokio::test]
async fn a_second_entity_with_a_value_is_refused_with_the_index_and_the_owner() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&member("A", 1)).await.unwrap();
        let error = db.insert(&Member { email: Some("A1@X".into()), ..member("B", 2) }).await.unwrap_err();
        assert_eq!(violated(&error), ("by_email", RowKey::new("A", "m_0001")), "{mode:?}");
        assert_eq!(error.entity(), Some("Member"));
        assert!(error.to_string().contains("by_email") && !error.to_string().contains("A1@X"), "{error}");
        let badge = Member { badge: member("A", 1).badge, ..member("B", 2) };
        assert_eq!(violated(&db.insert(&badge).await.unwrap_err()).0, "by_badge", "{mode:?}");
        assert!(find(&db, "B", 2).await.is_none(), "nothing of it was written");
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn values_that_only_look_alike_belong_to_different_entities_whatever_their_case() {
    for mode in MODES {
        let db = database(mode).await;
        let called = |club: &str, id, email: &str| Member { email: Some(email.to_owned()), ..member(club, id) };
        db.insert(&called("A", 1, "\u{e9}@x")).await.unwrap();
        db.insert(&called("B", 2, "e\u{301}@x")).await.unwrap();
        for (id, email, owner) in [(3, "\u{c9}@X", ("A", "m_0001")), (4, "E\u{301}@X", ("B", "m_0002"))] {
            let error = db.insert(&called("B", id, email)).await.unwrap_err();
            assert_eq!(violated(&error), ("by_email", RowKey::new(owner.0, owner.1)), "{mode:?} {email}");
        }
        let found = Member::by_email().email("E\u{301}@x").one(&db).await.unwrap().unwrap();
        assert_eq!((found.id, found.email.as_deref()), (2, Some("e\u{301}@x")), "{mode:?}");
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn values_follow_every_operation() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let db = database(mode).await;
        let mut a = db.insert(&member("A", 1)).await.unwrap();
        db.insert(&member("B", 2)).await.unwrap();
        assert_exact(&db, &told).await;

        // Another value, none, the old one again, unchanged.
        for email in [Some("new@x"), None, Some("A1@x"), Some("A1@x"), Some("a1@X")] {
            a.email = email.map(str::to_owned);
            db.save(&mut a).await.unwrap();
            assert_exact(&db, &format!("{told} {email:?}")).await;
        }
        // What is kept follows, `when` releases and takes.
        for (name, active) in [("Ann", true), ("Ann", false), ("Bea", true)] {
            (a.name, a.active) = (name.into(), active);
            db.save(&mut a).await.unwrap();
            assert_exact(&db, &format!("{told} {name} {active}")).await;
        }
        db.upsert(&Member { email: Some("up@x".into()), ..member("B", 2) }).await.unwrap();
        db.upsert(&member("B", 3)).await.unwrap();
        db.update(Member::find().club("B").id(3), |m| Ok(m.badge = Some(9))).await.unwrap();
        assert_exact(&db, &told).await;

        let taken = Member { email: Some("UP@x".into()), ..member("A", 1) };
        assert_eq!(violated(&db.upsert(&taken).await.unwrap_err()).0, "by_email", "{told}");
        let gone = find(&db, "B", 2).await.unwrap();
        db.delete(gone).await.unwrap();
        assert_exact(&db, &told).await;
        db.upsert(&taken).await.unwrap(); // free again
        db.insert(&member("B", 2)).await.unwrap(); // and its old entity comes back with another
        assert_exact(&db, &told).await;
        assert!(claims(&db).await.values().all(|(_, _, confirmed)| *confirmed), "{told}: nothing is left pending");
    }
}

#[tokio::test]
async fn an_unchanged_value_costs_no_write_of_its_claim() {
    for mode in MODES {
        let db = database(mode).await;
        let mut a = db.insert(&member("A", 1)).await.unwrap();
        let before = all_rows(&db).await;
        a.city = "Oslo".into();
        db.save(&mut a).await.unwrap();
        let after = all_rows(&db).await;
        for (key, row) in before.iter().filter(|((table, ..), _)| table == "Emails" || table == "Badges") {
            assert_eq!(after.get(key), Some(row), "{mode:?}");
        }
    }
}

#[tokio::test]
async fn reads_by_a_unique_value_find_its_entity_in_any_partition() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&member("B", 2)).await.unwrap();
        let found = Member::by_email().email("B2@X").one(&db).await.unwrap().unwrap();
        assert_eq!(*found, member("B", 2));
        assert!(Member::by_badge().badge(152).exists(&db).await.unwrap());
        assert!(Member::by_email().email("none").one(&db).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn two_entities_exchange_values_in_one_batch_where_several_partitions_are_one_commit() {
    let db = database(Consistency::Atomic).await;
    let (mut a, mut b) = (db.insert(&member("A", 1)).await.unwrap(), db.insert(&member("A", 2)).await.unwrap());
    std::mem::swap(&mut a.email, &mut b.email);
    let mut batch = db.batch(Member::in_partition("A"));
    batch.save(&mut a).save(&mut b);
    batch.commit().await.unwrap();
    assert_exact(&db, "exchanged").await;
    // A third takes what the second gives up, the second takes what the first does, the first is deleted.
    (b.email, b.badge) = (Some("b2@x".into()), a.badge);
    let mut batch = db.batch(Member::in_partition("A"));
    batch.delete(a).save(&mut b).insert(&Member { email: Some("a1@x".into()), badge: Some(102), ..member("A", 3) });
    batch.commit().await.unwrap();
    assert_exact(&db, "handed on").await;
}

#[tokio::test]
async fn where_a_claim_is_a_commit_of_its_own_an_exchange_is_a_violation_and_changes_nothing() {
    let db = database(Consistency::Azure).await;
    let (mut a, mut b) = (db.insert(&member("A", 1)).await.unwrap(), db.insert(&member("A", 2)).await.unwrap());
    let before = all_rows(&db).await;
    std::mem::swap(&mut a.email, &mut b.email);
    let mut batch = db.batch(Member::in_partition("A"));
    batch.save(&mut a).save(&mut b);
    let error = batch.commit().await.unwrap_err();
    assert_eq!(violated(&error).0, "by_email");
    assert_eq!(all_rows(&db).await, before);
    assert_eq!(violated(&db.save(&mut a).await.unwrap_err()).1, RowKey::new("A", "m_0002"), "nor one by one");
    assert_exact(&db, "refused").await;
}

#[tokio::test]
async fn of_two_entities_of_a_batch_with_one_value_the_second_is_refused() {
    for mode in MODES {
        let db = database(mode).await;
        let mut batch = db.batch(Member::in_partition("A"));
        batch.insert(&member("A", 1)).insert(&Member { email: Some("a1@x".into()), ..member("A", 2) });
        let error = batch.commit().await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::UniqueViolation { index: "by_email", .. }), "{mode:?}: {error}");
        assert_eq!(error.operation(), Some(1));
        assert!(all_rows(&db).await.is_empty(), "{mode:?}: checked before anything is written");
    }
}

#[tokio::test]
async fn a_value_passes_through_changes_of_one_batch() {
    for mode in MODES {
        let db = database(mode).await;
        let mut first = db.insert(&member("A", 1)).await.unwrap();
        let mut second = first.clone();
        (first.email, second.email) = (Some("between@x".into()), Some("last@x".into()));
        let mut batch = db.batch(Member::in_partition("A"));
        batch.save(&mut first).save(&mut second);
        batch.commit().await.unwrap();
        assert_exact(&db, &format!("{mode:?}")).await;
        assert_eq!(claims(&db).await.len(), 2, "{mode:?}: the value between was never claimed");
    }
}

#[tokio::test]
async fn a_bulk_load_reports_the_entities_whose_values_are_taken() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&member("B", 7)).await.unwrap();
        let mut all: Vec<_> = (0..30).map(|id| member("A", id)).collect();
        all[11].email = Some("B7@x".into());
        let report = db.bulk().insert_all(futures_util::stream::iter(all)).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (29, 1), "{mode:?}");
        assert_eq!(violated(&report.failed[0]), ("by_email", RowKey::new("B", "m_0007")));
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

/// U3, U5: equality is that of the key codec; no value is nobody's.
#[tokio::test]
async fn equality_is_the_key_codecs_and_none_is_no_value() {
    for mode in MODES {
        let db = database(mode).await;
        let with = |id, email: Option<&str>| Member { email: email.map(str::to_owned), ..member("A", id) };
        db.insert(&with(1, Some("Ä@x"))).await.unwrap();
        assert_eq!(violated(&db.insert(&with(2, Some("ä@X"))).await.unwrap_err()).0, "by_email");
        db.insert(&with(3, None)).await.unwrap();
        db.insert(&with(4, None)).await.unwrap();
        db.insert(&with(5, Some(""))).await.unwrap();
        assert_eq!(violated(&db.insert(&with(6, Some(""))).await.unwrap_err()).0, "by_email", "empty is a value");
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

/// The other mode's claims are obeyed, and what it left pending belongs to nobody.
#[tokio::test]
async fn opening_in_the_atomic_mode_settles_the_claims_that_the_other_left() {
    use tablemodel::{
        store::fault::{Call, Request},
        testing::Fault,
    };
    let db = database(Consistency::Azure).await;
    db.insert(&member("A", 1)).await.unwrap();
    let mut second = db.insert(&member("A", 2)).await.unwrap();
    second.email = Some("moved@x".into());
    db.fail(DieInDelivery);
    let _ = db.save(&mut second).await; // written, its claims neither confirmed nor released
    let db = db.reopen::<Model>().await.unwrap();
    db.fail(|call: &Call<'_>| match call.request {
        Request::Commit(batches) if batches[0].table == "Club" => Some(Fault::CrashBefore),
        _ => None,
    });
    let _ = db.insert(&Member { email: Some("orphan@x".into()), ..member("B", 9) }).await; // claimed, never written
    db.fail(tablemodel::testing::Script::new());
    let db = db.reopen::<Model>().await.unwrap();
    assert!(claims(&db).await.values().any(|(_, _, confirmed)| !confirmed));

    let builder = tablemodel::Database::builder().clock(std::sync::Arc::new(db.clock().clone()));
    let atomic = builder.consistency(Consistency::Atomic).with_store::<Model>(db.store()).await.unwrap();
    assert_exact(&db, "drained").await;
    let error = atomic.insert(&Member { email: Some("moved@x".into()), ..member("B", 3) }).await.unwrap_err();
    assert_eq!(violated(&error), ("by_email", RowKey::new("A", "m_0002")));
    atomic.insert(&Member { email: Some("orphan@x".into()), ..member("B", 4) }).await.unwrap();
    atomic.insert(&Member { email: Some("a2@x".into()), ..member("B", 5) }).await.unwrap();
    assert_exact(&db, "atomic").await;
}

/// The deletion was under way in the mode that writes one partition at a time, and nothing leads relays to it.
#[tokio::test]
async fn what_an_entity_had_that_is_deleted_is_free_after_a_repair_in_the_atomic_mode() {
    let db = database(Consistency::Azure).await;
    for (club, id) in [("A", 1), ("A", 2), ("B", 1)] {
        db.insert(&member(club, id)).await.unwrap();
    }
    settle(&db).await;
    let gone = find(&db, "A", 2).await.unwrap();
    db.fail(DieInDelivery);
    let _unknown = db.delete(gone).await;
    db.fail(tablemodel::testing::Script::new());
    let db = unmarked::<Model>(&db.reopen::<Model>().await.unwrap(), Consistency::Atomic).await;
    let found = db.verify().await.unwrap().violations;
    assert!(matches!(&*found, [it] if it.kind == ViolationKind::Undelivered), "{found:?}");
    let repaired = db.repair().await.unwrap();
    assert_eq!((repaired.repaired, repaired.left), (1, vec![]));
    assert_exact(&db, "repaired").await;
    assert_eq!(db.verify().await.unwrap().violations, []);
    let Member { email, badge, .. } = member("A", 2);
    db.insert(&Member { email, badge, ..member("B", 3) }).await.expect("nobody has these values");
    assert_exact(&db, "taken").await;
}
