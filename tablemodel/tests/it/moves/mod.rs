//! An entity that moves to other keys in another table: beside writers, through any fault, and back.
//!
//! One store, and programs of up to three releases over it; time passes where somebody sleeps. `crashes`, `put_back`, `random`,
//! `sabotage`, `switching` and `together` run once more in `beside`, with other forms.

mod ahead;
mod apart;
mod beside;
mod blobs;
mod chain;
mod colliding;
mod costs;
mod crashes;
mod exports;
mod faulted;
mod flights;
mod gained;
mod golden;
mod landing;
mod late;
mod left_out;
mod neighbours;
mod oversized;
mod put_back;
mod random;
mod returning;
mod sabotage;
mod several;
mod stalled;
mod switching;
mod tied;
mod to_come;
pub(crate) mod together;

pub(crate) use self::flights::*;
pub(crate) use crate::migrate::{MODES, Passing, assert_clean, next, program};

pub(crate) const ORIGINS: [&str; 5] = ["OSL", "FCO", "BRN", "CDG", "KBP"];

/// Where primary rows of the new form stand, and those of its index elsewhere.
const NEW: [&str; 2] = ["Departures", "Carriers"];

/// The release that knows of no move.
pub(crate) mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", entity_type = "Flight", partition = "{carrier}", row = "f_{number:05}", allow_scan)]
    #[table(index(sorted, row = "o_{origin}_{number:05}", keys_only))]
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
    #[table(name = "Flights", partition = "{carrier}", row = "f_{number:05}", moves_to = FlightV2, allow_scan)]
    #[table(index(sorted, row = "o_{origin}_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(crate) struct Flight {
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) origin: String,
        pub(crate) seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(
        name = "Departures",
        entity_type = "Flight",
        version = 2,
        partition = "{origin}",
        row = "d_{carrier}_{number:05}"
    )]
    #[table(index(sorted, row = "s_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, table = "Carriers", partition = "{carrier}", row = "{number:05}_{origin}", keys_only))]
    pub(crate) struct FlightV2 {
        origin: String,
        carrier: String,
        number: u32,
        code: String,
        seats: i64,
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
    #[table(
        name = "Flights",
        entity_type = "Flight",
        frozen,
        partition = "{carrier}",
        row = "f_{number:05}",
        allow_scan
    )]
    #[table(index(sorted, row = "o_{origin}_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(crate) struct FlightV1 {
        carrier: String,
        number: u32,
        origin: String,
        seats: i64,
    }

    impl FlightV1 {
        pub(crate) fn new(carrier: &str, number: u32, origin: &str, seats: i64) -> Self {
            Self { carrier: carrier.into(), number, origin: origin.into(), seats }
        }
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Departures", version = 2, partition = "{origin}", row = "d_{carrier}_{number:05}", moved_from = FlightV1, allow_scan)]
    #[table(index(sorted, row = "s_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, table = "Carriers", partition = "{carrier}", row = "{number:05}_{origin}", keys_only))]
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

/// What is gone from its key has nothing to be recognised by.
fn told_or_unknown(result: tablemodel::Result<()>) -> tablemodel::Result<()> {
    match result {
        Err(error) if *error.kind() == tablemodel::ErrorKind::OutcomeUnknown => Ok(()),
        other => other,
    }
}
