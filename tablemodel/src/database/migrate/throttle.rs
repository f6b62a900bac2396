//! How fast a backfill goes: a bucket of tokens, one an entity, that is refilled slower while the store is busy.
//!
//! Waits by the injected sleep; reads the monotonic clock alone.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::environment::Environment;

/// Good batches after which it goes faster again.
const GOOD: u32 = 20;
/// What a refill is made of where nobody set one and the store was busy: entities a second.
const FIRST: f64 = 1_000.0;
/// The least.
const LEAST: f64 = 1.0;

/// A bucket that all workers of a call share.
#[derive(Debug)]
pub(super) struct Throttle(Mutex<Bucket>);

#[derive(Debug)]
struct Bucket {
    /// What the user allows.
    limit: Option<f64>,
    /// What the store seems to bear; none while it was never busy.
    pace: Option<f64>,
    good: u32,
    /// When the next entity may go, by the monotonic clock.
    next: Duration,
}

impl Throttle {
    pub(super) fn new(limit: Option<f64>) -> Self {
        Self(Mutex::new(Bucket { limit, pace: None, good: 0, next: Duration::ZERO }))
    }

    fn bucket<T>(&self, with: impl FnOnce(&mut Bucket) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn limit(&self, limit: Option<f64>) {
        self.bucket(|bucket| bucket.limit = limit);
    }

    /// Waits until so many entities may go.
    pub(super) async fn take(&self, entities: u64, environment: &Environment) {
        let now = environment.clock.monotonic();
        let wait = self.bucket(|bucket| bucket.take(entities, now));
        if !wait.is_zero() {
            environment.sleep.sleep(wait).await;
        }
    }

    /// A batch was written.
    pub(super) fn good(&self) {
        self.bucket(|bucket| {
            bucket.good += 1;
            if bucket.good >= GOOD {
                bucket.good = 0;
                bucket.pace =
                    bucket.pace.map(|pace| pace * 1.05).filter(|pace| bucket.limit.is_none_or(|limit| *pace < limit));
            }
        });
    }

    /// The store was busy.
    pub(super) fn busy(&self) {
        self.bucket(|bucket| {
            bucket.good = 0;
            bucket.pace = Some((bucket.rate().unwrap_or(FIRST) / 2.0).max(LEAST));
        });
    }
}

impl Bucket {
    fn rate(&self) -> Option<f64> {
        match (self.limit, self.pace) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(throttle: &Throttle, entities: u64, now: u64) -> f64 {
        throttle.bucket(|bucket| bucket.take(entities, Duration::from_secs(now))).as_secs_f64()
    }

    #[test]
    fn entities_go_at_the_rate_that_was_set() {
        let throttle = Throttle::new(Some(100.0));
        assert_eq!(waits(&throttle, 50, 10), 0.0, "the first goes at once");
        assert_eq!(waits(&throttle, 50, 10), 0.5);
        assert_eq!(waits(&throttle, 50, 10), 1.0);
        assert_eq!(waits(&throttle, 1, 60), 0.0, "what was not used is not saved up");
        assert_eq!(waits(&Throttle::new(None), 1_000_000, 1), 0.0);
    }

    #[test]
    fn a_busy_store_halves_it_and_good_batches_raise_it_by_a_twentieth() {
        let throttle = Throttle::new(Some(100.0));
        throttle.busy();
        throttle.busy();
        assert_eq!(throttle.bucket(|bucket| bucket.rate()), Some(25.0));
        (0..GOOD - 1).for_each(|_| throttle.good());
        assert_eq!(throttle.bucket(|bucket| bucket.rate()), Some(25.0));
        throttle.good();
        assert_eq!(throttle.bucket(|bucket| bucket.rate()), Some(26.25));
        (0..GOOD * 60).for_each(|_| throttle.good());
        assert_eq!(throttle.bucket(|bucket| bucket.rate()), Some(100.0), "never above what was set");
    }
}
