//! Programs that were silent while others switched: whatever they call first tells how the entity is kept now.

use std::time::Duration;

use tablemodel::{Consistency, ErrorKind, RowKey, prelude::*};

use super::{ORIGINS, filled, first, next, program, second};
use crate::stall::Program;

/// What a program of the first release calls first.
async fn call(db: &Database, number: usize) -> tablemodel::Result<()> {
    let at = first::Flight::find().carrier("C0").number(4);
    match number {
        0 => first::Flight::scan_partition("C0").all(db).await.map(drop),
        1 => first::Flight::scan_table().first(1, db).await.map(drop),
        2 => first::Model::rows(first::Flight::in_partition("C0")).all(db).await.map(drop),
        3 => db.get::<first::Flight>(&RowKey::new("C0", "f_00004")).await.map(drop),
        4 => db.update(at, |flight| Ok(flight.seats += 1)).await.map(drop),
        5 => db.patch(at, first::Flight::SEATS.set(1)).await,
        _ => at.one(db).await.map(drop),
    }
}

const CALLS: usize = 7;

/// A store that was switched, and programs of either release that have called nothing since they were opened before that.
async fn switched() -> (Vec<Database>, Database) {
    let store = filled(Consistency::Azure, 1, 9).await;
    let db = next::<first::Model>(&store).await;
    let early = program::<second::Model>(&store).await;
    db.migrations().apply().await.expect("applied");
    let mut silent = Vec::new();
    for _ in 0..CALLS {
        silent.push(program::<first::Model>(&store).await);
    }
    let new = next::<second::Model>(&store).await;
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    new.migrations().contract().await.expect("switched");
    (silent, early)
}

#[tokio::test]
async fn whatever_a_silent_program_calls_first_is_told_of_the_switch() {
    let (silent, _) = switched().await;
    let mut untold = Vec::new();
    for (number, db) in silent.iter().enumerate() {
        let called = call(db, number).await;
        if !matches!(&called, Err(error) if error.kind() == &ErrorKind::Moved { to: 2 }) {
            untold.push((number, called));
        }
    }
    assert!(untold.is_empty(), "{untold:?}");
}

#[tokio::test]
async fn a_program_that_came_before_its_form_was_kept_scans_once_it_is() {
    let (_, early) = switched().await;
    let scanned = second::Flight::scan_partition(ORIGINS[1]).all(&early).await.expect("it is the one by now");
    assert_eq!(scanned.len(), 3);
    let rows = second::Model::rows(second::Flight::in_partition(ORIGINS[1])).all(&early).await.expect("read");
    assert_eq!(rows.len(), 3);
}

/// The store answers late, and the entity has been switched meanwhile: nothing of it is left out in silence.
#[tokio::test]
async fn who_waits_long_for_a_read_of_what_moves_reads_all_of_it_or_is_told() {
    let whole = filled(Consistency::Azure, 1, 9).await;
    next::<first::Model>(&whole).await.migrations().apply().await.expect("applied");
    whole.clock().advance(Duration::from_secs(130));
    let mut told = 0;
    for kind in 0..5 {
        for call in 0.. {
            let store = whole.fork().expect("in memory");
            let (new, clock) = (next::<second::Model>(&store).await, store.clock().clone());
            let meanwhile = async move {
                clock.advance(Duration::from_secs(130));
                new.migrations().contract().await.expect("switched");
            };
            let reader = Program::sleeping::<first::Model>(&store, call, Box::pin(meanwhile)).await;
            let db = &reader.db;
            let found = match kind {
                0 => first::Flight::sorted().carrier("C0").all(db).await.map(|all| all.len()),
                1 => first::Flight::scan_partition("C0").all(db).await.map(|all| all.len()),
                2 => first::Model::rows(first::Flight::in_partition("C0")).all(db).await.map(|all| all.len()),
                3 => {
                    let one = first::Flight::sorted().carrier("C0").origin(ORIGINS[4 % 3]).number(4).one(db).await;
                    one.map(|one| 9 * usize::from(one.is_some()))
                }
                _ => first::Flight::find()
                    .carrier("C0")
                    .number(4)
                    .one(db)
                    .await
                    .map(|one| 9 * usize::from(one.is_some())),
            };
            if !reader.has_stalled() {
                break;
            }
            match found {
                Ok(found) => assert_eq!(found, 9, "{kind}, before call {call}"),
                Err(error) => {
                    assert_eq!(error.kind(), &ErrorKind::Moved { to: 2 }, "{kind}, before call {call}: {error}");
                    told += 1;
                }
            }
        }
    }
    assert!(told >= 5, "{told}");
}
