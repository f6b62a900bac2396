//! What an application builds, tells, sets aside and refuses.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, IndexState,
    migrations::{Applied, MigrationPlan, Progress},
    prelude::*,
    store::clock::Clock,
};

use super::{
    Club, MODES, Person, all_rows, assert_built, assert_clean, badged, claimed, filled, first, next, program, states,
    store, store_of, unique,
};

#[tokio::test]
async fn every_kind_of_index_is_built_and_is_complete() {
    for mode in MODES {
        let db = filled(mode, 3, 80).await;
        let db = next::<Club>(&db).await;
        let refused = Person::by_city().club("c0").city("Rome").all(&db).await.expect_err("not built yet");
        assert_eq!(*refused.kind(), ErrorKind::IndexNotReady { index: "by_city" });
        assert_eq!(db.migrations().plan().await.unwrap().steps.len(), 4);
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{applied:?}");
        assert_eq!((applied.touched, applied.failed, applied.scrubbed), (240, 0, 0));
        assert_built(&db, &format!("{mode:?}")).await;
        assert_eq!(Person::by_city().club("c0").city("Rome").all(&db).await.unwrap().len(), 27);
        assert_eq!(db.migrations().apply().await.expect("again").migration, None, "nothing is left to do");
    }
}

#[tokio::test]
async fn a_small_store_of_one_program_is_migrated_with_its_tables() {
    for (persons, is_built) in [(200, true), (201, false)] {
        let db = filled(Consistency::Atomic, 1, persons).await;
        let db = next::<Club>(&db).await;
        assert_eq!(db.migrations().plan().await.unwrap().steps.is_empty(), is_built, "{persons}");
    }
    let db = filled(Consistency::Azure, 1, 3).await;
    let db = next::<Club>(&db).await;
    assert_eq!(db.migrations().plan().await.unwrap().steps.len(), 4, "others may write this one");
}

#[tokio::test]
async fn an_empty_table_and_a_store_that_is_as_its_model_take_nothing() {
    let db = store(Consistency::Azure).await;
    assert_eq!(db.migrations().plan().await.unwrap(), MigrationPlan::default());
    assert_eq!(db.migrations().status().await.unwrap(), None);
    db.clock().advance(Duration::from_secs(130));
    let next = next::<Club>(&db).await;
    let applied = next.migrations().apply().await.expect("applied");
    assert!(applied.is_complete() && applied.touched == 0, "{applied:?}");
    next.insert(&Person { club: "A".into(), id: 1, name: "n".into(), city: "Rome".into(), badge: None, visits: 0 })
        .await
        .expect("inserted");
    assert_built(&next, "after").await;
}

#[tokio::test]
async fn a_running_program_learns_of_the_states_without_a_restart() {
    let db = filled(Consistency::Azure, 1, 5).await;
    let (migrator, reader) = (next::<Club>(&db).await, program::<Club>(&db).await);
    let path = || Person::by_city().club("c0").city("Rome");
    assert!(path().all(&reader).await.is_err());
    let applied = migrator.migrations().apply().wait(Duration::from_secs(1_000)).await.expect("applied");
    assert!(applied.is_complete());
    assert_eq!(path().all(&reader).await.expect("readable").len(), 2);
    assert!(Person::by_city().club("c0").city("Rome").id(1).exists(&reader).await.expect("readable"));
    migrator.migrations().rollback().await.expect("taken back");
    db.clock().advance(Duration::from_secs(60));
    assert!(path().all(&reader).await.is_err(), "nor is it read after it has gone");
}

#[tokio::test]
async fn a_program_that_only_reads_learns_of_entities_that_come_after_it() {
    for mode in MODES {
        let store = store_of::<unique::Club>(mode).await;
        store.drop_tables().await.expect("dropped");
        let builder = Database::builder().clock(std::sync::Arc::new(store.clock().clone())).consistency(mode);
        let reader = builder.read_only().with_store::<unique::Club>(store.store()).await.expect("opened");
        let path = || unique::Person::find().club("c0");
        assert_eq!(
            *path().all(&reader).await.expect_err("nothing is there").kind(),
            ErrorKind::Unsupported,
            "{mode:?}"
        );
        let writer = next::<unique::Club>(&store).await;
        let first::Person { club, id, name, city, badge, visits } = first::person("c0", 1);
        writer.insert(&unique::Person { club, id, name, city, badge, visits }).await.expect("written");
        assert_eq!(path().all(&reader).await.expect("read").len(), 1, "{mode:?}");
        assert!(path().id(1).one(&reader).await.expect("read").is_some(), "{mode:?}");
    }
}

#[tokio::test]
async fn what_violates_a_new_unique_index_is_told_and_the_index_waits() {
    for mode in MODES {
        let db = filled(mode, 1, 250).await;
        for (id, badge) in [(1, 7), (2, 7), (3, 8)] {
            db.update(first::Person::find().club("c0").id(id), move |p| Ok(p.badge = Some(badge))).await.unwrap();
        }
        db.clock().advance(Duration::from_secs(130));
        let db = next::<unique::Club>(&db).await;
        let dry = db.migrations().apply().dry_run(None).await.expect("read");
        assert_eq!((dry.entities, dry.rows, dry.failed), (250, 3, 1));
        let applied = db.migrations().apply().await.expect("applied");
        assert_eq!((applied.touched, applied.failed, applied.is_complete()), (249, 1, false), "{applied:?}");
        assert_eq!(states(&db).await, [IndexState::WriteOnly]);
        let failures = db.migrations().failures().await.unwrap();
        assert_eq!((failures.len(), failures[0].key.row.as_str()), (1, "p_0002"));
        assert!(failures[0].error.contains("by_badge"), "{failures:?}");
        db.update(unique::Person::find().club("c0").id(3), |p| Ok(p.visits += 1))
            .await
            .expect("others are not blocked");
        assert_eq!(db.migrations().retry_failures().await.unwrap(), 1, "still there");
        assert!(!db.migrations().apply().await.unwrap().is_complete(), "so the index waits");
        db.update(unique::Person::find().club("c0").id(2), |p| Ok(p.badge = Some(9))).await.expect("put right");
        assert_eq!(db.migrations().retry_failures().await.unwrap(), 0);
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete() && applied.touched == 0, "{applied:?}");
        assert!(unique::Person::by_badge().club("c0").badge(9).exists(&db).await.expect("readable"));
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn a_new_unique_index_over_all_partitions_is_claimed_once() {
    for mode in MODES {
        let db = filled(mode, 2, 120).await;
        for (club, id, badge) in [("c0", 1, 7), ("c1", 1, 7), ("c1", 2, 8)] {
            db.update(first::Person::find().club(club).id(id), move |p| Ok(p.badge = Some(badge))).await.unwrap();
        }
        db.clock().advance(Duration::from_secs(130));
        let db = next::<claimed::Club>(&db).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert_eq!((applied.failed, applied.is_complete()), (1, false), "{mode:?}: {applied:?}");
        let failed = db.migrations().failures().await.unwrap().remove(0).key;
        let loser = claimed::Person::find().club(&failed.partition).id(1);
        db.update(loser, |p| Ok(p.badge = None)).await.expect("put right");
        assert_eq!(db.migrations().retry_failures().await.unwrap(), 0);
        assert!(db.migrations().apply().await.unwrap().is_complete());
        assert!(claimed::Person::by_badge().badge(7).exists(&db).await.expect("readable"));
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn a_dry_run_writes_nothing_and_tells_what_it_would_take() {
    for mode in MODES {
        let db = filled(mode, 4, 100).await;
        let db = next::<Club>(&db).await;
        let before = (all_rows(&db, "Club").await, all_rows(&db, "tmschema").await);
        let all = db.migrations().apply().rate(100.0).dry_run(None).await.expect("read");
        assert_eq!((all.entities, all.read, all.rows, all.failed), (400, 400, 1_600, 0));
        assert_eq!(all.time, Some(Duration::from_secs(4)));
        let some = db.migrations().apply().dry_run(Some(40)).await.expect("read");
        assert_eq!((some.entities, some.read, some.rows), (400, 40, 1_600));
        assert_eq!((all_rows(&db, "Club").await, all_rows(&db, "tmschema").await), before);
    }
}

#[tokio::test]
async fn it_is_paused_slowed_and_told_of_while_it_runs() {
    let store = filled(Consistency::Azure, 4, 100).await;
    let db = next::<Club>(&store).await;
    let (mut told, mut stop) = (Vec::<Progress>::new(), None);
    let applied = {
        let db = &db;
        let (told, stop) = (&mut told, &mut stop);
        let apply = db.migrations().apply().rate(1_000.0).batch(50).workers(1).progress(move |progress| {
            told.push(*progress);
            if told.len() == 3 {
                let migrations = db.migrations();
                *stop = Some(tokio::spawn(async move { migrations.pause().await }));
            }
        });
        apply.await.expect("applied")
    };
    stop.expect("paused").await.unwrap().expect("paused");
    assert!(applied.paused && !applied.is_complete(), "{applied:?}");
    let at = applied.touched;
    assert!((150..400).contains(&at), "{at}");
    assert_eq!((told[0].entities, told[0].done, told[2].done), (400, 50, 150));
    assert!(db.migrations().apply().await.unwrap().paused, "until it is resumed");
    db.migrations().resume().await.unwrap();
    db.migrations().set_rate(Some(10.0)).await.unwrap();
    let begun = store.clock().monotonic();
    let applied = db.migrations().apply().batch(50).await.expect("applied");
    assert!(applied.is_complete() && applied.touched == 400 - at, "{applied:?}");
    let seconds = (store.clock().monotonic() - begun).as_secs();
    assert!(seconds >= (400 - at) / 10 - 10, "{seconds} s at 10 a second");
    let error = db.migrations().set_rate(Some(0.0)).await.expect_err("no rate");
    assert_eq!(*error.kind(), ErrorKind::Invalid);
    assert_built(&db, "at the end").await;
}

/// Sixty persons of whom forty have one badge, which is to be unique: the migration that stopped there.
async fn stopped() -> (Database, Applied) {
    let db = filled(Consistency::Azure, 1, 60).await;
    for id in 0..40 {
        db.update(first::Person::find().club("c0").id(id), |p| Ok(p.badge = Some(1))).await.unwrap();
    }
    db.clock().advance(Duration::from_secs(130));
    let db = next::<unique::Club>(&db).await;
    let applied = db.migrations().apply().batch(10).max_failures(5).await.expect("applied");
    (db, applied)
}

#[tokio::test]
async fn it_stops_where_too_much_fails() {
    let (db, applied) = stopped().await;
    assert!((6..=20).contains(&applied.failed) && applied.touched < 20, "{applied:?}");
    assert_eq!(db.migrations().failures().await.unwrap().len() as u64, applied.failed);
    assert!(applied.left > 0 && applied.left + applied.failed + applied.touched == 60, "{applied:?}");
}

/// A call that comes to a paused migration tells as much of it as the one that was there when it was paused.
#[tokio::test]
async fn what_is_set_aside_and_left_of_a_paused_migration_is_told_by_every_call() {
    let (db, applied) = stopped().await;
    assert!(applied.failed > 0 && applied.left > 0, "{applied:?}");
    db.migrations().pause().await.expect("paused");
    let paused = db.migrations().apply().await.expect("paused");
    assert!(paused.paused && paused.touched == 0, "{paused:?}");
    assert_eq!((paused.failed, paused.left), (applied.failed, applied.left), "{paused:?}");
}

/// Two entities whose unique indexes have keys of one form, in tables of their own.
mod alike {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_badge, table = "Badges", partition = "{badge:06}", row = "badge", unique, keys_only))]
    pub(super) struct Person {
        club: String,
        id: u32,
        badge: Option<u32>,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Guests", partition = "{club}", row = "g_{id:04}")]
    #[table(index(by_badge, table = "Passes", partition = "{badge:06}", row = "badge", unique, keys_only))]
    pub(super) struct Guest {
        club: String,
        id: u32,
        badge: u32,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Club {
        Person(Person),
        Guest(Guest),
    }

    /// Before the index.
    pub(super) mod before {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Guests", partition = "{club}", row = "g_{id:04}")]
        pub(in super::super) struct Guest {
            pub(in super::super) club: String,
            pub(in super::super) id: u32,
            pub(in super::super) badge: u32,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(in super::super) enum Club {
            Guest(Guest),
        }
    }
}

#[tokio::test]
async fn a_dry_run_takes_a_value_of_one_entity_for_no_others() {
    for mode in MODES {
        let store = badged(mode, 1, 120).await;
        let guests = next::<alike::before::Club>(&store).await;
        let all = (0..120).map(|id| alike::before::Guest { club: "c0".into(), id, badge: id });
        assert!(guests.bulk().insert_all(futures_util::stream::iter(all)).await.expect("written").failed.is_empty());
        drop(guests);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<alike::Club>(&store).await;
        let dry = db.migrations().apply().dry_run(None).await.expect("read");
        assert_eq!((dry.rows, dry.failed), (240, 0), "{mode:?}: {dry:?}");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{mode:?}: {applied:?}");
    }
}
