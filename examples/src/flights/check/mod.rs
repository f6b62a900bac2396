//! Every answer against the plain pass, and every row against its entity.
//! Reads only; what differs is named and counted, and nothing is repaired.

mod plain;
mod told;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    ops::RangeInclusive,
    path,
};

use chrono::{Duration, NaiveDate};
use tablemodel::prelude::*;

use self::plain::Plain;
use super::{
    Result, answers,
    model::{Airport, Plane},
};

/// Differences that are told in full; the others are counted.
const TOLD: usize = 20;
/// Days between the ranges that (e) is asked for, and their length: some cross the end of a month.
const RANGE_STEP: usize = 9;
const RANGE_DAYS: i64 = 11;

/// What the check found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Comparisons made.
    pub made: u64,
    /// Comparisons that failed.
    pub failed: u64,
    /// The first of them in words.
    pub differences: Vec<String>,
}

/// Asks every question in every way that the files know of, and compares.
///
/// Holds the files in memory. Cost: a query for each flight, each tail number of an airport's month, each route and
/// range of days, each day and each month; and a walk over every row.
///
/// # Errors
///
/// Those of the files and of the database; a difference is not an error.
pub async fn check(db: &Database, directory: &path::Path) -> Result<Checked> {
    let plain = Plain::read(directory)?;
    let mut checked = Checked::default();
    checked.days(db, &plain).await?;
    checked.flights(db, &plain).await?;
    checked.legs(db, &plain).await?;
    checked.routes(db, &plain).await?;
    checked.months(db, &plain).await?;
    checked.carriers(db, &plain).await?;
    checked.places(db, &plain).await?;
    checked.tails(db, &plain).await?;
    checked.weather(db, &plain).await?;
    checked.rows(db, &plain).await?;
    Ok(checked)
}

impl Checked {
    fn equal<T: PartialEq + Debug>(&mut self, what: impl FnOnce() -> String, expected: T, found: T) {
        self.made += 1;
        if expected != found {
            self.failed += 1;
            if self.differences.len() < TOLD {
                let text = format!("{}: expected {expected:?}, found {found:?}", what());
                self.differences.push(text.chars().take(400).collect());
            }
        }
    }

    /// Lists, of which the first difference is told.
    fn same<T: PartialEq + Debug>(&mut self, what: impl Fn() -> String, expected: &[T], found: &[T]) {
        let differs = expected.iter().zip(found).position(|(a, b)| a != b);
        match differs {
            Some(at) => self.equal(|| format!("{}, item {at}", what()), expected.get(at), found.get(at)),
            None => self.equal(|| format!("{}, number of items", what()), expected.len(), found.len()),
        }
    }

    /// (a) and (h): every airport, every day; and a day that has no flights.
    async fn days(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        for ((origin, date), flights) in &plain.days {
            let day: NaiveDate = date.parse()?;
            let found = answers::flights_of_day(db, origin, day).await?;
            let found: Vec<_> = found.iter().map(|flight| told::flight(flight)).collect();
            let expected: Vec<_> = flights.iter().map(|flight| flight.line.clone()).collect();
            self.same(|| format!("(a) flights of {origin} on {date}"), &expected, &found);
            let found = answers::busiest_hour(db, origin, day).await?.map(|(hour, n)| (hour.into(), n as usize));
            self.equal(|| format!("(h) busiest hour of {origin} on {date}"), Plain::busiest_hour(flights), found);
            let found = answers::flight(db, origin, day, "ZZ", 1).await?.is_some();
            self.equal(|| format!("(b) no flight ZZ 1 from {origin} on {date}"), false, found);
        }
        let no_day = NaiveDate::default();
        self.equal(|| "(a) a day without flights".into(), 0, answers::flights_of_day(db, "JFK", no_day).await?.len());
        self.equal(|| "(h) a day without flights".into(), None, answers::busiest_hour(db, "JFK", no_day).await?);
        Ok(())
    }

    /// (b), (k) and (m): every flight, the weather in its hour, and its plane.
    async fn flights(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        for flight in plain.flights() {
            let (date, number) = (flight.date.parse()?, u16::try_from(flight.number)?);
            let found = answers::flight(db, &flight.origin, date, &flight.carrier, number).await?;
            let what = || format!("(b) {} {} from {} on {}", flight.carrier, number, flight.origin, flight.date);
            self.equal(what, Some(&flight.line), found.as_ref().map(|flight| told::flight(flight)).as_ref());
            let Some(found) = found else { continue };
            let what = || format!("(m) the plane of {} {} from {}", flight.carrier, flight.number, flight.origin);
            self.equal(what, plain.card(flight), found.plane.as_ref().map(told::card));
            let weather = answers::weather_of_flight(db, &found).await?.map(|weather| told::weather(&weather));
            let what = || format!("(k) weather of {} {} from {}", flight.carrier, flight.number, flight.origin);
            self.equal(what, plain.weather_of(flight), weather.as_ref());
        }
        Ok(())
    }

    /// (c): every tail number in every month at every airport; and one that never flew.
    async fn legs(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        for ((origin, month, tail), expected) in plain.legs() {
            let found = answers::legs(db, origin, first_day(month)?, tail).await?;
            let found: Vec<_> = found.iter().map(told::leg).collect();
            self.same(|| format!("(c) departures of {tail} from {origin} in {month}"), &expected, &found);
        }
        for (origin, month) in plain.months() {
            let found = answers::legs(db, origin, first_day(month)?, "N").await?.len();
            self.equal(|| format!("(c) no plane N at {origin} in {month}"), 0, found);
        }
        Ok(())
    }

    /// (e): every route, over all days and over ranges of some.
    async fn routes(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        let ranges = ranges(plain)?;
        for ((origin, destination), flights) in plain.routes() {
            for days in &ranges {
                let expected = Plain::connections(&flights, days);
                let found = answers::connections(db, origin, destination, days.clone()).await?;
                let what = || format!("(e) {origin} to {destination} from {} to {}", days.start(), days.end());
                self.equal(what, expected, told::connections(found));
            }
        }
        Ok(())
    }

    /// (i): every tail number, over the whole time and in each month; and one that never flew.
    async fn tails(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        let months: BTreeSet<_> = plain.months().into_iter().map(|(_, month)| month).collect();
        for (tail, expected) in plain.hops() {
            let found: Vec<_> = answers::hops(db, tail).await?.iter().map(told::hop).collect();
            self.same(|| format!("(i) flights of {tail}"), &expected, &found);
            for month in &months {
                let expected: Vec<_> = expected.iter().filter(|hop| hop.starts_with(month)).cloned().collect();
                let found = answers::hops_of_month(db, tail, first_day(month)?).await?;
                let found: Vec<_> = found.iter().map(told::hop).collect();
                self.same(|| format!("(i) flights of {tail} in {month}"), &expected, &found);
            }
        }
        self.equal(|| "(i) no plane N".into(), 0, answers::hops(db, "N").await?.len());
        Ok(())
    }

    /// (j): every airport, every day.
    async fn weather(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        for ((origin, date), expected) in &plain.weather {
            let found = answers::weather_of_day(db, origin, date.parse()?).await?;
            let found: Vec<_> = found.iter().map(|weather| told::weather(weather)).collect();
            let expected: Vec<_> = expected.values().cloned().collect();
            self.same(|| format!("(j) weather at {origin} on {date}"), &expected, &found);
        }
        Ok(())
    }

    /// (d), (g) and (l): every airport, every month; (d) over the whole time too, which is that of the last month.
    async fn months(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        for (origin, month) in plain.months() {
            let found = answers::month(db, origin, first_day(month)?).await?;
            let found: Vec<_> = found.iter().map(told::entity).collect();
            self.same(|| format!("(g) all of {origin} in {month}"), &plain.month(origin, month), &found);
            let found = answers::days(db, origin, first_day(month)?).await?;
            let found: Vec<_> = found.iter().map(|day| told::counts(day)).collect();
            self.same(|| format!("(l) counts of {origin} in {month}"), &plain.counts(origin, month), &found);
            let found = answers::latest(db, origin, first_day(month)?, 10).await?;
            let found: Vec<_> = found.iter().map(|flight| told::flight(flight)).collect();
            let expected: Vec<_> = plain.latest(origin, month).into_iter().map(str::to_owned).collect();
            self.same(|| format!("(d) latest departures from {origin} in {month}"), &expected, &found);
            if plain.months().iter().filter(|(airport, _)| *airport == origin).max() == Some(&(origin, month)) {
                let of_all: Vec<_> = plain.latest(origin, "").into_iter().map(str::to_owned).collect();
                self.same(|| format!("(d) latest departures from {origin}"), &of_all, &found);
            }
        }
        Ok(())
    }

    /// (f): every carrier.
    async fn carriers(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        let fleets = plain.fleets();
        for (carrier, airline) in &plain.airlines {
            let (found, fleet) = answers::fleet(db, carrier).await?;
            let name = found.map(|airline| airline.into_inner().name);
            self.equal(|| format!("(f) the name of {carrier}"), airline.get(1).map(str::to_owned), name);
            let fleet: Vec<_> = fleet.iter().map(|plane| (plane.tail.clone(), told::fleet_plane(plane))).collect();
            let expected = fleets.get(carrier.as_str()).into_iter().flatten();
            let expected: Vec<_> = expected.map(|(tail, told)| ((*tail).to_owned(), told.clone())).collect();
            self.same(|| format!("(f) the fleet of {carrier}"), &expected, &fleet);
        }
        Ok(())
    }

    /// Every plane and airport, by one read each and all together in order.
    async fn places(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        let planes = Plane::find().get_many(plain.planes.keys(), db).await?;
        for ((tail, line), plane) in plain.planes.iter().zip(planes) {
            let found = plane.map(|plane| told::plane(&plane));
            self.equal(|| format!("plane {tail}"), Some(plain::joined(line.iter())), found);
        }
        let airports = Airport::find().all(db).await?;
        let found: Vec<_> = airports.iter().map(|airport| told::airport(airport)).collect();
        let expected = plain.airport_lines().collect::<Result<Vec<_>>>()?;
        self.same(|| "airports in the order of their codes".into(), &expected, &found);
        Ok(())
    }

    /// Every row, by the database's own walk.
    async fn rows(&mut self, db: &Database, plain: &Plain) -> Result<()> {
        let verified = db.verify().await?;
        let violations: Vec<_> = verified.violations.iter().map(ToString::to_string).collect();
        self.same(|| "rows that are not as the model says".into(), &[], &violations);
        let flights = plain.flights().count();
        let headers = plain.days.len() + plain.months().len();
        let fleet: usize = plain.fleets().values().map(BTreeMap::len).sum();
        let weather: usize = plain.weather.values().map(BTreeMap::len).sum();
        let others = headers + fleet + plain.planes.len() + plain.airlines.len() + plain.airports.len() + weather;
        self.equal(|| "the number of entities".into(), (flights + others) as u64, verified.entities);
        let tails = plain.flights().filter(|flight| flight.tail != "NA").count();
        let left = plain.flights().filter(|flight| flight.left.is_some()).count();
        let derived = 2 * flights + 2 * tails + left + 3 * plain.days.len();
        self.equal(|| "the number of index rows and cells".into(), derived as u64, verified.derived);
        self.equal(|| "the number of foreign rows".into(), 0, verified.foreign);
        Ok(())
    }
}

fn first_day(month: &str) -> Result<NaiveDate> {
    Ok(format!("{month}-01").parse()?)
}

/// All days, and ranges of some of them.
fn ranges(plain: &Plain) -> Result<Vec<RangeInclusive<NaiveDate>>> {
    let dates = plain.days.keys().map(|(_, date)| date.parse()).collect::<Result<BTreeSet<NaiveDate>, _>>()?;
    let (Some(first), Some(last)) = (dates.first(), dates.last()) else { return Ok(Vec::new()) };
    let some = dates.iter().step_by(RANGE_STEP).map(|day| *day..=*day + Duration::days(RANGE_DAYS - 1));
    Ok(std::iter::once(*first..=*last).chain(some).collect())
}
