//! The world of a test database beside its data: randomness that is counted, and what waiting comes to.
//!
//! Nothing here looks at the time of the machine, and all of it runs on any executor.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use async_trait::async_trait;
use tablemodel_store::{
    DateTime,
    clock::{Clock, ManualClock, Sleep},
    fault::FaultStore,
};

use crate::environment::{Environment, Random};

/// No time passes during a call, so no deadline ever comes.
pub(super) const NEVER: Duration = Duration::MAX;
/// How often others are let go first for a turn while nobody calls the store: who has it waits for the one who waits here.
const STILL: u32 = 50_000;
/// The same, whoever calls the store: who waits for one who waits for it goes on.
const LONGEST: u32 = 10 * STILL;
/// The least by which a clock moves.
const TICK: Duration = Duration::from_nanos(100);

/// What a program sees of the world.
pub(super) fn environment(clock: &ManualClock, random: &Arc<Counter>, faults: &Arc<FaultStore>) -> Environment {
    Environment {
        clock: Arc::new(clock.clone()),
        random: random.clone(),
        sleep: Arc::new(AtOnce),
        turn: Arc::new(WhileCalled { clock: clock.clone(), faults: faults.clone() }),
        idle: Arc::new(UntilMoved(clock.clone())),
        others: Arc::new(Passing(clock.clone())),
    }
}

/// Is ready when it is asked for the second time, which is after all others that are ready were asked.
async fn let_others_go_on() {
    let mut was_asked = false;
    poll_fn(|context| match std::mem::replace(&mut was_asked, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// Takes no time.
struct AtOnce;

#[async_trait]
impl Sleep for AtOnce {
    async fn sleep(&self, time: Duration) {
        if time == NEVER {
            std::future::pending().await
        }
    }
}

/// Lasts until the test has moved the clock, by a tick at least: one who never waits keeps a thread to itself. At the end of time it
/// lasts for ever.
struct UntilMoved(ManualClock);

#[async_trait]
impl Sleep for UntilMoved {
    async fn sleep(&self, time: Duration) {
        match self.0.now() < DateTime::MAX {
            true => self.0.passed(time.max(TICK)).await,
            false => std::future::pending().await,
        }
    }
}

/// Moves the clock as far as others who wait at once have not moved it, and lets others go on before it ends.
pub(crate) struct Passing(pub(crate) ManualClock);

#[async_trait]
impl Sleep for Passing {
    async fn sleep(&self, time: Duration) {
        let due = self.0.now().checked_add(time).unwrap_or(DateTime::MAX);
        let_others_go_on().await; // those who wait at once begin at the same time
        self.0.advance_to(due);
        let_others_go_on().await;
    }
}

/// Lasts as long as others call the store, unless the clock is moved meanwhile; not for ever, where that is all that they do.
struct WhileCalled {
    clock: ManualClock,
    faults: Arc<FaultStore>,
}

#[async_trait]
impl Sleep for WhileCalled {
    async fn sleep(&self, time: Duration) {
        let (begun, mut calls, mut still) = (self.clock.monotonic(), self.faults.calls(), 0);
        for _ in 0..LONGEST {
            if still == STILL || self.clock.monotonic().saturating_sub(begun) >= time {
                break;
            }
            let_others_go_on().await;
            let now = self.faults.calls();
            still = if now == calls { still + 1 } else { 0 };
            calls = now;
        }
    }
}

/// Randomness of a program, which the programs that are opened from it (`reopen`) share: their operation ids differ, as they do in the world.
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// Of a program whose data is in memory of its own: the same in every run.
    pub(super) fn of_its_own() -> Self {
        Self(AtomicU64::new(1))
    }

    /// Of a program whose data others may write: far from what any other program of this process counts. Two stores may be one behind what
    /// is around them, so that it is not counted for each store.
    pub(super) fn of_another() -> Self {
        static PROGRAMS: AtomicU64 = AtomicU64::new(1);
        Self(AtomicU64::new(1 + (PROGRAMS.fetch_add(1, Ordering::Relaxed) << 40)))
    }

    /// Counts from here on its own.
    pub(super) fn forked(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl Random for Counter {
    fn next(&self) -> u64 {
        self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed)
    }
}
