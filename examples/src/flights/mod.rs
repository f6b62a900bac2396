//! The flights application: every departure from New York's airports, asked thirteen kinds of questions by typed paths.
//! Nothing here knows how rows are kept: that is `model`, and the keys in it.

pub mod answers;
pub mod check;
pub mod csv;
pub mod load;
pub mod model;
pub mod paths;
pub mod projections;
pub mod report;
pub mod run;

use chrono::{Datelike, NaiveDate};

/// What goes wrong in this application: files, and the database.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// The result of most functions here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The first day of the date's month.
pub fn first_of_month(date: NaiveDate) -> NaiveDate {
    date.with_day(1).unwrap_or(date)
}
