//! How fast a backfill goes: a bucket of tokens, one an entity, that is refilled slower while the store is busy, or answers
//! slower than at first; and where nobody set a limit, slowly while the program writes.
//!
//! Pure: told of what was written, and of the time by the monotonic clock; who takes from it waits.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Batches after which it is judged.
const WINDOW: usize = 20;
/// What a refill is made of where nobody set one, the store was busy, and nothing is known of it yet: entities a second.
const FIRST: f64 = 1_000.0;
/// Entities a second where nobody set a limit, and the program writes: few enough that it hardly waits longer for its own writes.
pub(super) const BESIDE: f64 = 250.0;
/// Entities that go with a write of the program: it should not take noticeably longer for them.
const ALONG: usize = 2;
/// How long a batch waits for a write of the program where these are far apart.
const SELDOM: Duration = Duration::from_millis(50);
/// The least.
const LEAST: f64 = 1.0;
/// How much slower than at first batches may become.
const SLOWER: u32 = 2;
/// What is fast whatever it was at first.
const FAST: Duration = Duration::from_millis(1);

/// A bucket that all workers of a call share.
#[derive(Debug)]
pub(super) struct Throttle(Mutex<Bucket>);

#[derive(Debug)]
struct Bucket {
    /// What the user allows.
    limit: Option<f64>,
    /// Whether the program writes.
    is_beside: bool,
    /// Whether its writes are so far apart that a batch waits long for one.
    is_seldom: bool,
    /// What the store seems to bear; none while it was never busy.
    pace: Option<f64>,
    /// When the next entity may go, by the monotonic clock.
    next: Duration,
    window: Window,
    /// The 95th percentile of the first window's latencies.
    usual: Option<Duration>,
}

/// The last good batches.
#[derive(Debug, Default)]
struct Window {
    latencies: Vec<Duration>,
    entities: u64,
    /// When it began.
    since: Duration,
}

impl Throttle {
    /// One that begins now, by the monotonic clock.
    pub(super) fn new(limit: Option<f64>, now: Duration) -> Self {
        let window = Window { since: now, ..Window::default() };
        Self(Mutex::new(Bucket {
            limit,
            is_beside: false,
            is_seldom: false,
            pace: None,
            next: Duration::ZERO,
            window,
            usual: None,
        }))
    }

    fn bucket<T>(&self, with: impl FnOnce(&mut Bucket) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn limit(&self, limit: Option<f64>) {
        self.bucket(|bucket| bucket.limit_to(limit));
    }

    /// Whether the program writes, as of now.
    pub(super) fn beside(&self, is_beside: bool, now: Duration) {
        self.bucket(|bucket| bucket.beside(is_beside, now));
    }

    /// Whether entities may have to wait.
    pub(super) fn is_limited(&self) -> bool {
        self.bucket(|bucket| bucket.rate().is_some())
    }

    /// How many entities may go with a write of the program; nothing where it does not write, or somebody set a limit.
    pub(super) fn share(&self) -> Option<usize> {
        self.bucket(|bucket| {
            let most = if bucket.is_seldom { usize::MAX } else { ALONG };
            (bucket.is_beside && bucket.limit.is_none()).then_some(most)
        })
    }

    /// So many entities went with a write of the program, for which they waited, or alone where none came. That tells nothing
    /// of the store.
    pub(super) fn went_along(&self, entities: u64, waited: Duration, now: Duration) {
        self.bucket(|bucket| {
            bucket.is_seldom = waited >= SELDOM;
            bucket.good(entities, Duration::ZERO, now);
        });
    }

    /// How long so many entities have to wait.
    pub(super) fn take(&self, entities: u64, now: Duration) -> Duration {
        self.bucket(|bucket| bucket.take(entities, now))
    }

    /// A batch of so many entities was written, in this time.
    pub(super) fn good(&self, entities: u64, latency: Duration, now: Duration) {
        self.bucket(|bucket| bucket.good(entities, latency, now));
    }

    /// The store was busy.
    pub(super) fn busy(&self, now: Duration) {
        self.bucket(|bucket| bucket.halve(now));
    }
}

impl Bucket {
    /// What is allowed, by the user or by default.
    fn limit(&self) -> Option<f64> {
        self.limit.or(self.is_beside.then_some(BESIDE))
    }

    /// A new limit makes other batches, which do not wait as the old one told.
    fn limit_to(&mut self, limit: Option<f64>) {
        if self.limit != limit {
            (self.limit, self.usual, self.next) = (limit, None, Duration::ZERO);
            self.window = Window { since: self.window.since, ..Window::default() };
        }
    }

    /// What was usual is not, where the batches become others.
    fn beside(&mut self, is_beside: bool, now: Duration) {
        if self.is_beside != is_beside {
            self.is_beside = is_beside;
            (self.usual, self.window) = (None, Window { since: now, ..Window::default() });
        }
    }

    fn rate(&self) -> Option<f64> {
        match (self.limit(), self.pace) {
            (Some(limit), Some(pace)) => Some(limit.min(pace)),
            (limit, pace) => limit.or(pace),
        }
    }

    /// How long to wait: entities go at even intervals, and what was not used is not saved up.
    fn take(&mut self, entities: u64, now: Duration) -> Duration {
        let Some(rate) = self.rate() else { return Duration::ZERO };
        let begins = self.next.max(now);
        #[expect(clippy::cast_precision_loss, reason = "a batch has thousands of entities at most")]
        let takes = Duration::try_from_secs_f64(entities as f64 / rate).unwrap_or(Duration::MAX);
        self.next = begins.saturating_add(takes);
        begins - now
    }

    fn good(&mut self, entities: u64, latency: Duration, now: Duration) {
        self.window.entities += entities;
        self.window.latencies.push(latency);
        if self.window.latencies.len() < WINDOW {
            return;
        }
        let slowest = p95(&mut self.window.latencies);
        let usual = *self.usual.get_or_insert(slowest);
        if slowest > usual.saturating_mul(SLOWER).max(FAST) {
            return self.halve(now);
        }
        self.window = Window { since: now, ..Window::default() };
        let limit = self.limit();
        self.pace = self.pace.map(|pace| pace * 1.05).filter(|pace| limit.is_none_or(|limit| *pace < limit));
    }

    /// Half of what is allowed, or else of what was reached; and a new window, of what comes of it.
    fn halve(&mut self, now: Duration) {
        let rate = self.rate().or_else(|| self.window.reached(now)).unwrap_or(FIRST);
        self.pace = Some((rate / 2.0).max(LEAST));
        self.window = Window { since: now, ..Window::default() };
    }
}

impl Window {
    /// Entities a second.
    fn reached(&self, now: Duration) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let entities = self.entities as f64;
        let seconds = now.saturating_sub(self.since).as_secs_f64();
        (entities > 0.0 && seconds > 0.0).then(|| entities / seconds)
    }
}

/// The time that 95 of 100 do not exceed.
fn p95(latencies: &mut [Duration]) -> Duration {
    latencies.sort_unstable();
    let at = (latencies.len() * 95).div_ceil(100).saturating_sub(1);
    latencies.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn waits(throttle: &Throttle, entities: u64, now: u64) -> f64 {
        throttle.take(entities, Duration::from_secs(now)).as_secs_f64()
    }

    fn rate(throttle: &Throttle) -> Option<f64> {
        throttle.bucket(|bucket| bucket.rate())
    }

    /// So many batches of ten entities, ten of them a second.
    fn batches(throttle: &Throttle, clock: &mut Duration, batches: usize, millis: impl Fn(usize) -> u64) {
        for batch in 0..batches {
            *clock += SECOND / 10;
            throttle.good(10, Duration::from_millis(millis(batch)), *clock);
        }
    }

    #[test]
    fn entities_go_at_the_rate_that_was_set() {
        let throttle = Throttle::new(Some(100.0), Duration::ZERO);
        assert_eq!(waits(&throttle, 50, 10), 0.0, "the first goes at once");
        assert_eq!(waits(&throttle, 50, 10), 0.5);
        assert_eq!(waits(&throttle, 50, 10), 1.0);
        assert_eq!(waits(&throttle, 1, 60), 0.0, "what was not used is not saved up");
        assert_eq!(waits(&Throttle::new(None, Duration::ZERO), 1_000_000, 1), 0.0);
    }

    #[test]
    fn while_the_program_writes_it_goes_slowly_unless_a_limit_was_set() {
        let (throttle, mut clock) = (Throttle::new(None, Duration::ZERO), Duration::ZERO);
        batches(&throttle, &mut clock, WINDOW * 2, |_| 100);
        throttle.beside(true, clock);
        assert_eq!(rate(&throttle), Some(BESIDE));
        batches(&throttle, &mut clock, WINDOW, |_| 1);
        throttle.beside(true, clock);
        assert_eq!(rate(&throttle), Some(BESIDE));
        throttle.beside(false, clock);
        assert_eq!(rate(&throttle), None, "full speed");
        batches(&throttle, &mut clock, WINDOW * 2, |_| 100);
        assert_eq!(rate(&throttle), None, "small batches are no measure for large ones");
        throttle.beside(true, clock);
        throttle.limit(Some(9_000.0));
        assert_eq!(rate(&throttle), Some(9_000.0), "who sets a limit knows what he does");
        throttle.limit(None);
        throttle.busy(clock);
        assert_eq!(rate(&throttle), Some(BESIDE / 2.0));
    }

    #[test]
    fn few_entities_go_with_each_write_of_the_program_and_more_where_it_seldom_writes() {
        let (throttle, now) = (Throttle::new(None, Duration::ZERO), SECOND);
        assert_eq!(throttle.share(), None, "it does not write");
        throttle.beside(true, now);
        assert_eq!(throttle.share(), Some(ALONG));
        throttle.went_along(ALONG as u64, SELDOM, now);
        assert_eq!(throttle.share(), Some(usize::MAX));
        throttle.went_along(90, Duration::from_millis(1), now);
        assert_eq!(throttle.share(), Some(ALONG));
        (0..WINDOW * 3).for_each(|_| throttle.went_along(ALONG as u64, SECOND, now));
        assert_eq!(rate(&throttle), Some(BESIDE), "a long wait for others is not a slow store");
        throttle.limit(Some(9_000.0));
        assert_eq!(throttle.share(), None, "who sets a limit knows what he does");
    }

    #[test]
    fn what_was_usual_of_batches_that_went_along_is_no_measure_for_others() {
        let (throttle, mut clock) = (Throttle::new(None, Duration::ZERO), Duration::ZERO);
        throttle.beside(true, clock);
        (0..WINDOW).for_each(|_| throttle.went_along(ALONG as u64, SECOND, SECOND));
        throttle.limit(Some(9_000.0));
        batches(&throttle, &mut clock, WINDOW * 3, |_| 5);
        assert_eq!(rate(&throttle), Some(9_000.0));
    }

    #[test]
    fn a_limit_that_is_lifted_keeps_nobody_waiting() {
        let throttle = Throttle::new(Some(0.01), Duration::ZERO);
        assert_eq!((waits(&throttle, 100, 1), waits(&throttle, 100, 1)), (0.0, 10_000.0));
        throttle.limit(Some(100.0));
        assert_eq!(waits(&throttle, 100, 2), 0.0);
    }

    #[test]
    fn a_busy_store_halves_it_and_good_batches_raise_it_by_a_twentieth() {
        let (throttle, mut clock) = (Throttle::new(Some(100.0), Duration::ZERO), Duration::ZERO);
        throttle.busy(clock);
        throttle.busy(clock);
        assert_eq!(rate(&throttle), Some(25.0));
        batches(&throttle, &mut clock, WINDOW - 1, |_| 5);
        assert_eq!(rate(&throttle), Some(25.0));
        batches(&throttle, &mut clock, 1, |_| 5);
        assert_eq!(rate(&throttle), Some(26.25));
        batches(&throttle, &mut clock, WINDOW * 60, |_| 5);
        assert_eq!(rate(&throttle), Some(100.0), "never above what was set");
    }

    #[test]
    fn batches_that_take_over_twice_as_long_halve_what_was_reached() {
        let (throttle, mut clock) = (Throttle::new(None, Duration::ZERO), Duration::ZERO);
        batches(&throttle, &mut clock, WINDOW, |_| 10);
        batches(&throttle, &mut clock, WINDOW * 3, |_| 20);
        assert_eq!(rate(&throttle), None, "twice as long is not longer than that");
        batches(&throttle, &mut clock, WINDOW - 1, |_| 21);
        assert_eq!(rate(&throttle), None, "a window is judged as a whole");
        batches(&throttle, &mut clock, 1, |_| 21);
        assert!(rate(&throttle).is_some_and(|rate| (rate - 50.0).abs() < 1e-9), "half of a hundred a second");
        batches(&throttle, &mut clock, WINDOW, |_| 21);
        assert!(rate(&throttle).is_some_and(|rate| (rate - 25.0).abs() < 1e-9), "it is still slow");
        batches(&throttle, &mut clock, WINDOW, |_| 20);
        assert!(rate(&throttle).is_some_and(|rate| (rate - 26.25).abs() < 1e-9), "and is not any more");
    }

    #[test]
    fn one_slow_batch_of_twenty_is_nothing_and_two_are() {
        let (throttle, mut clock) = (Throttle::new(Some(80.0), Duration::ZERO), Duration::ZERO);
        batches(&throttle, &mut clock, WINDOW, |_| 10);
        batches(&throttle, &mut clock, WINDOW, |batch| if batch == 7 { 900 } else { 10 });
        assert_eq!(rate(&throttle), Some(80.0));
        batches(&throttle, &mut clock, WINDOW, |batch| if batch % 10 == 7 { 900 } else { 10 });
        assert_eq!(rate(&throttle), Some(40.0));
    }

    #[test]
    fn what_takes_no_time_to_speak_of_is_never_slow() {
        let (throttle, mut clock) = (Throttle::new(None, Duration::ZERO), Duration::ZERO);
        batches(&throttle, &mut clock, WINDOW, |_| 0);
        batches(&throttle, &mut clock, WINDOW, |_| 1);
        assert_eq!(rate(&throttle), None);
        throttle.bucket(|bucket| bucket.usual = Some(Duration::from_millis(1)));
        batches(&throttle, &mut clock, WINDOW, |_| 3);
        assert!(rate(&throttle).is_some());
    }

    #[test]
    fn a_store_that_is_busy_before_anything_was_reached_begins_low() {
        let throttle = Throttle::new(None, Duration::ZERO);
        throttle.busy(Duration::ZERO);
        assert_eq!(rate(&throttle), Some(FIRST / 2.0));
        (0..20).for_each(|_| throttle.busy(SECOND));
        assert_eq!(rate(&throttle), Some(LEAST));
    }
}
