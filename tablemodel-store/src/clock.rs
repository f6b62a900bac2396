//! Clocks, which tell the time, and sleeps, which wait for it.
//!
//! What rows are stamped with, and what a fault waits for, comes from here: whoever needs it is handed a [`Clock`] or a [`Sleep`]. Only
//! when to commit is measured by the machine, by the thread of the embedded store that writes.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;

use crate::DateTime;

/// Tells the time. It may stand still or step back: stores do not rely on more than an answer.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> DateTime;

    /// Time since some fixed point; never steps back. For how long something has taken, not for when it was.
    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> DateTime {
        (**self).now()
    }

    fn monotonic(&self) -> Duration {
        (**self).monotonic()
    }
}

/// Waits. A program on tokio wraps `tokio::time::sleep`; a test moves a [`ManualClock`].
#[async_trait]
pub trait Sleep: Send + Sync + 'static {
    /// Returns after this time.
    async fn sleep(&self, time: Duration);
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime {
        let nanos = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_nanos().cast_signed(),
            Err(before) => -before.duration().as_nanos().cast_signed(),
        };
        DateTime::from_unix_nanos(nanos).unwrap_or(DateTime::UNIX_EPOCH)
    }
}

/// A clock that stands still until it is moved. Clones are one clock.
///
/// ```
/// use std::time::Duration;
/// use tablemodel_store::{DateTime, clock::{Clock, ManualClock}};
///
/// let clock = ManualClock::new(DateTime::UNIX_EPOCH);
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now().to_string(), "1970-01-01T00:01:00Z");
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn new(now: DateTime) -> Self {
        Self(Arc::new(AtomicI64::new(now.ticks())))
    }

    /// Moves it to `now`, which may lie in its past.
    pub fn set(&self, now: DateTime) {
        self.0.store(now.ticks(), Ordering::SeqCst);
    }

    /// Moves it forward, to the end of time at most.
    pub fn advance(&self, by: Duration) {
        self.step(|ticks, step| ticks.saturating_add(step), by);
    }

    /// Moves it back, to the beginning of time at most.
    pub fn step_back(&self, by: Duration) {
        self.step(|ticks, step| ticks.saturating_sub(step), by);
    }

    fn step(&self, moved: fn(i64, i64) -> i64, by: Duration) {
        let step = i64::try_from(by.as_nanos() / 100).unwrap_or(i64::MAX);
        let within = |ticks: i64| ticks.clamp(DateTime::MIN.ticks(), DateTime::MAX.ticks());
        let next = |ticks| Some(within(moved(ticks, step)));
        // The update never fails: `next` always gives a value.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime {
        DateTime::from_ticks(self.0.load(Ordering::SeqCst))
    }

    /// Follows the clock, so that a test moves both; who steps the clock back steps this back too.
    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.now().ticks().max(0).cast_unsigned() / 10)
    }
}

/// Sleeping moves the clock forward, at once.
#[async_trait]
impl Sleep for ManualClock {
    async fn sleep(&self, time: Duration) {
        self.advance(time);
    }
}
