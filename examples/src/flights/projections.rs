//! What the application's index rows answer by themselves: the fields that an index keeps, and those in its keys.
//! Nothing is stored under these names.

use chrono::NaiveDate;
use tablemodel::prelude::*;

use super::model::{Flight, LocalTime};

/// A tail number's departure: what `by_tail` keeps, and what its keys tell.
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Flight)]
pub struct Leg {
    /// The day.
    pub date: NaiveDate,
    /// When it was to leave.
    pub scheduled: LocalTime,
    /// The airline.
    pub carrier: String,
    /// The flight's number.
    pub number: u16,
    /// Where it flew.
    pub destination: String,
    /// Minutes late.
    pub arrival_delay: Option<i16>,
}

/// A flight to a destination: what `by_destination` keeps, and what its keys tell.
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Flight)]
pub struct Connection {
    /// The day.
    pub date: NaiveDate,
    /// When it was to leave.
    pub scheduled: LocalTime,
    /// The airline.
    pub carrier: String,
    /// The flight's number.
    pub number: u16,
    /// Minutes late at the start.
    pub departure_delay: Option<i16>,
    /// Minutes late at the end.
    pub arrival_delay: Option<i16>,
}

/// A tail number's flight from any airport: what `anywhere_by_tail` keeps, and what its keys tell.
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Flight)]
pub struct Hop {
    /// The day.
    pub date: NaiveDate,
    /// When it was to leave.
    pub scheduled: LocalTime,
    /// The airport it left.
    pub origin: String,
    /// The airline.
    pub carrier: String,
    /// The flight's number.
    pub number: u16,
    /// Where it flew.
    pub destination: String,
    /// Minutes late.
    pub arrival_delay: Option<i16>,
}
