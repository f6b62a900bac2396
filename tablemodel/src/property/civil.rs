//! Dates and times of day without a zone, as the texts that `chrono` and `time` share.
//! The types themselves are converted in their own modules.

use tablemodel_store::{Value, ValueRef};

use super::{ValueError, text};
use crate::key::{
    calendar::{self, Date},
    digits,
};

/// A time of day: no leap seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    pub(super) nanosecond: u32,
}

impl Clock {
    /// Appends `18:00:00.000000000`.
    fn push(self, out: &mut String) {
        for (part, end) in [(self.hour, ':'), (self.minute, ':'), (self.second, '.')] {
            calendar::push(out, u32::from(part), 2);
            out.push(end);
        }
        calendar::push(out, self.nanosecond, 9);
    }

    /// Reads `18:00:00`, with up to nine decimals.
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let mut parts = whole.split(':').map(|part| (part.len() == 2).then(|| digits::decimal(part)).flatten());
        let mut next = |limit: u128| parts.next().flatten().filter(|part| *part < limit).map(|part| part as u8);
        let (hour, minute, second) = (next(24)?, next(60)?, next(60)?);
        let scale = 9_u32.checked_sub(u32::try_from(fraction.len()).ok()?)?;
        let nanosecond = digits::decimal(fraction)? as u32 * 10_u32.pow(scale);
        parts.next().is_none().then_some(Self { hour, minute, second, nanosecond })
    }
}

/// The date with these numbers.
pub(super) fn date(year: i32, month: u32, day: u32) -> Result<Date, ValueError> {
    let numbers = (u16::try_from(year), u8::try_from(month), u8::try_from(day));
    let (Ok(year), Ok(month), Ok(day)) = numbers else {
        return Err(ValueError::out_of_range("a date of the years 1 to 9999", format_args!("year {year}")));
    };
    Date::new(year, month, day)
        .ok_or_else(|| ValueError::out_of_range("a date of the years 1 to 9999", format_args!("year {year}")))
}

/// `2014-07-31`.
pub(super) fn date_value(date: Date) -> Option<Value> {
    let mut text = String::with_capacity(10);
    date.push(&mut text);
    Some(Value::String(text))
}

/// `18:00:00.000000000`.
pub(super) fn clock_value(clock: Clock) -> Option<Value> {
    let mut text = String::with_capacity(18);
    clock.push(&mut text);
    Some(Value::String(text))
}

/// `2014-07-31T18:00:00.000000000`.
pub(super) fn local_value(date: Date, clock: Clock) -> Option<Value> {
    let mut text = String::with_capacity(29);
    date.push(&mut text);
    text.push('T');
    clock.push(&mut text);
    Some(Value::String(text))
}

pub(super) fn read_date(value: Option<ValueRef<'_>>) -> Result<Date, ValueError> {
    let text = text::read(value)?;
    Date::parse(text).ok_or_else(|| ValueError::malformed("a date as 2014-07-31", format_args!("{text:?}")))
}

pub(super) fn read_clock(value: Option<ValueRef<'_>>) -> Result<Clock, ValueError> {
    let text = text::read(value)?;
    Clock::parse(text).ok_or_else(|| ValueError::malformed("a time of day as 18:00:00.5", format_args!("{text:?}")))
}

pub(super) fn read_local(value: Option<ValueRef<'_>>) -> Result<(Date, Clock), ValueError> {
    let text = text::read(value)?;
    text.split_once('T')
        .and_then(|(date, clock)| Some((Date::parse(date)?, Clock::parse(clock)?)))
        .ok_or_else(|| ValueError::malformed("a date and time as 2014-07-31T18:00:00", format_args!("{text:?}")))
}
