//! Batches: limits before any I/O, errors that name the change, nothing half done, and several changes of one row.
//!
//! What random batches leave is tested beside the model in `sequences`.

use tablemodel::{Error, ErrorKind, prelude::*};

use super::{Account, Member, account, assert_clean, database, image, member, row, stored_account, stored_member};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Elsewhere", partition = "{club}", row = "s_{id:04}")]
struct Stranger {
    club: String,
    id: u32,
}

#[tokio::test]
async fn a_batch_holds_100_rows_and_derived_ones_count() {
    let db = database().await;
    let plain = |id| Account { badge: None, ..account("A", id) };
    let mut full = db.batch(Account::in_partition("A"));
    for id in 0..100 {
        full.insert(&plain(id));
    }
    full.commit().await.expect("100 rows");
    db.forget_calls();
    for (entities, badges) in [(101, 0), (50, 51), (99, 2)] {
        let mut over = db.batch(Account::in_partition("B"));
        for id in 0..entities {
            over.insert(&Account { badge: (id < badges).then_some(id), ..account("B", id) });
        }
        let rows = entities + badges.min(entities);
        let answer = over.commit().await;
        match rows > 100 {
            true => assert_eq!(*answer.expect_err("over 100 rows").kind(), ErrorKind::TooMany),
            false => answer.expect("100 rows"),
        }
    }
    assert_eq!(db.tally().operations, 100, "50 accounts with badges");
}

#[tokio::test]
async fn more_than_100_entities_are_refused_before_any_of_them_is_read() {
    let db = database().await;
    let mut over = db.batch(Account::in_partition("A"));
    for id in 0..101 {
        over.upsert(&account("A", id));
    }
    assert_eq!(*over.commit().await.expect_err("over 100").kind(), ErrorKind::TooMany);
    assert_eq!(db.calls(), []);
}

#[tokio::test]
async fn a_batch_over_4_mib_is_refused_before_any_call() {
    let db = database().await;
    for (letter, fits) in [("x", true), ("\u{F6}", false)] {
        db.forget_calls();
        let mut batch = db.batch(Account::in_partition("A"));
        for id in 0..100 {
            batch.insert(&Account { memo: Some(letter.repeat(32_000)), badge: None, ..account("A", id) });
        }
        match batch.commit().await {
            Ok(()) => assert!(fits),
            Err(error) => {
                assert!(!fits && *error.kind() == ErrorKind::TooLarge, "{error:?}");
                assert_eq!(db.calls(), []);
            }
        }
    }
}

#[tokio::test]
async fn another_partition_table_or_model_is_refused_before_any_call() {
    let db = database().await;
    let refused = async |batch: tablemodel::WriteBatch<'_>, kind: ErrorKind, operation| {
        let error = batch.commit().await.expect_err("refused");
        assert_eq!((error.kind(), error.operation()), (&kind, operation), "{error}");
        assert_eq!(db.calls(), []);
    };
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&member("A", 1)).insert(&member("B", 1)).insert(&member("A", 2));
    refused(batch, ErrorKind::WrongPartition, Some(1)).await;
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&Stranger { club: "A".into(), id: 1 });
    refused(batch, ErrorKind::WrongPartition, Some(0)).await;
    let mut batch = db.batch(Stranger::in_partition("A"));
    batch.insert(&Stranger { club: "A".into(), id: 1 });
    refused(batch, ErrorKind::Unsupported, None).await;
    let error = db.insert(&Stranger { club: "A".into(), id: 1 }).await.expect_err("not in the model");
    assert_eq!(*error.kind(), ErrorKind::Unsupported);
    assert_eq!(db.calls(), []);
}

#[tokio::test]
async fn a_failing_batch_names_the_change_and_writes_nothing() {
    let db = database().await;
    for id in [1, 2] {
        db.insert(&member("A", id)).await.expect("inserted");
    }
    let mut stale = stored_member(&db, "A", 1).await;
    db.update(Member::find().club("A").id(1), |member| Ok(member.age += 1)).await.expect("updated");
    let before = image(&db).await;
    let check = async |answer: Result<(), Error>, operation, fits: fn(&ErrorKind) -> bool| {
        let error = answer.expect_err("refused");
        assert!(fits(error.kind()), "{error:?}");
        assert_eq!(error.operation(), Some(operation), "{error:?}");
        assert_eq!(image(&db).await, before);
    };
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&member("A", 3)).insert(&member("A", 2));
    check(batch.commit().await, 1, |kind| matches!(kind, ErrorKind::AlreadyExists)).await;
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&account("A", 1)).insert(&Member { email: Some("M2@X".into()), ..member("A", 3) });
    check(batch.commit().await, 1, |kind| {
        matches!(kind, ErrorKind::UniqueViolation { index: "by_email", owner: Some(owner) } if owner.row == "m_0002")
    })
    .await;
    let old = stale.clone();
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&account("A", 1)).insert(&account("A", 2)).save(&mut stale);
    check(batch.commit().await, 2, |kind| matches!(kind, ErrorKind::Conflict { current: Some(_) })).await;
    assert_eq!(stale.etag(), old.etag(), "what could not be saved is as the caller left it");
    let mut batch = db.batch(Member::in_partition("A"));
    batch.patch(Account::find().club("A").id(9), Account::BALANCE.set(1));
    check(batch.commit().await, 0, |kind| matches!(kind, ErrorKind::NotFound)).await;
    let mut batch = db.batch(Member::in_partition("A"));
    let twin = Member { email: Some("new@x".into()), ..member("A", 8) };
    batch.insert(&twin).insert(&Member { id: 9, ..twin.clone() });
    check(batch.commit().await, 1, |kind| matches!(kind, ErrorKind::UniqueViolation { index: "by_email", .. })).await;
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&member("A", 3)).insert(&member("A", 3));
    check(batch.commit().await, 1, |kind| matches!(kind, ErrorKind::AlreadyExists)).await;
}

#[tokio::test]
async fn entities_of_several_types_keep_their_own_indexes() {
    // The batch is for the type with one index; the other has six.
    let db = database().await;
    let mut batch = db.batch(Account::in_partition("A"));
    batch.insert(&account("A", 1)).insert(&member("A", 1));
    batch.commit().await.expect("committed");
    assert!(row(&db, "A", "active_0001").await.is_some());
    assert_clean(&db).await;
}

#[tokio::test]
async fn entities_exchange_unique_values_in_one_batch() {
    let db = database().await;
    let emails = async || {
        let mut emails = Vec::new();
        for id in 1..=3 {
            emails.push(stored_member(&db, "A", id).await.email.clone().expect("has one"));
        }
        emails
    };
    for id in 1..=3 {
        db.insert(&member("A", id)).await.expect("inserted");
    }
    for [a, b, c] in [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2]] {
        // In a ring, whatever the order in which the changes are named.
        let before = emails().await;
        let mut stored =
            [stored_member(&db, "A", a).await, stored_member(&db, "A", b).await, stored_member(&db, "A", c).await];
        for stored in &mut stored {
            stored.email = Some(before[stored.id as usize % 3].clone());
        }
        let mut batch = db.batch(Member::in_partition("A"));
        for stored in &mut stored {
            batch.save(stored);
        }
        batch.commit().await.expect("committed");
        assert_eq!(emails().await, [before[1].clone(), before[2].clone(), before[0].clone()]);
        assert_clean(&db).await;
    }
    let (gone, mut heir) = (stored_member(&db, "A", 1).await, stored_member(&db, "A", 2).await);
    heir.email = gone.email.clone();
    let mut batch = db.batch(Member::in_partition("A"));
    batch.save(&mut heir).delete(gone);
    batch.commit().await.expect("the value of one that is deleted");
    assert_clean(&db).await;
}

#[tokio::test]
async fn several_changes_of_one_entity_are_one_write_of_its_row() {
    let db = database().await;
    let mut first = db.insert(&account("A", 1)).await.expect("inserted");
    db.forget_calls();
    let mut second = first.clone();
    first.badge = Some(77);
    second.badge = Some(78);
    let mut batch = db.batch(Account::in_partition("A"));
    batch.save(&mut first).patch(Account::find().club("A").id(1), Account::BALANCE.set(5)).save(&mut second);
    batch.commit().await.expect("committed");
    let current = stored_account(&db, "A", 1).await;
    assert_eq!((current.badge, current.balance), (Some(78), 100), "the last save says it all");
    assert_clean(&db).await;
    first.badge = Some(79);
    let error = db.save(&mut first).await.expect_err("the second save came after it");
    assert!(matches!(error.kind(), ErrorKind::Conflict { .. }), "{error:?}");
    second.badge = Some(80);
    db.save(&mut second).await.expect("it is current");
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_save_that_a_patch_follows_in_the_batch_does_not_undo_it_later() {
    let db = database().await;
    let mut stored = db.insert(&account("A", 1)).await.expect("inserted");
    let mut batch = db.batch(Account::in_partition("A"));
    batch.save(&mut stored).patch(Account::find().club("A").id(1), Account::BALANCE.set(5));
    batch.commit().await.expect("committed");
    stored.badge = Some(9);
    assert!(db.save(&mut stored).await.is_err(), "it does not know the new balance");
    assert_eq!(stored_account(&db, "A", 1).await.balance, 5);
}

#[tokio::test]
async fn what_a_batch_inserts_it_can_go_on_with() {
    let db = database().await;
    let path = || Account::find().club("A").id(1);
    let mut batch = db.batch(Account::in_partition("A"));
    batch.insert(&account("A", 1)).patch(path(), Account::BALANCE.set(5)).upsert(&account("A", 2));
    batch.upsert(&Account { badge: Some(9), ..account("A", 2) });
    batch.commit().await.expect("committed");
    assert_eq!((stored_account(&db, "A", 1).await.balance, stored_account(&db, "A", 2).await.badge), (5, Some(9)));
    let (one, two) = (stored_account(&db, "A", 1).await, stored_account(&db, "A", 2).await);
    let stale = one.clone();
    let mut batch = db.batch(Account::in_partition("A"));
    batch.delete(one).insert(&Account { badge: Some(2), ..account("A", 1) }).delete(two);
    batch.commit().await.expect("committed");
    assert_clean(&db).await;
    let current = stored_account(&db, "A", 1).await;
    let before = image(&db).await;
    let mut old = current.clone();
    let mut batch = db.batch(Account::in_partition("A"));
    batch.delete(current).insert(&account("A", 1)).save(&mut old);
    let error = batch.commit().await.expect_err("what was read is not what the batch inserted");
    assert!(matches!(error.kind(), ErrorKind::Conflict { .. }), "{error:?}");
    let mut batch = db.batch(Account::in_partition("A"));
    batch.delete(stale.clone()).delete(stale);
    assert!(batch.commit().await.is_err());
    assert_eq!(image(&db).await, before);
}

#[tokio::test]
async fn a_move_onto_an_entity_is_refused_even_if_the_batch_deletes_that_later() {
    let db = database().await;
    let mut one = db.insert(&member("A", 1)).await.expect("inserted");
    let two = db.insert(&member("A", 2)).await.expect("inserted");
    one.id = 2;
    let before = image(&db).await;
    let mut batch = db.batch(Member::in_partition("A"));
    batch.save(&mut one).delete(two.clone());
    assert!(batch.commit().await.is_err());
    assert_eq!(image(&db).await, before);
    let mut batch = db.batch(Member::in_partition("A"));
    batch.delete(two).save(&mut one);
    batch.commit().await.expect("in this order it is free");
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_changed_partition_is_refused_before_any_call() {
    let db = database().await;
    let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
    db.forget_calls();
    stored.club = "B".into();
    assert_eq!(*db.save(&mut stored).await.expect_err("moved away").kind(), ErrorKind::KeyChanged);
    let mut batch = db.batch(Member::in_partition("B"));
    batch.save(&mut stored);
    assert_eq!(*batch.commit().await.expect_err("moved away").kind(), ErrorKind::KeyChanged);
    assert_eq!(db.calls(), []);
}

#[tokio::test]
async fn bulk_writes_exchange_nothing_and_lose_nothing() {
    let db = database().await;
    let members: Vec<_> = (0..60).map(|id| member(if id % 2 == 0 { "A" } else { "B" }, id)).collect();
    let report = db.bulk().insert_all(futures_util::stream::iter(members.clone())).await.expect("bulk runs");
    assert_eq!((report.written, report.failed.len()), (60, 0));
    let again = members.iter().cloned().map(|member| Member { age: 1, ..member }).chain([member("C", 1)]);
    let report = db.bulk().insert_all(futures_util::stream::iter(again.clone())).await.expect("bulk runs");
    assert_eq!((report.written, report.failed.len()), (1, 60));
    assert!(report.failed.iter().all(|error| *error.kind() == ErrorKind::AlreadyExists && error.key().is_some()));
    let report = db.bulk().upsert_all(futures_util::stream::iter(again)).await.expect("bulk runs");
    assert_eq!((report.written, report.failed.len()), (61, 0));
    assert_eq!(stored_member(&db, "A", 58).await.age, 1);
    assert_clean(&db).await;
}
