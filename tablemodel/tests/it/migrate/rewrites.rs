//! Rows of older versions, all written as new: what is known of them, what is told, set aside, refused and taken back.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, IndexState, Row, ValueRef,
    migrations::{MigrationPlan, Rewrite},
    prelude::*,
    store::{Action, Batch, Condition},
    testing::{Fault, Script},
};

use super::{MODES, all_rows, assert_clean, filled, first, next, program, states};
use crate::{crashes::replay, points::ALL};

/// The second release: a city is a town, in capitals; nobody is called `bad`.
pub(super) mod second {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::super::first;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", version = 2, previous = first::Person)]
    #[table(partition = "{club}", row = "p_{id:04}")]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) town: String,
        pub(crate) badge: Option<u32>,
        pub(crate) visits: i64,
    }

    impl Upgrade<first::Person> for Person {
        fn upgrade(old: first::Person) -> Result<Self, UpgradeError> {
            let first::Person { club, id, name, city, badge, visits } = old;
            if name == "bad" {
                return Err(UpgradeError::new("nobody is called so"));
            }
            Ok(Self { club, id, name, town: city.to_uppercase(), badge, visits })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

/// The third: persons are found by their town, and by their name.
pub(super) mod third {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::second;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", version = 3, previous = second::Person)]
    #[table(partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_town, row = "town_{town}_{id:04}", keys_only))]
    #[table(index(by_name, table = "People", partition = "{name}", row = "{club}_{id:04}", keys_only))]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) town: String,
        pub(crate) badge: Option<u32>,
        pub(crate) visits: i64,
        pub(crate) note: Option<String>,
    }

    impl Upgrade<second::Person> for Person {
        fn upgrade(old: second::Person) -> Result<Self, UpgradeError> {
            let second::Person { club, id, name, town, badge, visits } = old;
            Ok(Self { club, id, name, town, badge, visits, note: Some("from two".to_owned()) })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

/// A second release beside which the first may read.
mod readable {
    use tablemodel::{Downgrade, Upgrade, UpgradeError, prelude::*};

    use super::super::first;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", version = 2, previous = first::Person, readable_by = 1, downgrade)]
    #[table(partition = "{club}", row = "p_{id:04}")]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) town: String,
        pub(crate) badge: Option<u32>,
        pub(crate) visits: i64,
    }

    impl Upgrade<first::Person> for Person {
        fn upgrade(old: first::Person) -> Result<Self, UpgradeError> {
            let first::Person { club, id, name, city, badge, visits } = old;
            Ok(Self { club, id, name, town: city, badge, visits })
        }
    }

    impl Downgrade<first::Person> for Person {
        fn downgrade(&self) -> first::Person {
            let Self { club, id, name, town, badge, visits } = self.clone();
            first::Person { club, id, name, city: town, badge, visits }
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

fn text<'r>(row: &'r Row, name: &str) -> &'r str {
    match row.properties.get(name) {
        Some(ValueRef::String(text)) => text,
        other => panic!("{name}: {other:?}"),
    }
}

/// That every person is of this version, and has what it was made of.
async fn assert_all_of(db: &Database, version: u32, persons: usize, told: &str) {
    let rows: Vec<Row> = all_rows(db, "Club").await.into_iter().filter(|row| row.key.row.starts_with("p_")).collect();
    assert_eq!(rows.len(), persons, "{told}");
    for row in rows {
        assert_eq!(text(&row, "EntityType"), format!("Person@{version}"), "{told}: {}", row.key);
        let id: usize = row.key.row[2..].parse().expect("a number");
        assert_eq!(text(&row, "Town"), ["OSLO", "ROME", "BERN"][id % 3], "{told}: {}", row.key);
    }
    assert_clean(db, told).await;
}

fn rewrite(version: u32, older: &[u32], known: Option<u32>) -> Rewrite {
    Rewrite { entity: "Person".into(), version, older: older.to_vec(), known }
}

async fn plan(db: &Database) -> MigrationPlan {
    db.migrations().plan().await.expect("planned")
}

#[tokio::test]
async fn every_row_of_an_older_version_is_written_as_new_and_that_is_known_then() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let db = filled(mode, 3, 80).await;
        let db = next::<second::Club>(&db).await;
        let before = plan(&db).await;
        assert_eq!(before.rewrites, [rewrite(2, &[1], None)]);
        let step = &before.steps[0];
        assert_eq!((before.steps.len(), step.rewrite(), step.state), (1, Some(2), IndexState::Absent), "{told}");
        let dry = db.migrations().apply().rate(100.0).dry_run(None).await.expect("read");
        assert_eq!((dry.entities, dry.read, dry.rows, dry.failed), (240, 240, 0, 0), "{told}");
        let (mut seen, mut done) = (0, 0);
        let apply =
            db.migrations().apply().batch(50).progress(|progress| (seen, done) = (progress.entities, progress.done));
        let applied = apply.await.expect("applied");
        assert!(applied.is_complete() && applied.touched == 240 && applied.failed == 0, "{told}: {applied:?}");
        assert_eq!((seen, done), (240, 240), "{told}");
        assert_all_of(&db, 2, 240, &told).await;
        let after = plan(&db).await;
        assert!(after.is_empty() && after.rewrites == [rewrite(2, &[], Some(2))], "{told}: {after:?}");
        let status = db.migrations().status().await.unwrap().expect("told");
        assert_eq!((status.touched, status.failed, status.steps[0].state), (240, 0, IndexState::Readable));
        assert_eq!(db.migrations().apply().await.expect("again").migration, None, "{told}: nothing is left");
    }
}

#[tokio::test]
async fn a_store_that_is_new_has_no_older_rows() {
    let db = tablemodel::testing::TestDatabase::new::<second::Club>().await.unwrap();
    let plan = plan(&db).await;
    assert!(plan.is_empty() && plan.rewrites == [rewrite(2, &[], Some(2))], "{plan:?}");
}

#[tokio::test]
async fn a_small_store_of_one_program_is_rewritten_with_its_tables() {
    let store = filled(Consistency::Atomic, 2, 40).await;
    let db = next::<second::Club>(&store).await;
    assert_all_of(&db, 2, 80, "small").await;
    let store = filled(Consistency::Azure, 1, 3).await;
    let db = next::<second::Club>(&store).await;
    assert_eq!(plan(&db).await.steps.len(), 1, "others may write this one");
}

#[tokio::test]
async fn rows_that_are_new_already_are_left_alone() {
    for mode in MODES {
        let store = filled(mode, 2, 120).await;
        let db = next::<second::Club>(&store).await;
        for id in 0..50 {
            db.update(second::Person::find().club("c0").id(id), |_| Ok(())).await.expect("written as new");
        }
        let is_current = |row: &&Row| row.properties.get("Town").is_some();
        let before: Vec<Row> = all_rows(&db, "Club").await.into_iter().filter(|row| is_current(&row)).collect();
        assert_eq!(before.len(), 50);
        assert_eq!(db.migrations().apply().dry_run(Some(10)).await.expect("read").entities, 190, "{mode:?}");
        assert_eq!(db.migrations().apply().await.expect("applied").touched, 190, "{mode:?}");
        let after = all_rows(&db, "Club").await;
        assert!(before.iter().all(|row| after.contains(row)), "{mode:?}: one of them was written");
        assert_all_of(&db, 2, 240, "left alone").await;
    }
}

#[tokio::test]
async fn a_rewrite_and_new_indexes_are_one_pass_from_whatever_version() {
    for mode in MODES {
        let store = filled(mode, 2, 120).await;
        let two = next::<second::Club>(&store).await;
        for id in 0..30 {
            two.update(second::Person::find().club("c1").id(id), |_| Ok(())).await.expect("written as new");
        }
        drop(two);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<third::Club>(&store).await;
        assert_eq!(plan(&db).await.rewrites, [rewrite(3, &[2, 1], None)]);
        assert_eq!(plan(&db).await.steps.len(), 3);
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete() && applied.touched == 240, "{mode:?}: {applied:?}");
        assert_all_of(&db, 3, 240, &format!("{mode:?}")).await;
        let here = third::Person::by_town().club("c1").town("ROME").all(&db).await.expect("readable");
        assert!(here.len() == 40 && here.iter().all(|person| person.note.as_deref() == Some("from two")), "{mode:?}");
        assert_eq!(third::Person::by_name().name("n3").all(&db).await.expect("readable").len(), 34, "{mode:?}");
    }
}

#[tokio::test]
async fn what_is_known_of_one_version_tells_what_the_next_may_meet() {
    for mode in MODES {
        let store = filled(mode, 1, 210).await;
        let two = next::<second::Club>(&store).await;
        two.migrations().apply().await.expect("applied");
        drop(two);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<third::Club>(&store).await;
        assert_eq!(plan(&db).await.rewrites, [rewrite(3, &[2], Some(2))], "{mode:?}");
        db.migrations().apply().await.expect("applied");
        assert_eq!(plan(&db).await.rewrites, [rewrite(3, &[], Some(3))], "{mode:?}");
        assert_all_of(&db, 3, 210, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn an_entity_that_cannot_be_upgraded_is_set_aside_and_the_rewrite_waits_for_it() {
    for mode in MODES {
        let store = filled(mode, 1, 220).await;
        for id in [3, 77] {
            store.update(first::Person::find().club("c0").id(id), |p| Ok(p.name = "bad".into())).await.unwrap();
        }
        store.clock().advance(Duration::from_secs(130));
        let db = next::<second::Club>(&store).await;
        let dry = db.migrations().apply().dry_run(None).await.expect("read");
        assert_eq!((dry.entities, dry.failed, dry.failures[1].key.row.as_str()), (220, 2, "p_0077"), "{mode:?}");
        let applied = db.migrations().apply().batch(30).await.expect("applied");
        assert_eq!((applied.touched, applied.failed, applied.is_complete()), (218, 2, false), "{mode:?}");
        assert_eq!(states(&db).await, [IndexState::WriteOnly]);
        assert_eq!(plan(&db).await.rewrites, [rewrite(2, &[1], None)], "{mode:?}: it is not known");
        let failures = db.migrations().failures().await.unwrap();
        assert!(failures.iter().all(|failure| failure.error.contains("nobody is called so")), "{failures:?}");
        assert_eq!(db.migrations().retry_failures().await.unwrap(), 2, "{mode:?}: still there");
        for row in ["p_0003", "p_0077"] {
            let key = tablemodel::RowKey::new("c0", row);
            let mut found = store.store().get("Club", &key).await.unwrap().expect("there");
            found.properties.insert("Name", "n1");
            let mended = Action::Replace(found.properties, Condition::Match(found.etag));
            store.store().commit(&[Batch::new("Club", "c0").with(row, mended)]).await.expect("mended");
        }
        assert_eq!(db.migrations().retry_failures().await.unwrap(), 0, "{mode:?}");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete() && applied.touched == 0, "{mode:?}: {applied:?}");
        assert_all_of(&db, 2, 220, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn programs_of_the_older_version_are_waited_for_and_refused_from_then_on() {
    let store = filled(Consistency::Azure, 1, 20).await;
    let old = program::<first::Club>(&store).await;
    old.insert(&first::person("c0", 100)).await.expect("it writes");
    let db = next::<second::Club>(&store).await;
    let error = db.migrations().apply().wait(Duration::from_secs(30)).await.expect_err("it waits");
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("of an older version"), "{error}");
    old.insert(&first::person("c0", 101)).await.expect("it writes still");
    let applied = db.migrations().apply().wait(Duration::from_secs(300)).await.expect("it has been silent");
    assert!(applied.is_complete() && applied.touched == 22, "{applied:?}");
    let error = old.insert(&first::person("c0", 102)).await.expect_err("no older row comes any more");
    assert_eq!(*error.kind(), ErrorKind::UnknownVersion, "{error}");
    assert!(error.to_string().contains("version 2"), "{error}");
    assert_all_of(&db, 2, 22, "after").await;
    db.migrations().rollback().await.expect("taken back");
    assert_eq!(plan(&db).await.rewrites, [rewrite(2, &[1], None)], "nothing is known any more");
    store.clock().advance(Duration::from_secs(60));
    old.insert(&first::person("c0", 102)).await.expect("it may again");
    assert_eq!(db.migrations().apply().wait(Duration::from_secs(300)).await.expect("applied").touched, 1);
    assert_all_of(&db, 2, 23, "again").await;
}

#[tokio::test]
async fn what_older_programs_may_read_they_can_read_after_it_too() {
    for mode in MODES {
        let store = filled(mode, 1, 220).await;
        let db = next::<readable::Club>(&store).await;
        assert_eq!(db.migrations().apply().await.expect("applied").touched, 220, "{mode:?}");
        let old = program::<first::Club>(&store).await;
        let read = first::Person::find().club("c0").id(4).one(&old).await.expect("readable").expect("there");
        assert_eq!(*read, first::person("c0", 4), "{mode:?}");
        assert_clean(&db, "readable").await;
    }
}

#[tokio::test]
async fn an_older_row_that_comes_to_where_it_was_already_is_written_too() {
    for mode in MODES {
        let store = filled(mode, 3, 80).await;
        let late = all_rows(&store, "Club").await.remove(0);
        let (plain, mut batches) = (store.store(), 0);
        let db = next::<second::Club>(&store).await;
        let apply = db.migrations().apply().batch(20).workers(1).rate(100.0).progress(|_| {
            batches += 1;
            if batches == 5 {
                // A move that a dead program of the older version began, and a relay ends.
                let batch = Batch::new("Club", "b").with("p_0000", Action::Insert(late.properties.clone()));
                let plain = plain.clone();
                drop(tokio::spawn(async move { plain.commit(&[batch]).await.expect("planted") }));
            }
        });
        let applied = apply.await.expect("applied");
        assert!(applied.is_complete() && applied.touched == 241, "{mode:?}: {applied:?}");
        assert_all_of(&db, 2, 241, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn a_rewrite_that_died_anywhere_is_taken_up() {
    // In the atomic mode it comes with the tables.
    for mode in MODES {
        let calls = replay::<first::Club, _, _>(
            ("rewritten", ALL),
            &filled(mode, 3, 10).await,
            async |store| program::<second::Club>(store).await,
            async |db| {
                db.ensure_tables().await?;
                db.migrations().apply().workers(2).batch(5).await.map(drop)
            },
            async |store, told| {
                let db = next::<second::Club>(store).await;
                let applied = db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert!(applied.is_complete(), "{told}: {applied:?}");
                assert_all_of(&db, 2, 30, told).await;
                let plan = plan(&db).await;
                assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
            },
        )
        .await;
        assert!(calls > 20, "{calls} calls");
    }
}

/// It stops at each of its states, by dying at many of its calls; it is taken back, and older programs write again.
#[tokio::test]
async fn at_every_state_a_rewrite_can_be_taken_back() {
    for mode in MODES {
        let mut met = std::collections::BTreeSet::new();
        let whole = filled(mode, 2, 101).await;
        for call in (0..12).chain((12..).step_by(5)) {
            let store = whole.fork().expect("in memory");
            let db = next::<second::Club>(&store).await;
            store.fail(Script::new().at(call, Fault::CrashAfter));
            let is_over = db.migrations().apply().workers(1).batch(50).await.is_ok();
            store.fail(Script::new());
            let store = store.reopen::<first::Club>().await.expect("opened");
            store.clock().advance(Duration::from_secs(130));
            let db = program::<second::Club>(&store).await;
            if db.migrations().status().await.unwrap().is_none() {
                continue;
            }
            met.extend(states(&db).await);
            db.migrations().rollback().await.expect("taken back");
            assert_eq!(states(&db).await, [IndexState::Absent]);
            assert_clean(&db, &format!("{mode:?}, died at call {call}")).await;
            drop(db);
            let old = program::<first::Club>(&store).await;
            old.insert(&first::person("c9", 1)).await.expect("written by the older version");
            if is_over {
                break;
            }
        }
        assert_eq!(met.len(), 4, "every state was met: {met:?}");
    }
}
