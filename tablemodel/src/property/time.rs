//! The types of `time` as properties and key parts.
//! An `OffsetDateTime` comes back in UTC: the same point in time, without its offset.

use ::time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};
use tablemodel_store::{EdmType, Value, ValueRef};

use super::{
    Property, ValueError,
    civil::{self, Clock},
    instant,
};
use crate::key::{KeyPart, KeyType, calendar};

impl Property for OffsetDateTime {
    const EDM: EdmType = EdmType::DateTime;
    const CODEC: &'static str = "datetime";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        instant::value_of_nanos(self.unix_timestamp_nanos())
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let at = instant::read(value)?;
        Self::from_unix_timestamp_nanos(at.unix_nanos())
            .map_err(|error| ValueError::out_of_range("time::OffsetDateTime", error))
    }
}

impl KeyPart for OffsetDateTime {
    const TYPE: KeyType = KeyType::Time;
    type Key = Self;
}

impl Property for Date {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "date";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        civil_date(*self).map(civil::date_value)
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        civil::read_date(value).and_then(date_of)
    }
}

impl KeyPart for Date {
    const TYPE: KeyType = KeyType::Date;
    type Key = Self;
}

impl Property for Time {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "time";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(civil::clock_value(clock_of(*self)))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        civil::read_clock(value).and_then(time_of)
    }
}

impl Property for PrimitiveDateTime {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "local_datetime";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(civil::local_value(civil_date(self.date())?, clock_of(self.time())))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let (date, clock) = civil::read_local(value)?;
        Ok(Self::new(date_of(date)?, time_of(clock)?))
    }
}

fn civil_date(date: Date) -> Result<calendar::Date, ValueError> {
    civil::date(date.year(), u32::from(u8::from(date.month())), u32::from(date.day()))
}

fn clock_of(time: Time) -> Clock {
    let (hour, minute, second, nanosecond) = time.as_hms_nano();
    Clock { hour, minute, second, nanosecond }
}

fn date_of(date: calendar::Date) -> Result<Date, ValueError> {
    Month::try_from(date.month)
        .and_then(|month| Date::from_calendar_date(i32::from(date.year), month, date.day))
        .map_err(|error| ValueError::out_of_range("time::Date", error))
}

fn time_of(clock: Clock) -> Result<Time, ValueError> {
    Time::from_hms_nano(clock.hour, clock.minute, clock.second, clock.nanosecond)
        .map_err(|error| ValueError::out_of_range("time::Time", error))
}
