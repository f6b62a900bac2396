//! A program whose clock is set back by an hour while it runs: what it writes is right, or is not written.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use tablemodel::{
    Consistency, DateTime,
    prelude::*,
    store::clock::{Clock, ManualClock},
    testing::TestDatabase,
};

use super::{Model, Worker, assert_exact, relays::program, settle, worker, workers};

const HOUR_IN_TICKS: i64 = 3_600 * 10_000_000;

/// The clock of a machine that may be set back, and the time that it measures goes on.
#[derive(Clone)]
struct SetBack {
    clock: ManualClock,
    /// Ticks of 100 ns.
    by: Arc<AtomicI64>,
}

impl Clock for SetBack {
    fn now(&self) -> DateTime {
        DateTime::from_ticks(self.clock.now().ticks() - self.by.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

/// The store's time is asked with a marker of the partition, which is relied on for half the fence: 300 s.
#[tokio::test]
async fn an_entity_that_goes_and_comes_again_is_as_it_should_be_while_its_marker_is_fresh_and_is_left_alone_after() {
    for age in [0, 60, 299, 301] {
        let told = format!("{age} s after the marker");
        let db = TestDatabase::new::<Model>().await.unwrap();
        let clock = SetBack { clock: db.clock().clone(), by: Arc::default() };
        let running = program(Consistency::Azure, clock.clone(), db.store()).await.unwrap();
        let first = running.insert(&worker("A", 1)).await.unwrap(); // marks the partition
        let last = first.sequence();
        db.clock().advance(Duration::from_secs(age));
        clock.by.store(HOUR_IN_TICKS, Ordering::SeqCst);
        let again = Worker { city: "Oslo".into(), ..worker("A", 1) };
        let written = async {
            running.delete(first).await?;
            let stored = running.insert(&again).await?;
            running.insert(&worker("A", 2)).await?;
            Ok::<_, tablemodel::Error>(stored.sequence())
        };
        let written = written.await;
        let expected = match written {
            Ok(sequence) => {
                assert!(age < 300 && sequence > last + 1, "{told}: {sequence} after {last}");
                vec![again, worker("A", 2)]
            }
            Err(error) => {
                assert!(age > 300 && *error.kind() == ErrorKind::Denied, "{told}: {error}");
                vec![worker("A", 1)]
            }
        };
        let _ = running.relay().run_once().await; // by a clock that is wrong, too
        settle(&db).await;
        assert_eq!(workers(&db).await, expected, "{told}");
        assert_exact(&db, &expected, &told).await;

        db.clock().advance(Duration::from_secs(301));
        let late = running.insert(&worker("A", 3)).await.unwrap_err();
        assert_eq!(*late.kind(), ErrorKind::Denied, "{told}: {late}");
        assert_exact(&db, &expected, &told).await;
    }
}
