//! A release that knows of no move is put back while one is under way: it takes nothing of the new form away.

use std::{cell::Cell, time::Duration};

use tablemodel::{ErrorKind, IndexState};

use super::{
    MODES, assert_clean, before, crashes::applied, filled, first, new_flights, new_rows, next, old_flights, program,
    second, states,
};
use crate::{crashes::replay, migrate::store_of};

#[tokio::test]
async fn a_rollback_that_died_is_not_ended_by_a_program_that_knows_of_no_move() {
    for mode in MODES {
        let refused = Cell::new(0);
        replay::<before::Model, _, _>(
            ("put back", 60),
            &applied::<first::Model>(mode).await,
            async |store| program::<first::Model>(store).await,
            async |db| db.migrations().rollback().await.map(drop),
            async |store, told| {
                let late = program::<before::Model>(store).await;
                let is_begun = late.migrations().plan().await.expect("planned").unfinished.is_some();
                let contracted = late.migrations().contract().await;
                drop(late);
                if is_begun {
                    let error = contracted.expect_err("it does not know what to take away");
                    assert_eq!(*error.kind(), ErrorKind::Unsupported, "{told}: {error}");
                    refused.set(refused.get() + 1);
                }
                store.clock().advance(Duration::from_secs(130));
                let db = program::<first::Model>(store).await;
                if is_begun || states(&db).await != [IndexState::Absent] {
                    db.migrations().rollback().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                }
                assert_clean(&db, told).await;
                assert_eq!(old_flights(&db, 1).await.len(), 4, "{told}");
                assert!(new_rows(&db).await.is_empty(), "{told}");
            },
        )
        .await;
        assert!(refused.get() > 2, "{mode:?}: {refused:?}");
    }
}

#[tokio::test]
async fn a_repair_by_a_program_that_knows_of_no_move_takes_no_shadows_away() {
    for mode in MODES {
        let (store, told) = (filled(mode, 2, 4).await, format!("{mode:?}"));
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let (flights, rows) = (old_flights(&db, 2).await, new_rows(&db).await);
        drop(db);
        store.clock().advance(Duration::from_secs(2_000)); // longer than two fences
        let late = program::<before::Model>(&store).await;
        let repaired = late.repair().await.expect("repaired");
        assert!(repaired.found.is_clean(), "{told}: {:#?}", repaired.found.violations);
        assert_eq!(new_rows(&late).await, rows, "{told}");
        drop(late);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<second::Model>(&store).await;
        assert_clean(&db, &told).await;
        assert_eq!(new_flights(&db, 2).await.expect("readable"), flights, "{told}");
    }
}

#[tokio::test]
async fn a_store_that_was_made_by_a_release_that_knows_of_the_move_is_taken_back_too() {
    for mode in MODES {
        let (store, told) = (store_of::<first::Model>(mode).await, format!("{mode:?}"));
        let db = next::<first::Model>(&store).await;
        let flight = |number| first::Flight { carrier: "C0".into(), number, origin: "OSL".into(), seats: 1 };
        db.insert(&flight(1)).await.expect("inserted");
        assert!(!new_rows(&db).await.is_empty(), "{told}");
        let taken = db.migrations().rollback().await.expect("taken back");
        assert!(taken.rows > 0 && new_rows(&db).await.is_empty(), "{told}: {taken:?}");
        let error = db.migrations().rollback().await.expect_err("nothing is left");
        assert_eq!(*error.kind(), ErrorKind::NotFound, "{told}");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let old = next::<before::Model>(&store).await;
        let flight_before = before::Flight { carrier: "C0".into(), number: 2, origin: "FCO".into(), seats: 2 };
        old.insert(&flight_before).await.expect("it writes again");
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        assert_clean(&db, &told).await;
        assert_eq!(states(&db).await, [IndexState::Readable], "{told}");
        assert_eq!(old_flights(&db, 1).await.len(), 2, "{told}");
    }
}

#[tokio::test]
async fn what_was_switched_is_not_taken_back_by_a_program_of_the_release_before() {
    for mode in MODES {
        for is_made_with_it in [false, true] {
            let told = format!("{mode:?}, made with the move: {is_made_with_it}");
            let store = match is_made_with_it {
                true => store_of::<first::Model>(mode).await,
                false => filled(mode, 2, 4).await,
            };
            let db = next::<first::Model>(&store).await;
            db.migrations().apply().await.expect("applied");
            let flight = |number| first::Flight { carrier: "C0".into(), number, origin: "OSL".into(), seats: 1 };
            db.insert(&flight(90)).await.expect("inserted");
            drop(db);
            store.clock().advance(Duration::from_secs(130));
            let new = next::<second::Model>(&store).await;
            new.migrations().contract().await.expect("switched");
            let rows = new_rows(&new).await;
            drop(new);
            store.clock().advance(Duration::from_secs(130));
            let late = program::<first::Model>(&store).await;
            late.migrations().rollback().await.expect_err("there is no way back");
            assert_eq!(new_rows(&late).await, rows, "{told}");
            drop(late);
            store.clock().advance(Duration::from_secs(130));
            let new = next::<second::Model>(&store).await;
            assert_clean(&new, &told).await;
            assert!(!rows.is_empty() && new_rows(&new).await == rows, "{told}");
        }
    }
}

#[tokio::test]
async fn migrations_of_the_releases_before_tell_that_the_entity_has_moved() {
    for mode in MODES {
        let store = filled(mode, 2, 4).await;
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let new = next::<second::Model>(&store).await;
        new.migrations().contract().await.expect("switched");
        drop(new);
        for late in [program::<before::Model>(&store).await, program::<first::Model>(&store).await] {
            let migrations = late.migrations();
            let refused = [
                migrations.plan().await.map(drop),
                migrations.apply().await.map(drop),
                migrations.apply().dry_run(None).await.map(drop),
                migrations.rollback().await.map(drop),
                migrations.contract().await.map(drop),
            ];
            for refused in refused {
                let error = refused.expect_err("it has moved");
                assert_eq!(error.kind(), &ErrorKind::Moved { to: 2 }, "{mode:?}: {error}");
            }
        }
    }
}
