//! Entities whose new form could not be stored: told before anything is written, in whatever mode.

use tablemodel::{ErrorKind, Upgrade, UpgradeError, prelude::*};

use super::{MODES, assert_clean, before, filled, next, program};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Flights", partition = "{carrier}", row = "f_{number:05}", moves_to = FlightV2)]
#[table(index(sorted, row = "o_{origin}_{number:05}", keys_only))]
#[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
struct Flight {
    carrier: String,
    number: u32,
    origin: String,
    seats: i64,
}

/// A letter for each seat.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Seats", entity_type = "Flight", version = 2, partition = "{carrier}", row = "s_{number:05}")]
struct FlightV2 {
    carrier: String,
    number: u32,
    seats: String,
}

impl Upgrade<Flight> for FlightV2 {
    fn upgrade(Flight { carrier, number, seats, .. }: Flight) -> Result<Self, UpgradeError> {
        Ok(Self { carrier, number, seats: "s".repeat(seats as usize) })
    }
}

#[derive(Debug, Clone, PartialEq, TableModel)]
enum Model {
    Flight(Flight),
}

#[tokio::test]
async fn what_is_too_large_where_it_moves_is_set_aside_and_refused() {
    for mode in MODES {
        let store = filled(mode, 1, 201).await;
        let old = program::<before::Model>(&store).await;
        old.insert(&before::Flight { seats: 32_769, ..before::flight("C1", 3) }).await.expect("written");
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<Model>(&store).await;
        assert_eq!(db.migrations().apply().dry_run(None).await.expect("reckoned").failed, 1);
        let applied = db.migrations().apply().await.expect("applied");
        assert_eq!((applied.failed, applied.is_complete()), (1, false), "{mode:?}: {applied:?}");
        let failures = db.migrations().failures().await.expect("read");
        assert_eq!(failures[0].key.partition, "C1");
        assert!(failures[0].error.contains("(C1, s_00003)"), "{failures:?}");
        let path = || Flight::find().carrier("C1").number(3);
        let refused = db.patch(path(), Flight::SEATS.set(40_000)).await.unwrap_err();
        assert_eq!(refused.kind(), &ErrorKind::TooLarge, "{mode:?}: {refused:?}");
        db.patch(path(), Flight::SEATS.set(32_768)).await.expect("what fits is written");
        assert_eq!(db.migrations().retry_failures().await.expect("tried again"), 0);
        assert!(db.migrations().apply().await.expect("applied").is_complete());
        assert_clean(&db, "mended").await;
    }
}
