//! The same in one table: rows of both forms in one partition, in each other's ranges, and of indexes of one name.

#[path = "crashes.rs"]
mod crashes;
#[path = "beside_exports.rs"]
mod exports;
#[path = "flights.rs"]
mod flights;
#[path = "beside_late.rs"]
mod late;
#[path = "put_back.rs"]
mod put_back;
#[path = "random.rs"]
mod random;
#[path = "sabotage.rs"]
mod sabotage;
#[path = "switching.rs"]
mod switching;
#[path = "together.rs"]
mod together;

use self::flights::*;
use crate::migrate::{MODES, Passing, assert_clean, next, program};

/// Some are carriers too: such a flight has both of its forms in one partition.
const ORIGINS: [&str; 5] = ["C0", "FCO", "C1", "CDG", "KBP"];

/// Where primary rows of the new form stand, and those of its index elsewhere.
const NEW: [&str; 2] = ["flights", "flights"];

/// The release that knows of no move.
pub(crate) mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", entity_type = "Flight", partition = "{carrier}", row = "{number:05}", allow_scan)]
    #[table(index(sorted, row = "i_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(crate) struct Flight {
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) origin: String,
        pub(crate) seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Model {
        Flight(Flight),
    }

    pub(crate) fn flight(carrier: &str, number: u32) -> Flight {
        let origin = super::ORIGINS[number as usize % 3].to_owned();
        Flight { carrier: carrier.into(), number, origin, seats: i64::from(number) }
    }
}

/// The release that keeps both: the old form is the truth.
pub(crate) mod first {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", partition = "{carrier}", row = "{number:05}", moves_to = FlightV2, allow_scan)]
    #[table(index(sorted, row = "i_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(crate) struct Flight {
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) origin: String,
        pub(crate) seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(
        name = "flights",
        entity_type = "Flight",
        version = 2,
        partition = "{origin}",
        row = "d_{carrier}_{number:05}"
    )]
    #[table(index(sorted, row = "i_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, partition = "{carrier}", row = "c_{number:05}_{origin}", keys_only))]
    pub(crate) struct FlightV2 {
        pub(crate) origin: String,
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) code: String,
        pub(crate) seats: i64,
    }

    impl Upgrade<Flight> for FlightV2 {
        fn upgrade(old: Flight) -> Result<Self, UpgradeError> {
            if old.seats < 0 {
                return Err(UpgradeError::new("fewer seats than none"));
            }
            let code = format!("{}{}", old.carrier, old.number);
            Ok(Self { origin: old.origin, carrier: old.carrier, number: old.number, code, seats: old.seats })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Model {
        Flight(Flight),
    }
}

/// The release that takes the new form.
pub(crate) mod second {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", entity_type = "Flight", frozen, partition = "{carrier}", row = "{number:05}", allow_scan)]
    #[table(index(sorted, row = "i_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(crate) struct FlightV1 {
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) origin: String,
        pub(crate) seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "flights", version = 2, partition = "{origin}", row = "d_{carrier}_{number:05}", moved_from = FlightV1, allow_scan)]
    #[table(index(sorted, row = "i_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, partition = "{carrier}", row = "c_{number:05}_{origin}", keys_only))]
    pub(crate) struct Flight {
        pub(crate) origin: String,
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) code: String,
        pub(crate) seats: i64,
    }

    impl Upgrade<FlightV1> for Flight {
        fn upgrade(old: FlightV1) -> Result<Self, UpgradeError> {
            if old.seats < 0 {
                return Err(UpgradeError::new("fewer seats than none"));
            }
            let code = format!("{}{}", old.carrier, old.number);
            Ok(Self { origin: old.origin, carrier: old.carrier, number: old.number, code, seats: old.seats })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Model {
        Flight(Flight),
    }
}
