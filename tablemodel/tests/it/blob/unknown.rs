//! Programs of a release that lacks a blob's field, beside one that has it: what they move takes the link along, and the blob stays.

use tablemodel::{Consistency, ErrorKind};

use super::*;

const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];

/// The release before films.
mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "People", partition = "{team}", row = "p_{name}")]
    #[table(index(by_age, row = "age_{age}_{name}", keys_only))]
    pub(super) struct Person {
        pub(super) team: String,
        pub(super) name: String,
        pub(super) age: u8,
        #[table(blob(inline_below = 16))]
        pub(super) portrait: Blob,
    }

    #[derive(Debug, TableModel)]
    pub(super) enum People {
        Person(Person),
    }
}

/// The release before any blobs.
mod first {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "People", partition = "{team}", row = "p_{name}")]
    #[table(index(by_age, row = "age_{age}_{name}", keys_only))]
    pub(super) struct Person {
        pub(super) team: String,
        pub(super) name: String,
        pub(super) age: u8,
    }

    #[derive(Debug, TableModel)]
    pub(super) enum People {
        Person(Person),
    }
}

/// Two persons of whom one has a film.
async fn filmed(mode: Consistency) -> TestDatabase {
    let db = match mode {
        Consistency::Azure => TestDatabase::new::<People>().await.unwrap(),
        Consistency::Atomic => TestDatabase::atomic::<People>().await.unwrap(),
    };
    db.insert(&Person { film: Some(large(2).into()), ..person("Ann", &large(1)) }).await.unwrap();
    db.insert(&person("Bob", b"small")).await.unwrap();
    db
}

/// That the film outlives every collection, wherever its entity is.
async fn assert_kept(db: &TestDatabase, team: &str, name: &str) {
    settle(db).await;
    let person = Person::find().team(team).name(name).one(db).await.expect("read").expect("there");
    let film = person.film.as_ref().expect("it is linked").bytes(db).await.expect("it is there");
    assert_eq!(film.to_vec(), large(2));
    assert_eq!(names_in(&*db.blob_store()).await, linked(db).await);
    assert!(db.verify().await.expect("verify runs").is_clean());
}

#[tokio::test]
async fn a_blob_that_a_program_does_not_know_moves_with_its_entity() {
    for mode in MODES {
        let db = filmed(mode).await;
        let old = db.reopen::<before::People>().await.expect("opened");
        let mut ann = before::Person::find().team("A").name("Ann").one(&old).await.unwrap().unwrap();
        ann.team = "B".into();
        old.rekey(&mut ann).await.expect("moved");
        let db = old.reopen::<People>().await.expect("opened");
        assert_kept(&db, "B", "Ann").await;
    }
}

#[tokio::test]
async fn a_blob_that_a_program_does_not_know_goes_to_another_row_with_its_entity() {
    for mode in MODES {
        let db = filmed(mode).await;
        let old = db.reopen::<before::People>().await.expect("opened");
        let mut ann = before::Person::find().team("A").name("Ann").one(&old).await.unwrap().unwrap();
        ann.name = "Cat".into();
        old.save(&mut ann).await.expect("saved");
        old.update(before::Person::find().team("A").name("Cat"), |cat| Ok(cat.name = "Dot".into()))
            .await
            .expect("updated");
        let mut dot = before::Person::find().team("A").name("Dot").one(&old).await.unwrap().unwrap();
        dot.name = "Eve".into();
        let mut batch = old.batch(before::Person::in_partition("A"));
        batch.save(&mut dot);
        batch.commit().await.expect("committed");
        let db = old.reopen::<People>().await.expect("opened");
        assert_kept(&db, "A", "Eve").await;
    }
}

#[tokio::test]
async fn a_program_without_blobs_moves_no_entity_that_links_one() {
    for mode in MODES {
        let db = filmed(mode).await;
        let old = Database::builder().clock(Arc::new(db.clock().clone())).consistency(mode);
        let old = old.with_store::<first::People>(db.store()).await.expect("opened");
        let mut ann = first::Person::find().team("A").name("Ann").one(&old).await.unwrap().unwrap();
        (ann.team, ann.age) = ("B".into(), 31);
        let error = old.rekey(&mut ann).await.expect_err("refused");
        assert_eq!(*error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().contains("property `Film`, which this program does not know, links a blob"),
            "{error}"
        );
        (ann.team, ann.name) = ("A".into(), "Cat".into());
        let error = old.save(&mut ann).await.expect_err("refused");
        assert_eq!(*error.kind(), ErrorKind::Unsupported);
        ann.name = "Ann".into();
        old.save(&mut ann).await.expect("it stays where it is");
        let mut bob = first::Person::find().team("A").name("Bob").one(&old).await.unwrap().unwrap();
        bob.team = "B".into();
        old.rekey(&mut bob).await.expect("it links none");
        assert_kept(&db, "A", "Ann").await;
        let bob = Person::find().team("B").name("Bob").one(&db).await.unwrap().expect("it is there");
        assert_eq!(bob.portrait.bytes(&db).await.unwrap().to_vec(), b"small");
    }
}
