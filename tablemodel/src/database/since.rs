//! How long something is held already, also where the machine was suspended meanwhile.
//!
//! Decides nothing by it.

use std::time::Duration;

use tablemodel_store::{DateTime, clock::Clock};

/// A moment, by both clocks, of which the earlier one is the less: while the machine is suspended the monotonic one stands still, and the other may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Since {
    monotonic: Duration,
    told: DateTime,
}

impl Since {
    pub(super) fn now(clock: &dyn Clock) -> Self {
        Self { monotonic: clock.monotonic(), told: clock.now() }
    }

    /// How long ago it was, by whichever clock says more: what is given up too early begins again.
    pub(super) fn elapsed(self, clock: &dyn Clock) -> Duration {
        let told = clock.now().duration_since(self.told).unwrap_or_default();
        clock.monotonic().saturating_sub(self.monotonic).max(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both clocks, as they are set.
    struct Clocks(DateTime, Duration);

    impl Clock for Clocks {
        fn now(&self) -> DateTime {
            self.0
        }

        fn monotonic(&self) -> Duration {
            self.1
        }
    }

    #[test]
    fn time_passes_by_the_clock_that_went_on() {
        let seconds = Duration::from_secs;
        let at = |told: u64, monotonic: u64| {
            Clocks(DateTime::from_ticks(i64::try_from(told).unwrap() * 10_000_000), seconds(monotonic))
        };
        let since = Since::now(&at(1_000, 10));
        let elapsed =
            [(1_000, 10), (1_003, 13), (4_600, 10), (1_003, 20), (0, 12)].map(|(a, b)| since.elapsed(&at(a, b)));
        // At once; both; suspended; set back a little; set far back.
        assert_eq!(elapsed, [0, 3, 3_600, 10, 2].map(seconds));
    }
}
