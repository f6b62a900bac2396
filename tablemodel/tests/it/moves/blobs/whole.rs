//! The whole way of blobs: there, back, and a record that is missing.

use tablemodel::{
    ErrorKind, ViolationKind,
    blob::object_store::{ObjectStoreExt, path::Path},
    prelude::*,
    store::clock::Sleep,
    testing::{Fault, Script},
};

use super::*;

async fn old(db: &Database, name: &str) -> Stored<first::Person> {
    first::Person::find().team("A").name(name).one(db).await.expect("read").expect("there")
}

async fn new(db: &Database, name: &str, team: &str) -> Stored<second::Person> {
    second::Person::find().name(name).team(team).one(db).await.expect("read").expect("there")
}

#[tokio::test]
async fn blobs_stay_where_they_are_and_the_new_form_links_them() {
    for mode in MODES {
        let (store, blobs) = filled(mode).await;
        let db = next::<first::Model>(&store).await;
        let were = linked(&db).await;
        assert_eq!(were.len(), 5);
        assert!(db.migrations().apply().await.expect("applied").is_complete());
        assert_eq!((linked(&db).await, new_rows(&db).await), (were, 3), "both forms link the same blobs");
        assert_no_litter(&db, &store, "applied").await;

        let mut lee = old(&db, "lee").await;
        lee.portrait = large(50).into();
        db.save(&mut lee).await.expect("a new blob");
        let mut max = old(&db, "max").await;
        max.team = "C".into();
        db.rekey(&mut max).await.expect("moved");
        let mut kim = old(&db, "kim").await;
        kim.film = None;
        db.save(&mut kim).await.expect("one less");
        assert_no_litter(&db, &store, "written").await;
        let people = old_people(&db).await;
        drop(db);

        let db = next::<second::Model>(&store).await;
        assert_eq!(new_people(&db).await, people, "{mode:?}: the shadows' blobs can be fetched");
        let were = linked(&db).await;
        blobs.heal();
        db.migrations().contract().await.expect("switched");
        assert_eq!((linked(&db).await, new_people(&db).await), (were, people), "{mode:?}");
        assert_no_litter(&db, &store, "switched").await;

        // What the new form writes: a blob that stays, another in its place, other keys again.
        let mut lee = new(&db, "lee", "A").await;
        let was = lee.image.name();
        lee.film = Some(large(60).into());
        db.save(&mut lee).await.expect("saved");
        assert_eq!(lee.image.name(), was, "what is linked stays");
        let gone = new(&db, "max", "C").await;
        db.delete(gone).await.expect("deleted");
        assert_no_litter(&db, &store, "deleted").await;
        (lee.name, lee.team) = ("max".into(), "B".into());
        db.rekey(&mut lee).await.expect("moved on");
        assert_eq!(lee.image.name(), was);
        assert_no_litter(&db, &store, "moved on").await;
        let people = new_people(&db).await;
        assert_eq!(people.keys().map(|(team, name)| format!("{team} {name}")).collect::<Vec<_>>(), ["A kim", "B max"]);
        drop(db);

        // A later release, and the old table dropped: what is still named by it is kept, and goes when its link goes.
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<third::Model>(&store).await;
        if NEW != "People" {
            db.store().delete_table("People").await.expect("dropped");
        }
        assert_no_litter(&db, &store, "later").await;
        assert_eq!(linked(&db).await.len(), 2);
        let lee = third::Person::find().name("max").team("B").one(&db).await.unwrap().unwrap();
        assert_eq!(lee.image.name(), was);
        assert_eq!(lee.image.bytes(&db).await.expect("fetched").to_vec(), large(50));
        db.delete(lee).await.expect("deleted");
        assert_no_litter(&db, &store, "the last").await;
        assert!(linked(&db).await.is_empty());
    }
}

#[tokio::test]
async fn a_move_of_blobs_is_taken_back_from_every_state() {
    for mode in MODES {
        for calls in (0..).step_by(5) {
            let (store, _) = filled(mode).await;
            let db = program::<first::Model>(&store).await;
            let was = old_people(&db).await;
            let links = linked(&db).await;
            store.fail(Script::new().at(calls, Fault::CrashBefore));
            let is_over = db.ensure_tables().await.is_ok() && db.migrations().apply().workers(1).batch(2).await.is_ok();
            drop(db);
            store.fail(Script::new());
            let store = store.reopen::<before::Model>().await.expect("opened");
            crate::migrate::Passing(store.clock().clone()).sleep(std::time::Duration::from_secs(130)).await;
            let told = format!("{mode:?} {calls}");
            let db = next::<first::Model>(&store).await;
            settle(&db, &store).await;
            if db.migrations().status().await.unwrap().is_some() {
                db.migrations().rollback().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            }
            assert_no_litter(&db, &store, &told).await;
            assert_eq!((old_people(&db).await, linked(&db).await), (was, links), "{told}");
            assert_eq!(new_rows(&db).await, 0, "{told}");
            if is_over {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_program_that_knows_of_no_move_collects_nothing_that_the_new_form_links() {
    for mode in MODES {
        let (store, _) = filled(mode).await;
        let early = program::<before::Model>(&store).await;
        let db = next::<second::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let people = new_people(&db).await;
        settle(&early, &store).await;
        db.migrations().contract().await.expect("switched");
        for _ in 0..2 {
            settle(&early, &store).await;
        }
        assert_eq!(new_people(&db).await, people, "{mode:?}");
        let late = program::<before::Model>(&store).await;
        let read = before::Person::find().team("A").all(&late).await;
        assert_eq!(read.unwrap_err().kind(), &ErrorKind::Moved { to: 2 });
        settle(&late, &store).await;
        assert_eq!(new_people(&db).await, people, "{mode:?}");
    }
}

/// Without the record a collector would take the blob once the old row is gone: `verify` says so before.
#[tokio::test]
async fn a_record_that_is_missing_is_found_before_the_switch_and_after_it() {
    for mode in MODES {
        let (store, _) = filled(mode).await;
        let db = next::<second::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        assert_clean(&db, "applied").await;
        let blob = linked(&db).await.into_iter().next().expect("a blob");
        let record = Path::parse(format!("{blob}.moved1")).unwrap();
        store.blob_store().delete(&record).await.expect("a record of the move");
        for told in ["before", "after"] {
            let verified = db.verify().await.expect("verify runs");
            let found: Vec<_> = verified.violations.iter().map(|violation| violation.kind).collect();
            assert_eq!(found, [ViolationKind::DamagedBlob], "{told} the switch: {:#?}", verified.violations);
            if told == "before" {
                db.migrations().contract().await.expect("switched");
            }
        }
        settle(&db, &store).await;
        assert!(store.blob_store().head(&Path::parse(blob).unwrap()).await.is_err(), "it is what holds the blob");
    }
}

/// What the pages say of cost.
#[tokio::test]
async fn verify_asks_for_every_link_and_a_switch_for_none() {
    for mode in MODES {
        let (store, blobs) = filled(mode).await;
        let db = next::<second::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        assert_eq!(blobs.calls(), 10, "{mode:?}: two a link, as each shadow is written");
        blobs.heal();
        assert_clean(&db, "applied").await;
        assert_eq!(
            blobs.calls(),
            15,
            "{mode:?}: one for each link of each form, and one more for the record of where it is to be"
        );
        blobs.heal();
        db.migrations().contract().await.expect("switched");
        assert_eq!(blobs.calls(), 0, "{mode:?}");
    }
}

/// As after an export and an import by a release that knows of no move: a table without rows does not come along.
#[tokio::test]
async fn a_record_that_names_a_table_which_is_not_there_stops_no_collection() {
    if NEW == "People" {
        return; // there is no other
    }
    for mode in MODES {
        let (store, _) = filled(mode).await;
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        db.migrations().rollback().await.expect("taken back");
        drop(db);
        store.clock().advance(std::time::Duration::from_secs(130));
        store.store().delete_table(NEW).await.expect("dropped");
        let db = program::<before::Model>(&store).await;
        let mut lee = before::Person::find().team("A").name("lee").one(&db).await.expect("read").expect("there");
        lee.film = None;
        db.save(&mut lee).await.expect("saved");
        assert_no_litter(&db, &store, "without the table").await;
        assert_eq!(linked(&db).await.len(), 4, "{mode:?}");
        store.store().delete_table("People").await.expect("dropped");
        assert_eq!(db.blobs().collect().await.unwrap_err().kind(), &ErrorKind::NotFound, "it may be the wrong store");
    }
}
