//! Clocks, which tell the time, and sleeps, which wait for it.
//!
//! What rows are stamped with, and what a fault waits for, comes from here: whoever needs it is handed a [`Clock`] or a [`Sleep`]. Only
//! when to commit is measured by the machine, by the thread of the embedded store that writes.

use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    task::{Poll, Waker},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;

use crate::DateTime;

/// Tells the time. It may stand still or step back: stores do not rely on more than an answer. (One that was far ahead, and was put
/// right, leaves a store's time ahead: it goes on at half the speed until the clock has caught up.)
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

/// What a store stamps rows with: its clock's time. While that is far behind what it gave out (the clock was ahead once, and was put
/// right), a time that goes on from there at half the speed: what waits by the store's time comes due, and the clock catches up.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct StoreTime {
    /// The stamp that the clock was found behind, and when.
    behind: Option<(u64, Duration)>,
}

impl StoreTime {
    /// The least stamp to give out next, in ticks: `now` by the clock, `last` given out last.
    pub(crate) fn stamp(&mut self, now: DateTime, monotonic: impl FnOnce() -> Duration, last: u64) -> u64 {
        /// Within this the clock catches up soon: so far ahead are stamps after a crash, where they are recorded ahead.
        const SOON: u64 = 30 * 10_000_000;
        const TICKS_A_MICROSECOND: u128 = 10;
        let now = u64::try_from(now.min(DateTime::MAX).ticks()).unwrap_or(0);
        if now.saturating_add(SOON) >= last {
            self.behind = None;
            return now;
        }
        let monotonic = monotonic();
        let (stamp, since) = *self.behind.get_or_insert((last, monotonic));
        let passed = monotonic.saturating_sub(since).as_micros() * TICKS_A_MICROSECOND / 2;
        stamp.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)).min(DateTime::MAX.ticks().cast_unsigned())
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
pub struct ManualClock(Arc<Hands>);

#[derive(Debug)]
struct Hands {
    ticks: AtomicI64,
    /// Who is to look again once it has moved; who went away meanwhile is still among them until then.
    waiting: Mutex<Vec<Waker>>,
}

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn new(now: DateTime) -> Self {
        Self(Arc::new(Hands { ticks: AtomicI64::new(now.ticks()), waiting: Mutex::default() }))
    }

    /// Moves it to `now`, which may lie in its past.
    pub fn set(&self, now: DateTime) {
        self.0.ticks.store(now.ticks(), Ordering::SeqCst);
        self.wake();
    }

    /// Moves it forward, to the end of time at most.
    pub fn advance(&self, by: Duration) {
        self.step(|ticks, step| ticks.saturating_add(step), by);
    }

    /// Moves it forward to `time`; a clock that shows a later time stays as it is. So those who wait at once for the same time move it
    /// there once, on any number of threads.
    ///
    /// ```
    /// use tablemodel_store::{DateTime, clock::{Clock, ManualClock}};
    ///
    /// let clock = ManualClock::new(DateTime::UNIX_EPOCH);
    /// clock.advance_to(DateTime::MAX);
    /// clock.advance_to(DateTime::UNIX_EPOCH);
    /// assert_eq!(clock.now(), DateTime::MAX);
    /// ```
    pub fn advance_to(&self, time: DateTime) {
        self.0.ticks.fetch_max(time.ticks(), Ordering::SeqCst);
        self.wake();
    }

    /// Moves it back, to the beginning of time at most.
    pub fn step_back(&self, by: Duration) {
        self.step(|ticks, step| ticks.saturating_sub(step), by);
    }

    /// Waits until the clock shows a time that is so much later than now: until others have moved it there. On any executor.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tablemodel_store::{DateTime, clock::ManualClock};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let clock = ManualClock::new(DateTime::UNIX_EPOCH);
    /// let its = clock.clone();
    /// let waits = tokio::spawn(async move { its.passed(Duration::from_secs(60)).await });
    /// tokio::task::yield_now().await;
    /// assert!(!waits.is_finished());
    /// clock.advance(Duration::from_secs(60));
    /// waits.await.unwrap();
    /// # }
    /// ```
    pub fn passed(&self, time: Duration) -> impl Future<Output = ()> + Send {
        let due = self.now().ticks().saturating_add(ticks(time)).min(DateTime::MAX.ticks());
        poll_fn(move |context| self.poll_due(due, context.waker()))
    }

    fn poll_due(&self, due: i64, waker: &Waker) -> Poll<()> {
        // Looked at under the lock: who moves the clock later finds the waker.
        let mut waiting = self.waiting();
        if self.now().ticks() >= due {
            return Poll::Ready(());
        }
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
        Poll::Pending
    }

    fn step(&self, moved: fn(i64, i64) -> i64, by: Duration) {
        let step = ticks(by);
        let within = |ticks: i64| ticks.clamp(DateTime::MIN.ticks(), DateTime::MAX.ticks());
        let next = |ticks| Some(within(moved(ticks, step)));
        // The update never fails: `next` always gives a value.
        let _ = self.0.ticks.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        self.wake();
    }

    fn wake(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        waiting.into_iter().for_each(Waker::wake);
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In steps of the clock.
fn ticks(time: Duration) -> i64 {
    i64::try_from(time.as_nanos() / 100).unwrap_or(i64::MAX)
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime {
        DateTime::from_ticks(self.0.ticks.load(Ordering::SeqCst))
    }

    /// Follows the clock, so that a test moves both; who steps the clock back steps this back too.
    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.now().ticks().max(0).cast_unsigned() / 10)
    }
}

/// Sleeping moves the clock forward, at once; to wait until another moves it there is [`passed`](ManualClock::passed).
#[async_trait]
impl Sleep for ManualClock {
    async fn sleep(&self, time: Duration) {
        self.advance(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stores_time_is_its_clocks_and_goes_on_slower_where_that_is_behind() {
        const SECOND: u64 = 10_000_000;
        let at = |seconds: u64| DateTime::from_ticks((seconds * SECOND).cast_signed());
        let mut time = StoreTime::default();
        let mut stamp = |clock: u64, monotonic: u64, last: u64| {
            time.stamp(at(clock), || Duration::from_secs(monotonic), last * SECOND) / SECOND
        };
        assert_eq!(stamp(1_000, 0, 900), 1_000);
        assert_eq!(stamp(500, 10, 1_000), 1_000); // stepped back
        assert_eq!(stamp(600, 110, 1_000), 1_050);
        assert_eq!(stamp(900, 410, 1_050), 1_200);
        assert_eq!(stamp(1_300, 810, 1_200), 1_300); // caught up
        assert_eq!(stamp(1_200, 900, 1_300), 1_300); // and stepped back again
        assert_eq!(stamp(1_280, 980, 1_300), 1_280); // it is there soon
    }

    #[test]
    fn no_time_is_later_than_the_last_that_there_is() {
        let last = DateTime::MAX.ticks().cast_unsigned();
        let mut time = StoreTime::default();
        assert_eq!(time.stamp(DateTime::from_ticks(i64::MAX), || Duration::ZERO, 0), last);
        assert_eq!(time.stamp(DateTime::MIN, || Duration::ZERO, last), last);
        assert_eq!(time.stamp(DateTime::MIN, || Duration::MAX, last), last);
    }
}
