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
///
/// ```
/// use std::time::Duration;
/// use tablemodel_store::DateTime;
///
/// let begin: DateTime = "2014-07-31T23:59:59.5Z".parse()?;
/// let end = begin.checked_add(Duration::from_millis(750)).ok_or("later than a store takes")?;
/// assert_eq!(end.to_string(), "2014-08-01T00:00:00.25Z");
/// assert_eq!(end.duration_since(begin), Some(Duration::from_millis(750)));
/// assert_eq!(DateTime::MAX.checked_add(Duration::from_secs(1)), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// There is no `+` and no `-`: where the result is no time that a store takes, these would panic, as those of `SystemTime` do, or give another time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

    /// Whole seconds since 1970-01-01T00:00:00Z, cut towards the past.
    pub const fn unix_seconds(self) -> i64 {
        // Apart, since the difference of two ticks may be more than an `i64` holds.
        let (seconds, epoch) = (self.0.div_euclid(TICKS_PER_SECOND), UNIX_EPOCH_TICKS / TICKS_PER_SECOND);
        seconds - epoch
    }

    /// The time so much later; `None` outside [`DateTime::MIN`]..=[`DateTime::MAX`].
    ///
    /// What of `duration` is less than a tick of 100 ns is left out: 199 ns later is one tick later.
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        whole_ticks(duration).and_then(|ticks| self.0.checked_add_unsigned(ticks)).map(Self).filter(|t| t.is_storable())
    }

    /// The time so much earlier; `None` outside [`DateTime::MIN`]..=[`DateTime::MAX`].
    ///
    /// What of `duration` is less than a tick of 100 ns is left out: 199 ns earlier is one tick earlier.
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        whole_ticks(duration).and_then(|ticks| self.0.checked_sub_unsigned(ticks)).map(Self).filter(|t| t.is_storable())
    }

    /// How long after `earlier` it is, exactly; `None` where it is before it.
    pub fn duration_since(self, earlier: Self) -> Option<Duration> {
        let (ticks, second) = (self.0.abs_diff(earlier.0), TICKS_PER_SECOND.unsigned_abs());
        let rest = (ticks % second * NANOS_PER_TICK.unsigned_abs()) as u32; // below a second
        (self >= earlier).then(|| Duration::new(ticks / second, rest))
    }

    /// Whether a table store takes it.
    pub const fn is_storable(self) -> bool {
        self.0 >= Self::MIN.0 && self.0 <= Self::MAX.0
    }

    fn to_offset(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp_nanos(self.unix_nanos()).ok()
    }
}

/// The ticks of 100 ns in a duration, cut; `None` above 58,000 years, which lead from no time to another.
fn whole_ticks(duration: Duration) -> Option<u64> {
    u64::try_from(duration.as_nanos() / u128::from(NANOS_PER_TICK.unsigned_abs())).ok()
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

/// As [`Display`](fmt::Display): what a failed assertion shows is read by people.
impl fmt::Debug for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
    use proptest::prelude::*;

    use super::*;
    use crate::ETag;

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

    #[test]
    fn whole_seconds_are_cut_towards_the_past_and_come_back() {
        for (ticks, seconds) in [(0, 0), (1, 0), (TICKS_PER_SECOND, 1), (-1, -1), (-TICKS_PER_SECOND, -1)] {
            assert_eq!(DateTime::from_ticks(UNIX_EPOCH_TICKS + ticks).unix_seconds(), seconds);
        }
        for at in [DateTime::MIN, DateTime::UNIX_EPOCH, DateTime::MAX] {
            let cut = DateTime::from_unix_seconds(at.unix_seconds()).unwrap();
            assert_eq!(at.duration_since(cut).unwrap().as_secs(), 0);
        }
        let _ = [i64::MIN, i64::MAX].map(|ticks| DateTime::from_ticks(ticks).unix_seconds()); // no overflow
    }

    #[test]
    fn debugged_it_is_as_it_is_displayed_and_outside_the_calendar_its_ticks() {
        let at: DateTime = "2014-07-31T18:00:00.5Z".parse().unwrap();
        assert_eq!(format!("{at:?} {:?}", Some(at)), "2014-07-31T18:00:00.5Z Some(2014-07-31T18:00:00.5Z)");
        assert_eq!(format!("{:?}", DateTime::from_ticks(i64::MAX)), format!("ticks {}", i64::MAX));
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

    /// Mostly times that a store takes, and spans that lie between two of them.
    fn ticks() -> impl Strategy<Value = i64> {
        prop_oneof![3 => DateTime::MIN.0..=DateTime::MAX.0, 1 => any::<i64>()]
    }

    fn spans() -> impl Strategy<Value = Duration> {
        let seconds = prop_oneof![0..3_u64, 0..300_000_000_000_u64, any::<u64>()];
        (seconds, 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
    }

    /// What the arithmetic comes to in numbers that cannot overflow.
    fn moved(ticks: i64, by: i128) -> Option<DateTime> {
        let storable = i128::from(DateTime::MIN.0)..=i128::from(DateTime::MAX.0);
        let ticks = Some(i128::from(ticks) + by).filter(|ticks| storable.contains(ticks))?;
        i64::try_from(ticks).ok().map(DateTime)
    }

    proptest! {
        #[test]
        fn a_time_is_moved_by_whole_ticks_or_not_at_all(ticks in ticks(), span in spans()) {
            let by = i128::try_from(span.as_nanos() / 100).unwrap();
            prop_assert_eq!(DateTime(ticks).checked_add(span), moved(ticks, by));
            prop_assert_eq!(DateTime(ticks).checked_sub(span), moved(ticks, -by));
        }

        #[test]
        fn the_time_between_two_leads_from_one_to_the_other(a in ticks(), b in ticks()) {
            let (earlier, later) = (DateTime(a.min(b)), DateTime(a.max(b)));
            let between = later.duration_since(earlier).unwrap();
            prop_assert_eq!(between.as_nanos(), u128::from(a.abs_diff(b)) * 100);
            prop_assert_eq!(earlier.duration_since(later), (a == b).then_some(Duration::ZERO));
            prop_assert_eq!(earlier.checked_add(between), Some(later).filter(|at| at.is_storable()));
            prop_assert_eq!(later.checked_sub(between), Some(earlier).filter(|at| at.is_storable()));
        }
    }

    #[test]
    fn less_than_a_tick_moves_nothing_and_the_bounds_hold() {
        let nanos = Duration::from_nanos;
        let at = DateTime::UNIX_EPOCH;
        assert_eq!([99, 100, 199].map(|n| at.checked_add(nanos(n)).unwrap().0 - at.0), [0, 1, 1]);
        assert_eq!([99, 100, 199].map(|n| at.0 - at.checked_sub(nanos(n)).unwrap().0), [0, 1, 1]);
        assert_eq!(
            (DateTime::MAX.checked_add(nanos(99)), DateTime::MAX.checked_add(nanos(100))),
            (Some(DateTime::MAX), None)
        );
        assert_eq!(
            (DateTime::MIN.checked_sub(nanos(99)), DateTime::MIN.checked_sub(nanos(100))),
            (Some(DateTime::MIN), None)
        );
        assert_eq!(DateTime::MIN.checked_add(Duration::MAX), None);
        let whole = DateTime::MAX.duration_since(DateTime::MIN).unwrap();
        assert_eq!(DateTime::MIN.checked_add(whole), Some(DateTime::MAX));
    }

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
