//! What the application tells: an example of each question with its cost, its answer and its time; and the figures.
//! Nothing is decided here; the questions are `answers`.

use std::time::Instant;

use chrono::NaiveDate;
use serde::Serialize;
use tablemodel::{Explain, prelude::*};

use super::{Result, answers, check::Checked, load::Loaded, model::Timetable, paths};

/// How often a question is asked for its median time.
const REPEATS: usize = 25;

/// One question, asked.
#[derive(Debug, Serialize)]
pub struct Asked {
    /// Its letter, from a on.
    pub letter: char,
    /// The question in words.
    pub question: String,
    /// What each path costs that is run for it.
    pub explain: Vec<String>,
    /// The answer in words.
    pub answer: String,
    /// The number of entities or projections read.
    pub found: usize,
    /// The median time, in microseconds.
    pub microseconds: f64,
}

/// The figures of a run.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Flights loaded.
    pub flights: u64,
    /// Entities of every type loaded.
    pub entities: u64,
    /// Rows written: the entities, and those that are kept for them.
    pub rows: u64,
    /// Seconds that loading took.
    pub load_seconds: f64,
    /// Entities loaded per second.
    pub entities_per_second: f64,
    /// Rows written per second.
    pub rows_per_second: f64,
    /// Bytes of the store's file.
    pub file_bytes: u64,
    /// The most memory that the process had resident up to the end of loading, in KiB, where the system tells.
    pub peak_load_kib: Option<u64>,
    /// The questions.
    pub queries: Vec<Asked>,
    /// The check, if it was asked for.
    pub check: Option<CheckFigures>,
}

/// The figures of a check.
#[derive(Debug, Serialize)]
pub struct CheckFigures {
    /// Comparisons made.
    pub made: u64,
    /// Comparisons that failed.
    pub failed: u64,
    /// The first of them in words.
    pub differences: Vec<String>,
    /// Seconds that it took.
    pub seconds: f64,
}

impl Figures {
    /// The figures after loading.
    pub fn of(loaded: &Loaded, file_bytes: u64, peak_load_kib: Option<u64>) -> Self {
        let Loaded { flights, entities, rows, seconds, .. } = *loaded;
        Self {
            flights,
            entities,
            rows,
            load_seconds: seconds,
            entities_per_second: entities as f64 / seconds,
            rows_per_second: rows as f64 / seconds,
            file_bytes,
            peak_load_kib,
            queries: Vec::new(),
            check: None,
        }
    }

    /// One line about loading.
    pub fn told(&self) -> String {
        let Self { flights, entities, rows, load_seconds, entities_per_second, file_bytes, .. } = self;
        let megabytes = *file_bytes as f64 / 1e6;
        format!(
            "{flights} flights, {entities} entities, {rows} rows in {load_seconds:.1} s \
             ({entities_per_second:.0} entities/s), {megabytes:.0} MB"
        )
    }
}

impl CheckFigures {
    /// The figures of a check that took so many seconds.
    pub fn of(checked: Checked, seconds: f64) -> Self {
        let Checked { made, failed, differences } = checked;
        Self { made, failed, differences, seconds }
    }
}

/// Asks an example of each question.
///
/// # Errors
///
/// Those of the database.
pub async fn ask_all(db: &Database, last_month: NaiveDate) -> Result<Vec<Asked>> {
    let day = |day| NaiveDate::from_ymd_opt(2013, 1, day).unwrap_or_default();
    Ok(vec![
        ask_a(db, "JFK", day(15)).await?,
        ask_b(db, "EWR", day(1), "UA", 1545).await?,
        ask_c(db, "EWR", day(1), "N14228").await?,
        ask_d(db, "JFK", last_month).await?,
        ask_e(db, "JFK", "LAX", day(10), day(16)).await?,
        ask_f(db, "AS").await?,
        ask_g(db, "LGA", day(1)).await?,
        ask_h(db, "EWR", day(15)).await?,
        ask_i(db, "N14228").await?,
        ask_j(db, "JFK", day(15)).await?,
        ask_k(db, "EWR", day(1), "UA", 1545).await?,
        ask_l(db, "LGA", day(1)).await?,
        ask_m(db, "JFK", day(15)).await?,
    ])
}

/// The answer and the median of the times that it took, in microseconds.
async fn timed<T>(ask: impl AsyncFn() -> tablemodel::Result<T>) -> Result<(T, f64)> {
    let answer = ask().await?;
    let mut times = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let begin = Instant::now();
        let again = ask().await?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
        drop(again);
    }
    times.sort_by(f64::total_cmp);
    Ok((answer, times.get(REPEATS / 2).copied().unwrap_or_default()))
}

struct Question {
    letter: char,
    words: String,
    explain: Vec<String>,
}

impl Question {
    fn new(letter: char, words: String, explained: impl IntoIterator<Item = Explain>) -> Self {
        Self { letter, words, explain: explained.into_iter().map(|explain| explain.to_string()).collect() }
    }

    fn answered(self, answer: String, found: usize, microseconds: f64) -> Asked {
        let Self { letter, words, explain } = self;
        Asked { letter, question: words, explain, answer, found, microseconds }
    }
}

async fn ask_a(db: &Database, origin: &str, date: NaiveDate) -> Result<Asked> {
    let words = format!("all flights from {origin} on {date}, in departure order");
    let question = Question::new('a', words, [paths::flights_of_day(origin, date).explain()]);
    let (found, time) = timed(async || answers::flights_of_day(db, origin, date).await).await?;
    let told = |flight: &Stored<super::model::Flight>| {
        format!("{} {} {} to {}", flight.scheduled, flight.carrier, flight.number, flight.destination)
    };
    let (first, last) = (found.first().map(told), found.last().map(told));
    let answer = format!("{}, from {} until {}", found.len(), first.unwrap_or_default(), last.unwrap_or_default());
    Ok(question.answered(answer, found.len(), time))
}

async fn ask_b(db: &Database, origin: &str, date: NaiveDate, carrier: &str, number: u16) -> Result<Asked> {
    let words = format!("flight {carrier} {number} from {origin} on {date}");
    let question = Question::new('b', words, [paths::flight(origin, date, carrier, number).explain()]);
    let (found, time) = timed(async || answers::flight(db, origin, date, carrier, number).await).await?;
    let answer = found.as_ref().map_or("no such flight".to_owned(), |flight| {
        let left = flight.departed.map_or("cancelled".to_owned(), |time| format!("left at {time}"));
        let tail = flight.tail.as_deref().unwrap_or("an unknown plane");
        format!("{tail} to {}, scheduled {}, {left}", flight.destination, flight.scheduled)
    });
    Ok(question.answered(answer, usize::from(found.is_some()), time))
}

async fn ask_c(db: &Database, origin: &str, month: NaiveDate, tail: &str) -> Result<Asked> {
    let words = format!("departures of {tail} from {origin} in {}", month.format("%B %Y"));
    let question = Question::new('c', words, [paths::legs(origin, month, tail).explain()]);
    let (found, time) = timed(async || answers::legs(db, origin, month, tail).await).await?;
    let told = found.iter().map(|leg| format!("{} to {}", leg.date.format("%d"), leg.destination));
    let answer = format!("{}: on the {}", found.len(), told.collect::<Vec<_>>().join(", "));
    Ok(question.answered(answer, found.len(), time))
}

async fn ask_d(db: &Database, origin: &str, month: NaiveDate) -> Result<Asked> {
    let words = format!("the ten latest departures from {origin}");
    let question = Question::new('d', words, [paths::latest(origin, month).explain()]);
    let (found, time) = timed(async || answers::latest(db, origin, month, 10).await).await?;
    let told = found.iter().filter_map(|flight| {
        Some(format!("{} {} at {}", flight.carrier, flight.number, flight.departed_at?.format("%d %b %H:%M UTC")))
    });
    Ok(question.answered(told.collect::<Vec<_>>().join(", "), found.len(), time))
}

async fn ask_e(db: &Database, origin: &str, destination: &str, begin: NaiveDate, end: NaiveDate) -> Result<Asked> {
    let words = format!("flights from {origin} to {destination} from {begin} to {end}, by airline");
    let months = answers::by_month(begin..=end);
    let explained = months.map(|days| paths::connections(origin, destination, days).explain());
    let question = Question::new('e', words, explained);
    let (found, time) = timed(async || answers::connections(db, origin, destination, begin..=end).await).await?;
    let told = found.iter().map(|(airline, flights)| format!("{airline} {}", flights.len()));
    let count = found.values().map(Vec::len).sum();
    Ok(question.answered(told.collect::<Vec<_>>().join(", "), count, time))
}

async fn ask_f(db: &Database, carrier: &str) -> Result<Asked> {
    let words = format!("the fleet of {carrier}");
    let question = Question::new('f', words, [paths::airline(carrier).explain(), paths::fleet(carrier).explain()]);
    let ((airline, fleet), time) = timed(async || answers::fleet(db, carrier).await).await?;
    let name = airline.map_or("an unknown airline".to_owned(), |airline| airline.into_inner().name);
    let seats: u32 = fleet.iter().filter_map(|plane| plane.airframe.as_ref()?.seats).map(u32::from).sum();
    Ok(question.answered(format!("{name}: {} planes with {seats} seats", fleet.len()), fleet.len(), time))
}

async fn ask_g(db: &Database, origin: &str, month: NaiveDate) -> Result<Asked> {
    let words = format!("everything of {origin} in {}", month.format("%B %Y"));
    let question = Question::new('g', words, [paths::month(origin, month).explain()]);
    let (found, time) = timed(async || answers::month(db, origin, month).await).await?;
    let count = |is: fn(&Timetable) -> bool| found.iter().filter(|entity| is(entity)).count();
    let (months, days) = (count(|e| matches!(e, Timetable::Month(_))), count(|e| matches!(e, Timetable::Day(_))));
    let flights = count(|entity| matches!(entity, Timetable::Flight(_)));
    let answer = format!("{months} month's header, {days} days' headers, {flights} flights");
    Ok(question.answered(answer, found.len(), time))
}

async fn ask_h(db: &Database, origin: &str, date: NaiveDate) -> Result<Asked> {
    let words = format!("the busiest hour of {origin} on {date}");
    let question = Question::new('h', words, [paths::day(origin, date).explain()]);
    let (found, time) = timed(async || answers::busiest_hour(db, origin, date).await).await?;
    let answer = found.map_or("no flights".to_owned(), |(hour, flights)| {
        format!("{hour:02}:00 to {:02}:00, with {flights} departures", hour + 1)
    });
    Ok(question.answered(answer, usize::from(found.is_some()), time))
}

async fn ask_i(db: &Database, tail: &str) -> Result<Asked> {
    let words = format!("the year's departures of {tail} from all airports");
    let question = Question::new('i', words, [paths::hops(tail).explain()]);
    let (found, time) = timed(async || answers::hops(db, tail).await).await?;
    let from = |origin: &str| found.iter().filter(|hop| hop.origin == origin).count();
    let answer = ["EWR", "JFK", "LGA"].map(|origin| format!("{} from {origin}", from(origin))).join(", ");
    Ok(question.answered(answer, found.len(), time))
}

async fn ask_j(db: &Database, origin: &str, date: NaiveDate) -> Result<Asked> {
    let words = format!("the weather at {origin} on {date}, hour by hour");
    let question = Question::new('j', words, [paths::weather_of_day(origin, date).explain()]);
    let (found, time) = timed(async || answers::weather_of_day(db, origin, date).await).await?;
    let degrees: Vec<_> = found.iter().filter_map(|hour| hour.temperature).collect();
    let (low, high) = degrees.iter().fold((f64::MAX, f64::MIN), |(low, high), t| (low.min(*t), high.max(*t)));
    Ok(question.answered(format!("{} hours, from {low} to {high} degrees", found.len()), found.len(), time))
}

async fn ask_k(db: &Database, origin: &str, date: NaiveDate, carrier: &str, number: u16) -> Result<Asked> {
    let words = format!("the weather when flight {carrier} {number} was to leave {origin} on {date}");
    let flight = answers::flight(db, origin, date, carrier, number).await?.ok_or("no such flight")?;
    let find_flight = paths::flight(origin, date, carrier, number).explain(); // asked above, and not timed
    let question = Question::new('k', words, [find_flight, paths::weather_of_flight(&flight).explain()]);
    let (found, time) = timed(async || answers::weather_of_flight(db, &flight).await).await?;
    let told = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| value.to_string());
    let answer = found.as_ref().map_or("not measured".to_owned(), |weather| {
        let (wind, visibility) = (told(weather.wind_speed), told(weather.visibility));
        format!("{} degrees, wind {wind} mph, visibility {visibility} miles", told(weather.temperature))
    });
    Ok(question.answered(answer, usize::from(found.is_some()), time))
}

async fn ask_l(db: &Database, origin: &str, month: NaiveDate) -> Result<Asked> {
    let words = format!("the counts of each day at {origin} in {}", month.format("%B %Y"));
    let explained = answers::days_of_month(month).map(|date| paths::day(origin, date).explain());
    let question = Question::new('l', words, explained);
    let (found, time) = timed(async || answers::days(db, origin, month).await).await?;
    let worst = found.iter().max_by_key(|day| day.delay_minutes);
    let answer = worst.map_or("no flights".to_owned(), |day| {
        let (date, flights, cancelled, minutes) = (day.date, day.flights, day.cancelled, day.delay_minutes);
        format!("worst on {date}: {flights} flights, {cancelled} cancelled, {minutes} minutes late in all")
    });
    Ok(question.answered(answer, found.len(), time))
}

async fn ask_m(db: &Database, origin: &str, date: NaiveDate) -> Result<Asked> {
    let words = format!("the seats of all flights from {origin} on {date}, by who built the planes");
    let question = Question::new('m', words, [paths::flights_of_day(origin, date).explain()]);
    let (found, time) = timed(async || answers::seats(db, origin, date).await).await?;
    let told = found.iter().map(|(manufacturer, (seats, _))| format!("{manufacturer} {seats}"));
    let flights = found.values().map(|(_, flights)| flights).sum();
    Ok(question.answered(told.collect::<Vec<_>>().join(", "), flights, time))
}
