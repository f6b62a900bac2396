//! States of indexes, as the schema table records them: planning obeys, and queries wait.
//!
//! The states are planted through the port, as the program that builds an index will set them.

use tablemodel::{
    ErrorKind, IndexState, RowKey, ValueRef,
    prelude::*,
    store::{Action, Condition},
    testing::TestDatabase,
};

use super::{
    Account, Club, Member, account, assert_clean, database, member, plant, plant_row, properties, row, stored_account,
    stored_member,
};

const STATES: [IndexState; 4] =
    [IndexState::Absent, IndexState::DeleteOnly, IndexState::WriteOnly, IndexState::Readable];

/// Sets the state of an index, and opens the store anew.
async fn set(db: &TestDatabase, entity: &str, index: &str, state: IndexState) -> TestDatabase {
    set_of::<Club>(db, entity, index, state).await
}

/// The same, of another model.
async fn set_of<M: TableModel>(db: &TestDatabase, entity: &str, index: &str, state: IndexState) -> TestDatabase {
    let row = properties([("EntityType", "~index@1".into()), ("_seq", 1_i64.into()), ("State", state.word().into())]);
    plant(db, "tmschema", "s", &format!("index|{entity}|{index}"), Action::InsertOrReplace(row)).await;
    db.reopen::<M>().await.expect("opened")
}

async fn exists(db: &TestDatabase, key: &str) -> bool {
    row(db, "A", key).await.is_some()
}

/// A row of an index that is there already, as it would have been written.
async fn plant_index(db: &TestDatabase, key: &str, kind: &str, owner: &str) {
    let row = properties([("EntityType", kind.into()), ("_rk", owner.into()), ("_seq", 1_i64.into())]);
    plant_row(db, "A", key, row).await;
}

#[tokio::test]
async fn queries_wait_until_an_index_is_readable() {
    for state in STATES {
        let db = set(&database().await, "Member", "by_email", state).await;
        db.insert(&member("A", 1)).await.expect("inserted");
        let path = || Member::by_email().club("A").email("m1@x");
        let answers = [
            path().one(&db).await.map(drop),
            path().exists(&db).await.map(drop),
            Member::by_email().club("A").all(&db).await.map(drop),
            db.update(path(), |_| Ok(())).await.map(drop),
        ];
        for answer in answers {
            match answer {
                Ok(()) => assert_eq!(state, IndexState::Readable),
                Err(error) => {
                    assert_eq!(*error.kind(), ErrorKind::IndexNotReady { index: "by_email" });
                    assert_ne!(state, IndexState::Readable);
                }
            }
        }
        assert_clean(&db).await;
        db.forget_calls();
        let wrong = Member::by_email().club("A/B".repeat(1_000)).all(&db).await.unwrap_err();
        assert_eq!((wrong.kind(), db.calls().len()), (&ErrorKind::KeyTooLong, 0), "values are looked at first");
    }
}

#[tokio::test]
async fn each_state_writes_and_deletes_what_it_says() {
    for state in STATES {
        let db = set(&database().await, "Member", "by_city", state).await;
        let writes = matches!(state, IndexState::WriteOnly | IndexState::Readable);
        let deletes = state != IndexState::Absent;
        let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
        assert_eq!(exists(&db, "city_Oslo_0001").await, writes, "{state:?}: insert");
        // As if it had been written by a program in the next state.
        plant_index(&db, "city_Oslo_0001", "Member.by_city@3", "m_0001").await;
        stored.city = "Rome".into();
        db.save(&mut stored).await.expect("saved");
        assert_eq!(exists(&db, "city_Oslo_0001").await, !deletes, "{state:?}: the old row");
        assert_eq!(exists(&db, "city_Rome_0001").await, writes, "{state:?}: the new row");
        plant_index(&db, "city_Rome_0001", "Member.by_city@3", "m_0001").await;
        db.upsert(&Member { city: "Bern".into(), ..member("A", 1) }).await.expect("upserted");
        assert_eq!(exists(&db, "city_Rome_0001").await, !deletes, "{state:?}: the row that the upsert found");
        plant_index(&db, "city_Bern_0001", "Member.by_city@3", "m_0001").await;
        db.delete(stored_member(&db, "A", 1).await).await.expect("deleted");
        assert_eq!(exists(&db, "city_Bern_0001").await, !deletes, "{state:?}: the last row");
        assert_clean(&db).await;
    }
}

#[tokio::test]
async fn rows_that_a_building_index_lacks_are_no_obstacle() {
    for state in [IndexState::Absent, IndexState::DeleteOnly, IndexState::WriteOnly] {
        let db = database().await;
        db.insert(&member("A", 1)).await.expect("inserted");
        for key in ["city_Oslo_0001", "email_m1@x"] {
            plant(&db, "Club", "A", key, Action::Delete(Condition::Exists)).await;
        }
        let db = set(&set(&db, "Member", "by_city", state).await, "Member", "by_email", state).await;
        assert_clean(&db).await;
        let mut stored = stored_member(&db, "A", 1).await;
        db.save(&mut stored).await.expect("saved, with nothing changed");
        let written = state == IndexState::WriteOnly;
        assert_eq!(exists(&db, "city_Oslo_0001").await, written, "{state:?}: written even if unchanged");
        assert_eq!(exists(&db, "email_m1@x").await, written, "{state:?}");
        stored.city = "Rome".into();
        stored.id = 2;
        db.save(&mut stored).await.expect("moved");
        assert_clean(&db).await;
        db.delete(stored).await.expect("deleted");
        assert_eq!(db.verify().await.expect("verify runs").derived, 0);
    }
}

#[tokio::test]
async fn an_index_that_is_only_deleted_from_keeps_no_row_that_is_not_current() {
    let db = set(&database().await, "Member", "by_name", IndexState::WriteOnly).await;
    let mut stored = db.insert(&member("A", 1)).await.expect("inserted");
    let db = set(&db, "Member", "by_name", IndexState::DeleteOnly).await;
    stored.age = 1; // the whole copy has the same key, and other content
    db.save(&mut stored).await.expect("saved");
    assert!(!exists(&db, "name_Jones_0001").await);
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_unique_index_that_is_being_built_refuses_and_never_takes_anothers_row() {
    let db = database().await;
    let db = set(&db, "Account", "by_badge", IndexState::Absent).await;
    for id in [1, 2] {
        db.insert(&Account { badge: Some(5), ..account("A", id) }).await.expect("not enforced yet");
    }
    let db = set(&db, "Account", "by_badge", IndexState::WriteOnly).await;
    let (mut one, mut two) = (stored_account(&db, "A", 1).await, stored_account(&db, "A", 2).await);
    db.save(&mut one).await.expect("the first to be written has it");
    let error = db.save(&mut two).await.expect_err("the second violates");
    assert!(
        matches!(error.kind(), ErrorKind::UniqueViolation { index: "by_badge", owner: Some(owner) } if owner.row == "a_0001")
    );
    two.badge = Some(6);
    db.save(&mut two).await.expect("it gives the value up");
    assert!(exists(&db, "badge_000005").await, "which was not its own to delete");
    (one.badge, two.badge) = (Some(6), Some(5));
    let mut batch = db.batch(Account::in_partition("A"));
    batch.save(&mut one).save(&mut two);
    batch.commit().await.expect("an exchange");
    assert_clean(&db).await;
    one.id = 3;
    db.save(&mut one).await.expect("a move keeps the value");
    assert_clean(&db).await;
}

#[tokio::test]
async fn an_index_added_later_starts_absent() {
    let db = database().await;
    for index in ["by_city", "noted"] {
        plant(&db, "tmschema", "s", &format!("index|Member|{index}"), Action::Delete(Condition::Exists)).await;
    }
    let db = db.reopen::<Club>().await.expect("opened");
    let state = async |index: &str| {
        let row = db.store().get("tmschema", &RowKey::new("s", format!("index|Member|{index}"))).await.expect("read");
        row.map(|row| match row.properties.get("State") {
            Some(ValueRef::String(word)) => word.to_owned(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(state("by_city").await, None);
    db.insert(&member("A", 1)).await.expect("inserted");
    assert!(!exists(&db, "city_Oslo_0001").await, "not recorded is absent");
    db.ensure_tables().await.expect("recorded");
    assert_eq!(state("by_city").await.as_deref(), Some("absent"));
    assert_eq!(state("by_email").await.as_deref(), Some("readable"));
    db.ensure_tables().await.expect("again");
    assert_eq!(state("by_city").await.as_deref(), Some("absent"));
}

#[tokio::test]
async fn programs_that_record_at_the_same_time_agree() {
    let db = database().await;
    db.drop_tables().await.expect("dropped");
    let (a, b) = (db.reopen::<Club>().await.expect("opened"), db.reopen::<Club>().await.expect("opened"));
    let (first, second) = tokio::join!(a.ensure_tables(), b.ensure_tables());
    first.expect("ensured");
    second.expect("ensured");
    a.insert(&member("A", 1)).await.expect("inserted");
    assert!(Member::by_email().club("A").email("m1@x").exists(&b).await.expect("readable in both"));
}

#[derive(Debug, Clone, TableEntity)]
#[table(name = "Club", partition = "{shelf}", row = "b_{id:04}")]
#[table(list(of_kind, row = "k_{kind}"))]
struct Book {
    shelf: String,
    id: u32,
    kind: u8,
}

#[derive(TableModel)]
enum Library {
    Book(Book),
}

#[tokio::test]
async fn a_list_that_is_being_built_may_lack_keys_and_is_left_to_who_builds_it() {
    for state in [IndexState::Absent, IndexState::DeleteOnly, IndexState::WriteOnly] {
        let db = TestDatabase::new::<Library>().await.expect("opened");
        let book = |id| Book { shelf: "A".into(), id, kind: 1 };
        db.insert(&book(1)).await.expect("inserted");
        plant(&db, "Club", "A", "k_001", Action::Delete(Condition::Exists)).await;
        let db = set_of::<Library>(&db, "Book", "of_kind", state).await;
        assert_clean(&db).await;
        db.insert(&book(2)).await.expect("inserted");
        let before = row(&db, "A", "k_001").await.is_some();
        assert_clean(&db).await;
        drop(db.repair().await.expect("repaired"));
        assert_eq!(row(&db, "A", "k_001").await.is_some(), before, "{state:?}");
        let db = set_of::<Library>(&db, "Book", "of_kind", IndexState::Readable).await;
        assert!(!db.verify().await.expect("verified").is_clean(), "{state:?}: it lacks a key");
    }
}
