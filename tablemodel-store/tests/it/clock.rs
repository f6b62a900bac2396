//! A clock that a test moves, and those who wait for it.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use tablemodel_store::{
    DateTime,
    clock::{Clock, ManualClock},
};

/// How often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn who_waits_for_the_clock_is_woken_when_it_moves_and_goes_on_when_it_shows_the_time() {
    let (clock, woken) = (ManualClock::new(DateTime::UNIX_EPOCH), Arc::new(Woken::default()));
    let (waker, count) = (Waker::from(woken.clone()), || woken.0.load(Ordering::SeqCst));
    let mut waits = pin!(clock.passed(seconds(60)));
    let mut poll = || waits.as_mut().poll(&mut Context::from_waker(&waker));
    assert_eq!((poll(), poll(), count()), (Poll::Pending, Poll::Pending, 0), "nobody moved it");
    clock.advance(seconds(59));
    assert_eq!((count(), poll()), (1, Poll::Pending), "once, however often it looked");
    clock.step_back(seconds(30));
    assert_eq!((count(), poll()), (2, Poll::Pending));
    clock.advance(seconds(30));
    assert_eq!((count(), poll()), (3, Poll::Pending), "by the time that it shows");
    clock.set(DateTime::from_unix_seconds(60).unwrap());
    assert_eq!((count(), poll()), (4, Poll::Ready(())));
}

#[test]
fn who_waits_for_longer_than_there_is_time_waits_for_its_end() {
    let clock = ManualClock::new(DateTime::UNIX_EPOCH);
    let mut waits = pin!(clock.passed(Duration::MAX));
    let mut poll = || waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(poll(), Poll::Pending);
    clock.advance(seconds(1_000_000_000));
    assert_eq!(poll(), Poll::Pending);
    clock.advance(Duration::MAX);
    assert_eq!((poll(), clock.now()), (Poll::Ready(()), DateTime::MAX));
}

#[test]
fn a_clock_that_is_moved_on_another_thread_keeps_nobody_waiting() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for _ in 0..200 {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        let (waits, its) = (clock.passed(seconds(5)), clock.clone());
        let moves = std::thread::spawn(move || its.advance(seconds(5)));
        runtime.block_on(async { tokio::time::timeout(seconds(30), waits).await }).expect("it is woken");
        moves.join().unwrap();
    }
}
