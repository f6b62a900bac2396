//! Dates of the Gregorian calendar, as texts and from ticks.
//! No zone and no clock lives here.

use tablemodel_store::DateTime;

use super::digits;

const TICKS_PER_HOUR: i64 = 36_000_000_000;
const DAYS_PER_400_YEARS: i64 = 146_097;
/// From 0000-03-01, where the arithmetic begins its years, to 0001-01-01, where ticks begin.
const DAYS_TO_TICK_ZERO: i64 = 306;

/// A date: year 1 to 9999, month 1 to 12, day 1 to 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    pub(crate) year: u16,
    pub(crate) month: u8,
    pub(crate) day: u8,
}

impl Date {
    /// The date, if there is one.
    pub(crate) fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let exists = (1..=9999).contains(&year) && day >= 1 && day <= days_in_month(year, month);
        exists.then_some(Self { year, month, day })
    }

    /// Reads `2014-07-31`, and nothing else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 10 || bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
            return None;
        }
        let number = |range| digits::decimal(text.get(range)?);
        Self::new(
            u16::try_from(number(0..4)?).ok()?,
            u8::try_from(number(5..7)?).ok()?,
            u8::try_from(number(8..10)?).ok()?,
        )
    }

    /// Appends `2014-07`.
    pub(super) fn push_month(self, out: &mut String) {
        push(out, u32::from(self.year), 4);
        out.push('-');
        push(out, u32::from(self.month), 2);
    }

    /// Appends `2014-07-31`.
    pub(crate) fn push(self, out: &mut String) {
        self.push_month(out);
        out.push('-');
        push(out, u32::from(self.day), 2);
    }
}

/// The date in UTC, and the hour from 0 to 23, of a time from year 1 to 9999.
pub(super) fn date_and_hour(at: DateTime) -> (Date, u8) {
    let hours = at.ticks().div_euclid(TICKS_PER_HOUR);
    let (days, hour) = (hours.div_euclid(24), hours.rem_euclid(24));
    (date_of(days), hour as u8)
}

/// Whether an hour begins at this time.
pub(super) fn begins_hour(at: DateTime) -> bool {
    at.ticks().rem_euclid(TICKS_PER_HOUR) == 0
}

/// Appends a number of at most four digits.
pub(crate) fn push(out: &mut String, number: u32, width: u32) {
    for place in (0..width).rev() {
        out.extend(char::from_digit(number / 10_u32.pow(place) % 10, 10));
    }
}

/// The date so many days after 0001-01-01. Years are taken to begin in March, so that the leap day ends one.
fn date_of(days: i64) -> Date {
    let days = days + DAYS_TO_TICK_ZERO;
    let day_of_era = days.rem_euclid(DAYS_PER_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = days.div_euclid(DAYS_PER_400_YEARS) * 400 + year_of_era + i64::from(month <= 2);
    Date { year: year as u16, month: month as u8, day: (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u8 }
}

fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_from_1601_to_9999_has_its_date() {
        let ticks_per_day = 24 * TICKS_PER_HOUR;
        let mut expected = Date { year: 1601, month: 1, day: 1 };
        let mut at = DateTime::MIN.ticks();
        while at < DateTime::MAX.ticks() {
            let last_hour = DateTime::from_ticks(at + ticks_per_day - 1);
            assert_eq!(date_and_hour(DateTime::from_ticks(at)), (expected, 0));
            assert_eq!(date_and_hour(last_hour), (expected, 23));
            expected = match Date::new(expected.year, expected.month, expected.day + 1) {
                Some(next) => next,
                None if expected.month < 12 => Date { month: expected.month + 1, day: 1, ..expected },
                None => Date { year: expected.year + 1, month: 1, day: 1 },
            };
            at += ticks_per_day;
        }
        assert_eq!(expected, Date { year: 10_000, month: 1, day: 1 });
    }

    #[test]
    fn only_dates_that_exist_are_read() {
        assert_eq!(Date::parse("2012-02-29"), Date::new(2012, 2, 29));
        for text in [
            "2014-02-29",
            "1900-02-29",
            "2014-13-01",
            "2014-00-01",
            "2014-01-00",
            "0000-01-01",
            "2014-1-01",
            "2014/01/01",
            "2014-07-31T",
            "+014-01-01",
            "",
        ] {
            assert_eq!(Date::parse(text), None, "{text:?}");
        }
    }
}
