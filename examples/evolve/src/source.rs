//! The flights of the files, as release 1 kept them.
//! Nothing is written here.

use std::path::Path;

use chrono::NaiveDate;
use examples::flights::{
    Error, Result,
    csv::{Record, Table},
};

use crate::releases::one::Flight;

/// Reads the flights of a folder, each an error where its line is malformed.
///
/// # Errors
///
/// A file that is not there.
pub(crate) fn flights(folder: &Path) -> Result<impl Iterator<Item = Result<Flight>> + Send + use<>> {
    Ok(Table::open(folder, "flights")?.records(flight))
}

fn flight(record: &Record<'_>) -> Result<Flight> {
    let date = NaiveDate::from_ymd_opt(record.value("year")?, record.value("month")?, record.value("day")?);
    Ok(Flight {
        origin: record.value("origin")?,
        date: date.ok_or_else(|| Error::from(record.error("day", "no such day")))?,
        scheduled: record.value("sched_dep_time")?,
        carrier: record.value("carrier")?,
        number: record.value("flight")?,
        tail: record.optional("tailnum")?,
        dest: record.value("dest")?,
        arrival_delay: record.optional("arr_delay")?,
    })
}
