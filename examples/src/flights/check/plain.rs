//! The plain pass: the files as text in memory, and the same questions answered by going through them.
//! Nothing of tablemodel is used here, nor of the application's model: this is what the answers are held against.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    path::Path,
};

use chrono::{DateTime, NaiveDate};
use csv::StringRecord;

use crate::flights::{Result, csv::Table};

/// The columns of flights.csv.gz, in their order.
const FLIGHT_COLUMNS: &str = "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,\
                              carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour";

/// The columns of weather.csv.gz that are numbers with fractions.
const WEATHER_NUMBERS: [usize; 8] = [5, 6, 7, 9, 10, 11, 12, 13];

/// One line of flights.csv.gz.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlainFlight {
    /// The line, fields joined by commas.
    pub(crate) line: String,
    /// `2013-01-15`
    pub(crate) date: String,
    /// The airport.
    pub(crate) origin: String,
    /// `540`
    pub(crate) scheduled: u32,
    /// The airline.
    pub(crate) carrier: String,
    /// The number.
    pub(crate) number: u32,
    /// The plane, or `NA`.
    pub(crate) tail: String,
    /// The destination.
    pub(crate) destination: String,
    /// Minutes late at the start, or `NA`.
    pub(crate) departure_delay: String,
    /// Minutes late at the end, or `NA`.
    pub(crate) arrival_delay: String,
    /// Minutes from 1970 to the departure; none for a cancelled flight.
    pub(crate) left: Option<i64>,
}

impl PlainFlight {
    /// `540 B6 725`: what tells the flights of an airport's day apart, in departure order.
    pub(crate) fn order(&self) -> (u32, &str, u32) {
        (self.scheduled, &self.carrier, self.number)
    }

    /// `2013-01`
    pub(crate) fn month(&self) -> &str {
        self.date.get(..7).unwrap_or_default()
    }

    fn hour(&self) -> u32 {
        self.scheduled / 100
    }
}

/// The files, in memory.
pub(crate) struct Plain {
    /// The flights of each airport and day, in departure order.
    pub(crate) days: BTreeMap<(String, String), Vec<PlainFlight>>,
    /// Lines of airlines.csv.gz by carrier.
    pub(crate) airlines: BTreeMap<String, StringRecord>,
    /// Lines of airports.csv.gz by code.
    pub(crate) airports: BTreeMap<String, StringRecord>,
    /// Lines of planes.csv.gz by tail number.
    pub(crate) planes: BTreeMap<String, StringRecord>,
    /// Lines of weather.csv.gz, numbers as their shortest texts, by airport, local day and the hour in UTC.
    pub(crate) weather: BTreeMap<(String, String), BTreeMap<String, String>>,
}

impl Plain {
    /// Reads the files of a directory.
    pub(crate) fn read(directory: &Path) -> Result<Self> {
        let mut days: BTreeMap<(String, String), Vec<PlainFlight>> = BTreeMap::new();
        for flight in Table::open(directory, "flights")?.records(|record| plain_flight(record.fields())) {
            let flight = flight?;
            days.entry((flight.origin.clone(), flight.date.clone())).or_default().push(flight);
        }
        for flights in days.values_mut() {
            flights.sort_by(|a, b| a.order().cmp(&b.order()));
        }
        let by_first = |name| by_first_column(directory, name);
        let (airlines, airports, planes) = (by_first("airlines")?, by_first("airports")?, by_first("planes")?);
        Ok(Self { days, airlines, airports, planes, weather: weather(directory)? })
    }

    /// Every flight, by airport and day.
    pub(crate) fn flights(&self) -> impl Iterator<Item = &PlainFlight> {
        self.days.values().flatten()
    }

    /// The airports and months that have flights.
    pub(crate) fn months(&self) -> BTreeSet<(&str, &str)> {
        self.flights().map(|flight| (flight.origin.as_str(), flight.month())).collect()
    }

    /// The airports and their destinations.
    pub(crate) fn routes(&self) -> BTreeMap<(&str, &str), Vec<&PlainFlight>> {
        let mut routes: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for flight in self.flights() {
            routes.entry((flight.origin.as_str(), flight.destination.as_str())).or_default().push(flight);
        }
        routes
    }

    /// (c) For each airport, month and tail number, what is known of each departure, in their order.
    pub(crate) fn legs(&self) -> BTreeMap<(&str, &str, &str), Vec<String>> {
        let mut legs: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for flight in self.flights().filter(|flight| flight.tail != "NA") {
            let PlainFlight { date, scheduled, carrier, number, destination, arrival_delay, .. } = flight;
            let leg = format!("{date} {scheduled} {carrier} {number} to {destination}: {arrival_delay}");
            legs.entry((flight.origin.as_str(), flight.month(), flight.tail.as_str())).or_default().push(leg);
        }
        legs
    }

    /// (i) For each tail number, what is known of each departure from any airport, in their order.
    pub(crate) fn hops(&self) -> BTreeMap<&str, Vec<String>> {
        let mut by_tail: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for flight in self.flights().filter(|flight| flight.tail != "NA") {
            by_tail.entry(flight.tail.as_str()).or_default().push(flight);
        }
        let told = |flight: &PlainFlight| {
            let PlainFlight { date, scheduled, origin, carrier, number, destination, arrival_delay, .. } = flight;
            format!("{date} {scheduled} {carrier} {number} from {origin} to {destination}: {arrival_delay}")
        };
        let in_order = |mut flights: Vec<&PlainFlight>| {
            flights.sort_by_key(|f| (f.date.as_str(), f.scheduled, f.origin.as_str(), f.carrier.as_str(), f.number));
            flights.into_iter().map(told).collect()
        };
        by_tail.into_iter().map(|(tail, flights)| (tail, in_order(flights))).collect()
    }

    /// (k) The weather at a flight's airport in the hour in which it was to leave.
    pub(crate) fn weather_of(&self, flight: &PlainFlight) -> Option<&String> {
        let hour = flight.line.rsplit(',').next().unwrap_or_default();
        self.weather.get(&(flight.origin.clone(), flight.date.clone()))?.get(hour)
    }

    /// (m) What is known of a flight's plane, in four columns; nothing where it is not listed.
    pub(crate) fn card(&self, flight: &PlainFlight) -> Option<String> {
        let plane = self.planes.get(&flight.tail)?;
        Some(joined([1, 3, 4, 6].into_iter().filter_map(|column| plane.get(column))))
    }

    /// (l) What is counted of each day of an airport's month.
    pub(crate) fn counts(&self, origin: &str, month: &str) -> Vec<String> {
        let days = self.days.iter().filter(|((airport, date), _)| airport == origin && date.starts_with(month));
        let told = |((_, date), flights): (&(String, String), &Vec<PlainFlight>)| {
            let cancelled = flights.iter().filter(|flight| flight.departure_delay == "NA").count();
            let minutes: i64 = flights.iter().filter_map(|flight| flight.departure_delay.parse::<i64>().ok()).sum();
            format!("{date}: {} flights, {cancelled} cancelled, {minutes} minutes", flights.len())
        };
        days.map(told).collect()
    }

    /// (d) The lines of the departures of an airport (of one month, or of all), latest first.
    pub(crate) fn latest(&self, origin: &str, month: &str) -> Vec<&str> {
        let all = self.flights().filter(|flight| flight.origin == origin && flight.date.starts_with(month));
        let mut left: Vec<_> = all.filter(|flight| flight.left.is_some()).collect();
        left.sort_by_key(|flight| (std::cmp::Reverse(flight.left), flight.date.as_str(), flight.order()));
        left.into_iter().take(10).map(|flight| flight.line.as_str()).collect()
    }

    /// (e) What is known of these flights on these days, by airline.
    pub(crate) fn connections(
        flights: &[&PlainFlight],
        days: &RangeInclusive<NaiveDate>,
    ) -> BTreeMap<String, Vec<String>> {
        let mut by_airline: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let (begin, end) = (days.start().to_string(), days.end().to_string());
        let mut chosen: Vec<_> = flights.iter().filter(|flight| begin <= flight.date && flight.date <= end).collect();
        chosen.sort_by_key(|flight| (&flight.date, &flight.carrier, flight.number, flight.scheduled));
        for flight in chosen {
            let PlainFlight { date, scheduled, number, departure_delay, arrival_delay, .. } = flight;
            let text = format!("{date} {scheduled} {number}: {departure_delay} {arrival_delay}");
            by_airline.entry(flight.carrier.clone()).or_default().push(text);
        }
        by_airline
    }

    /// (f) For each carrier and tail number: flights, first and last day, and the plane's line without its key.
    pub(crate) fn fleets(&self) -> BTreeMap<&str, BTreeMap<&str, String>> {
        let mut days: BTreeMap<_, BTreeMap<_, Vec<_>>> = BTreeMap::new();
        for flight in self.flights().filter(|flight| flight.tail != "NA") {
            let fleet = days.entry(flight.carrier.as_str()).or_default();
            fleet.entry(flight.tail.as_str()).or_default().push(flight.date.as_str());
        }
        let told = |tail: &str, days: Vec<&str>| {
            let (first, last) = (days.iter().min().unwrap_or(&""), days.iter().max().unwrap_or(&""));
            let plane = self.planes.get(tail).map(|plane| joined(plane.iter().skip(1)));
            format!("{} {first} {last} {}", days.len(), plane.unwrap_or_else(|| ["NA"; 8].join(",")))
        };
        let fleet = |fleet: BTreeMap<_, _>| fleet.into_iter().map(|(tail, days)| (tail, told(tail, days))).collect();
        days.into_iter().map(|(carrier, planes)| (carrier, fleet(planes))).collect()
    }

    /// The lines of airports.csv.gz in order of code, degrees as the shortest text of their number.
    pub(crate) fn airport_lines(&self) -> impl Iterator<Item = Result<String>> {
        self.airports.values().map(|line| with_shortest(line, &[2, 3]))
    }

    /// (g) Everything of an airport's month: its header, then each day's header and the day's lines.
    pub(crate) fn month(&self, origin: &str, month: &str) -> Vec<String> {
        let days = self.days.iter().filter(|((airport, date), _)| airport == origin && date.starts_with(month));
        let flights: Vec<_> = days.clone().flat_map(|(_, flights)| flights).collect();
        let mut told = vec![header(month, &flights, |flight| flight.carrier.clone())];
        for ((_, date), flights) in days {
            let flights: Vec<_> = flights.iter().collect();
            told.push(header(date, &flights, |flight| flight.hour().to_string()));
            told.extend(flights.iter().map(|flight| flight.line.clone()));
        }
        told
    }

    /// (h) The hour with most of these flights, the first of several, with their number.
    pub(crate) fn busiest_hour(flights: &[PlainFlight]) -> Option<(u32, usize)> {
        let count = |hour: u32| flights.iter().filter(|flight| flight.hour() == hour).count();
        let mut busiest = None;
        for hour in 0..24 {
            if count(hour) > busiest.map_or(0, |(_, most)| most) {
                busiest = Some((hour, count(hour)));
            }
        }
        busiest
    }
}

/// `2013-01-15: 297 flights, 3 cancelled, 15=21 16=19`
fn header(of: &str, flights: &[&PlainFlight], group: impl Fn(&PlainFlight) -> String) -> String {
    let cancelled = flights.iter().filter(|flight| flight.left.is_none()).count();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for flight in flights {
        *counts.entry(group(flight)).or_default() += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{name}={count}")).collect();
    format!("{of}: {} flights, {cancelled} cancelled, {}", flights.len(), counts.join(" "))
}

/// The fields with commas between them; none of the files has one in a field.
pub(crate) fn joined<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    fields.collect::<Vec<_>>().join(",")
}

/// The line, the numbers in these columns as the shortest texts of theirs.
fn with_shortest(line: &StringRecord, columns: &[usize]) -> Result<String> {
    let shortest = |(column, text): (usize, &str)| match columns.contains(&column) && text != "NA" {
        true => Ok(text.parse::<f64>()?.to_string()),
        false => Ok(text.to_owned()),
    };
    Ok(line.iter().enumerate().map(shortest).collect::<Result<Vec<_>>>()?.join(","))
}

/// See [`Plain::weather`].
fn weather(directory: &Path) -> Result<BTreeMap<(String, String), BTreeMap<String, String>>> {
    let mut days: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for line in Table::open(directory, "weather")?.records(|record| Ok(record.fields().clone())) {
        let line = line?;
        let [origin, year, month, day, .., hour] = line.iter().collect::<Vec<_>>()[..] else {
            return Err("weather.csv.gz: a line of too few columns".into());
        };
        let date = format!("{year:0>4}-{month:0>2}-{day:0>2}");
        let text = with_shortest(&line, &WEATHER_NUMBERS)?;
        days.entry((origin.to_owned(), date)).or_default().insert(hour.to_owned(), text);
    }
    Ok(days)
}

fn by_first_column(directory: &Path, name: &str) -> Result<BTreeMap<String, StringRecord>> {
    let records = Table::open(directory, name)?.records(|record| Ok(record.fields().clone()));
    records.map(|record| record.map(|record| (record.iter().take(1).collect(), record))).collect()
}

fn plain_flight(fields: &StringRecord) -> Result<PlainFlight> {
    let text = |column: &str| {
        let at = FLIGHT_COLUMNS.split(',').position(|name| name == column);
        at.and_then(|at| fields.get(at)).unwrap_or_default()
    };
    let number = |column: &str| text(column).parse::<i64>();
    let left = match text("dep_delay") {
        "NA" => None,
        late => {
            let hour = DateTime::parse_from_rfc3339(text("time_hour"))?.timestamp() / 60;
            Some(hour + number("minute")? + late.parse::<i64>()?)
        }
    };
    Ok(PlainFlight {
        line: joined(fields.iter()),
        date: format!("{:04}-{:02}-{:02}", number("year")?, number("month")?, number("day")?),
        origin: text("origin").to_owned(),
        scheduled: text("sched_dep_time").parse()?,
        carrier: text("carrier").to_owned(),
        number: text("flight").parse()?,
        tail: text("tailnum").to_owned(),
        destination: text("dest").to_owned(),
        departure_delay: text("dep_delay").to_owned(),
        arrival_delay: text("arr_delay").to_owned(),
        left,
    })
}
