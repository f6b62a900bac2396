//! A move, and another one back to the keys and the table that the entity came from.

use std::time::Duration;

use tablemodel::{prelude::*, testing::TestDatabase};

use super::{MODES, ORIGINS, assert_clean, before, crashes::applied, next, program, second};
use crate::{crashes::replay, migrate::all_rows};

/// The release that moves it back.
mod third {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use crate::moves::chain::third::FlightV2;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", version = 3, moved_from = FlightV2, partition = "{carrier}", row = "f_{number:05}")]
    #[table(index(sorted, row = "o_{origin}_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(super) struct Flight {
        pub(super) carrier: String,
        pub(super) number: u32,
        pub(super) origin: String,
        pub(super) code: String,
        pub(super) seats: i64,
    }

    impl Upgrade<FlightV2> for Flight {
        fn upgrade(FlightV2 { origin, carrier, number, code, seats }: FlightV2) -> Result<Self, UpgradeError> {
            Ok(Self { carrier, number, origin, code, seats })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Model {
        Flight(Flight),
    }
}

/// Four flights that have moved, and some of which were written since; that program has ended.
async fn moved(mode: tablemodel::Consistency, is_written: bool) -> TestDatabase {
    let store = applied::<second::Model>(mode).await;
    let db = program::<second::Model>(&store).await;
    db.migrations().contract().await.expect("switched");
    if is_written {
        let mut flights = second::Flight::scan_table().all(&db).await.expect("readable").into_iter();
        let (mut changed, gone) = (flights.next().expect("there"), flights.next().expect("there"));
        changed.seats += 100;
        db.save(&mut changed).await.expect("saved");
        changed.origin = ORIGINS[4].into();
        db.rekey(&mut changed).await.expect("moved to another origin");
        let again = gone.clone().into_inner();
        db.delete(gone).await.expect("deleted");
        db.insert(&again).await.expect("inserted again");
    }
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    store
}

async fn assert_returned(db: &Database, told: &str) {
    db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    assert_clean(db, told).await;
    let flights = third::Flight::find().carrier("C0").all(db).await.unwrap();
    assert_eq!(flights.len(), 4, "{told}");
    let mut seen = 0;
    for origin in ORIGINS {
        let there = third::Flight::anywhere().origin(origin).all(db).await.unwrap();
        assert!(there.iter().all(|flight| flight.origin == origin), "{told}");
        seen += there.len();
    }
    assert_eq!(seen, 4, "{told}");
    for table in ["Departures", "Carriers"] {
        let left = all_rows(db, table).await.into_iter().filter(|row| !row.key.row.starts_with("~~"));
        assert_eq!(left.count(), 0, "{told}: {table}");
    }
}

#[tokio::test]
async fn what_moves_back_to_where_it_came_from_is_whole_wherever_the_application_died() {
    for mode in MODES {
        for is_written in [false, true] {
            let told = format!("moved back, written: {is_written}");
            let calls = replay::<before::Model, _, _>(
                (&told, 16),
                &moved(mode, is_written).await,
                async |store| {
                    let db = program::<third::Model>(store).await;
                    assert_clean(&db, "before anything is done").await;
                    db
                },
                async |db| {
                    db.ensure_tables().await?;
                    db.migrations().apply().workers(1).await.map(drop)
                },
                async |store, told| {
                    let db = next::<third::Model>(store).await;
                    assert_clean(&db, told).await;
                    db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                    assert_clean(&db, told).await;
                    assert_returned(&db, told).await;
                },
            )
            .await;
            assert!(calls > 20, "{calls} calls");
        }
    }
}

#[tokio::test]
async fn what_was_to_move_back_is_taken_back_and_stays_where_it_is() {
    for mode in MODES {
        let store = moved(mode, true).await;
        let db = next::<third::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        db.migrations().rollback().await.expect("taken back");
        assert_clean(&db, "taken back").await;
        let left = all_rows(&db, "Flights").await.into_iter().filter(|row| !row.key.row.starts_with("~~"));
        assert_eq!(left.count(), 0, "{mode:?}");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let old = program::<second::Model>(&store).await;
        assert_eq!(second::Flight::scan_table().all(&old).await.expect("readable").len(), 4, "{mode:?}");
        assert_clean(&old, "as it was").await;
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<third::Model>(&store).await;
        db.migrations().apply().await.expect("applied again");
        assert_returned(&db, &format!("{mode:?}, applied again")).await;
    }
}
