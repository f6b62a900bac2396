//! A fault at every store call of a move, in both modes: whoever goes on ends with every entity under exactly one form.

use std::{cell::Cell, time::Duration};

use tablemodel::{
    Consistency, ErrorKind, IndexState, ValueRef,
    migrations::Unfinished,
    prelude::*,
    store::{KeyRange, Query},
    testing::TestDatabase,
};

use super::{
    MODES, ORIGINS, assert_clean, before, filled, first, new_flights, new_rows, next, old_flights, old_rows, program,
    second,
};
use crate::{crashes::replay, points::ALL};

/// A store whose flights have both forms, as a program of that release left it, which has ended.
pub(super) async fn applied<M: TableModel>(mode: Consistency) -> TestDatabase {
    let store = filled(mode, 1, 4).await;
    let db = next::<M>(&store).await;
    db.migrations().apply().await.expect("applied");
    assert_clean(&db, "applied").await;
    db.close().await.expect("ended");
    store
}

#[tokio::test]
async fn an_application_that_died_anywhere_is_taken_up_by_either_release() {
    for mode in MODES {
        let calls = replay::<before::Model, _, _>(
            ("applied", 48),
            &filled(mode, 1, 3).await,
            async |store| program::<first::Model>(store).await,
            async |db| {
                db.ensure_tables().await?;
                db.migrations().apply().workers(1).await.map(drop)
            },
            async |store, told| {
                let was = old_flights(&program::<first::Model>(store).await, 1).await;
                assert_eq!(was.len(), 3);
                let db = next::<second::Model>(store).await;
                db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_clean(&db, told).await;
                assert_eq!(new_flights(&db, 1).await.unwrap(), was, "{told}");
                db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_clean(&db, told).await;
                assert_eq!(new_flights(&db, 1).await.unwrap(), was, "{told}");
                assert!(old_rows(&db).await.is_empty(), "{told}");
            },
        )
        .await;
        assert!(calls > 20, "{calls} calls");
    }
}

/// That a switch that died is not taken back by a program, if it was begun and the program has the form that is kept.
async fn assert_no_way_back(db: &Database, told: &str) {
    let unfinished = db.migrations().plan().await.map(|plan| plan.unfinished);
    if matches!(unfinished, Ok(Some(Unfinished::Contract(_)))) {
        let refused = db.migrations().rollback().await.expect_err("there is no way back").to_string();
        assert!(refused.contains("there is no way back: call `contract`"), "{told}: {refused}");
    }
}

/// What a program of the old form is told whose write a switch that died is in the way of. Whether it is.
async fn assert_is_closed(store: &TestDatabase, told: &str) -> bool {
    let early = program::<first::Model>(store).await;
    assert_no_way_back(&early, told).await;
    let states = store.store().query(&Query::new("tmschema", KeyRange::table())).await.expect("read").rows;
    let is_closed = states.iter().any(|row| matches!(row.properties.get("Closed"), Some(ValueRef::Boolean(true))));
    if !is_closed || early.migrations().plan().await.is_err() {
        return false; // open still, or switched
    }
    let flight = first::Flight { carrier: "C0".into(), number: 900, origin: ORIGINS[0].into(), seats: 1 };
    let refused = early.insert(&flight).await.expect_err("it is closed");
    assert_eq!(refused.kind(), &ErrorKind::Moved { to: 2 }, "{told}");
    let refused = refused.to_string();
    assert!(refused.contains("`contract`") && !refused.contains("`rollback`"), "{told}: {refused}");
    true
}

#[tokio::test]
async fn a_switch_that_died_anywhere_is_taken_up_and_every_entity_has_one_form() {
    for mode in MODES {
        let closed = Cell::new(0);
        let calls = replay::<before::Model, _, _>(
            ("switched", 48),
            &applied::<second::Model>(mode).await,
            async |store| program::<second::Model>(store).await,
            async |db| db.migrations().contract().await.map(drop),
            async |store, told| {
                closed.set(closed.get() + u32::from(assert_is_closed(store, told).await));
                let db = program::<second::Model>(store).await;
                assert_no_way_back(&db, told).await;
                assert_eq!(new_flights(&db, 1).await.unwrap().len(), 4, "{told}");
                assert_clean(&db, told).await;
                db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_eq!(new_flights(&db, 1).await.unwrap().len(), 4, "{told}");
                assert_clean(&db, told).await;
                assert!(old_rows(&db).await.is_empty(), "{told}");
                let plan = db.migrations().plan().await.unwrap();
                assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
                db.update(second::Flight::find().origin(ORIGINS[0]).carrier("C0").number(0), |f| {
                    f.seats += 1;
                    Ok(())
                })
                .await
                .unwrap_or_else(|error| panic!("{told}: {error:?}"));
            },
        )
        .await;
        assert!(calls > 10 && closed.get() > 0, "{calls} calls, {closed:?} closed");
    }
}

#[tokio::test]
async fn a_rollback_that_died_anywhere_is_taken_up() {
    for mode in MODES {
        replay::<before::Model, _, _>(
            ("taken back", ALL),
            &applied::<first::Model>(mode).await,
            async |store| program::<first::Model>(store).await,
            async |db| db.migrations().rollback().await.map(drop),
            async |store, told| {
                let db = program::<first::Model>(store).await;
                let is_over = super::states(&db).await == [IndexState::Absent]
                    && db.migrations().plan().await.unwrap().unfinished.is_none();
                if !is_over {
                    db.migrations().rollback().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                }
                assert_clean(&db, told).await;
                assert_eq!(old_flights(&db, 1).await.len(), 4, "{told}");
                assert!(new_rows(&db).await.is_empty(), "{told}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_write_that_died_anywhere_leaves_both_forms_alike() {
    for mode in MODES {
        replay::<before::Model, _, _>(
            ("written", ALL),
            &applied::<first::Model>(mode).await,
            async |store| program::<first::Model>(store).await,
            async |db| {
                db.update(first::Flight::find().carrier("C0").number(1), |f| {
                    (f.origin, f.seats) = (ORIGINS[4].into(), 900);
                    Ok(())
                })
                .await?;
                let one = first::Flight::find().carrier("C0").number(2).one(db).await?.expect("there");
                match db.delete(one).await {
                    // What is gone has nothing to be recognised by.
                    Err(error) if *error.kind() == ErrorKind::OutcomeUnknown => Ok(()),
                    other => other,
                }
            },
            async |store, told| {
                let db = program::<first::Model>(store).await;
                assert_clean(&db, told).await;
                let was = old_flights(&db, 1).await;
                drop(db);
                store.clock().advance(Duration::from_secs(130));
                let db = next::<second::Model>(store).await;
                assert_eq!(new_flights(&db, 1).await.unwrap(), was, "{told}");
            },
        )
        .await;
    }
}

/// A program that dies while it moves an entity to another key leaves it at neither: a switch waits until it has arrived.
#[tokio::test]
async fn an_entity_between_two_keys_is_not_lost_by_a_switch() {
    let calls = replay::<before::Model, _, _>(
        ("between", ALL),
        &applied::<first::Model>(Consistency::Azure).await,
        async |store| program::<first::Model>(store).await,
        async |db| {
            let mut moved = first::Flight::find().carrier("C0").number(2).one(db).await?.expect("there");
            (moved.carrier, moved.number) = ("C1".into(), 9);
            match db.rekey(&mut moved).await {
                Err(error) if *error.kind() == ErrorKind::OutcomeUnknown => Ok(()),
                other => other,
            }
        },
        async |store, told| {
            let db = next::<second::Model>(store).await;
            let switched = db.migrations().contract().await;
            if let Err(error) = &switched {
                assert_eq!(*error.kind(), ErrorKind::Unavailable, "{told}: {error:?}");
                assert_clean(&db, told).await;
                db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            }
            assert_clean(&db, told).await;
            let flights = new_flights(&db, 2).await.unwrap();
            assert_eq!(flights.len(), 4, "{told}: {flights:?}");
            assert!(old_rows(&db).await.is_empty(), "{told}");
        },
    )
    .await;
    assert!(calls > 8, "{calls} calls");
}
