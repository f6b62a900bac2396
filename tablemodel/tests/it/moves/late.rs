//! Programs that were silent while others switched: whatever they call first tells how the entity is kept now.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use tablemodel::{
    Consistency, DateTime, ErrorKind, RowKey,
    prelude::*,
    store::{Durability, EmbeddedStore, TableStore, clock::ManualClock},
};

use super::{ORIGINS, Passing, before, filled, first, next, program, second};
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
        6 => db.get_many::<first::Flight>([RowKey::new("C0", "f_00004")]).await.map(drop),
        7 => first::Model::rows(first::Flight::in_partition("C0")).count(db).await.map(drop),
        8 => first::Flight::scan_table().count(db).await.map(drop),
        _ => at.one(db).await.map(drop),
    }
}

const CALLS: usize = 10;
/// More than are shown at a time.
const FLIGHTS: u32 = 600;

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
    for kind in 0..8 {
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
                3 => first::Model::rows(first::Flight::in_partition("C0")).count(db).await.map(|count| count as usize),
                4 => first::Flight::scan_partition("C0").count(db).await.map(|count| count as usize),
                5 => {
                    let keys = (0..9).map(|number| RowKey::new("C0", format!("f_{number:05}")));
                    db.get_many::<first::Flight>(keys).await.map(|found| found.iter().flatten().count())
                }
                6 => {
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

/// The same where the store shows its rows, and no request is awaited.
#[tokio::test]
async fn who_goes_on_reading_after_long_reads_all_of_what_moved_or_is_told() {
    let clock = ManualClock::new(DateTime::from_unix_seconds(1_577_836_800).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let builder = EmbeddedStore::builder().clock(Arc::new(clock.clone())).durability(Durability::Relaxed);
    let store: Arc<dyn TableStore> = Arc::new(builder.open(folder.path().join("db")).unwrap());
    let open = || {
        let builder = Database::builder().clock(Arc::new(clock.clone())).sleep(Arc::new(Passing(clock.clone())));
        builder.consistency(Consistency::Azure).deadline(Duration::MAX)
    };
    let db = open().with_store::<before::Model>(store.clone()).await.expect("opened");
    db.ensure_tables().await.expect("ensured");
    let flights = (0..FLIGHTS).map(|number| before::flight("C0", number));
    let report = db.bulk().insert_all(futures_util::stream::iter(flights)).await.expect("written");
    assert!(report.failed.is_empty(), "{report:?}");
    drop(db);
    clock.advance(Duration::from_secs(130));
    let old = open().with_store::<first::Model>(store.clone()).await.expect("opened");
    old.ensure_tables().await.expect("ensured");
    old.migrations().apply().await.expect("applied");
    let new = open().with_store::<second::Model>(store).await.expect("opened");
    new.ensure_tables().await.expect("ensured");
    let mut stream = std::pin::pin!(first::Flight::find().carrier("C0").stream(&old));
    let mut found = vec![stream.next().await.expect("one").expect("read")];
    clock.advance(Duration::from_secs(130));
    new.migrations().contract().await.expect("switched");
    let end = loop {
        match stream.next().await {
            Some(Ok(flight)) => found.push(flight),
            Some(Err(error)) => break error,
            None => panic!("it ends with {} flights", found.len()),
        }
    };
    assert_eq!(*end.kind(), ErrorKind::Moved { to: 2 }, "{end:?}");
    assert!(found.len() < FLIGHTS as usize);
}
