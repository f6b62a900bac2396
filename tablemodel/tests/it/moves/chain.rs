//! One move after another: the release after the next meets a switch that was cut short.

use std::time::Duration;

use tablemodel::{
    ErrorKind,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{MODES, assert_clean, before, crashes::applied, new_flights, next, program, second};
use crate::crashes::replay;

/// The release that moves it once more.
pub(super) mod third {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Departures", entity_type = "Flight", version = 2, frozen)]
    #[table(partition = "{origin}", row = "d_{carrier}_{number:05}")]
    #[table(index(sorted, row = "s_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, table = "Carriers", partition = "{carrier}", row = "{number:05}_{origin}", keys_only))]
    pub(in crate::moves) struct FlightV2 {
        pub(in crate::moves) origin: String,
        pub(in crate::moves) carrier: String,
        pub(in crate::moves) number: u32,
        pub(in crate::moves) code: String,
        pub(in crate::moves) seats: i64,
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

/// Until they are next written, rows that came here by a move say that they were shadows.
#[tokio::test]
async fn what_has_moved_is_no_shadow_to_the_release_that_moves_it_on() {
    for mode in MODES {
        let moved = applied::<second::Model>(mode).await;
        program::<second::Model>(&moved).await.migrations().contract().await.expect("switched");
        for call in (0..).step_by(5) {
            let store = moved.fork().expect("in memory");
            let told = format!("{mode:?}, died at call {call}");
            still_there(&store, &told).await;
            let db = next::<third::Model>(&store).await;
            store.fail(Script::new().at(call, Fault::CrashAfter));
            let applied = db.migrations().apply().workers(1).await;
            assert_eq!(applied.as_ref().map_or(0, |applied| applied.scrubbed), 0, "{told}");
            drop(db);
            store.fail(Script::new());
            let store = store.reopen::<before::Model>().await.expect("opened");
            still_there(&store, &told).await;
            if applied.is_ok() {
                break;
            }
        }
    }
}

/// To the third release, which finds nothing to put right.
async fn still_there(store: &TestDatabase, told: &str) {
    store.clock().advance(Duration::from_secs(130));
    let db = program::<third::Model>(store).await;
    let verified = db.verify().await.expect("verified");
    assert_eq!((verified.entities, verified.violations), (4, vec![]), "{told}");
    assert_eq!(db.repair().await.expect("repaired").repaired, 0, "{told}");
    assert_eq!(db.verify().await.expect("verified").entities, 4, "{told}");
}
