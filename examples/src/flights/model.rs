//! The entities of the application, and the keys that make its queries point and range queries.
//! No file is read here and no question is answered; what queries give beside entities is `projections`.
//!
//! A partition of `Departures` is one airport in one month: everything that is asked of an airport on a day, a range
//! of days or a month is one partition, and a year is 36 of them. Its rows, in key order:
//!
//! ```text
//! 2013-01                               the month's header
//! 2013-01-15                            a day's header
//! 2013-01-15_0540_B6_0725               a flight, in departure order
//! latest_2519...  number_...  tail_...  to_...      index rows
//! ```
//!
//! The keys of entities begin with a digit and those of index rows with a letter, so that one range query over the
//! month's text reads all entities and no index row.
//!
//! A plane is at many airports: its flights are found by rows in `TailNumbers`, a partition for each tail number. The
//! weather has a table of its own, in partitions like those of the flights.

use std::{collections::BTreeMap, fmt};

use chrono::{DateTime, NaiveDate, Utc};
use tablemodel::prelude::*;

use super::projections::{Airframe, PlaneCard};

/// A local time of day as the data has it: 515 is 5:15, 2400 the midnight that ends a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Property, KeyPart)]
pub struct LocalTime(pub u16);

impl LocalTime {
    /// The hour, 0 to 24.
    pub fn hour(self) -> u8 {
        u8::try_from(self.0 / 100).unwrap_or(u8::MAX)
    }

    /// The minute, 0 to 59.
    pub fn minute(self) -> u16 {
        self.0 % 100
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour(), self.minute())
    }
}

/// A flight that was scheduled to leave New York.
#[expect(clippy::duplicated_attributes, reason = "two indexes keep the same field")]
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Departures", partition = "{origin}_{date:month}", row = "{date}_{scheduled:04}_{carrier}_{number:04}")]
#[table(index(by_number, row = "number_{date}_{carrier}_{number:04}", unique, keys_only))]
#[table(index(
    by_tail,
    row = "tail_{tail}_{date}_{scheduled:04}_{carrier}_{number:04}",
    keep(destination, arrival_delay)
))]
#[table(index(
    by_destination,
    row = "to_{destination}_{date}_{carrier}_{number:04}_{scheduled:04}",
    keep(departure_delay, arrival_delay)
))]
#[table(index(
    anywhere_by_tail,
    table = "TailNumbers",
    partition = "{tail}",
    row = "{date}_{scheduled:04}_{origin}_{carrier}_{number:04}",
    keep(destination, arrival_delay)
))]
#[table(index(latest, row = "latest_{departed_at:desc}_{date}_{scheduled:04}_{carrier}_{number:04}"))]
#[table(count(Day, key(origin = origin, date = date), into = flights))]
#[table(count(Day, key(origin = origin, date = date), into = cancelled, when = !departed_at))]
#[table(sum(Day, key(origin = origin, date = date), of = departure_delay, into = delay_minutes))]
pub struct Flight {
    /// EWR, JFK or LGA.
    pub origin: String,
    /// The local day on which it was to leave.
    pub date: NaiveDate,
    /// The local time at which it was to leave.
    pub scheduled: LocalTime,
    /// The airline's two letters.
    pub carrier: String,
    /// The flight's number; no two flights of a carrier leave one airport on one day under the same.
    pub number: u16,
    /// The plane; unknown for some cancelled flights.
    pub tail: Option<String>,
    /// The plane as the registry has it: copied by the database, and kept in step; none for a plane that is not listed.
    #[table(copy_of(Plane, key(tail = tail)))]
    pub plane: Option<PlaneCard>,
    /// The airport it flies to.
    pub destination: String,
    /// The time at which it was to leave, in UTC.
    pub scheduled_at: DateTime<Utc>,
    /// The time at which it left, in UTC; none for a cancelled flight.
    pub departed_at: Option<DateTime<Utc>>,
    /// The local time at which it left.
    pub departed: Option<LocalTime>,
    /// Minutes late; negative is early.
    pub departure_delay: Option<i16>,
    /// The local time at which it was to arrive.
    pub arrival_scheduled: LocalTime,
    /// The local time at which it arrived.
    pub arrived: Option<LocalTime>,
    /// Minutes late; negative is early.
    pub arrival_delay: Option<i16>,
    /// Minutes in the air.
    pub air_time: Option<u16>,
    /// Miles.
    pub distance: u16,
}

/// The header of one airport's day.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "Departures", partition = "{origin}_{date:month}", row = "{date}")]
pub struct Day {
    /// The airport.
    pub origin: String,
    /// The day.
    pub date: NaiveDate,
    /// Flights that were scheduled to leave: counted by the database.
    #[table(aggregate)]
    pub flights: i64,
    /// How many of them were cancelled: counted by the database.
    #[table(aggregate)]
    pub cancelled: i64,
    /// Minutes by which they left late, less those by which they left early: summed by the database.
    #[table(aggregate)]
    pub delay_minutes: i64,
    /// Flights by the hour they were scheduled in.
    #[table(json)]
    pub by_hour: BTreeMap<u8, u32>,
}

/// The header of one airport's month.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "Departures", partition = "{origin}_{date:month}", row = "{date:month}")]
pub struct Month {
    /// The airport.
    pub origin: String,
    /// The first day of the month.
    pub date: NaiveDate,
    /// Flights that were scheduled to leave.
    pub flights: u32,
    /// How many of them were cancelled.
    pub cancelled: u32,
    /// Flights by airline.
    #[table(json)]
    pub by_carrier: BTreeMap<String, u32>,
}

/// An airline.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "Carriers", partition = "{carrier}", row = "airline")]
pub struct Airline {
    /// Its two letters.
    pub carrier: String,
    /// Its name.
    pub name: String,
}

/// A plane in a carrier's fleet: known from the flights, with what is known of the plane.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Carriers", partition = "{carrier}", row = "plane_{tail}")]
pub struct FleetPlane {
    /// The airline.
    pub carrier: String,
    /// The plane.
    pub tail: String,
    /// Flights that it was to fly for the airline.
    pub flights: u32,
    /// The first day on which it was to fly for it.
    pub first: NaiveDate,
    /// The last such day.
    pub last: NaiveDate,
    /// What is known of the plane: copied as above.
    #[table(copy_of(Plane, key(tail = tail)))]
    pub airframe: Option<Airframe>,
}

/// A plane, as a registry lists it. Spread over 16 partitions: planes are asked for one by one.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Planes", partition = "{tail:shard(16)}", row = "{tail}")]
pub struct Plane {
    /// Its registration.
    pub tail: String,
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

/// An airport.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Airports", partition = "{code:shard(4)}", row = "{code}")]
pub struct Airport {
    /// Three letters or digits.
    pub code: String,
    /// Its name.
    pub name: String,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// Feet above the sea.
    pub altitude: i32,
    /// Hours from UTC, without daylight saving.
    pub utc_offset: i8,
    /// How daylight saving is kept: `A` as in the United States, `N` not at all, `U` unknown.
    pub daylight_saving: String,
    /// The time zone's name.
    pub time_zone: Option<String>,
}

/// The weather at an airport in one hour. Hours are counted in UTC: a local day has 23 to 25 of them.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Weather", partition = "{origin}_{date:month}", row = "{date}_{at:hour}")]
pub struct Weather {
    /// The airport.
    pub origin: String,
    /// The local day.
    pub date: NaiveDate,
    /// When it was measured, in UTC.
    pub at: DateTime<Utc>,
    /// The local hour.
    pub hour: u8,
    /// Degrees Fahrenheit.
    pub temperature: Option<f64>,
    /// Degrees Fahrenheit.
    pub dew_point: Option<f64>,
    /// Relative humidity in per cent.
    pub humidity: Option<f64>,
    /// Where the wind comes from, in degrees.
    pub wind_direction: Option<u16>,
    /// Miles per hour.
    pub wind_speed: Option<f64>,
    /// Miles per hour.
    pub wind_gust: Option<f64>,
    /// Inches.
    pub precipitation: Option<f64>,
    /// Millibars.
    pub pressure: Option<f64>,
    /// Miles.
    pub visibility: Option<f64>,
}

/// Everything that the application keeps.
#[derive(Debug, Clone, PartialEq, TableModel)]
#[expect(missing_docs, reason = "each variant is the entity of its name")]
pub enum Timetable {
    Flight(Flight),
    Day(Day),
    Month(Month),
    Airline(Airline),
    FleetPlane(FleetPlane),
    Plane(Plane),
    Airport(Airport),
    Weather(Weather),
}
