//! What a conflict knows: the entity as it is now, to be changed and saved without a further read; and never another entity.

use tablemodel::{Error, ErrorKind, prelude::*, testing::TestDatabase};

use crate::{
    blob, upgrade, wide,
    writes::{
        Account, Member, account, assert_clean, database, member, plant_row, properties, stored_account, stored_member,
    },
};

/// The member 1 of club A, as it was before another changed it.
async fn stale(db: &TestDatabase) -> Stored<Member> {
    db.insert(&member("A", 1)).await.expect("inserted");
    let mut stale = stored_member(db, "A", 1).await;
    db.update(Member::find().club("A").id(1), |member| Ok(member.points += 1)).await.expect("updated");
    stale.city = "Rome".into();
    stale
}

#[tokio::test]
async fn a_conflict_gives_the_entity_as_it_is_to_be_changed_and_saved_without_a_read() {
    let db = database().await;
    let mut stale = stale(&db).await;
    let error = db.save(&mut stale).await.expect_err("changed meanwhile");
    let there = stored_member(&db, "A", 1).await;
    db.forget_calls();
    let mut current = error.current::<Member>().expect("readable").expect("a member");
    assert_eq!((&*current, current.etag(), current.key()), (&*there, there.etag(), there.key()));
    current.city = "Rome".into();
    db.save(&mut current).await.expect("nobody changed it since");
    assert_eq!((db.tally().point_reads, db.tally().range_queries, db.tally().commits), (0, 0, 1));
    let now = stored_member(&db, "A", 1).await;
    assert_eq!((now.city.as_str(), now.points), ("Rome", there.points));
    assert_clean(&db).await;
    current.city = "Bonn".into();
    db.save(&mut current).await.expect("current after its save, as any");
}

#[tokio::test]
async fn a_batch_and_a_delete_give_it_too() {
    let db = database().await;
    let mut stale = stale(&db).await;
    let old = stale.clone();
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&account("A", 1)).save(&mut stale);
    let of_batch = batch.commit().await.expect_err("changed meanwhile");
    assert_eq!(of_batch.operation(), Some(1), "{of_batch}");
    for error in [of_batch, db.delete(old).await.expect_err("changed meanwhile")] {
        let current = error.current::<Member>().expect("readable").expect("a member");
        assert_eq!(*current, *stored_member(&db, "A", 1).await, "{error}");
        assert!(error.current::<Account>().expect("no error").is_none(), "{error}");
    }
}

#[tokio::test]
async fn an_error_that_is_no_conflict_or_knows_no_row_gives_none() {
    let db = database().await;
    let mut stale = stale(&db).await;
    let exists = db.insert(&member("A", 1)).await.expect_err("there");
    db.delete(stored_member(&db, "A", 1).await).await.expect("deleted");
    let gone = db.save(&mut stale).await.expect_err("gone");
    let unknown = Error::new(ErrorKind::Conflict { current: None }, "unknown");
    for error in [exists, gone, unknown] {
        assert!(error.current::<Member>().expect("no error").is_none(), "{error}");
    }
}

#[tokio::test]
async fn a_row_of_another_type_at_the_key_is_given_as_neither() {
    let db = database().await;
    let mut stale = stale(&db).await;
    let other = properties([("EntityType", "Account@1".into()), ("_seq", 1_i64.into()), ("Balance", 5_i64.into())]);
    plant_row(&db, "A", "m_0001", other).await;
    let error = db.save(&mut stale).await.expect_err("another's");
    assert!(matches!(error.kind(), ErrorKind::Conflict { current: Some(_) }), "{error:?}");
    assert!(error.current::<Member>().expect("no error").is_none(), "{error}");
    assert!(error.current::<Account>().expect("no error").is_none(), "{error}");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_told_as_by_a_read() {
    let db = database().await;
    db.insert(&account("A", 1)).await.expect("inserted");
    let mut stale = stored_account(&db, "A", 1).await;
    let mut properties = stale.row().properties.clone();
    properties.insert("Balance", "much");
    plant_row(&db, "A", "a_0001", properties).await;
    stale.balance = 7;
    let error = db.save(&mut stale).await.expect_err("changed meanwhile");
    let unread = error.current::<Account>().expect_err("no balance");
    assert_eq!((unread.kind(), unread.field()), (&ErrorKind::Corrupt, Some("balance")), "{unread}");
}

#[tokio::test]
async fn an_entity_of_several_rows_is_left_to_a_read() {
    let db = wide::database().await;
    for (id, chars, is_one_row) in [(1_u32, 100, true), (2, 700_000, false)] {
        let path = || wide::Note::find().department("Sales").id(id);
        db.insert(&wide::note(id, chars)).await.expect("inserted");
        let mut stale = path().one(&db).await.expect("readable").expect("there");
        db.patch(path(), wide::Note::READS.set(1)).await.expect("patched");
        stale.reads = 5;
        let error = db.save(&mut stale).await.expect_err("changed meanwhile");
        assert!(matches!(error.kind(), ErrorKind::Conflict { current: Some(_) }), "{error:?}");
        let current = error.current::<wide::Note>().expect("no error");
        assert_eq!(current.is_some(), is_one_row, "{chars}");
        let mut current = match current {
            Some(current) => current,
            None => db.get(error.key().expect("named")).await.expect("readable").expect("there"),
        };
        assert_eq!((current.text.as_str(), current.reads), (stale.text.as_str(), 1));
        current.reads = 5;
        db.save(&mut current).await.expect("nobody changed it since");
    }
    wide::assert_clean(&db).await;
}

#[tokio::test]
async fn what_an_older_program_wrote_is_given_as_this_version_has_it() {
    use crate::upgrade::{v1, v3};
    for mode in upgrade::MODES {
        let all = upgrade::programs(mode).await;
        all.v1.insert(&upgrade::person(1).v1()).await.expect("inserted");
        let path = || v3::Employee::find().department("Sales").id(1);
        let mut stale = path().one(&all.v3).await.expect("readable").expect("there");
        let old = v1::Employee::find().department("Sales").id(1);
        all.v1.update(old, |one| Ok(one.note = Some("y".into()))).await.expect("updated");
        stale.years = 31;
        let error = all.v3.save(&mut stale).await.expect_err("changed meanwhile");
        let mut current = error.current::<v3::Employee>().expect("readable").expect("an employee");
        assert_eq!((current.version(), current.skills.as_slice()), (Some(1), &["y".to_owned()][..]), "{mode:?}");
        assert_eq!(current.email, "e1@x", "{mode:?}");
        current.years = 31;
        all.v3.save(&mut current).await.expect("nobody changed it since");
        let now = path().one(&all.v3).await.expect("readable").expect("there");
        assert_eq!((now.version(), now.years, &now.skills), (Some(3), 31, &current.skills), "{mode:?}");
    }
}

#[tokio::test]
async fn a_blob_of_it_is_a_handle_as_after_any_read() {
    let db = TestDatabase::new::<blob::People>().await.expect("opened");
    let large = vec![7_u8; 100];
    db.insert(&blob::person("jo", &large)).await.expect("inserted");
    let path = || blob::Person::find().team("A").name("jo");
    let mut stale = path().one(&db).await.expect("readable").expect("there");
    db.update(path(), |one| Ok(one.age = 40)).await.expect("updated");
    stale.age = 31;
    let error = db.save(&mut stale).await.expect_err("changed meanwhile");
    let mut current = error.current::<blob::Person>().expect("readable").expect("a person");
    assert_eq!((current.age, current.portrait.bytes(&db).await.expect("there").to_vec()), (40, large.clone()));
    current.age = 41;
    db.save(&mut current).await.expect("nobody changed it since");
    let now = path().one(&db).await.expect("readable").expect("there");
    assert_eq!((now.age, now.portrait.bytes(&db).await.expect("there").to_vec()), (41, large));
}
