//! One move after another: the release after the next meets a switch that was cut short.

use std::time::Duration;

use tablemodel::{ErrorKind, prelude::*};

use super::{MODES, assert_clean, before, crashes::applied, new_flights, next, program, second};
use crate::crashes::replay;

/// The release that moves it once more.
mod third {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Departures", entity_type = "Flight", version = 2, frozen)]
    #[table(partition = "{origin}", row = "d_{carrier}_{number:05}")]
    #[table(index(sorted, row = "s_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, table = "Carriers", partition = "{carrier}", row = "{number:05}_{origin}", keys_only))]
    pub(super) struct FlightV2 {
        origin: String,
        carrier: String,
        number: u32,
        code: String,
        seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Arrivals", version = 3, moved_from = FlightV2, partition = "{carrier}", row = "a_{origin}_{number:05}")]
    pub(super) struct Flight {
        pub(super) carrier: String,
        pub(super) origin: String,
        pub(super) number: u32,
        pub(super) code: String,
        pub(super) seats: i64,
    }

    impl Upgrade<FlightV2> for Flight {
        fn upgrade(FlightV2 { origin, carrier, number, code, seats }: FlightV2) -> Result<Self, UpgradeError> {
            Ok(Self { carrier, origin, number, code, seats })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Model {
        Flight(Flight),
    }
}

#[tokio::test]
async fn a_switch_that_was_cut_short_is_not_taken_for_the_one_after_it() {
    for mode in MODES {
        replay::<before::Model, _, _>(
            ("switched", 30),
            &applied::<second::Model>(mode).await,
            async |store| program::<second::Model>(store).await,
            async |db| db.migrations().contract().await.map(drop),
            async |store, told| {
                let early = program::<third::Model>(store).await;
                let is_kept = early.ensure_tables().await.is_ok();
                let is_unfinished = early.migrations().plan().await.is_ok_and(|plan| plan.unfinished.is_some());
                if is_kept && is_unfinished {
                    let error = early.migrations().contract().await.expect_err("it is another's to end");
                    assert_eq!(*error.kind(), ErrorKind::Unsupported, "{told}: {error:?}");
                }
                drop(early);
                store.clock().advance(Duration::from_secs(130));
                let db = program::<second::Model>(store).await;
                db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_eq!(new_flights(&db, 1).await.unwrap().len(), 4, "{told}");
                drop(db);
                store.clock().advance(Duration::from_secs(130));
                let db = next::<third::Model>(store).await;
                db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_clean(&db, told).await;
                db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_clean(&db, told).await;
                let flights = third::Flight::find().carrier("C0").all(&db).await.unwrap();
                assert_eq!(flights.len(), 4, "{told}");
            },
        )
        .await;
    }
}
