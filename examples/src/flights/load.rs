//! Loading the files into the database: flights are streamed, headers and fleets counted on the way.
//! No question is answered here; memory holds what bulk writing holds back, and the counts.

use std::{collections::BTreeMap, path, time::Instant};

use chrono::{DateTime, Duration, NaiveDate, Utc};
use tablemodel::prelude::*;

use super::{
    Result,
    csv::{Record, Table},
    model::{Airline, Airport, Day, FleetPlane, Flight, LocalTime, Month, Plane, Weather},
};

/// The cells of a day: `flights`, `cancelled` and `delay_minutes`.
const CELLS_OF_DAY: u64 = 3;

/// What was loaded.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// Flights.
    pub flights: u64,
    /// Entities of every type.
    pub entities: u64,
    /// Rows: the entities, their index rows, the cells of the days' counts, and the rows by which planes find their copies.
    pub rows: u64,
    /// The last month that has flights.
    pub last_month: NaiveDate,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Loads every file of a directory; calls `progress` with the number of flights written so far.
///
/// # Errors
///
/// A file that is missing or malformed, with line and column; a write that fails.
pub async fn load(db: &Database, directory: &path::Path, progress: impl FnMut(u64) + Send) -> Result<Loaded> {
    let begin = Instant::now();
    let mut loaded = Loaded::default();
    loaded.insert(db, Table::open(directory, "airlines")?.records(airline)).await?;
    loaded.insert(db, Table::open(directory, "airports")?.records(airport)).await?;
    loaded.insert(db, Table::open(directory, "planes")?.records(plane)).await?;
    loaded.insert(db, Table::open(directory, "weather")?.records(weather)).await?;
    let counts = loaded.flights(db, Table::open(directory, "flights")?.records(flight), progress).await?;
    loaded.last_month = counts.months.values().map(|month| month.date).max().unwrap_or_default();
    loaded.insert(db, counts.days.into_values().map(Ok)).await?;
    loaded.insert(db, counts.months.into_values().map(Ok)).await?;
    loaded.rows += counts.fleets.len() as u64; // each has a row by which its plane finds it
    loaded.insert(db, counts.fleets.into_values().map(Ok)).await?;
    loaded.seconds = begin.elapsed().as_secs_f64();
    Ok(loaded)
}

impl Loaded {
    async fn flights(
        &mut self,
        db: &Database,
        flights: impl Iterator<Item = Result<Flight>> + Send,
        progress: impl FnMut(u64) + Send,
    ) -> Result<Counts> {
        let mut counts = Counts::default();
        let mut broken = None;
        let counted = until_error(flights, &mut broken).inspect(|flight| counts.add(flight));
        let report = db.bulk().stop_on_error().progress(progress).insert_iter(counted).await?;
        broken.map_or(Ok(()), Err)?;
        self.flights = report.into_result()?.written;
        self.entities += self.flights;
        self.rows += counts.rows + CELLS_OF_DAY * counts.days.len() as u64;
        Ok(counts)
    }

    /// Inserts entities that have no rows but their own.
    async fn insert<E: TableEntity>(
        &mut self,
        db: &Database,
        entities: impl Iterator<Item = Result<E>> + Send,
    ) -> Result<()> {
        let mut broken = None;
        let entities = until_error(entities, &mut broken);
        let written = db.bulk().stop_on_error().insert_iter(entities).await?.into_result()?.written;
        self.entities += written;
        self.rows += written;
        broken.map_or(Ok(()), Err)
    }
}

/// The items up to the first error, which is put aside.
fn until_error<T, E>(items: impl Iterator<Item = Result<T, E>>, error: &mut Option<E>) -> impl Iterator<Item = T> {
    items.map_while(|item| item.map_err(|found| *error = Some(found)).ok())
}

/// What is counted while flights pass: as many entries as there are days, months and planes.
#[derive(Default)]
struct Counts {
    days: BTreeMap<(String, NaiveDate), Day>,
    months: BTreeMap<(String, NaiveDate), Month>,
    fleets: BTreeMap<(String, String), FleetPlane>,
    rows: u64,
}

impl Counts {
    fn add(&mut self, flight: &Flight) {
        let cancelled = u32::from(flight.departed_at.is_none());
        let day = self.days.entry((flight.origin.clone(), flight.date)).or_insert_with(|| empty_day(flight));
        *day.by_hour.entry(flight.scheduled.hour()).or_default() += 1;
        let month = empty_month(flight);
        let month = self.months.entry((month.origin.clone(), month.date)).or_insert(month);
        month.flights += 1;
        month.cancelled += cancelled;
        *month.by_carrier.entry(flight.carrier.clone()).or_default() += 1;
        if let Some(tail) = &flight.tail {
            let plane = self.fleets.entry((flight.carrier.clone(), tail.clone()));
            let plane = plane.or_insert_with(|| empty_fleet_plane(flight, tail));
            plane.flights += 1;
            plane.first = plane.first.min(flight.date);
            plane.last = plane.last.max(flight.date);
        }
        // the flight, `by_number` and `by_destination`; the others only where there is what they go by, and with a tail
        // number the row by which its plane finds the flight
        self.rows += 3 + 3 * u64::from(flight.tail.is_some()) + u64::from(flight.departed_at.is_some());
    }
}

fn empty_day(flight: &Flight) -> Day {
    let (origin, by_hour) = (flight.origin.clone(), BTreeMap::new());
    Day { origin, date: flight.date, flights: 0, cancelled: 0, delay_minutes: 0, by_hour } // the database counts
}

fn empty_month(flight: &Flight) -> Month {
    let date = super::first_of_month(flight.date);
    Month { origin: flight.origin.clone(), date, flights: 0, cancelled: 0, by_carrier: BTreeMap::new() }
}

fn empty_fleet_plane(flight: &Flight, tail: &str) -> FleetPlane {
    FleetPlane {
        carrier: flight.carrier.clone(),
        tail: tail.to_owned(),
        flights: 0,
        first: flight.date,
        last: flight.date,
        airframe: None, // the database copies it
    }
}

fn flight(record: &Record<'_>) -> Result<Flight> {
    let scheduled = LocalTime(record.value("sched_dep_time")?);
    let scheduled_at = record.value::<DateTime<Utc>>("time_hour")? + Duration::minutes(record.value("minute")?);
    let departure_delay: Option<i16> = record.optional("dep_delay")?;
    let local_time = |column: &str| Ok::<_, super::Error>(record.optional(column)?.map(LocalTime));
    Ok(Flight {
        origin: record.value("origin")?,
        date: date(record)?,
        scheduled,
        carrier: record.value("carrier")?,
        number: record.value("flight")?,
        tail: record.optional("tailnum")?,
        plane: None, // the database copies it
        destination: record.value("dest")?,
        scheduled_at,
        departed_at: departure_delay.map(|late| scheduled_at + Duration::minutes(late.into())),
        departed: local_time("dep_time")?,
        departure_delay,
        arrival_scheduled: LocalTime(record.value("sched_arr_time")?),
        arrived: local_time("arr_time")?,
        arrival_delay: record.optional("arr_delay")?,
        air_time: record.optional("air_time")?,
        distance: record.value("distance")?,
    })
}

fn date(record: &Record<'_>) -> Result<NaiveDate> {
    let date = NaiveDate::from_ymd_opt(record.value("year")?, record.value("month")?, record.value("day")?);
    date.ok_or_else(|| record.error("day", "no such day").into())
}

fn weather(record: &Record<'_>) -> Result<Weather> {
    Ok(Weather {
        origin: record.value("origin")?,
        date: date(record)?,
        at: record.value("time_hour")?,
        hour: record.value("hour")?,
        temperature: record.optional("temp")?,
        dew_point: record.optional("dewp")?,
        humidity: record.optional("humid")?,
        wind_direction: record.optional("wind_dir")?,
        wind_speed: record.optional("wind_speed")?,
        wind_gust: record.optional("wind_gust")?,
        precipitation: record.optional("precip")?,
        pressure: record.optional("pressure")?,
        visibility: record.optional("visib")?,
    })
}

fn airline(record: &Record<'_>) -> Result<Airline> {
    Ok(Airline { carrier: record.value("carrier")?, name: record.value("name")? })
}

fn airport(record: &Record<'_>) -> Result<Airport> {
    Ok(Airport {
        code: record.value("faa")?,
        name: record.value("name")?,
        latitude: record.value("lat")?,
        longitude: record.value("lon")?,
        altitude: record.value("alt")?,
        utc_offset: record.value("tz")?,
        daylight_saving: record.value("dst")?,
        time_zone: record.optional("tzone")?,
    })
}

fn plane(record: &Record<'_>) -> Result<Plane> {
    Ok(Plane {
        tail: record.value("tailnum")?,
        built: record.optional("year")?,
        kind: record.optional("type")?,
        manufacturer: record.optional("manufacturer")?,
        model: record.optional("model")?,
        engines: record.optional("engines")?,
        seats: record.optional("seats")?,
        speed: record.optional("speed")?,
        engine: record.optional("engine")?,
    })
}
