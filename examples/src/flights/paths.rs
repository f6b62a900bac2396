//! The application's queries, each a typed path: what is asked of the store, without asking it.
//! `explain()` of any of them tells what it costs; `answers` runs them.

use std::ops::RangeInclusive;

use chrono::NaiveDate;
use tablemodel::{Complete, ModelRows, Ranged, prelude::*};

use super::{
    model::{Airline, Day, FleetPlane, Flight, Timetable, Weather},
    projections::{Connection, Hop, Leg},
};

/// (a) The flights of an airport on a day, in departure order: a range of primary rows.
pub fn flights_of_day(origin: &str, date: NaiveDate) -> impl Path<State: Ranged, Found = Stored<Flight>> + use<> {
    Flight::find().origin(origin).date_month(date).date(date)
}

/// (b) One flight by its number: a row of the unique index, and the flight that it names.
pub fn flight(
    origin: &str,
    date: NaiveDate,
    carrier: &str,
    number: u16,
) -> impl Path<State: Complete, Found = Stored<Flight>> + use<> {
    Flight::by_number().origin(origin).date_month(date).date(date).carrier(carrier).number(number)
}

/// (c) A tail number's departures from an airport in a month: index rows alone, which keep what is asked.
pub fn legs(origin: &str, month: NaiveDate, tail: &str) -> impl Path<State: Ranged, Found = Leg> + use<> {
    Flight::by_tail().origin(origin).date_month(month).tail(tail).select::<Leg>()
}

/// (d) Departures from an airport in a month, latest first: whole copies in order of inverted ticks.
pub fn latest(origin: &str, month: NaiveDate) -> impl Path<State: Ranged, Found = Seen<Flight>> + use<> {
    Flight::latest().origin(origin).date_month(month)
}

/// (e) The flights from an airport to a destination on some days of one month: index rows alone.
pub fn connections(
    origin: &str,
    destination: &str,
    days: RangeInclusive<NaiveDate>,
) -> impl Path<State: Ranged, Found = Connection> + use<> {
    let path = Flight::by_destination().origin(origin).date_month(*days.start()).destination(destination);
    path.date_between(days).select::<Connection>()
}

/// (f) A carrier's fleet: the rows beside the airline's own.
pub fn fleet(carrier: &str) -> impl Path<State: Ranged, Found = Stored<FleetPlane>> + use<> {
    FleetPlane::find().carrier(carrier)
}

/// (f) The airline itself.
pub fn airline(carrier: &str) -> impl Path<State: Complete, Found = Stored<Airline>> + use<> {
    Airline::find().carrier(carrier)
}

/// (g) An airport's month, headers and flights in one query: every entity's key begins with the month.
pub fn month(origin: &str, month: NaiveDate) -> ModelRows<Timetable> {
    let begin = month.format("%Y-%m").to_string();
    Timetable::rows(Flight::in_partition(origin, month)).row_starts_with(&begin)
}

/// (h) A day's header, which counts its flights by hour. (l) reads those of a month, each by its key.
pub fn day(origin: &str, date: NaiveDate) -> impl Path<State: Complete, Found = Stored<Day>> + use<> {
    Day::find().origin(origin).date_month(date).date(date)
}

/// (i) A tail number's flights from all airports: rows of a partition that is the tail number's own.
pub fn hops(tail: &str) -> impl Path<State: Ranged, Found = Hop> + use<> {
    Flight::anywhere_by_tail().tail(tail).select::<Hop>()
}

/// (i) Those on some days.
pub fn hops_between(tail: &str, days: RangeInclusive<NaiveDate>) -> impl Path<State: Ranged, Found = Hop> + use<> {
    Flight::anywhere_by_tail().tail(tail).date_between(days).select::<Hop>()
}

/// (j) The weather at an airport on a day, hour by hour.
pub fn weather_of_day(origin: &str, date: NaiveDate) -> impl Path<State: Ranged, Found = Stored<Weather>> + use<> {
    Weather::find().origin(origin).date_month(date).date(date)
}

/// (k) The weather in the hour in which a flight was to leave.
pub fn weather_of_flight(flight: &Flight) -> impl Path<State: Complete, Found = Stored<Weather>> + use<> {
    let Flight { origin, date, scheduled_at, .. } = flight;
    Weather::find().origin(origin).date_month(*date).date(*date).at_hour(*scheduled_at)
}
