//! A world in which nothing happens but by its dice: tasks take turns, time passes between them, and some die.
//!
//! Knows nothing of stores. The same seed gives the same course.

use std::{
    collections::BTreeMap,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use futures_util::future::{BoxFuture, Either, poll_fn, select};
use tablemodel::{
    DateTime,
    store::clock::{Clock, ManualClock, Sleep},
};

use crate::moves::together::Dice;

/// Clones are one world.
#[derive(Clone)]
pub(super) struct World(Arc<Inner>);

struct Inner {
    dice: Mutex<Dice>,
    clock: ManualClock,
    begun: Mutex<Vec<Task>>,
    /// By when they wake.
    sleepers: Mutex<BTreeMap<(Duration, u64), Waker>>,
    count: AtomicU64,
    /// When each number was given.
    given: Mutex<Vec<Duration>>,
}

struct Task {
    future: BoxFuture<'static, ()>,
    ready: Arc<Ready>,
}

struct Ready(AtomicBool);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        // Neighbouring seeds begin alike otherwise; nought stays nought for ever.
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            dice.roll(2);
        }
        let start = DateTime::from_unix_seconds(1_577_836_800).expect("a time");
        Self(Arc::new(Inner {
            dice: Mutex::new(dice),
            clock: ManualClock::new(start),
            begun: Mutex::default(),
            sleepers: Mutex::default(),
            count: AtomicU64::new(0),
            given: Mutex::default(),
        }))
    }

    /// A number below `sides`.
    pub(super) fn roll(&self, sides: u64) -> u64 {
        self.0.dice.lock().unwrap().roll(sides)
    }

    /// Whether that happens which happens once in so many times.
    pub(super) fn once_in(&self, times: u64) -> bool {
        self.roll(times) == 0
    }

    pub(super) fn clock(&self) -> &ManualClock {
        &self.0.clock
    }

    /// A number that nothing before had.
    pub(super) fn next(&self) -> u64 {
        self.0.given.lock().unwrap().push(self.0.clock.monotonic());
        self.0.count.fetch_add(1, Ordering::SeqCst)
    }

    /// The first number that was given within this time.
    pub(super) fn within(&self, time: Duration) -> u64 {
        let since = self.0.clock.monotonic().saturating_sub(time);
        self.0.given.lock().unwrap().partition_point(|at| *at < since) as u64
    }

    /// A task of its own, which lives on whoever began it.
    pub(super) fn begin(&self, future: impl Future<Output = ()> + Send + 'static) {
        let ready = Arc::new(Ready(AtomicBool::new(true)));
        self.0.begun.lock().unwrap().push(Task { future: Box::pin(future), ready });
    }

    /// Until all tasks are done.
    pub(super) fn run(&self) {
        let mut tasks = Vec::new();
        loop {
            tasks.append(&mut self.0.begun.lock().unwrap());
            let ready: Vec<_> = (0..tasks.len()).filter(|at| is_ready(&tasks, *at)).collect();
            match ready.len() as u64 {
                0 if tasks.is_empty() => return,
                0 => self.wait(),
                some => {
                    let at = ready[self.roll(some) as usize];
                    if self.poll(&mut tasks[at]).is_ready() {
                        drop(tasks.swap_remove(at));
                    }
                }
            }
        }
    }

    fn poll(&self, task: &mut Task) -> Poll<()> {
        if self.once_in(8) {
            self.0.clock.advance(Duration::from_millis(self.roll(40)));
            self.wake();
        }
        task.ready.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&task.ready));
        task.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Nobody has anything to do before this time.
    fn wait(&self) {
        let first = self.0.sleepers.lock().unwrap().first_key_value().map(|((at, _), _)| *at);
        let first = first.expect("all wait, and nobody for a time");
        self.0.clock.advance(first.saturating_sub(self.0.clock.monotonic()) + Duration::from_micros(1));
        self.wake();
    }

    fn wake(&self) {
        let now = self.0.clock.monotonic();
        let mut sleepers = self.0.sleepers.lock().unwrap();
        while let Some(first) = sleepers.first_entry().filter(|first| first.key().0 <= now) {
            first.remove().wake();
        }
    }

    /// Others go first, as it happens: none, some, or all that do anything within a few milliseconds.
    pub(super) async fn turn(&self) {
        if self.once_in(4) {
            return self.sleep(Duration::from_millis(self.roll(60))).await;
        }
        for _ in 0..self.roll(4) {
            let mut has_waited = false;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
    }

    /// The work's end; none where whoever does it dies before, once in so many moments.
    pub(super) async fn mortal<T>(&self, work: impl Future<Output = T>, once_in: u64) -> Option<T> {
        let death = poll_fn(|_| if self.once_in(once_in) { Poll::Ready(()) } else { Poll::Pending });
        match select(pin!(work), death).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(((), _)) => None,
        }
    }
}

fn is_ready(tasks: &[Task], at: usize) -> bool {
    tasks[at].ready.0.load(Ordering::SeqCst)
}

#[async_trait::async_trait]
impl Sleep for World {
    async fn sleep(&self, time: Duration) {
        match self.0.clock.monotonic().checked_add(time) {
            Some(until) => Until { world: self, key: (until, self.next()) }.await,
            None => std::future::pending().await,
        }
    }
}

struct Until<'w> {
    world: &'w World,
    key: (Duration, u64),
}

impl Future for Until<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.world.0.clock.monotonic() >= self.key.0 {
            return Poll::Ready(());
        }
        self.world.0.sleepers.lock().unwrap().insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Until<'_> {
    fn drop(&mut self) {
        self.world.0.sleepers.lock().unwrap().remove(&self.key);
    }
}

/// A clock that is wrong by so many seconds, but goes as the world's does.
pub(super) struct Skewed {
    pub(super) clock: ManualClock,
    pub(super) seconds: i64,
}

impl Clock for Skewed {
    fn now(&self) -> DateTime {
        DateTime::from_ticks(self.clock.now().ticks() + self.seconds * 10_000_000)
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}
