//! Points in time as a table store keeps them: UTC ticks of 100 ns.
//!
//! No clock lives here: whoever needs "now" is handed it.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime},
};

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Ticks (100 ns) from 0001-01-01 to 1970-01-01, as .NET counts them.
const UNIX_EPOCH_TICKS: i64 = 621_355_968_000_000_000;
const TICKS_PER_SECOND: i64 = 10_000_000;
const NANOS_PER_TICK: i64 = 100;

/// A point in time: 100 ns ticks since 0001-01-01T00:00:00Z, as .NET's `DateTime.Ticks`.
///
/// Ordered by time; in serde's formats RFC 3339 text (feature `serde`, which `tablemodel` switches on). A store takes [`DateTime::MIN`] to [`DateTime::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DateTime(i64);

impl DateTime {
    /// 1601-01-01T00:00:00Z, the earliest that a table store takes (Azure: Edm.DateTime).
    pub const MIN: Self = Self(504_911_232_000_000_000);
    /// 9999-12-31T23:59:59.9999999Z, the latest (.NET's `DateTime.MaxValue`).
    pub const MAX: Self = Self(3_155_378_975_999_999_999);
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Self = Self(UNIX_EPOCH_TICKS);

    /// From ticks of 100 ns since 0001-01-01T00:00:00Z.
    pub const fn from_ticks(ticks: i64) -> Self {
        Self(ticks)
    }

    /// Ticks of 100 ns since 0001-01-01T00:00:00Z.
    pub const fn ticks(self) -> i64 {
        self.0
    }

    /// From nanoseconds since 1970-01-01T00:00:00Z, cut to a whole tick (towards the past).
    ///
    /// `None` outside [`DateTime::MIN`]..=[`DateTime::MAX`].
    pub fn from_unix_nanos(nanos: i128) -> Option<Self> {
        let ticks = nanos.div_euclid(i128::from(NANOS_PER_TICK)) + i128::from(UNIX_EPOCH_TICKS);
        i64::try_from(ticks).ok().map(Self).filter(|t| t.is_storable())
    }

    /// Nanoseconds since 1970-01-01T00:00:00Z.
    pub fn unix_nanos(self) -> i128 {
        (i128::from(self.0) - i128::from(UNIX_EPOCH_TICKS)) * i128::from(NANOS_PER_TICK)
    }

    /// From whole seconds since 1970-01-01T00:00:00Z; `None` outside the storable range.
    pub fn from_unix_seconds(seconds: i64) -> Option<Self> {
        let ticks = seconds.checked_mul(TICKS_PER_SECOND)?.checked_add(UNIX_EPOCH_TICKS)?;
        Some(Self(ticks)).filter(|t| t.is_storable())
    }

    /// Whether a table store takes it.
    pub const fn is_storable(self) -> bool {
        self.0 >= Self::MIN.0 && self.0 <= Self::MAX.0
    }

    fn to_offset(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp_nanos(self.unix_nanos()).ok()
    }
}

/// RFC 3339 in UTC, the fraction without trailing zeros: `2014-07-31T18:00:00.5Z`.
impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_offset().and_then(|at| at.format(&Rfc3339).ok()) {
            Some(text) => f.write_str(&text),
            None => write!(f, "ticks {}", self.0),
        }
    }
}

/// The text was not an RFC 3339 time, or lies outside 1601..=9999.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateTimeError(String);

impl fmt::Display for DateTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an RFC 3339 time between the years 1601 and 9999", self.0)
    }
}

impl std::error::Error for DateTimeError {}

impl FromStr for DateTime {
    type Err = DateTimeError;

    fn from_str(text: &str) -> Result<Self, DateTimeError> {
        OffsetDateTime::parse(text, &Rfc3339)
            .ok()
            .and_then(|at| Self::from_unix_nanos(at.unix_timestamp_nanos()))
            .ok_or_else(|| DateTimeError(text.to_owned()))
    }
}

/// What the clock of the machine shows, cut to a whole tick (towards the past).
impl TryFrom<SystemTime> for DateTime {
    type Error = DateTimeError;

    fn try_from(at: SystemTime) -> Result<Self, DateTimeError> {
        let nanos = |span: Duration| i128::try_from(span.as_nanos()).ok();
        let nanos = match at.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => nanos(since),
            Err(before) => nanos(before.duration()).map(|nanos| -nanos),
        };
        nanos.and_then(Self::from_unix_nanos).ok_or_else(|| DateTimeError(format!("{at:?}")))
    }
}

/// Fails where the machine's clock cannot show it.
impl TryFrom<DateTime> for SystemTime {
    type Error = DateTimeError;

    fn try_from(at: DateTime) -> Result<Self, DateTimeError> {
        let nanos = at.unix_nanos();
        let whole = u64::try_from(nanos.unsigned_abs() / 1_000_000_000);
        let rest = (nanos.unsigned_abs() % 1_000_000_000) as u32; // below a second
        let span = whole.ok().map(|seconds| Duration::new(seconds, rest));
        let moved = span.and_then(|span| match nanos < 0 {
            true => Self::UNIX_EPOCH.checked_sub(span),
            false => Self::UNIX_EPOCH.checked_add(span),
        });
        moved.ok_or_else(|| DateTimeError(at.to_string()))
    }
}

/// As RFC 3339 text in UTC; one that no store takes is an error.
#[cfg(feature = "serde")]
impl serde::Serialize for DateTime {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.is_storable() {
            true => serializer.collect_str(self),
            false => Err(serde::ser::Error::custom(DateTimeError(self.to_string()))),
        }
    }
}

/// From RFC 3339 text, of whatever offset.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for DateTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: String = serde::Deserialize::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tick_comes_back_from_the_clock_of_the_machine() {
        let at = [DateTime::MIN, DateTime::from_ticks(UNIX_EPOCH_TICKS - 1), DateTime::UNIX_EPOCH, DateTime::MAX];
        for at in at {
            let clock = SystemTime::try_from(at).unwrap();
            assert_eq!(DateTime::try_from(clock), Ok(at));
        }
        let within = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
        assert_eq!(DateTime::try_from(within), Ok(DateTime::from_ticks(UNIX_EPOCH_TICKS - 1)), "towards the past");
        let beyond = SystemTime::try_from(DateTime::MAX).unwrap() + Duration::from_secs(1);
        assert!(DateTime::try_from(beyond).is_err());
    }

    #[cfg(feature = "serde")]
    #[test]
    fn in_json_it_is_its_text_and_what_no_store_takes_is_refused_both_ways() {
        let at: DateTime = "2014-07-31T18:00:00.0000001Z".parse().unwrap();
        let text = serde_json::to_string(&at).unwrap();
        assert_eq!(text, "\"2014-07-31T18:00:00.0000001Z\"");
        assert_eq!(serde_json::from_str::<DateTime>(&text).unwrap(), at);
        assert_eq!(serde_json::from_str::<DateTime>("\"2014-07-31T20:00:00.0000001+02:00\"").unwrap(), at);
        for wrong in ["\"1600-12-31T23:59:59Z\"", "\"soon\"", "7"] {
            assert!(serde_json::from_str::<DateTime>(wrong).is_err(), "{wrong}");
        }
        assert!(serde_json::to_string(&DateTime::from_ticks(0)).is_err());
    }
    use crate::ETag;

    #[test]
    fn a_time_that_is_beyond_the_last_year_in_utc_is_refused_like_any_other() {
        let beyond = "9999-12-31T23:59:59-01:00";
        assert_eq!(beyond.parse::<DateTime>(), Err(DateTimeError(beyond.to_owned())));
        let etag = "W/\"datetime'9999-12-31T23%3A59%3A59-01%3A00'\"";
        assert_eq!(ETag::parse(etag).to_string(), etag);
        let within = "9999-12-31T23:59:59+01:00".parse::<DateTime>().unwrap();
        assert_eq!(within.to_string(), "9999-12-31T22:59:59Z");
    }
}
