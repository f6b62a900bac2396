//! The types of `chrono` as properties and key parts.
//! Only UTC is a point in time; the naive types are texts without a zone.

use ::chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Utc};
use tablemodel_store::{EdmType, Value, ValueRef};

use super::{
    Property, ValueError,
    civil::{self, Clock},
    instant,
};
use crate::key::{KeyPart, KeyType, calendar::Date};

const NANOS_PER_SECOND: u32 = 1_000_000_000;

impl Property for DateTime<Utc> {
    const EDM: EdmType = EdmType::DateTime;
    const CODEC: &'static str = "datetime";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        let nanos = whole_nanos(self.timestamp_subsec_nanos())?;
        instant::value_of_nanos(i128::from(self.timestamp()) * i128::from(NANOS_PER_SECOND) + i128::from(nanos))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let at = instant::read(value)?;
        let nanos = at.unix_nanos();
        let seconds = nanos.div_euclid(i128::from(NANOS_PER_SECOND));
        let rest = nanos.rem_euclid(i128::from(NANOS_PER_SECOND));
        i64::try_from(seconds)
            .ok()
            .and_then(|seconds| Self::from_timestamp(seconds, rest as u32))
            .ok_or_else(|| ValueError::out_of_range("chrono::DateTime<Utc>", at))
    }
}

impl KeyPart for DateTime<Utc> {
    const TYPE: KeyType = KeyType::Time;
    type Key = Self;
}

impl Property for NaiveDate {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "date";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        date_of(*self).map(civil::date_value)
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        civil::read_date(value).and_then(naive_date)
    }
}

impl KeyPart for NaiveDate {
    const TYPE: KeyType = KeyType::Date;
    type Key = Self;
}

impl Property for NaiveTime {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "time";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        clock_of(*self).map(civil::clock_value)
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        civil::read_clock(value).and_then(naive_time)
    }
}

impl Property for NaiveDateTime {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "local_datetime";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(civil::local_value(date_of(self.date())?, clock_of(self.time())?))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let (date, clock) = civil::read_local(value)?;
        Ok(Self::new(naive_date(date)?, naive_time(clock)?))
    }
}

/// `chrono` writes a leap second as a second of more than 10^9 nanoseconds; no stored form has one.
fn whole_nanos(nanos: u32) -> Result<u32, ValueError> {
    if nanos < NANOS_PER_SECOND { Ok(nanos) } else { Err(ValueError::out_of_range("a time", "a leap second")) }
}

fn date_of(date: NaiveDate) -> Result<Date, ValueError> {
    civil::date(date.year(), date.month(), date.day())
}

fn clock_of(time: NaiveTime) -> Result<Clock, ValueError> {
    Ok(Clock {
        hour: time.hour() as u8,
        minute: time.minute() as u8,
        second: time.second() as u8,
        nanosecond: whole_nanos(time.nanosecond())?,
    })
}

fn naive_date(Date { year, month, day }: Date) -> Result<NaiveDate, ValueError> {
    NaiveDate::from_ymd_opt(i32::from(year), u32::from(month), u32::from(day))
        .ok_or_else(|| ValueError::out_of_range("chrono::NaiveDate", format_args!("{year}-{month}-{day}")))
}

fn naive_time(Clock { hour, minute, second, nanosecond }: Clock) -> Result<NaiveTime, ValueError> {
    NaiveTime::from_hms_nano_opt(u32::from(hour), u32::from(minute), u32::from(second), nanosecond)
        .ok_or_else(|| ValueError::out_of_range("chrono::NaiveTime", format_args!("{hour}:{minute}:{second}")))
}
