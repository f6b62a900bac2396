//! Whether two stores give the same answers: every flight by its own key, and every flight of a plane by the index elsewhere.
//! Nothing is written here.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use examples::flights::Result;
use tablemodel::prelude::*;

use crate::releases::four::Flight;

/// What is asked: the days of each airport, and the planes.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    days: BTreeSet<(String, NaiveDate)>,
    tails: BTreeSet<String>,
}

/// What came of it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Flights that were found by day in the first store.
    pub(crate) flights: usize,
    /// Flights that were found by plane in the first store.
    pub(crate) by_tail: usize,
    /// Answers.
    pub(crate) answers: usize,
    /// Answers that differ.
    pub(crate) differences: usize,
}

impl Questions {
    /// Adds those whose answers hold this flight.
    pub(crate) fn add(&mut self, flight: &Flight) {
        self.days.insert((flight.origin.clone(), flight.date));
        self.tails.extend(flight.tail.clone());
    }

    /// Asks both.
    ///
    /// # Errors
    ///
    /// Those of the databases.
    pub(crate) async fn ask(&self, one: &Database, other: &Database) -> Result<Compared> {
        let mut compared = Compared::default();
        for (origin, date) in &self.days {
            let (one, other) = (day(one, origin, *date).await?, day(other, origin, *date).await?);
            compared.flights += one.len();
            compared.answer(one == other);
        }
        for tail in &self.tails {
            let (one, other) = (plane(one, tail).await?, plane(other, tail).await?);
            compared.by_tail += one.len();
            compared.answer(one == other);
        }
        Ok(compared)
    }
}

impl Compared {
    fn answer(&mut self, is_same: bool) {
        self.answers += 1;
        self.differences += usize::from(!is_same);
    }
}

async fn day(db: &Database, origin: &str, date: NaiveDate) -> Result<Vec<Flight>> {
    let found = Flight::find().origin(origin).date(date).all(db).await?;
    Ok(found.into_iter().map(|flight| flight.into_inner()).collect())
}

async fn plane(db: &Database, tail: &str) -> Result<Vec<Flight>> {
    let found = Flight::anywhere_by_tail().tail(tail).all(db).await?;
    Ok(found.into_iter().map(|flight| flight.into_inner()).collect())
}
