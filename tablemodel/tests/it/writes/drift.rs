//! Drift: index rows that another program took away or changed are put right by the next write that touches them.
//!
//! And a violation of uniqueness names who is in the way.

use tablemodel::{ErrorKind, prelude::*};

use super::{Account, Member, account, assert_clean, database, member, plant_row, properties, remove_row, row};
use crate::heard::warnings;

type Edit = fn(&mut Member);

#[tokio::test]
async fn a_missing_index_row_is_repaired_by_the_next_write_and_reported() {
    let edits: [(&str, Edit); 4] = [
        ("name_Jones_0001", |member| member.age = 1),
        ("name_Jones_0001", |member| member.last_name = "Smith".into()),
        ("email_m1@x", |member| member.email = Some("other@x".into())),
        ("active_0001", |member| member.is_active = false),
    ];
    for (lost, edit) in edits {
        let db = database().await;
        let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
        // Another one is gone as well: the repair is of the whole entity.
        remove_row(&db, "A", lost).await;
        remove_row(&db, "A", "city_Oslo_0001").await;
        edit(&mut stored);
        let before = warnings();
        db.save(&mut stored).await.expect("saved");
        assert!(warnings() > before, "{lost}: not reported");
        let missing = db.verify().await.expect("verify runs").violations;
        assert!(missing.iter().all(|violation| violation.key.row == "city_Oslo_0001"), "{missing:?}");
        stored.city = "Rome".into();
        db.save(&mut stored).await.expect("saved");
        assert_clean(&db).await;
    }
}

#[tokio::test]
async fn an_entity_whose_index_rows_are_gone_can_be_deleted_and_exchanged() {
    let db = database().await;
    let stored = db.insert(&member("A", 1)).await.expect("inserted");
    for lost in ["name_Jones_0001", "email_m1@x", "city_Oslo_0001", "active_0001"] {
        remove_row(&db, "A", lost).await;
    }
    db.delete(stored).await.expect("deleted");
    assert_eq!(db.verify().await.expect("verify runs").rows, 0);
    let mut one = db.insert(&member("A", 1)).await.expect("inserted");
    let mut two = db.insert(&member("A", 2)).await.expect("inserted");
    remove_row(&db, "A", "email_m1@x").await;
    (one.email, two.email) = (two.email.clone(), one.email.clone());
    let mut batch = db.batch(Member::in_partition("A"));
    batch.save(&mut one).save(&mut two);
    batch.commit().await.expect("the exchange repairs it");
    assert_clean(&db).await;
}

#[tokio::test]
async fn wrong_content_and_a_wrong_owner_are_written_over() {
    let db = database().await;
    let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
    let wrong = |owner: &str| {
        properties([("EntityType", "Member.by_email@3".into()), ("_rk", owner.into()), ("FirstName", "?".into())])
    };
    for owner in ["m_0001", "m_0777"] {
        plant_row(&db, "A", "email_m1@x", wrong(owner)).await;
        stored.age += 1;
        db.save(&mut stored).await.expect("saved");
        assert_clean(&db).await;
    }
    plant_row(&db, "A", "email_m1@x", wrong("m_0777")).await;
    stored.email = Some("other@x".into());
    db.save(&mut stored).await.expect("saved");
    assert!(row(&db, "A", "email_m1@x").await.is_none());
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_violation_names_the_index_and_the_owner() {
    let db = database().await;
    db.insert(&member("A", 1)).await.expect("inserted");
    let mut two = db.insert(&member("A", 2)).await.expect("inserted");
    two.email = Some("M1@X".into());
    let answers = [
        db.insert(&Member { email: Some("m1@X".into()), ..member("A", 3) }).await.map(drop),
        db.upsert(&Member { email: Some("m1@X".into()), ..member("A", 3) }).await.map(drop),
        db.upsert(&Member { email: Some("m1@X".into()), ..member("A", 2) }).await.map(drop),
        db.save(&mut two).await,
        db.update(Member::find().club("A").id(2), |member| Ok(member.email = Some("m1@x".into()))).await.map(drop),
    ];
    for answer in answers {
        let error = answer.expect_err("taken");
        let ErrorKind::UniqueViolation { index, owner } = error.kind() else { panic!("{error:?}") };
        assert_eq!((*index, owner.as_ref().map(|owner| owner.row.as_str())), ("by_email", Some("m_0001")));
        assert_eq!((error.entity(), error.key().map(|key| key.row.as_str())), (Some("Member"), Some("email_m1@x")));
    }
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_dangling_unique_row_blocks_and_is_named() {
    let db = database().await;
    let gone = db.insert(&account("A", 1)).await.expect("inserted");
    remove_row(&db, "A", &gone.key().row).await;
    let error = db.insert(&Account { badge: Some(1), ..account("A", 2) }).await.expect_err("blocked");
    let ErrorKind::UniqueViolation { owner: Some(owner), .. } = error.kind() else { panic!("{error:?}") };
    assert_eq!(owner.row, "a_0001");
    let violations = db.verify().await.expect("verify runs").violations;
    assert_eq!(violations.len(), 1, "{violations:?}");
    db.insert(&account("A", 1)).await.expect("the entity that it names takes it over");
    assert_clean(&db).await;
}

#[tokio::test]
async fn what_another_program_put_at_a_key_blocks_writes_there() {
    let db = database().await;
    plant_row(&db, "A", "m_0001", properties([("Text", "theirs".into())])).await;
    for answer in [db.insert(&member("A", 1)).await, db.upsert(&member("A", 1)).await] {
        assert_eq!(*answer.expect_err("theirs").kind(), ErrorKind::AlreadyExists);
    }
    assert!(Member::find().club("A").id(1).one(&db).await.expect("read").is_none());
    assert_eq!(db.verify().await.expect("verify runs").foreign, 1);
}

/// One of them lost a row, so that all that they write is read before it is tried again.
#[tokio::test]
async fn a_value_that_is_passed_on_in_a_batch_and_let_go_is_free() {
    for is_lost in [false, true] {
        let db = database().await;
        let mut first = db.insert(&Member { email: Some("e1@x".into()), ..member("A", 1) }).await.expect("inserted");
        let mut second = db.insert(&Member { email: Some("e3@x".into()), ..member("A", 2) }).await.expect("inserted");
        if is_lost {
            remove_row(&db, "A", "name_Jones_0001").await;
        }
        let gone = second.clone();
        (first.email, second.email) = (Some("e2@x".into()), Some("e1@x".into()));
        first.last_name = "Smith".into();
        let mut batch = db.batch(Member::in_partition("A"));
        batch.save(&mut first).save(&mut second).delete(gone);
        batch.commit().await.expect("committed");
        assert_clean(&db).await;
        db.insert(&Member { email: Some("e1@x".into()), ..member("A", 9) }).await.expect("nobody has it");
        assert_clean(&db).await;
    }
}
