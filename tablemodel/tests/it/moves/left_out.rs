//! A release whose keys are others than the store's, and that says nothing of a move: its rows would seem gone.

use tablemodel::{Consistency, Error, ErrorKind, Row, TableEntity, prelude::*};

use super::{MODES, assert_clean, next, program};
use crate::migrate::{all_rows, store_of};

/// A person, in a release of its own.
macro_rules! release {
    ($name:ident, $head:tt, $type:ty, $id:ident, $group:ident) => {
        mod $name {
            use tablemodel::prelude::*;

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table $head]
            pub(super) struct Person {
                pub(super) $group: String,
                pub(super) $id: $type,
                pub(super) name: String,
            }

            #[derive(Debug, Clone, PartialEq, TableModel)]
            pub(super) enum Model {
                Person(Person),
            }
        }
    };
}

release!(first, (name = "Club", partition = "{club}", row = "p_{id:06}"), u32, id, club);
release!(other_row, (name = "Club", version = 2, partition = "{club}", row = "person_{id:06}"), u32, id, club);
release!(unversioned, (name = "Club", partition = "{club}", row = "p_{id:07}"), u32, id, club);
release!(other_partition, (name = "Club", version = 2, partition = "{club:lower}", row = "p_{id:06}"), u32, id, club);
release!(other_table, (name = "Clubs", version = 2, partition = "{club}", row = "p_{id:06}"), u32, id, club);
release!(renamed, (name = "Club", partition = "{league}", row = "p_{number:06}"), u64, number, league);
release!(one_way, (name = "Pairs", entity_type = "Pair", partition = "{a}", row = "{b}"), String, b, a);
release!(swapped, (name = "Pairs", entity_type = "Pair", partition = "{b}", row = "{a}"), String, b, a);

/// The release that should have been.
mod told {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", frozen, partition = "{club}", row = "p_{id:06}")]
    pub(super) struct PersonV1 {
        club: String,
        id: u32,
        name: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", version = 2, moved_from = PersonV1, partition = "{club}", row = "person_{id:06}")]
    pub(super) struct Person {
        club: String,
        id: u32,
        name: String,
    }

    impl Upgrade<PersonV1> for Person {
        fn upgrade(PersonV1 { club, id, name }: PersonV1) -> Result<Self, UpgradeError> {
            Ok(Self { club, id, name })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Model {
        Person(Person),
    }
}

fn is_refused(error: &Error) {
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some("Person")), "{error}");
    assert!(error.to_string().contains("moved_from"), "{error}");
}

async fn filled(mode: Consistency) -> (tablemodel::testing::TestDatabase, Vec<Row>) {
    let store = store_of::<first::Model>(mode).await;
    for id in 0..3 {
        store.insert(&first::Person { club: "c".into(), id, name: format!("n{id}") }).await.expect("written");
    }
    store.clock().advance(std::time::Duration::from_secs(130));
    let rows = all_rows(&store, "Club").await;
    (store, rows)
}

/// Neither reads nor writes find the entity, and nothing is written.
macro_rules! refused {
    ($name:ident, $release:ident) => {
        #[tokio::test]
        async fn $name() {
            for mode in MODES {
                let (store, rows) = filled(mode).await;
                let db = program::<$release::Model>(&store).await;
                let person = $release::Person { club: "c".into(), id: 1, name: "another".into() };
                is_refused(&db.ensure_tables().await.unwrap_err());
                is_refused(&$release::Person::find().club("c").id(1).one(&db).await.unwrap_err());
                is_refused(&$release::Person::find().club("c").all(&db).await.unwrap_err());
                is_refused(&db.insert(&person).await.unwrap_err());
                is_refused(&db.upsert(&person).await.unwrap_err());
                is_refused(&db.verify().await.unwrap_err());
                assert_eq!(all_rows(&store, "Club").await, rows);
            }
        }
    };
}

refused!(another_row_key_without_a_move_is_refused, other_row);
refused!(another_partition_key_without_a_move_is_refused, other_partition);
refused!(another_width_without_a_version_is_refused, unversioned);
refused!(another_table_without_a_move_is_refused, other_table);

#[tokio::test]
async fn names_and_types_that_make_the_same_keys_are_no_other_keys() {
    for mode in MODES {
        let (store, _) = filled(mode).await;
        let db = next::<renamed::Model>(&store).await;
        let found = renamed::Person::find().league("c").number(1).one(&db).await.expect("found");
        assert_eq!(found.expect("there").name, "n1");
        assert_clean(&db, "renamed").await;
    }
}

#[tokio::test]
async fn keys_whose_properties_are_in_another_order_are_other_keys() {
    let store = store_of::<one_way::Model>(Consistency::Atomic).await;
    let pair = one_way::Person { a: "x".into(), b: "y".into(), name: "n".into() };
    store.insert(&pair).await.expect("written");
    let db = program::<swapped::Model>(&store).await;
    let refused = swapped::Person::find().b("x").a("y").one(&db).await.unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::Unsupported, "{refused}");
    assert!(refused.to_string().contains("`{A:text}` and `{B:text}`"), "{refused}");
}

#[tokio::test]
async fn once_the_move_is_told_and_switched_it_may_be_left_out_of_that_store_alone() {
    for mode in MODES {
        let (store, _) = filled(mode).await;
        is_refused(&program::<other_row::Model>(&store).await.ensure_tables().await.unwrap_err());
        let db = next::<told::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        is_refused(&program::<unversioned::Model>(&store).await.ensure_tables().await.unwrap_err());
        db.migrations().contract().await.expect("switched");
        store.clock().advance(std::time::Duration::from_secs(130));

        let later = next::<other_row::Model>(&store).await;
        let found = other_row::Person::find().club("c").all(&later).await.expect("found");
        assert_eq!(found.len(), 3);
        assert_clean(&later, "left out").await;
        let before = program::<first::Model>(&store).await;
        let refused = first::Person::find().club("c").all(&before).await.unwrap_err();
        assert_eq!(refused.kind(), &ErrorKind::Moved { to: 2 });
    }
}

#[tokio::test]
async fn a_record_that_does_not_tell_its_keys_is_of_any() {
    let (store, _) = filled(Consistency::Atomic).await;
    let key = tablemodel::store::RowKey::new("s", format!("entity|{}", first::Person::SCHEMA.entity_type));
    let mut row = store.store().get("tmschema", &key).await.expect("read").expect("there");
    row.properties.retain(|name| name != "Keys");
    let there = tablemodel::store::Action::InsertOrReplace(row.properties);
    crate::writes::plant(&store, "tmschema", "s", &key.row, there).await;
    let db = next::<first::Model>(&store).await;
    assert_eq!(first::Person::find().club("c").all(&db).await.expect("found").len(), 3);
}

#[tokio::test]
async fn a_record_whose_keys_cannot_be_read_is_corrupt() {
    let (store, _) = filled(Consistency::Atomic).await;
    let key = tablemodel::store::RowKey::new("s", "entity|Person");
    let mut row = store.store().get("tmschema", &key).await.expect("read").expect("there");
    row.properties.insert("Keys", "[\"{Club:text}\"]");
    let there = tablemodel::store::Action::InsertOrReplace(row.properties);
    crate::writes::plant(&store, "tmschema", "s", &key.row, there).await;
    let opened = Database::builder().with_store::<first::Model>(store.store()).await;
    assert_eq!(opened.err().map(|error| error.kind().clone()), Some(ErrorKind::Corrupt));
}
