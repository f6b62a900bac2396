//! The whole way: of two releases, of one alone, and back; and what the new form then has is what a fresh load has.

use std::collections::BTreeMap;

use tablemodel::{Properties, prelude::*, testing::TestDatabase};

use super::{
    CITIES, City, Club, MODES, Sponsor, assert_clean, assert_follow, assert_switches, filled, first, new_people, next,
    old_people, program, rows_of, second,
};
use crate::migrate::{all_rows, store_of};

/// The rows of a store, but for what differs from one way to the other: numbers, and what the move left on them.
async fn rows(db: &Database) -> BTreeMap<String, Properties> {
    let mut rows = BTreeMap::new();
    for table in ["People", "Clubs", "Sponsors", "Colours"] {
        for row in all_rows(db, table).await {
            let mut properties = row.properties.clone();
            let is_number = |name: &str| {
                ["_seq", "_moved", "_ops", "_claim", "_expires"].contains(&name) || name.ends_with("__seq")
            };
            properties.retain(|name| !is_number(name));
            rows.insert(format!("{table} {}", row.key), properties);
        }
    }
    rows
}

async fn loaded_anew(store: &TestDatabase, people: &super::People, db: &Database) -> TestDatabase {
    let fresh = store_of::<second::Model>(store.consistency()).await;
    for name in CITIES {
        fresh.insert(&*City::find().name(name).one(db).await.unwrap().unwrap()).await.expect("inserted");
    }
    for name in super::CLUBS {
        fresh.insert(&*Club::find().name(name).one(db).await.unwrap().unwrap()).await.expect("inserted");
    }
    for name in super::SPONSORS {
        fresh.insert(&*Sponsor::find().name(name).one(db).await.unwrap().unwrap()).await.expect("inserted");
    }
    for ((city, id), said) in people {
        let path = second::Person::find().club(&said.club).city(city).id(*id);
        fresh.insert(&*path.one(db).await.unwrap().unwrap()).await.expect("inserted");
    }
    fresh.relay().drain().await.expect("drained");
    fresh
}

#[tokio::test]
async fn an_entity_with_copies_moves_and_has_the_rows_of_a_fresh_load() {
    for mode in MODES {
        let store = filled(mode, 20).await;
        let db = next::<first::Model>(&store).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{applied:?}");
        assert_clean(&db, "applied").await;
        let was = old_people(&db).await;
        assert_eq!(was.len(), 40);
        assert_follow(&db, &was, "applied").await;
        drop(db);
        let db = assert_switches(&store, &was, "switched").await;
        store.clock().advance(std::time::Duration::from_secs(2_000));
        db.relay().run_once().await.expect("swept");
        let fresh = loaded_anew(&store, &was, &db).await;
        let (here, anew) = (rows(&db).await, rows(&fresh).await);
        let keys = |rows: &BTreeMap<String, Properties>| rows.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&here), keys(&anew), "{mode:?}");
        for (key, properties) in &here {
            assert_eq!(properties, &anew[key], "{mode:?}: {key}");
        }
        // The new form is written, and follows.
        db.update(second::Person::find().club("Judo").city("Oslo").id(1), |person| {
            person.visits = 70;
            Ok(())
        })
        .await
        .expect("written");
        db.patch(Club::find().name("Judo"), Club::COLOUR.set("red")).await.expect("patched");
        db.patch(City::find().name("Oslo"), City::MAYOR.set("another")).await.expect("patched");
        assert_clean(&db, "written anew").await;
        let now = new_people(&db).await.expect("read");
        assert_follow(&db, &now, "written anew").await;
        assert_eq!(now[&("Oslo".to_owned(), 1)].colour, "red");
    }
}

#[tokio::test]
async fn copies_follow_at_every_stage_of_a_move_that_is_taken_back() {
    for mode in MODES {
        let store = filled(mode, 105).await;
        let db = next::<first::Model>(&store).await;
        let change = async |number: i64| {
            db.patch(City::find().name("Rome"), City::MAYOR.set(format!("mayor {number}"))).await.expect("patched");
            db.patch(Club::find().name("Chess"), Club::COLOUR.set(format!("colour {number}"))).await.expect("patched");
            db.patch(Sponsor::find().name("Acme"), Sponsor::LOGO.set(number)).await.expect("patched");
            db.relay().drain().await.expect("drained");
            let told = format!("{mode:?} {number}");
            assert_clean(&db, &told).await;
            assert_follow(&db, &old_people(&db).await, &told).await;
        };
        change(2).await;
        db.migrations().apply().await.expect("applied");
        change(3).await;
        let new = program::<second::Model>(&store).await;
        assert_eq!(new_people(&new).await.expect("readable"), old_people(&db).await, "{mode:?}");
        drop(new);
        db.migrations().rollback().await.expect("taken back");
        change(4).await;
        let left = rows_of(&db, "@2").await;
        assert!(left.is_empty(), "{mode:?}: {left:#?}");
        db.migrations().apply().await.expect("applied again");
        change(5).await;
        let was = old_people(&db).await;
        drop(db);
        assert_switches(&store, &was, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn one_release_alone_moves_it_and_may_write_sources_before() {
    for mode in MODES {
        let store = filled(mode, 105).await;
        let db = next::<second::Model>(&store).await;
        db.patch(Club::find().name("Chess"), Club::COLOUR.set("early")).await.expect("patched");
        db.migrations().apply().await.expect("applied");
        for colour in ["green", "black"] {
            db.patch(Club::find().name("Judo"), Club::COLOUR.set(colour)).await.expect("patched");
            db.relay().drain().await.expect("drained");
            let people = new_people(&db).await.expect("readable");
            assert_follow(&db, &people, colour).await;
            assert_clean(&db, colour).await;
        }
        let was = new_people(&db).await.expect("readable");
        assert_eq!(was[&("Oslo".to_owned(), 0)].colour, "early");
        drop(db);
        assert_switches(&store, &was, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn one_that_would_copy_another_source_is_set_aside() {
    for mode in MODES {
        let store = filled(mode, 105).await;
        let old = program::<super::before::Model>(&store).await;
        let person = super::before::Person { visits: 666, ..super::before::person("Oslo", 2) };
        old.upsert(&person).await.expect("written");
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<first::Model>(&store).await;
        let path = || first::Person::find().city("Oslo").id(2);
        let applied = db.migrations().apply().await.expect("applied");
        assert!(!applied.is_complete(), "{applied:?}");
        let failures = db.migrations().failures().await.expect("read");
        assert_eq!(failures.len(), 1, "{failures:?}");
        let told = format!("{:?}", failures[0]);
        assert!(told.contains("copies `logo` of (another, sponsor), and it has it of (Acme, sponsor)"), "{told}");
        let visit = async |visits: i64| {
            db.update(path(), |there| {
                there.visits = visits;
                Ok(())
            })
            .await
            .map(drop)
        };
        visit(3).await.expect("updated");
        db.migrations().retry_failures().await.expect("retried");
        assert!(db.migrations().apply().await.expect("applied").is_complete());
        for (visits, told) in [(666, "copies `logo` of (another, sponsor)"), (777, "adds otherwise to `")] {
            let refused = visit(visits).await.unwrap_err();
            let is_it = matches!(refused.kind(), tablemodel::ErrorKind::UpgradeFailed { from: 1, to: 2 });
            assert!(is_it && refused.to_string().contains(told), "{refused:?}");
        }
        assert_clean(&db, "applied").await;
    }
}

#[tokio::test]
async fn hundreds_follow_one_source_in_both_forms() {
    for mode in MODES {
        let store = filled(mode, 450).await;
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        db.patch(Club::find().name("Judo"), Club::COLOUR.set("red")).await.expect("patched");
        db.patch(City::find().name("Oslo"), City::MAYOR.set("late")).await.expect("patched");
        db.relay().drain().await.expect("drained");
        let was = old_people(&db).await;
        assert_eq!(was.values().filter(|said| said.colour == "red").count(), 300);
        assert_clean(&db, "applied").await;
        drop(db);
        let db = assert_switches(&store, &was, &format!("{mode:?}")).await;
        db.patch(Club::find().name("Judo"), Club::COLOUR.set("green")).await.expect("patched");
        db.relay().drain().await.expect("drained");
        let now = new_people(&db).await.expect("read");
        assert_follow(&db, &now, "switched").await;
    }
}
