//! The application's answers: each runs its paths and puts the rows together.
//! No key is written here, and nothing is read but by a typed path.

use std::{collections::BTreeMap, ops::RangeInclusive};

use chrono::{Months, NaiveDate};
use tablemodel::{Result, prelude::*};

use super::{
    first_of_month,
    model::{Airline, Day, FleetPlane, Flight, Timetable, Weather},
    paths,
    projections::{Connection, Hop, Leg},
};

/// (a) The flights of an airport on a day, in departure order.
pub async fn flights_of_day(db: &Database, origin: &str, date: NaiveDate) -> Result<Vec<Stored<Flight>>> {
    paths::flights_of_day(origin, date).all(db).await
}

/// (b) One flight.
pub async fn flight(
    db: &Database,
    origin: &str,
    date: NaiveDate,
    carrier: &str,
    number: u16,
) -> Result<Option<Stored<Flight>>> {
    paths::flight(origin, date, carrier, number).one(db).await
}

/// (c) A tail number's departures from an airport in a month, in their order.
pub async fn legs(db: &Database, origin: &str, month: NaiveDate, tail: &str) -> Result<Vec<Leg>> {
    paths::legs(origin, month, tail).all(db).await
}

/// (d) The latest departures from an airport in a month, the last one first.
pub async fn latest(db: &Database, origin: &str, month: NaiveDate, count: usize) -> Result<Vec<Seen<Flight>>> {
    paths::latest(origin, month).first(count, db).await
}

/// (e) The flights from an airport to a destination on some days, by airline. One range query a month.
pub async fn connections(
    db: &Database,
    origin: &str,
    destination: &str,
    days: RangeInclusive<NaiveDate>,
) -> Result<BTreeMap<String, Vec<Connection>>> {
    let mut by_airline: BTreeMap<String, Vec<Connection>> = BTreeMap::new();
    for days in by_month(days) {
        for connection in paths::connections(origin, destination, days).all(db).await? {
            by_airline.entry(connection.carrier.clone()).or_default().push(connection);
        }
    }
    Ok(by_airline)
}

/// (f) A carrier's name and fleet.
pub async fn fleet(db: &Database, carrier: &str) -> Result<(Option<Stored<Airline>>, Vec<Stored<FleetPlane>>)> {
    Ok((paths::airline(carrier).one(db).await?, paths::fleet(carrier).all(db).await?))
}

/// (g) Everything about an airport's month: its header, then each day's header before the day's flights.
pub async fn month(db: &Database, origin: &str, month: NaiveDate) -> Result<Vec<Timetable>> {
    paths::month(origin, month).all(db).await
}

/// (h) The hour in which most flights of a day are scheduled, the first of several, with their number.
pub async fn busiest_hour(db: &Database, origin: &str, date: NaiveDate) -> Result<Option<(u8, u32)>> {
    let day = paths::day(origin, date).one(db).await?;
    Ok(day.and_then(|day| day.by_hour.iter().map(|(hour, flights)| (*hour, *flights)).rev().max_by_key(|(_, n)| *n)))
}

/// (i) A tail number's flights from all airports, in their order.
pub async fn hops(db: &Database, tail: &str) -> Result<Vec<Hop>> {
    paths::hops(tail).all(db).await
}

/// (i) Those of a month.
pub async fn hops_of_month(db: &Database, tail: &str, month: NaiveDate) -> Result<Vec<Hop>> {
    paths::hops_between(tail, first_of_month(month)..=last_of_month(month)).all(db).await
}

/// (j) The weather at an airport on a day, hour by hour.
pub async fn weather_of_day(db: &Database, origin: &str, date: NaiveDate) -> Result<Vec<Stored<Weather>>> {
    paths::weather_of_day(origin, date).all(db).await
}

/// (k) The weather in the hour in which a flight was to leave, where it was measured.
pub async fn weather_of_flight(db: &Database, flight: &Flight) -> Result<Option<Stored<Weather>>> {
    paths::weather_of_flight(flight).one(db).await
}

/// (l) An airport's days in a month, each with its counts. The headers stand among the flights: each is read by its key.
pub async fn days(db: &Database, origin: &str, month: NaiveDate) -> Result<Vec<Stored<Day>>> {
    let days = Day::find().origin(origin).date_month(month).get_many(days_of_month(month), db);
    Ok(days.await?.into_iter().flatten().collect())
}

/// (m) The seats of an airport's day and the flights that have them, by who built the planes: what each flight copies.
pub async fn seats(db: &Database, origin: &str, date: NaiveDate) -> Result<BTreeMap<String, (u32, usize)>> {
    let mut seats: BTreeMap<_, (u32, usize)> = BTreeMap::new();
    for flight in paths::flights_of_day(origin, date).all(db).await? {
        let Some(plane) = flight.into_inner().plane else { continue };
        let (Some(manufacturer), Some(number)) = (plane.manufacturer, plane.seats) else { continue };
        let (all, flights) = seats.entry(manufacturer).or_default();
        (*all, *flights) = (*all + u32::from(number), *flights + 1);
    }
    Ok(seats)
}

/// The days, cut where months end.
pub fn by_month(days: RangeInclusive<NaiveDate>) -> impl Iterator<Item = RangeInclusive<NaiveDate>> {
    let (begin, end) = days.into_inner();
    let begins = std::iter::successors(Some(begin), |date| next_month(*date));
    begins.take_while(move |date| *date <= end).map(move |date| date..=last_of_month(date).min(end))
}

/// Every day of the date's month.
pub fn days_of_month(month: NaiveDate) -> impl Iterator<Item = NaiveDate> {
    let (begin, end) = (first_of_month(month), last_of_month(month));
    begin.iter_days().take_while(move |day| *day <= end)
}

fn next_month(date: NaiveDate) -> Option<NaiveDate> {
    first_of_month(date).checked_add_months(Months::new(1))
}

fn last_of_month(date: NaiveDate) -> NaiveDate {
    next_month(date).and_then(|next| next.pred_opt()).unwrap_or(NaiveDate::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(month: u32, day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2013, month, day).unwrap()
    }

    #[test]
    fn days_are_cut_where_months_end() {
        let cut: Vec<_> = by_month(date(1, 28)..=date(3, 2)).collect();
        assert_eq!(cut, [date(1, 28)..=date(1, 31), date(2, 1)..=date(2, 28), date(3, 1)..=date(3, 2)]);
        assert_eq!(by_month(date(5, 1)..=date(5, 1)).collect::<Vec<_>>(), [date(5, 1)..=date(5, 1)]);
        assert_eq!(by_month(date(5, 2)..=date(5, 1)).count(), 0);
    }

    #[test]
    fn a_month_has_its_days_whatever_day_it_is_named_by() {
        assert_eq!(
            [date(1, 31), date(2, 1), date(4, 15), date(12, 1)].map(|of| days_of_month(of).count()),
            [31, 28, 30, 31]
        );
        assert_eq!(days_of_month(date(2, 7)).next(), Some(date(2, 1)));
    }
}
