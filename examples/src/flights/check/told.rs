//! What the database gave, told as the plain pass tells it: flights as the lines they came from.
//! Nothing is compared here.

use std::{collections::BTreeMap, fmt::Display};

use chrono::{Datelike, NaiveDate, SecondsFormat};

use super::plain::joined;
use crate::flights::{
    model::{Airport, Day, FleetPlane, Flight, Month, Plane, Timetable, Weather},
    projections::{Airframe, Connection, Hop, Leg, PlaneCard},
};

/// A value as it stands in the files.
fn field(value: Option<impl Display>) -> String {
    value.map_or_else(|| "NA".to_owned(), |value| value.to_string())
}

fn line<const N: usize>(fields: [String; N]) -> String {
    joined(fields.iter().map(String::as_str))
}

/// The line of flights.csv.gz that the flight came from.
pub(crate) fn flight(flight: &Flight) -> String {
    let f = flight;
    line([
        f.date.year().to_string(),
        f.date.month().to_string(),
        f.date.day().to_string(),
        field(f.departed.map(|time| time.0)),
        f.scheduled.0.to_string(),
        field(f.departure_delay),
        field(f.arrived.map(|time| time.0)),
        f.arrival_scheduled.0.to_string(),
        field(f.arrival_delay),
        f.carrier.clone(),
        f.number.to_string(),
        field(f.tail.as_deref()),
        f.origin.clone(),
        f.destination.clone(),
        field(f.air_time),
        f.distance.to_string(),
        f.scheduled.hour().to_string(),
        f.scheduled.minute().to_string(),
        f.scheduled_at.format("%Y-%m-%dT%H:00:00Z").to_string(),
    ])
}

/// The line of planes.csv.gz.
pub(crate) fn plane(plane: &Plane) -> String {
    let p = plane;
    line([
        p.tail.clone(),
        field(p.built),
        field(p.kind.as_deref()),
        field(p.manufacturer.as_deref()),
        field(p.model.as_deref()),
        field(p.engines),
        field(p.seats),
        field(p.speed),
        field(p.engine.as_deref()),
    ])
}

/// The line of planes.csv.gz without its key.
fn airframe(airframe: Option<&Airframe>) -> String {
    let Some(a) = airframe else { return joined(["NA"; 8].into_iter()) };
    line([
        field(a.built),
        field(a.kind.as_deref()),
        field(a.manufacturer.as_deref()),
        field(a.model.as_deref()),
        field(a.engines),
        field(a.seats),
        field(a.speed),
        field(a.engine.as_deref()),
    ])
}

/// As [`Plain::card`](super::plain::Plain::card) tells it.
pub(crate) fn card(card: &PlaneCard) -> String {
    let PlaneCard { built, manufacturer, model, seats } = card;
    line([field(*built), field(manufacturer.as_deref()), field(model.as_deref()), field(*seats)])
}

/// The line of airports.csv.gz.
pub(crate) fn airport(airport: &Airport) -> String {
    let a = airport;
    line([
        a.code.clone(),
        a.name.clone(),
        a.latitude.to_string(),
        a.longitude.to_string(),
        a.altitude.to_string(),
        a.utc_offset.to_string(),
        a.daylight_saving.clone(),
        field(a.time_zone.as_deref()),
    ])
}

/// As [`Plain::legs`](super::plain::Plain::legs) tells it.
pub(crate) fn leg(leg: &Leg) -> String {
    let Leg { date, scheduled, carrier, number, destination, arrival_delay } = leg;
    format!("{date} {} {carrier} {number} to {destination}: {}", scheduled.0, field(*arrival_delay))
}

/// As [`Plain::hops`](super::plain::Plain::hops) tells it.
pub(crate) fn hop(hop: &Hop) -> String {
    let Hop { date, scheduled, origin, carrier, number, destination, arrival_delay } = hop;
    let late = field(*arrival_delay);
    format!("{date} {} {carrier} {number} from {origin} to {destination}: {late}", scheduled.0)
}

/// The line of weather.csv.gz.
pub(crate) fn weather(weather: &Weather) -> String {
    let w = weather;
    line([
        w.origin.clone(),
        w.date.year().to_string(),
        w.date.month().to_string(),
        w.date.day().to_string(),
        w.hour.to_string(),
        field(w.temperature),
        field(w.dew_point),
        field(w.humidity),
        field(w.wind_direction),
        field(w.wind_speed),
        field(w.wind_gust),
        field(w.precipitation),
        field(w.pressure),
        field(w.visibility),
        w.at.to_rfc3339_opts(SecondsFormat::Secs, true),
    ])
}

/// As [`Plain::counts`](super::plain::Plain::counts) tells it.
pub(crate) fn counts(day: &Day) -> String {
    let Day { date, flights, cancelled, delay_minutes, .. } = day;
    format!("{date}: {flights} flights, {cancelled} cancelled, {delay_minutes} minutes")
}

/// As [`Plain::connections`](super::plain::Plain::connections) tells it.
pub(crate) fn connections(found: BTreeMap<String, Vec<Connection>>) -> BTreeMap<String, Vec<String>> {
    let told = |Connection { date, scheduled, number, departure_delay, arrival_delay, .. }: Connection| {
        format!("{date} {} {number}: {} {}", scheduled.0, field(departure_delay), field(arrival_delay))
    };
    found.into_iter().map(|(airline, flights)| (airline, flights.into_iter().map(told).collect())).collect()
}

/// As [`Plain::fleets`](super::plain::Plain::fleets) tells it.
pub(crate) fn fleet_plane(plane: &FleetPlane) -> String {
    format!("{} {} {} {}", plane.flights, plane.first, plane.last, airframe(plane.airframe.as_ref()))
}

/// As [`Plain::month`](super::plain::Plain::month) tells it.
pub(crate) fn entity(entity: &Timetable) -> String {
    match entity {
        Timetable::Flight(found) => flight(found),
        Timetable::Day(Day { date, flights, cancelled, by_hour, .. }) => {
            let by_hour = by_hour.iter().map(|(hour, count)| (hour.to_string(), *count)).collect();
            header(&date.to_string(), *flights, *cancelled, &by_hour)
        }
        Timetable::Month(Month { date, flights, cancelled, by_carrier, .. }) => {
            header(&month(*date), (*flights).into(), (*cancelled).into(), by_carrier)
        }
        other => format!("not expected here: {other:?}"),
    }
}

/// `2013-01`
pub(crate) fn month(date: NaiveDate) -> String {
    date.format("%Y-%m").to_string()
}

fn header(of: &str, flights: i64, cancelled: i64, counts: &BTreeMap<String, u32>) -> String {
    let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{name}={count}")).collect();
    format!("{of}: {flights} flights, {cancelled} cancelled, {}", counts.join(" "))
}
