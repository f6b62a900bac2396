//! Whether the program writes: so that what runs beside it can make way.
//!
//! Only writes that the program asked for count; relays, repairs and migrations are no traffic.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::database::Database;

/// For how long a write is recent.
const RECENT: Duration = Duration::from_secs(5);

/// When the program last wrote, in milliseconds of the monotonic clock, counted from 1; 0 before it ever did.
#[derive(Debug, Default)]
pub(super) struct Traffic(AtomicU64);

impl Traffic {
    fn note(&self, now: Duration) {
        self.0.store(millis(now) + 1, Ordering::Relaxed);
    }

    fn is_any(&self, now: Duration) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        last > 0 && millis(now).saturating_sub(last - 1) < millis(RECENT)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX - 1)
}

impl Database {
    /// Tells those beside it that the program writes.
    pub(super) fn note_traffic(&self) {
        self.0.traffic.note(self.environment().clock.monotonic());
    }

    /// Whether the program wrote in the last seconds.
    pub(super) fn has_traffic(&self) -> bool {
        self.0.traffic.is_any(self.environment().clock.monotonic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_recent_for_five_seconds() {
        let (traffic, at) = (Traffic::default(), Duration::from_secs);
        assert!(!traffic.is_any(at(0)) && !traffic.is_any(at(100)));
        traffic.note(at(0));
        assert!(traffic.is_any(at(0)) && traffic.is_any(at(4)) && !traffic.is_any(at(5)));
        traffic.note(at(4));
        assert!(traffic.is_any(at(8)) && !traffic.is_any(at(9)));
        assert!(traffic.is_any(at(3)), "a clock that was read before it");
    }
}
