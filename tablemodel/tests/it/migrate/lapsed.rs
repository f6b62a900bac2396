//! Indexes that were built, and then written beside by a program that does not have them: they are built anew before they are read.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, IndexState,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{Club, MODES, Person, all_rows, assert_built, assert_clean, filled, first, next, program, store_of};
use crate::{crashes::writing, points::points};

/// 210 persons: too many to be migrated when tables are ensured.
pub(super) async fn built(mode: Consistency) -> TestDatabase {
    let store = filled(mode, 3, 70).await;
    next::<Club>(&store).await.migrations().apply().await.expect("applied");
    store.clock().advance(Duration::from_secs(130));
    store
}

/// A program that lacks all indexes writes, changes and deletes, and ends.
async fn without(store: &TestDatabase) {
    let db = next::<first::Club>(store).await;
    let mut found = first::Person::find().club("c0").id(0).one(&db).await.expect("read").expect("there");
    found.city = "Kyiv".into();
    db.save(&mut found).await.expect("saved");
    let found = first::Person::find().club("c0").id(1).one(&db).await.expect("read").expect("there");
    db.delete(found).await.expect("deleted");
    db.upsert(&first::person("c1", 900)).await.expect("written");
    store.clock().advance(Duration::from_secs(130));
}

pub(super) async fn assert_not_ready(db: &Database, told: &str) {
    let steps = db.migrations().plan().await.expect("planned").steps;
    assert_eq!(steps.len(), 4, "{told}");
    assert!(steps.iter().all(|step| step.state == IndexState::WriteOnly), "{told}: {steps:?}");
    let error = Person::by_city().club("c0").city("Oslo").all(db).await.expect_err("not complete");
    assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
    let error = Person::of_name().name("n1").city("Oslo").keys(db).await.expect_err("not complete");
    assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
}

#[tokio::test]
async fn an_index_that_a_program_wrote_beside_is_built_anew_before_it_is_read() {
    for mode in MODES {
        let (store, told) = (built(mode).await, format!("{mode:?}"));
        without(&store).await;
        let db = next::<Club>(&store).await;
        assert_not_ready(&db, &told).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_built(&db, &told).await;
        let paris = Person::by_city().club("c0").city("Kyiv").count(&db).await.expect("readable");
        assert_eq!(paris, 1, "{told}");
    }
}

#[tokio::test]
async fn an_index_that_lapsed_is_told_as_one_that_is_not_read() {
    for mode in MODES {
        let store = built(mode).await;
        without(&store).await;
        let told = super::states(&next::<Club>(&store).await).await;
        assert_eq!(told, [IndexState::WriteOnly; 4], "{mode:?}");
    }
    let store = built(Consistency::Azure).await;
    let (old, db) = (next::<first::Club>(&store).await, next::<Club>(&store).await);
    old.insert(&first::person("c1", 900)).await.expect("written");
    let stopped = db.migrations().stop_when(|| true).apply().await.expect_err("it waits for the other");
    assert_eq!(*stopped.kind(), ErrorKind::Stopped);
    db.migrations().pause().await.expect("paused");
    let applied = db.migrations().apply().await.expect("paused");
    assert!(applied.paused && !applied.is_complete(), "{applied:?}");
}

#[tokio::test]
async fn a_program_that_only_reads_takes_no_index_out_of_use() {
    for mode in MODES {
        let store = built(mode).await;
        let builder = Database::builder().read_only().consistency(mode);
        let read_only = builder.with_store::<first::Club>(store.store()).await.expect("opened");
        for db in [read_only, next::<first::Club>(&store).await] {
            assert!(first::Person::find().club("c0").id(0).one(&db).await.expect("read").is_some());
        }
        assert_built(&next::<Club>(&store).await, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn a_program_that_was_idle_while_the_index_was_built_takes_it_out_of_use_when_it_writes() {
    for mode in MODES {
        let (store, told) = (filled(mode, 3, 70).await, format!("{mode:?}"));
        let idle = next::<first::Club>(&store).await;
        store.clock().advance(Duration::from_secs(130));
        let db = next::<Club>(&store).await;
        db.migrations().apply().await.expect("applied");
        store.clock().advance(Duration::from_secs(61));
        if mode == Consistency::Azure {
            idle.insert(&first::person("c1", 900)).await.expect("written");
            store.clock().advance(Duration::from_secs(61));
            let error = Person::by_city().club("c0").city("Oslo").all(&db).await.expect_err("looked at anew");
            assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
        }
        drop((idle, db));
        let again = program::<first::Club>(&store).await; // which ensures nothing: the tables are there
        again.insert(&first::person("c1", 901)).await.expect("written");
        drop(again);
        assert_not_ready(&next::<Club>(&store).await, &told).await;
    }
}

#[tokio::test]
async fn many_programs_that_begin_to_write_together_all_do() {
    let store = built(Consistency::Azure).await;
    let mut programs = Vec::new();
    for _ in 0..12 {
        programs.push(next::<first::Club>(&store).await);
    }
    let writes = programs.iter().zip(900..).map(|(db, id)| async move { db.insert(&first::person("c1", id)).await });
    for written in futures_util::future::join_all(writes).await {
        written.expect("written");
    }
    let before = rows_of_states(&programs).await;
    let late = next::<first::Club>(&store).await;
    late.insert(&first::person("c1", 950)).await.expect("written");
    assert_eq!(rows_of_states(&programs).await, before, "it was said already");
    assert_not_ready(&next::<Club>(&store).await, "after all").await;
}

#[tokio::test]
async fn a_migration_that_finds_nothing_to_do_takes_no_index_out_of_use() {
    for mode in MODES {
        let store = built(mode).await;
        let db = next::<first::Club>(&store).await;
        let applied = db.migrations().apply().await.expect("nothing to do");
        assert_eq!(applied.migration, None, "{mode:?}");
        drop(db);
        assert_built(&next::<Club>(&store).await, &format!("{mode:?}")).await;
    }
}

/// The rows of the states of indexes, with their ETags.
async fn rows_of_states(programs: &[Database]) -> Vec<tablemodel::Row> {
    let db = programs.first().expect("one");
    let rows = all_rows(db, "tmschema").await.into_iter();
    rows.filter(|row| row.key.row.starts_with("index|") || row.key.row == "epoch").collect()
}

/// Two releases over a first one that found persons by their city: the second does not, the third does again.
mod dropped {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    pub(super) mod second {
        use super::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", version = 2, previous = super::first::Person, readable_by = 1)]
        #[table(partition = "{club}", row = "p_{id:04}")]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) city: String,
            pub(crate) note: Option<String>,
        }

        impl Upgrade<super::first::Person> for Person {
            fn upgrade(old: super::first::Person) -> Result<Self, UpgradeError> {
                let super::first::Person { club, id, city } = old;
                Ok(Self { club, id, city, note: None })
            }
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
        }
    }

    pub(super) mod third {
        use super::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", version = 3, previous = super::second::Person)]
        #[table(partition = "{club}", row = "p_{id:04}")]
        #[table(index(by_city, row = "city_{city}_{id:04}", keys_only))]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) city: String,
            pub(crate) note: Option<String>,
        }

        impl Upgrade<super::second::Person> for Person {
            fn upgrade(old: super::second::Person) -> Result<Self, UpgradeError> {
                let super::second::Person { club, id, city, note } = old;
                Ok(Self { club, id, city, note })
            }
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
        }
    }

    /// The second as others released it: the index stays.
    pub(super) mod kept {
        use super::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", version = 2, previous = super::first::Person)]
        #[table(partition = "{club}", row = "p_{id:04}")]
        #[table(index(by_city, row = "city_{city}_{id:04}", keys_only))]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) city: String,
        }

        impl Upgrade<super::first::Person> for Person {
            fn upgrade(old: super::first::Person) -> Result<Self, UpgradeError> {
                let super::first::Person { club, id, city } = old;
                Ok(Self { club, id, city })
            }
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
        }
    }

    /// What was before the first: no index.
    pub(super) mod bare {
        use super::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) city: String,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
        }
    }

    pub(super) mod first {
        use super::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
        #[table(index(by_city, row = "city_{city}_{id:04}", keys_only))]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) city: String,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
        }
    }
}

#[tokio::test]
async fn an_index_that_a_new_version_drops_is_not_read_by_programs_of_the_old_one_any_more() {
    use dropped::{first, second, third};
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = store_of::<first::Club>(mode).await;
        let person = |id| first::Person { club: "c0".into(), id, city: "Oslo".into() };
        let all = store.bulk().insert_all(futures_util::stream::iter((0..210).map(person))).await.expect("written");
        assert!(all.failed.is_empty(), "{told}");
        store.clock().advance(Duration::from_secs(130));
        let old = next::<first::Club>(&store).await;
        let oslo = async |db: &Database| first::Person::by_city().club("c0").city("Oslo").count(db).await;
        assert_eq!(oslo(&old).await.expect("readable"), 210, "{told}");
        drop(old);
        let new = next::<second::Club>(&store).await;
        let more = second::Person { club: "c0".into(), id: 900, city: "Oslo".into(), note: None };
        new.insert(&more).await.expect("written");
        drop(new);
        store.clock().advance(Duration::from_secs(130));
        let error = oslo(&next::<first::Club>(&store).await).await.expect_err("one is not in it");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
        store.clock().advance(Duration::from_secs(130));
        let back = next::<third::Club>(&store).await;
        let again = async || third::Person::by_city().club("c0").city("Oslo").count(&back).await;
        let error = again().await.expect_err("one is not in it");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
        let applied = back.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_eq!(again().await.expect("readable"), 211, "{told}");
        assert_clean(&back, &told).await;
    }
}

#[tokio::test]
async fn a_program_whose_writes_are_refused_takes_an_index_out_of_use_only_once_they_are_not() {
    use dropped::{bare, first, kept};
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = store_of::<bare::Club>(mode).await;
        let person = |id| bare::Person { club: "c0".into(), id, city: "Oslo".into() };
        let all = store.bulk().insert_all(futures_util::stream::iter((0..210).map(person))).await.expect("written");
        assert!(all.failed.is_empty(), "{told}");
        store.clock().advance(Duration::from_secs(130));
        next::<first::Club>(&store).await.migrations().apply().await.expect("the index");
        store.clock().advance(Duration::from_secs(130));
        next::<kept::Club>(&store).await.migrations().apply().await.expect("the rows");
        store.clock().advance(Duration::from_secs(130));
        let old = next::<bare::Club>(&store).await;
        let error = old.insert(&person(900)).await.expect_err("all rows are of the next version");
        assert_eq!(*error.kind(), ErrorKind::UnknownVersion, "{told}");
        let new = next::<kept::Club>(&store).await;
        let oslo = async || kept::Person::by_city().club("c0").city("Oslo").count(&new).await;
        assert_eq!(oslo().await.expect("nobody writes without it"), 210, "{told}");
        store.clock().advance(Duration::from_secs(130));
        new.migrations().rollback().await.expect("older programs write again");
        if mode == Consistency::Azure {
            old.insert(&person(900)).await.expect("written");
        } else {
            next::<bare::Club>(&store).await.insert(&person(900)).await.expect("written");
        }
        let error = first::Person::by_city().club("c0").city("Oslo").count(&next::<first::Club>(&store).await).await;
        let error = error.expect_err("one is not in it");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
    }
}

#[tokio::test]
async fn what_a_program_does_beside_a_migration_that_died_is_in_the_index_at_its_end() {
    let apply = async |db: &Database| db.migrations().apply().workers(2).batch(20).await;
    for mode in MODES {
        let whole = filled(mode, 3, 70).await;
        drop(next::<Club>(&whole).await);
        let store = whole.fork().expect("in memory");
        let db = next::<Club>(&store).await;
        store.forget_calls();
        assert!(apply(&db).await.expect("applied").is_complete(), "{mode:?}: without a fault");
        let writing = writing(&store.calls());
        drop(db);
        let deaths = points(writing.len(), 6, &format!("{mode:?}")).into_iter().map(|point| Some(writing[point]));
        let mut died = 0;
        // And one that does not die.
        for death in deaths.chain([None]) {
            let (store, told) = (whole.fork().expect("in memory"), format!("{mode:?}, after call {death:?}"));
            let db = next::<Club>(&store).await;
            store.fail(death.map_or_else(Script::new, |call| Script::new().at(call, Fault::CrashAfter)));
            died += u32::from(apply(&db).await.is_err());
            drop(db);
            store.fail(Script::new());
            let store = store.reopen::<first::Club>().await.expect("opened");
            store.clock().advance(Duration::from_secs(130));
            without(&store).await;
            let db = next::<Club>(&store).await;
            let applied = db.migrations().apply().batch(20).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            assert!(applied.is_complete(), "{told}: {applied:?}");
            // One that had begun and was not over has gone on; one that was over begins anew.
            assert_built(&db, &told).await;
        }
        assert!(died > 3, "{mode:?}: {died} died, of {} that may", writing.len());
    }
}

#[tokio::test]
async fn a_repair_takes_away_no_row_of_another_programs_index() {
    for mode in MODES {
        let store = built(mode).await;
        let before = all_rows(&next::<Club>(&store).await, "Club").await.len();
        store.clock().advance(Duration::from_secs(130));
        let db = next::<first::Club>(&store).await;
        assert_clean(&db, "by a program without").await;
        assert_eq!(db.repair().await.expect("repaired").repaired, 0);
        assert_eq!(all_rows(&db, "Club").await.len(), before, "{mode:?}");
    }
}

/// Few entities are migrated when tables are ensured, in the atomic mode.
#[tokio::test]
async fn a_small_store_is_put_right_when_tables_are_ensured() {
    let store = filled(Consistency::Atomic, 1, 5).await;
    assert_built(&next::<Club>(&store).await, "at first").await;
    without_few(&store).await;
    assert_built(&next::<Club>(&store).await, "again").await;
}

async fn without_few(store: &TestDatabase) {
    let db = next::<first::Club>(store).await;
    db.insert(&first::person("c0", 70)).await.expect("written");
}
