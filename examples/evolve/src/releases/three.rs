//! Release 3: a plane's flights are found wherever it flew from, by rows in a table of their own.

use chrono::NaiveDate;
use tablemodel::{Upgrade, UpgradeError, prelude::*};

use super::two;

/// A flight that was scheduled to leave New York.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Departures", version = 3, previous = two::Flight)]
#[table(partition = "{origin}_{date:month}", row = "{date}_{scheduled:04}_{carrier}_{number:04}")]
#[table(index(by_tail, row = "tail_{tail}_{date}_{scheduled:04}_{carrier}_{number:04}", keep(destination)))]
#[table(index(
    anywhere_by_tail,
    table = "TailNumbers",
    partition = "{tail}",
    row = "{date}_{scheduled:04}_{origin}_{carrier}_{number:04}"
))]
pub(crate) struct Flight {
    /// EWR, JFK or LGA.
    pub(crate) origin: String,
    /// The local day.
    pub(crate) date: NaiveDate,
    /// The local time as four digits.
    pub(crate) scheduled: u16,
    /// The airline.
    pub(crate) carrier: String,
    /// The flight's number.
    pub(crate) number: u16,
    /// The plane.
    pub(crate) tail: Option<String>,
    /// The airport it flies to.
    pub(crate) destination: String,
    /// Minutes late; none for a flight that did not arrive.
    pub(crate) arrival_delay: Option<i16>,
    /// Whether it came a quarter of an hour late or more, or not at all.
    pub(crate) is_late: bool,
}

impl Upgrade<two::Flight> for Flight {
    fn upgrade(old: two::Flight) -> Result<Self, UpgradeError> {
        let two::Flight { origin, date, scheduled, carrier, number, tail, destination, arrival_delay, is_late } = old;
        Ok(Self { origin, date, scheduled, carrier, number, tail, destination, arrival_delay, is_late })
    }
}

/// Everything that the application keeps.
#[derive(Debug, TableModel)]
pub(crate) enum Timetable {
    Flight(Flight),
}
