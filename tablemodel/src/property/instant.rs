//! Points in time as properties: `Edm.DateTime`, cut to 100 ns.
//! No clock lives here.

use std::time::{Duration, SystemTime};

use tablemodel_store::{DateTime, EdmType, Value, ValueRef};

use super::{Property, ValueError};
use crate::key::{KeyPart, KeyType};

const TICKS_PER_SECOND: u64 = 10_000_000;
const NANOS_PER_TICK: u64 = 100;

/// The time that is stored here.
pub(super) fn read(value: Option<ValueRef<'_>>) -> Result<DateTime, ValueError> {
    match value.ok_or(ValueError::Missing)? {
        ValueRef::DateTime(at) => Ok(at),
        other => Err(ValueError::WrongType { expected: EdmType::DateTime, found: other.edm() }),
    }
}

/// The stored form of so many nanoseconds since 1970.
pub(super) fn value_of_nanos(nanos: i128) -> Result<Option<Value>, ValueError> {
    let at = DateTime::from_unix_nanos(nanos).ok_or_else(|| {
        ValueError::out_of_range(EdmType::DateTime.name(), format_args!("{nanos} ns from 1970 is not in 1601 to 9999"))
    })?;
    Ok(Some(Value::DateTime(at)))
}

impl Property for DateTime {
    const EDM: EdmType = EdmType::DateTime;
    const CODEC: &'static str = "datetime";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        if self.is_storable() {
            return Ok(Some(Value::DateTime(*self)));
        }
        Err(ValueError::out_of_range(EdmType::DateTime.name(), format_args!("{self} is not in 1601 to 9999")))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        read(value)
    }
}

impl KeyPart for DateTime {
    const TYPE: KeyType = KeyType::Time;
    type Key = Self;
}

impl Property for SystemTime {
    const EDM: EdmType = EdmType::DateTime;
    const CODEC: &'static str = "datetime";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        let nanos = |duration: Duration| duration.as_nanos() as i128; // below 2^94
        value_of_nanos(match self.duration_since(Self::UNIX_EPOCH) {
            Ok(since) => nanos(since),
            Err(before) => -nanos(before.duration()),
        })
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let at = read(value)?;
        let ticks = at.ticks().saturating_sub(DateTime::UNIX_EPOCH.ticks());
        let (seconds, rest) = (ticks.unsigned_abs() / TICKS_PER_SECOND, ticks.unsigned_abs() % TICKS_PER_SECOND);
        let distance = Duration::from_secs(seconds) + Duration::from_nanos(rest * NANOS_PER_TICK);
        let time =
            if ticks < 0 { Self::UNIX_EPOCH.checked_sub(distance) } else { Self::UNIX_EPOCH.checked_add(distance) };
        time.ok_or_else(|| ValueError::out_of_range("SystemTime", at))
    }
}

impl KeyPart for SystemTime {
    const TYPE: KeyType = KeyType::Time;
    type Key = Self;
}
