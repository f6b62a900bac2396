//! Release 2: `dest` is called `destination`, and whether a flight was late is a property of its own.

use chrono::NaiveDate;
use tablemodel::{Upgrade, UpgradeError, prelude::*};

use super::one;

/// Minutes from which on a flight counts as late.
const LATE: i16 = 15;

/// A flight that was scheduled to leave New York.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Departures", version = 2, previous = one::Flight)]
#[table(partition = "{origin}_{date:month}", row = "{date}_{scheduled:04}_{carrier}_{number:04}")]
#[table(index(by_tail, row = "tail_{tail}_{date}_{scheduled:04}_{carrier}_{number:04}", keep(destination)))]
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

impl Upgrade<one::Flight> for Flight {
    fn upgrade(old: one::Flight) -> Result<Self, UpgradeError> {
        let one::Flight { origin, date, scheduled, carrier, number, tail, dest, arrival_delay } = old;
        let is_late = arrival_delay.is_none_or(|minutes| minutes >= LATE);
        Ok(Self { origin, date, scheduled, carrier, number, tail, destination: dest, arrival_delay, is_late })
    }
}

/// Everything that the application keeps.
#[derive(Debug, TableModel)]
pub(crate) enum Timetable {
    Flight(Flight),
}
