//! What the upgrade of a move may do with blobs: take them along, drop them, make small ones; not look into them, nor upload any.

use std::time::Duration;

use tablemodel::{Upgrade, UpgradeError, prelude::*, testing::TestDatabase};

use super::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", entity_type = "Person", frozen, partition = "{team}", row = "p_{name}")]
struct PersonV1 {
    team: String,
    name: String,
    #[table(blob(inline_below = 16))]
    portrait: Blob,
    #[table(blob(inline_below = 0))]
    film: Option<Blob>,
}

/// The film is left behind, and the portrait is kept in the row where it is shorter than 1,000 bytes.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Members", entity_type = "Person", version = 2, partition = "{name}", row = "m_{team}", moved_from = PersonV1)]
struct Person {
    name: String,
    team: String,
    #[table(blob(inline_below = 1_000))]
    portrait: Blob,
    #[table(blob(inline_below = 16))]
    note: Blob,
}

impl Upgrade<PersonV1> for Person {
    fn upgrade(PersonV1 { team, name, portrait, .. }: PersonV1) -> Result<Self, UpgradeError> {
        let note = match &*name {
            "lee" => Blob::from(portrait.content()?),
            "max" => Blob::from(vec![0; 70_000]),
            _ => Blob::from(vec![7; 3]),
        };
        Ok(Self { name, team, portrait, note })
    }
}

#[derive(Debug, TableModel)]
enum Model {
    Person(Person),
}

async fn open(store: &TestDatabase) -> Database {
    next::<Model>(store).await
}

#[tokio::test]
async fn an_upgrade_that_asks_for_what_a_move_does_not_do_is_set_aside_with_the_reason() {
    for mode in MODES {
        let (store, _) = filled(mode).await;
        let db = open(&store).await;
        assert_eq!(db.migrations().apply().dry_run(None).await.expect("reckoned").failed, 2);
        let applied = db.migrations().apply().await.expect("applied");
        assert_eq!((applied.failed, applied.is_complete()), (2, false), "{mode:?}: {applied:?}");
        let failures = db.migrations().failures().await.expect("read");
        let of = |name: &str| &failures.iter().find(|failure| failure.key.row == name).expect("set aside").error;
        assert!(of("p_lee").contains("asks for the content of a blob"), "{failures:?}");
        assert!(of("p_max").contains("new blob of 70000 bytes"), "{failures:?}");
        assert!(db.migrations().contract().await.is_err(), "not before both are seen to");
        // The old release may write again once nothing is on its way to where it writes nothing.
        db.migrations().rollback().await.expect("taken back");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let old = program::<before::Model>(&store).await;
        for name in ["lee", "max"] {
            let one = before::Person::find().team("A").name(name).one(&old).await.expect("read").expect("there");
            old.delete(one).await.expect("deleted");
        }
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        let db = open(&store).await;
        assert!(db.migrations().apply().await.expect("applied").is_complete());
        db.migrations().contract().await.expect("switched");
        let kim = Person::find().name("kim").team("A").one(&db).await.expect("read").expect("there");
        assert_eq!(kim.note.bytes(&db).await.expect("in the row").to_vec(), [7; 3]);
        assert_eq!(kim.portrait.bytes(&db).await.expect("in the row").to_vec(), [1, 2, 3]);
        assert_no_litter(&db, &store, "the films are nobody's").await;
        assert!(linked(&db).await.is_empty());
    }
}

#[tokio::test]
async fn a_blob_that_the_new_form_keeps_otherwise_is_put_there_by_its_next_write() {
    for mode in MODES {
        let (store, _) = filled(mode).await;
        let old = program::<before::Model>(&store).await;
        let ann = before::Person { team: "A".into(), name: "ann".into(), portrait: large(9).into(), film: None };
        old.insert(&ann).await.expect("written");
        for name in ["lee", "max"] {
            let one = before::Person::find().team("A").name(name).one(&old).await.expect("read").expect("there");
            old.delete(one).await.expect("deleted");
        }
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        let db = open(&store).await;
        db.migrations().apply().await.expect("applied");
        db.migrations().contract().await.expect("switched");
        let mut ann = Person::find().name("ann").team("A").one(&db).await.expect("read").expect("there");
        assert!(ann.portrait.name().is_some(), "as it was");
        db.save(&mut ann).await.expect("saved");
        assert!(linked(&db).await.is_empty(), "{mode:?}: both blobs are small, one by the threshold of the new form");
        let ann = Person::find().name("ann").team("A").one(&db).await.expect("read").expect("there");
        assert_eq!(ann.portrait.bytes(&db).await.expect("in the row").to_vec(), large(9));
        assert_no_litter(&db, &store, "saved").await;
    }
}
