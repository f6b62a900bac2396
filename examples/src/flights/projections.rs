//! Parts of entities: what index rows answer by themselves, and what is copied into other entities.
//! Nothing is a row of its own here.

use chrono::NaiveDate;
use tablemodel::prelude::*;

use super::model::{Flight, LocalTime, Plane};

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

/// What a flight copies of its plane.
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Plane)]
pub struct PlaneCard {
    /// The year in which it was built.
    pub built: Option<u16>,
    /// Who built it.
    pub manufacturer: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The number of seats.
    pub seats: Option<u16>,
}

/// What a fleet's plane copies of it: all that the registry knows.
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Plane)]
pub struct Airframe {
    /// The year in which it was built.
    pub built: Option<u16>,
    /// Wings and engines, such as `Fixed wing multi engine`.
    pub kind: Option<String>,
    /// Who built it.
    pub manufacturer: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The number of engines.
    pub engines: Option<u8>,
    /// The number of seats.
    pub seats: Option<u16>,
    /// Cruising speed in miles per hour.
    pub speed: Option<u16>,
    /// The kind of engine.
    pub engine: Option<String>,
}
