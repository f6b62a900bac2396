//! Release 1: flights by airport and month, and by plane within them.

use chrono::NaiveDate;
use tablemodel::prelude::*;

/// A flight that was scheduled to leave New York.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Departures", partition = "{origin}_{date:month}", row = "{date}_{scheduled:04}_{carrier}_{number:04}")]
#[table(index(by_tail, row = "tail_{tail}_{date}_{scheduled:04}_{carrier}_{number:04}", keep(dest)))]
pub struct Flight {
    /// EWR, JFK or LGA.
    pub origin: String,
    /// The local day.
    pub date: NaiveDate,
    /// The local time as four digits.
    pub scheduled: u16,
    /// The airline.
    pub carrier: String,
    /// The flight's number.
    pub number: u16,
    /// The plane.
    pub tail: Option<String>,
    /// The airport it flies to.
    pub dest: String,
    /// Minutes late; none for a flight that did not arrive.
    pub arrival_delay: Option<i16>,
}

/// Everything that the application keeps.
#[derive(Debug, TableModel)]
#[expect(missing_docs, reason = "the variant is the entity of its name")]
pub enum Timetable {
    Flight(Flight),
}
