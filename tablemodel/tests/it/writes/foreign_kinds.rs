//! Plain rows that are refused: of entities, of what comes and goes with these, and in the framework's own places; and what is called instead.

use tablemodel::{ErrorKind, Properties, RowKey, prelude::*, store::Action, testing::TestDatabase};

use super::{
    Club, TABLE, account, assert_clean, database,
    foreign::{badge, key},
    image, member, plant, plant_row, properties, row as stored, rows_of, tombstone,
};

fn of_type(entity_type: &'static str) -> Properties {
    properties([("EntityType", entity_type.into())])
}

#[tokio::test]
async fn a_row_of_an_entity_of_the_model_names_that_and_the_call_for_it() {
    let db = database().await;
    let there = db.insert_row(TABLE, key("z_1"), badge("red")).await.expect("inserted");
    let before = image(&db).await;
    let kinds = [
        ("Member@3", ["`db.insert(..)`", "`db.save(..)`"]),
        ("Member@1", ["`db.insert(..)`", "`db.save(..)`"]),
        ("Member@9", ["`db.insert(..)`", "`db.save(..)`"]),
        ("Account@1", ["`db.insert(..)`", "`db.save(..)`"]),
        ("Member.by_name@3", ["comes and goes"; 2]),
        ("Member.~part@3", ["comes and goes"; 2]),
        ("Member.~dead@2", ["comes and goes"; 2]),
        ("Member.~outbox@3", ["comes and goes"; 2]),
        ("Member.later@9", ["comes and goes"; 2]),
        ("Member@x", ["`db.repair()`"; 2]),
        ("Account.by_badge@x", ["`db.repair()`"; 2]),
    ];
    db.forget_calls();
    for (kind, words) in kinds {
        let mut given = Row { properties: of_type(kind), ..there.clone() };
        let errors = [
            db.insert_row(TABLE, key("z_2"), of_type(kind)).await.expect_err(kind),
            db.replace_row(TABLE, &mut given).await.expect_err(kind),
        ];
        for (error, word) in errors.iter().zip(words) {
            let entity = kind.split(['.', '@']).next();
            assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, entity), "{error}");
            assert!(error.to_string().contains(word) && error.to_string().contains(kind), "{error}");
        }
    }
    assert_eq!(db.calls(), [], "nothing was asked");
    assert_eq!(image(&db).await, before);
}

/// What a row says now is not asked alone: what stands there is.
#[tokio::test]
async fn no_row_of_the_framework_is_written_over_or_deleted_under_another_name() {
    let db = database().await;
    db.insert(&member("A", 1)).await.expect("inserted");
    db.insert(&account("A", 1)).await.expect("inserted");
    plant_row(&db, "A", "m_0002", tombstone("Member", 3, 5)).await;
    plant_row(&db, "A", "m_0003", of_type("Member@x")).await;
    plant_row(&db, "A", "~~out|m_0004|1", of_type("Member.~outbox@3")).await;
    plant_row(&db, "A", "~~x", badge("red")).await;
    let before = image(&db).await;
    let rows = rows_of(&*db.store(), TABLE).await;
    assert_eq!(rows.len(), 5 + 2 + 4);
    for (_, row) in rows {
        let mut relabelled = Row { properties: badge("blue"), ..row };
        for error in [
            db.replace_row(TABLE, &mut relabelled).await.expect_err("the framework's"),
            db.delete_row(TABLE, &relabelled).await.expect_err("the framework's"),
        ] {
            assert_eq!((error.kind(), error.key()), (&ErrorKind::Unsupported, Some(&relabelled.key)), "{error}");
        }
    }
    assert_eq!(image(&db).await, before);
}

/// Of another program, which keeps its entities in the same table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", entity_type = "Project", partition = "{club}", row = "p_{id:04}")]
#[table(index(by_title, row = "title_{title}_{id:04}", keys_only))]
struct Project {
    club: String,
    id: u32,
    title: String,
}

#[derive(Debug, TableModel)]
#[allow(dead_code, reason = "the test reads the store")]
enum Projects {
    Project(Project),
}

#[tokio::test]
async fn entities_of_another_model_are_its_programs_to_write() {
    let db = database().await;
    let other = db.reopen::<Projects>().await.expect("opened");
    other.ensure_tables().await.expect("ensured");
    other.insert(&Project { club: "A".into(), id: 1, title: "t".into() }).await.expect("inserted");
    let before = image(&db).await;
    for (_, mut row) in rows_of(&*db.store(), TABLE).await {
        for error in [
            db.replace_row(TABLE, &mut row).await.expect_err("another model's"),
            db.delete_row(TABLE, &row).await.expect_err("another model's"),
        ] {
            assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, None));
            assert!(error.to_string().contains("`Project` of another model"), "{error}");
        }
    }
    // By what the store has on record, also without a number.
    let db = db.reopen::<Club>().await.expect("opened");
    let error = db.insert_row(TABLE, key("p_0002"), of_type("Project@1")).await.expect_err("another model's");
    assert!(error.to_string().contains("`Project` of another model"), "{error}");
    assert_eq!(image(&db).await, before);
    db.insert_row(TABLE, key("p_0003"), of_type("Stranger@1")).await.expect("of nobody's on record");
}

#[tokio::test]
async fn kinds_of_rows_tables_and_keys_of_the_framework_are_refused() {
    let db = database().await;
    let before = image(&db).await;
    db.forget_calls();
    for kind in ["Stranger.by_name@1", "Stranger.~dead@1", "Stranger.~part@1", "~dirty@1", "~clock@1"] {
        let error = db.insert_row(TABLE, key("z_1"), of_type(kind)).await.expect_err(kind);
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, None), "{error}");
        assert!(error.to_string().contains(kind), "{error}");
    }
    for table in ["tmschema", "tmdirty", "TMSchema", "Clubs", ""] {
        let error = db.insert_row(table, key("z_1"), badge("red")).await.expect_err(table);
        assert_eq!(*error.kind(), ErrorKind::Unsupported, "{table}: {error}");
    }
    for row in ["~~", "~~out|m_0001|1", "m_0001 ~~01", "z ~~"] {
        let error = db.insert_row(TABLE, key(row), badge("red")).await.expect_err(row);
        assert_eq!((error.kind(), error.key()), (&ErrorKind::Unsupported, Some(&key(row))), "{error}");
    }
    assert_eq!(db.calls(), [], "nothing was asked");
    assert_eq!(image(&db).await, before);
}

/// A row of an index is written over whatever has its key.
#[tokio::test]
async fn a_key_that_rows_of_an_index_have_is_refused_and_named() {
    let db = database().await;
    let keys = [
        ("name_Jones_0009", "Member", "by_name"),
        ("email_m9@x", "Member", "by_email"),
        ("city_Oslo_0009", "Member", "by_city"),
        ("active_0009", "Member", "active"),
        ("badge_000009", "Account", "by_badge"),
    ];
    for (row, entity, index) in keys {
        let error = db.insert_row(TABLE, key(row), badge("red")).await.expect_err(row);
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some(entity)), "{error}");
        assert!(error.to_string().contains(&format!("index `{index}`")), "{error}");
    }
    for row in ["name_Jones", "active_9", "badge_7", "email_M9@x"] {
        db.insert_row(TABLE, key(row), badge("red")).await.expect("no row of an index has such a key");
    }
    db.insert(&member("A", 9)).await.expect("inserted");
    assert_eq!(stored(&db, "A", "name_Jones").await.expect("there").properties, badge("red"));
    assert_clean(&db).await;
    // One that another program put there may be changed and taken away.
    plant_row(&db, "A", "city_Rome_0009", badge("red")).await;
    let mut planted = stored(&db, "A", "city_Rome_0009").await.expect("there");
    db.replace_row(TABLE, &mut planted).await.expect("written");
    db.delete_row(TABLE, &planted).await.expect("deleted");
}

#[tokio::test]
async fn a_table_of_index_rows_alone_takes_rows_at_other_keys() {
    let db = TestDatabase::new::<crate::elsewhere::Model>().await.expect("a database");
    let error = db.insert_row("Cities", RowKey::new("Rome", "A_0001"), badge("red")).await.expect_err("of an index");
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some("Worker")), "{error}");
    let row = db.insert_row("Cities", RowKey::new("Rome", "note"), badge("red")).await.expect("inserted");
    assert_eq!(db.verify().await.expect("verify runs").foreign, 1);
    db.delete_row("Cities", &row).await.expect("deleted");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Legacy", adopt, partition = "{region}", row = "c_{id:04}")]
struct Customer {
    region: String,
    id: u32,
    name: String,
}

#[derive(Debug, TableModel)]
#[allow(dead_code, reason = "the test reads the store")]
enum Legacy {
    Customer(Customer),
    #[table(other)]
    Other(Row),
}

#[tokio::test]
async fn a_row_that_an_entity_adopts_is_that_entitys() {
    let db = TestDatabase::new::<Legacy>().await.expect("a database");
    // The second lacks its name: who reads it as a customer of this version is told so.
    let [named, nameless, typed] =
        [properties([("Name", "Ada".into())]), properties([("Fax", "0".into())]), of_type("Customer")];
    for theirs in [named, nameless, typed] {
        let error = db.insert_row("Legacy", RowKey::new("eu", "c_0001"), theirs.clone()).await.expect_err("adopted");
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some("Customer")), "{error}");
        plant(&db, "Legacy", "eu", "c_0001", Action::InsertOrReplace(theirs)).await;
        let mut row = db.store().get("Legacy", &RowKey::new("eu", "c_0001")).await.expect("read").expect("there");
        for error in [
            db.replace_row("Legacy", &mut row).await.expect_err("adopted"),
            db.delete_row("Legacy", &row).await.expect_err("adopted"),
        ] {
            assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some("Customer")), "{error}");
        }
    }
    // What stands at other keys is nobody's.
    let mut fax = db.insert_row("Legacy", RowKey::new("eu", "fax_1"), Properties::new()).await.expect("inserted");
    db.replace_row("Legacy", &mut fax).await.expect("written");
    db.delete_row("Legacy", &fax).await.expect("deleted");
}

/// The next version, whose upgrade needs what a row of another program may lack.
mod newer {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Legacy", entity_type = "Customer", adopt, frozen, partition = "{region}", row = "c_{id:04}")]
    pub(super) struct CustomerV1 {
        region: String,
        id: u32,
        name: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Legacy", adopt, version = 2, previous = CustomerV1, partition = "{region}", row = "c_{id:04}")]
    pub(super) struct Customer {
        region: String,
        id: u32,
        name: String,
        note: Option<String>,
    }

    impl Upgrade<CustomerV1> for Customer {
        fn upgrade(CustomerV1 { region, id, name }: CustomerV1) -> Result<Self, UpgradeError> {
            Ok(Self { region, id, name, note: None })
        }
    }

    #[derive(Debug, TableModel)]
    #[allow(dead_code, reason = "the test reads what comes as other")]
    pub(super) enum Legacy {
        Customer(Customer),
        #[table(other)]
        Other(Row),
    }
}

#[tokio::test]
async fn a_row_that_comes_as_other_can_be_written_at_a_key_of_an_entity_that_adopts() {
    let db = TestDatabase::new::<newer::Legacy>().await.expect("a database");
    let fax = properties([("Fax", "0".into())]);
    plant(&db, "Legacy", "eu", "c_0001", Action::Insert(fax.clone())).await;
    let rows = newer::Legacy::rows(newer::Customer::in_partition("eu")).all(&db).await.expect("read");
    let [newer::Legacy::Other(there)] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(db.verify().await.expect("verify runs").foreign, 1);

    // It becomes no customer by that: what is derived from one would not follow.
    let mut row = Row { properties: properties([("Name", "Ada".into())]), ..there.clone() };
    let error = db.replace_row("Legacy", &mut row).await.expect_err("adopted");
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some("Customer")), "{error}");
    row.properties = properties([("Fax", "1".into())]);
    db.replace_row("Legacy", &mut row).await.expect("written");
    db.delete_row("Legacy", &row).await.expect("deleted");
    let error = db.insert_row("Legacy", RowKey::new("eu", "c_0001"), fax).await.expect_err("adopted");
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some("Customer")), "{error}");
    assert_eq!(db.verify().await.expect("verify runs").foreign, 0);
}

/// Who finds such a row at the key of a source, or of who had a value, takes it that no entity can be inserted there.
async fn assert_relied_on(db: &TestDatabase, [table, row]: [&'static str; 2], entity: &str, why: &str) {
    let at = RowKey::new("A", row);
    let refused = |error: tablemodel::Error| {
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some(entity)), "{error}");
        assert!(error.to_string().contains(why) && error.to_string().contains("`db.store()`"), "{error}");
    };
    refused(db.insert_row(table, at.clone(), badge("red")).await.expect_err("at a key of the entity"));
    assert!(db.store().get(table, &at).await.expect("read").is_none());

    plant(db, table, "A", row, Action::Insert(badge("red"))).await;
    let mut there = db.store().get(table, &at).await.expect("read").expect("there");
    refused(db.delete_row(table, &there).await.expect_err("at a key of the entity"));
    assert_eq!(db.store().get(table, &at).await.expect("read"), Some(there.clone()));
    there.properties = badge("blue");
    db.replace_row(table, &mut there).await.expect("no key is taken or given up");
    assert_eq!(db.store().get(table, &at).await.expect("read"), Some(there));
}

#[tokio::test]
async fn where_plans_of_others_rest_on_a_row_it_is_only_replaced() {
    for mode in crate::copy::MODES {
        let db = crate::copy::database(mode).await;
        assert_relied_on(&db, ["Company", "e_0001"], "Employee", "others copy it").await;
        // What copies is not copied, nor is what stands at other keys.
        for free in ["d_01", "e_1"] {
            let row = db.insert_row("Company", key(free), badge("red")).await.expect("inserted");
            db.delete_row("Company", &row).await.expect("deleted");
        }
        let db = crate::claims::database(mode).await;
        assert_relied_on(&db, ["Club", "m_0001"], "Member", "its unique values").await;
        let row = db.insert_row("Club", key("m_1"), badge("red")).await.expect("inserted");
        db.delete_row("Club", &row).await.expect("deleted");
    }
}
