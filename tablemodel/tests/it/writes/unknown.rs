//! Properties and versions that this program does not know: the first survive every write, the second are never touched.
//!
//! A newer program is played by writes through the port.

use tablemodel::{Error, ErrorKind, Properties, Row, Value, prelude::*, testing::TestDatabase};

use super::{
    Account, Member, account, assert_clean, database, image, member, plant_row, row, stored_account, stored_member,
};

/// What FORMAT.md keeps for entities that expire: a name that this release does not own, and keeps therefore.
const RESERVED: (&str, Value) = ("_until", Value::DateTime(tablemodel::DateTime::UNIX_EPOCH));

/// Adds properties to the rows of an entity, as a newer program would have written them.
async fn add_unknown(db: &TestDatabase, rows: &[&str]) {
    for key in rows {
        let mut properties = row(db, "A", key).await.expect("there").properties;
        properties.insert("Colour", "red");
        properties.insert("_newer", 7_i64);
        properties.insert(RESERVED.0, RESERVED.1);
        plant_row(db, "A", key, properties).await;
    }
}

fn has_unknown(row: Option<Row>) -> bool {
    let properties = row.expect("there").properties;
    properties.get("Colour").map(|value| value.to_value()) == Some("red".into())
        && properties.get("_newer").map(|value| value.to_value()) == Some(Value::Int64(7))
        && properties.get(RESERVED.0).map(|value| value.to_value()) == Some(RESERVED.1)
}

#[tokio::test]
async fn unknown_properties_survive_every_write() {
    let db = database().await;
    db.insert(&member("A", 1)).await.expect("inserted");
    add_unknown(&db, &["m_0001", "name_Jones_0001"]).await;
    assert_clean(&db).await;
    let path = || Member::find().club("A").id(1);
    let mut stored = stored_member(&db, "A", 1).await;
    stored.age = 1;
    db.save(&mut stored).await.expect("saved");
    stored.last_name = "Smith".into();
    db.save(&mut stored).await.expect("saved what it left itself");
    assert!(has_unknown(row(&db, "A", "m_0001").await) && has_unknown(row(&db, "A", "name_Smith_0001").await));
    db.update(path(), |member| Ok(member.note = Some("n".into()))).await.expect("updated");
    db.upsert(&member("A", 1)).await.expect("upserted");
    assert!(has_unknown(row(&db, "A", "m_0001").await) && has_unknown(row(&db, "A", "name_Jones_0001").await));
    let mut stored = stored_member(&db, "A", 1).await;
    stored.id = 2;
    let mut batch = db.batch(Member::in_partition("A"));
    batch.save(&mut stored);
    batch.commit().await.expect("moved");
    assert!(has_unknown(row(&db, "A", "m_0002").await) && has_unknown(row(&db, "A", "name_Jones_0002").await));
    assert_clean(&db).await;
    db.insert(&account("A", 1)).await.expect("inserted");
    add_unknown(&db, &["a_0001"]).await;
    for memo in [Some("m".to_owned()), None] {
        db.patch(Account::find().club("A").id(1), Account::MEMO.set(memo)).await.expect("patched");
        assert!(has_unknown(row(&db, "A", "a_0001").await));
    }
}

#[tokio::test]
async fn a_property_that_became_none_goes() {
    let db = database().await;
    let mut stored = db.insert(&Member { note: Some("n".into()), ..member("A", 1) }).await.expect("inserted");
    (stored.note, stored.email) = (None, None);
    db.save(&mut stored).await.expect("saved");
    let properties = row(&db, "A", "m_0001").await.expect("there").properties;
    assert!(properties.get("Note").is_none() && properties.get("Email").is_none());
    db.insert(&Account { memo: Some("m".into()), ..account("A", 1) }).await.expect("inserted");
    let patch = Account::MEMO.set("n").and(Account::MEMO.set(None));
    db.patch(Account::find().club("A").id(1), patch).await.expect("patched");
    assert_eq!(stored_account(&db, "A", 1).await.memo, None, "of two settings the later counts");
    let patch = Account::MEMO.set(None).and(Account::MEMO.set("n"));
    db.patch(Account::find().club("A").id(1), patch).await.expect("patched");
    assert_eq!(stored_account(&db, "A", 1).await.memo.as_deref(), Some("n"));
}

/// The row as a program of this version would have written it.
async fn of_version(db: &TestDatabase, key: &str, discriminator: &str) {
    let mut properties: Properties = row(db, "A", key).await.expect("there").properties;
    properties.insert("EntityType", discriminator);
    plant_row(db, "A", key, properties).await;
}

fn is_unknown<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let error = answer.expect_err("of another version");
    assert_eq!(*error.kind(), ErrorKind::UnknownVersion, "{error:?}");
}

#[tokio::test]
async fn rows_of_another_version_are_neither_read_nor_written() {
    for version in [2, 4] {
        let db = database().await;
        let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
        of_version(&db, "m_0001", &format!("Member@{version}")).await;
        let before = image(&db).await;
        let path = || Member::find().club("A").id(1);
        is_unknown(path().one(&db).await);
        is_unknown(Member::find().club("A").all(&db).await);
        is_unknown(db.upsert(&member("A", 1)).await);
        is_unknown(db.update(path(), |_| Ok(())).await);
        let mut batch = db.batch(Member::in_partition("A"));
        batch.insert(&member("A", 2)).upsert(&member("A", 1));
        let error = batch.commit().await.expect_err("of another version");
        assert_eq!((error.kind(), error.operation()), (&ErrorKind::UnknownVersion, Some(1)));
        let error = db.save(&mut stored).await.expect_err("it changed since it was read");
        assert!(matches!(error.kind(), ErrorKind::Conflict { .. }), "{error:?}");
        let error = db.delete(stored).await.expect_err("it changed since it was read");
        assert!(matches!(error.kind(), ErrorKind::Conflict { .. }), "{error:?}");
        let error = db.insert(&member("A", 1)).await.expect_err("it exists");
        assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(image(&db).await, before, "nothing was written");
        let violations = db.verify().await.expect("verify runs").violations;
        assert_eq!(violations.len(), 1, "the entity is not known, so its rows are not judged: {violations:?}");
    }
}

#[tokio::test]
async fn a_patch_of_another_version_is_refused() {
    let db = database().await;
    db.insert(&account("A", 1)).await.expect("inserted");
    of_version(&db, "a_0001", "Account@2").await;
    let before = image(&db).await;
    is_unknown(db.patch(Account::find().club("A").id(1), Account::BALANCE.set(1)).await);
    assert_eq!(image(&db).await, before);
}
