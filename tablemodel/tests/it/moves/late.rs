//! Programs that were silent while others switched: whatever they call first tells how the entity is kept now.

use std::time::Duration;

use tablemodel::{Consistency, ErrorKind, RowKey, prelude::*};

use super::{ORIGINS, filled, first, next, program, second};

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

#[tokio::test]
async fn whatever_a_silent_program_calls_first_is_told_of_the_switch() {
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

    for (number, db) in silent.iter().enumerate() {
        let error = call(db, number).await.expect_err("it is kept in another form");
        assert_eq!(error.kind(), &ErrorKind::Moved { to: 2 }, "call {number}: {error:?}");
    }
    let scanned = second::Flight::scan_partition(ORIGINS[1]).all(&early).await.expect("it is the one by now");
    assert_eq!(scanned.len(), 3);
}
