//! Waiting for other programs, by looking again and again: for a time, or where none passes, for a number of looks.

use std::time::Duration;

use crate::environment::Environment;

/// How often is looked.
const POLL: Duration = Duration::from_secs(1);
/// How often, while no time passes.
const STILL: u32 = 1_000;

/// A wait that has an end.
#[derive(Debug)]
pub(super) struct Patience<'a> {
    environment: &'a Environment,
    begun: Duration,
    time: Duration,
    still: u32,
}

impl<'a> Patience<'a> {
    pub(super) fn new(environment: &'a Environment, time: Duration) -> Self {
        Self { environment, begun: environment.clock.monotonic(), time, still: 0 }
    }

    /// Waits until it is time to look again; whether it is worth it.
    pub(super) async fn lasts(&mut self) -> bool {
        let clock = &self.environment.clock;
        let before = clock.monotonic();
        self.environment.others.sleep(POLL).await;
        tokio::task::yield_now().await;
        self.still = if clock.monotonic() == before { self.still + 1 } else { 0 };
        clock.monotonic().saturating_sub(self.begun) < self.time && self.still < STILL
    }

    /// Something came of it: it begins anew.
    pub(super) fn renew(&mut self) {
        (self.begun, self.still) = (self.environment.clock.monotonic(), 0);
    }
}
