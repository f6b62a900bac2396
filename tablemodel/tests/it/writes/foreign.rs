//! Rows of types that the model does not know: written one by one, under the state that was read, and what is told where that fails.

use tablemodel::{
    Consistency, ErrorKind, Properties, RowKey, Value,
    prelude::*,
    store::{StoreErrorKind, fault::Call},
    testing::{Fault, Script, TestDatabase},
};

use super::{
    Club, Member, TABLE, account, assert_clean, database, image, member, properties, row as stored, stored_member,
};

/// What a badge says, in the words of another program.
pub(super) fn badge(colour: &'static str) -> Properties {
    properties([("EntityType", "Badge".into()), ("Colour", colour.into()), ("_id", 7_i64.into())])
}

pub(super) fn key(row: &str) -> RowKey {
    RowKey::new("A", row)
}

/// The rows of partition `A` that are of no type of the model.
async fn others(db: &Database) -> Vec<Row> {
    let rows = Club::rows(Member::in_partition("A")).all(db).await.expect("read");
    let other = |row| match row {
        Club::Other(row) => Some(row),
        Club::Member(_) | Club::Account(_) => None,
    };
    rows.into_iter().filter_map(other).collect()
}

async fn foreign(db: &Database) -> u64 {
    db.verify().await.expect("verify runs").foreign
}

#[tokio::test]
async fn a_row_of_an_unknown_type_is_read_among_others_changed_written_back_and_deleted() {
    for db in [TestDatabase::new::<Club>().await, TestDatabase::atomic::<Club>().await] {
        let db = db.expect("a database");
        db.insert(&member("A", 1)).await.expect("inserted");
        db.insert(&account("A", 1)).await.expect("inserted");
        let before = image(&db).await;
        let inserted = db.insert_row(TABLE, key("m_0001_badge"), badge("red")).await.expect("inserted");
        let [mut read] = <[Row; 1]>::try_from(others(&db).await).expect("one row");
        assert_eq!(read, inserted, "it is told as it is stored");

        read.properties.insert("Colour", "blue");
        db.replace_row(TABLE, &mut read).await.expect("written back");
        assert_eq!(others(&db).await, [read.clone()], "it is current again");
        read.properties.remove("Colour");
        db.replace_row(TABLE, &mut read).await.expect("written back once more");
        let now = stored(&db, "A", "m_0001_badge").await.expect("there");
        let expected = properties([("EntityType", "Badge".into()), ("_id", 7_i64.into())]);
        assert_eq!(
            (&now.properties, &now.etag),
            (&expected, &read.etag),
            "what it lacks is gone, and nothing is added"
        );
        assert_eq!(foreign(&db).await, 1);
        assert_clean(&db).await;

        db.delete_row(TABLE, &read).await.expect("deleted");
        assert_eq!(others(&db).await, []);
        assert_eq!(image(&db).await, before, "the entities are as they were");
    }
}

#[tokio::test]
async fn a_row_without_a_type_is_written_too() {
    let db = database().await;
    let untyped = properties([("Colour", "red".into())]);
    let mut row = db.insert_row(TABLE, key("z_1"), untyped).await.expect("inserted");
    row.properties.insert("EntityType", "Badge@12");
    db.replace_row(TABLE, &mut row).await.expect("written back under a type of nobody's");
    assert_eq!(others(&db).await, [row.clone()]);
    db.delete_row(TABLE, &row).await.expect("deleted");
}

#[tokio::test]
async fn a_row_is_written_only_as_it_was_read() {
    let db = database().await;
    let mut first = db.insert_row(TABLE, key("z_1"), badge("red")).await.expect("inserted");
    let error = db.insert_row(TABLE, key("z_1"), badge("blue")).await.expect_err("there");
    assert_eq!((error.kind(), error.key()), (&ErrorKind::AlreadyExists, Some(&key("z_1"))));
    let mut second = first.clone();
    second.properties.insert("Colour", "blue");
    db.replace_row(TABLE, &mut second).await.expect("written");
    let as_read = first.clone();
    first.properties.insert("Colour", "green");
    for error in [
        db.replace_row(TABLE, &mut first).await.expect_err("changed since"),
        db.delete_row(TABLE, &first).await.expect_err("changed since"),
    ] {
        let ErrorKind::Conflict { current: Some(current) } = error.kind() else { panic!("{error:?}") };
        assert_eq!(**current, second);
    }
    assert_eq!(first.etag, as_read.etag, "it is as the caller left it");
    db.delete_row(TABLE, &second).await.expect("deleted");
    for error in [
        db.replace_row(TABLE, &mut second).await.expect_err("gone"),
        db.delete_row(TABLE, &second).await.expect_err("gone"),
    ] {
        assert_eq!((error.kind(), error.key()), (&ErrorKind::NotFound, Some(&key("z_1"))));
    }
}

/// One that another writes between the look at the row and the write.
#[tokio::test]
async fn a_row_that_changes_after_it_was_looked_at_is_a_conflict() {
    let db = database().await;
    let mut read = db.insert_row(TABLE, key("z_1"), badge("red")).await.expect("inserted");
    let refused = || Script::new().at(1, Fault::error(StoreErrorKind::ConditionNotMet));
    db.fail(refused());
    let error = db.replace_row(TABLE, &mut read).await.expect_err("changed meanwhile");
    assert!(matches!(error.kind(), ErrorKind::Conflict { current: Some(_) }), "{error:?}");
    db.fail(refused().at(2, Fault::error(StoreErrorKind::Corrupt)));
    let error = db.delete_row(TABLE, &read).await.expect_err("changed meanwhile");
    assert_eq!(*error.kind(), ErrorKind::Conflict { current: None }, "what it is now cannot be read");
    db.fail(Script::new().at(1, Fault::error(StoreErrorKind::RowNotFound)));
    let error = db.delete_row(TABLE, &read).await.expect_err("gone meanwhile");
    assert_eq!(*error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn after_a_lost_reply_the_answer_says_no_more_than_what_is_known() {
    let db = database().await;
    db.fail(Script::new().at(0, Fault::LostReply));
    let error = db.insert_row(TABLE, key("z_1"), badge("red")).await.expect_err("whose the row is, is not known");
    assert_eq!((error.kind(), error.key()), (&ErrorKind::OutcomeUnknown, Some(&key("z_1"))));
    let mut read = stored(&db, "A", "z_1").await.expect("it was carried out");

    let etag = read.etag.clone();
    read.properties.insert("Colour", "blue");
    db.fail(Script::new().at(1, Fault::LostReply));
    let error = db.replace_row(TABLE, &mut read).await.expect_err("who has written it is not known");
    assert_eq!((error.kind(), &read.etag), (&ErrorKind::OutcomeUnknown, &etag));

    let read = stored(&db, "A", "z_1").await.expect("there");
    assert_eq!(read.properties, badge("blue"), "it was carried out");
    db.fail(Script::new().at(1, Fault::LostReply));
    let error = db.delete_row(TABLE, &read).await.expect_err("who has deleted it is not known");
    assert_eq!(*error.kind(), ErrorKind::OutcomeUnknown);
    assert!(stored(&db, "A", "z_1").await.is_none(), "it was carried out");
}

#[tokio::test]
async fn a_write_that_did_not_arrive_is_sent_again() {
    let db = database().await;
    let lost = |call| Script::new().at(call, Fault::error(StoreErrorKind::OutcomeUnknown));
    db.fail(lost(0).at(1, Fault::error(StoreErrorKind::Unavailable)));
    let mut row = db.insert_row(TABLE, key("z_1"), badge("red")).await.expect("inserted by the third attempt");
    db.fail(lost(1));
    db.replace_row(TABLE, &mut row).await.expect("written by the second attempt");
    db.fail(lost(1));
    db.delete_row(TABLE, &row).await.expect("deleted by the second attempt");
    db.fail(|_: &Call<'_>| Some(Fault::error(StoreErrorKind::Unavailable)));
    let error = db.insert_row(TABLE, key("z_1"), badge("red")).await.expect_err("the store is busy");
    assert!(*error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error:?}");
    db.fail(Script::new());
    assert!(stored(&db, "A", "z_1").await.is_none(), "nothing was written");
}

#[tokio::test]
async fn each_call_costs_what_it_says() {
    let db = database().await;
    db.forget_calls();
    let mut row = db.insert_row(TABLE, key("z_1"), badge("red")).await.expect("inserted");
    assert_eq!(db.tally().to_string(), "1 commit of 1 operation, 0 scans");
    db.forget_calls();
    db.replace_row(TABLE, &mut row).await.expect("written");
    assert_eq!(db.tally().to_string(), "1 point read, 1 commit of 1 operation, 0 scans");
    db.forget_calls();
    db.delete_row(TABLE, &row).await.expect("deleted");
    assert_eq!(db.tally().to_string(), "1 point read, 1 commit of 1 operation, 0 scans");
}

#[tokio::test]
async fn a_read_only_database_writes_no_row() {
    let db = database().await;
    let mut row = db.insert_row(TABLE, key("z_1"), badge("red")).await.expect("inserted");
    let before = image(&db).await;
    let builder = Database::builder().read_only().consistency(Consistency::Azure);
    let reader = builder.with_store::<Club>(db.store()).await.expect("opened");
    for error in [
        reader.insert_row(TABLE, key("z_2"), badge("red")).await.expect_err("read-only"),
        reader.replace_row(TABLE, &mut row).await.expect_err("read-only"),
        reader.delete_row(TABLE, &row).await.expect_err("read-only"),
    ] {
        assert_eq!(*error.kind(), ErrorKind::Denied, "{error}");
    }
    assert_eq!(image(&db).await, before);
}

#[tokio::test]
async fn tables_are_named_as_the_model_has_them() {
    let db = Database::builder().prefix("shop7").in_memory::<Club>().await.expect("opened");
    db.ensure_tables().await.expect("ensured");
    let row = db.insert_row("CLUB", key("z_1"), badge("red")).await.expect("in letters of whatever case");
    assert_eq!(db.store().get("shop7Club", &key("z_1")).await.expect("read"), Some(row.clone()));
    let error = db.insert_row("shop7Club", key("z_2"), badge("red")).await.expect_err("no table of the model");
    assert_eq!(*error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("`Club`"), "{error}");
    db.delete_row(TABLE, &row).await.expect("deleted");
}

#[tokio::test]
async fn a_store_without_the_tables_is_told() {
    let db = Database::in_memory::<Club>().await.expect("opened");
    let error = db.insert_row(TABLE, key("z_1"), badge("red")).await.expect_err("no table");
    assert_eq!(*error.kind(), ErrorKind::NotFound, "{error}");
}

#[tokio::test]
async fn an_entity_whose_key_is_taken_by_such_a_row_is_refused_and_the_row_stays() {
    let db = database().await;
    let row = db.insert_row(TABLE, key("m_0009"), badge("red")).await.expect("the key is free");
    for refused in [db.insert(&member("A", 9)).await, db.upsert(&member("A", 9)).await] {
        assert_eq!(*refused.expect_err("taken").kind(), ErrorKind::AlreadyExists);
    }
    assert_eq!(stored(&db, "A", "m_0009").await, Some(row.clone()));
    assert!(Member::find().club("A").id(9).one(&db).await.expect("read").is_none());
    assert_clean(&db).await;
    db.delete_row(TABLE, &row).await.expect("deleted");
    db.insert(&member("A", 9)).await.expect("the key is free again");
    let error = db.insert_row(TABLE, key("m_0009"), badge("red")).await.expect_err("an entity has the key");
    assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(stored_member(&db, "A", 9).await.id, 9);
}

#[tokio::test]
async fn what_cannot_be_stored_is_told_before_anything_is_asked() {
    let db = database().await;
    let many = (0..253).map(|number| (format!("P{number}"), 1_i32)).collect::<Properties>();
    let long = properties([("Text", Value::String("x".repeat(32 * 1024 + 1)))]);
    let cases = [
        (key("a/b"), badge("red"), ErrorKind::Invalid),
        (RowKey::new("a#b", "z_1"), badge("red"), ErrorKind::Invalid),
        (key(&"x".repeat(1_025)), badge("red"), ErrorKind::KeyTooLong),
        (RowKey::new("x".repeat(1_025), "z_1"), badge("red"), ErrorKind::KeyTooLong),
        (key("z_1"), many, ErrorKind::TooLarge),
        (key("z_1"), long, ErrorKind::TooLarge),
        (key("z_1"), properties([("no-name", 1.into())]), ErrorKind::Invalid),
        (key("z_1"), properties([("Timestamp", 1.into())]), ErrorKind::Invalid),
    ];
    let mut there = db.insert_row(TABLE, key("z_0"), badge("red")).await.expect("inserted");
    let before = image(&db).await;
    db.forget_calls();
    for (at, given, kind) in cases {
        let error = db.insert_row(TABLE, at.clone(), given.clone()).await.expect_err("cannot be stored");
        assert_eq!((error.kind(), error.key()), (&kind, Some(&at)));
        (there.key, there.properties) = (at, given);
        assert_eq!(*db.replace_row(TABLE, &mut there).await.expect_err("cannot be stored").kind(), kind);
    }
    assert_eq!(db.calls(), []);
    assert_eq!(image(&db).await, before);
}
