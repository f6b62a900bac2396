//! A migration that died, and programs that do not have what it builds: these neither finish it nor help with it.

use std::time::Duration;

use tablemodel::{
    Consistency, Error, ErrorKind, IndexState,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{Club, MODES, all_rows, assert_built, assert_clean, badged, filled, first, next, program, states, unique};

/// A store of 201 persons over which a migration that builds badges died when it had come to this state.
async fn dead(mode: Consistency, at: IndexState) -> TestDatabase {
    dead_over::<unique::Club>(&badged(mode, 3, 67).await, at).await
}

/// Such a store, over which a migration to this model died.
async fn dead_over<M: TableModel>(whole: &TestDatabase, at: IndexState) -> TestDatabase {
    for call in 0..500 {
        let store = whole.fork().expect("in memory");
        let db = next::<M>(&store).await;
        store.fail(Script::new().at(call, Fault::CrashAfter));
        let _ = db.migrations().apply().workers(1).batch(20).await;
        drop(db);
        store.fail(Script::new());
        let store = store.reopen::<first::Club>().await.expect("opened");
        store.clock().advance(Duration::from_secs(130));
        let db = program::<M>(&store).await;
        if db.migrations().status().await.unwrap().is_some() && states(&db).await == [at] {
            return store;
        }
    }
    panic!("it never was {at:?}");
}

fn assert_refused(error: &Error, told: &str) {
    assert_eq!(*error.kind(), ErrorKind::Unsupported, "{told}: {error}");
    let text = error.to_string();
    assert!(text.contains("does not have index `by_badge` of `Person`, which migration 0001 builds"), "{told}: {text}");
}

#[tokio::test]
async fn who_does_not_have_the_index_does_not_finish_its_migration() {
    for (mode, state) in MODES
        .into_iter()
        .flat_map(|mode| [IndexState::Absent, IndexState::DeleteOnly, IndexState::WriteOnly].map(|state| (mode, state)))
    {
        let (store, told) = (dead(mode, state).await, format!("{mode:?}, {state:?}"));
        let without = next::<first::Club>(&store).await;
        assert_refused(&without.migrations().apply().await.expect_err("it would write no row of it"), &told);
        assert_eq!(states(&without).await, [state], "{told}");
        drop(without);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<unique::Club>(&store).await;
        let applied = db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_clean(&db, &told).await;
        for id in 0..67 {
            let found = unique::Person::by_badge().club("c1").badge(id).one(&db).await.expect("readable");
            assert!(found.is_some(), "{told}: {id}");
        }
    }
}

#[tokio::test]
async fn who_does_not_have_the_index_takes_its_migration_back_and_builds_its_own() {
    for mode in MODES {
        let (store, told) = (dead(mode, IndexState::WriteOnly).await, format!("{mode:?}"));
        let db = next::<Club>(&store).await;
        assert_refused(&db.migrations().apply().await.expect_err("it has others"), &told);
        let gone = db.migrations().rollback().await.expect("taken back");
        assert_eq!(gone.steps.iter().map(|step| step.state).collect::<Vec<_>>(), [IndexState::Absent], "{told}");
        db.migrations().apply().await.expect("applied");
        assert_built(&db, &told).await;
    }
}

/// In the atomic mode few entities are migrated when tables are ensured: not while a migration is unfinished that is not this
/// program's.
#[tokio::test]
async fn tables_are_ensured_beside_an_unfinished_migration_of_another_index() {
    let store = dead(Consistency::Atomic, IndexState::WriteOnly).await;
    let db = program::<unique::Club>(&store).await;
    for id in 0..10 {
        let person = unique::Person::find().club("c0").id(id).one(&db).await.unwrap().expect("there");
        db.delete(person).await.expect("deleted");
    }
    drop(db);
    let db = next::<Club>(&store).await;
    assert_eq!(states(&db).await, [IndexState::WriteOnly]);
    assert_eq!(db.migrations().plan().await.unwrap().steps.len(), 4, "not built yet");
}

#[tokio::test]
async fn who_does_not_have_the_index_does_not_help_with_it() {
    let store = dead(Consistency::Azure, IndexState::WriteOnly).await;
    let (one, other) = (next::<unique::Club>(&store).await, program::<first::Club>(&store).await);
    let led = async { one.migrations().apply().rate(20.0).batch(10).workers(1).await };
    let helper = async {
        tokio::task::yield_now().await;
        other.migrations().apply().await
    };
    let (led, helper) = tokio::join!(led, helper);
    assert_refused(&helper.expect_err("it would pass over its rows"), "beside the one that leads");
    assert!(led.expect("applied").is_complete());
    assert_clean(&one, "led").await;
}

/// A program of another model: it has none of the persons.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Teams", partition = "{name}", row = "team")]
struct Team {
    name: String,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
enum Teams {
    Team(Team),
}

#[tokio::test]
async fn who_does_not_have_the_entity_takes_its_indexes_back_with_their_rows() {
    for mode in MODES {
        let (store, told) = (filled(mode, 2, 120).await, format!("{mode:?}"));
        let db = next::<Club>(&store).await;
        db.migrations().apply().await.expect("applied");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<Teams>(&store).await;
        let gone = db.migrations().rollback().await.expect("taken back");
        assert!(gone.rows >= 240 * 3, "{told}: {gone:?}");
        assert!(gone.steps.iter().all(|step| step.state == IndexState::Absent), "{told}: {gone:?}");
        let left = all_rows(&db, "Club").await.into_iter().filter(|row| !row.key.row.starts_with("~~"));
        assert_eq!(left.count(), 240, "{told}: beside outbox rows that wait for the fence");
        assert!(all_rows(&db, "People").await.is_empty() && all_rows(&db, "Names").await.is_empty(), "{told}");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        assert_clean(&next::<first::Club>(&store).await, &told).await;
    }
}

#[tokio::test]
async fn who_moves_to_another_partition_claims_no_value_of_an_index_that_is_not_written_yet() {
    use super::claimed::{Club, Person};
    for at in [IndexState::Absent, IndexState::DeleteOnly, IndexState::WriteOnly] {
        let store = dead_over::<Club>(&badged(Consistency::Azure, 1, 67).await, at).await;
        let db = program::<Club>(&store).await;
        let of = |id: u32| Person::find().club("c0").id(id);
        let mut moved = Vec::new();
        for id in 1..=2 {
            let mut person = of(id).one(&db).await.expect("read").expect("there");
            (person.club, person.badge) = ("c9".into(), Some(700));
            moved.push(db.rekey(&mut person).await);
        }
        let is_written = at == IndexState::WriteOnly;
        assert!(moved[0].is_ok(), "{at:?}: {moved:?}");
        let refused = moved[1].as_ref().err().map(|error| matches!(error.kind(), ErrorKind::UniqueViolation { .. }));
        assert_eq!(refused, is_written.then_some(true), "{at:?}: {moved:?}");
        let is_claim = |row: &tablemodel::Row| row.key.partition == "000700";
        let claims = all_rows(&db, "Badges").await.into_iter().filter(is_claim).count();
        assert_eq!(claims, usize::from(is_written), "{at:?}");
        assert_clean(&db, &format!("{at:?}")).await;
    }
}
