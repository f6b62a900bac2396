//! Release 1: flights by airport and month, and by plane within them.

use chrono::NaiveDate;
use tablemodel::prelude::*;

/// A flight that was scheduled to leave New York.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Departures", partition = "{origin}_{date:month}", row = "{date}_{scheduled:04}_{carrier}_{number:04}")]
#[table(index(by_tail, row = "tail_{tail}_{date}_{scheduled:04}_{carrier}_{number:04}", keep(dest)))]
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
    pub(crate) dest: String,
    /// Minutes late; none for a flight that did not arrive.
    pub(crate) arrival_delay: Option<i16>,
}

/// Everything that the application keeps.
#[derive(Debug, TableModel)]
pub(crate) enum Timetable {
    Flight(Flight),
}
