//! Relays that stand still at the wrong moment, machines that slept, outbox rows that nobody can read, what a round costs and what it sweeps.

use std::{sync::Arc, time::Duration};

use tablemodel::{
    Consistency, ErrorKind, RelayReport,
    prelude::*,
    store::{
        Action, Batch, KeyRange, StoreErrorKind, TableStore,
        clock::{Clock, ManualClock},
        fault::{Call, FaultStore, Request},
    },
    testing::{Fault, FaultPlan, Script, TestDatabase},
};

use super::{Model, Worker, assert_exact, at, leftovers, rows_in, settle, worker, workers};
use crate::{
    stall::{NoSleep, Program, Suspended},
    tools::DieInDelivery,
};

pub(super) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Another program over the same store.
pub(super) async fn program(
    consistency: Consistency,
    clock: impl Clock,
    store: Arc<dyn TableStore>,
) -> tablemodel::Result<Database> {
    let builder = Database::builder().consistency(consistency).clock(Arc::new(clock)).sleep(Arc::new(NoSleep));
    builder.deadline(Duration::MAX).with_store::<Model>(store).await
}

/// Has a program write these, one after the other, which dies before anything of each is delivered.
pub(super) async fn undelivered(mut db: TestDatabase, workers: &[Worker]) -> TestDatabase {
    for worker in workers {
        db.fail(DieInDelivery);
        let _ = db.insert(worker).await;
        db = db.reopen::<Model>().await.unwrap();
    }
    db.fail(Script::new());
    db
}

/// A marker is taken away only by who read its partition empty after its life was over: one who read that before may have stood still for
/// as long, while a writer relied on it.
#[tokio::test]
async fn a_relay_that_stands_still_anywhere_hides_no_outbox_row() {
    let mut stalls = 0;
    for call in 0.. {
        let db = TestDatabase::new::<Model>().await.unwrap();
        let (clock, store) = (db.clock().clone(), Arc::new(FaultStore::new(db.store(), Script::new())));
        let writer = program(Consistency::Azure, clock.clone(), store.clone()).await.unwrap();
        writer.insert(&worker("A", 1)).await.unwrap(); // marks the partition for ten minutes
        clock.advance(seconds(60));
        let meanwhile = async move {
            clock.advance(seconds(140));
            store.replan(DieInDelivery);
            let _ = writer.insert(&worker("A", 2)).await; // within five minutes: it is not marked once more
            assert!(store.is_crashed());
            clock.advance(seconds(401));
        };
        let relay = Program::standing_still::<Model>(&db, call, Box::pin(meanwhile)).await;
        let _ = relay.db.relay().run_once().await; // it may be told that it is late
        if !relay.has_stalled() {
            break;
        }
        stalls += 1;
        settle(&db).await;
        assert_exact(&db, &[worker("A", 1), worker("A", 2)], &format!("before call {call}")).await;
    }
    assert!(stalls >= 18, "{stalls}"); // sixteen lists, the time, the partition
}

#[tokio::test]
async fn a_machine_that_slept_marks_its_partitions_anew() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let (clock, store) = (Suspended::over(&db), Arc::new(FaultStore::new(db.store(), Script::new())));
    let asleep = program(Consistency::Azure, clock.clone(), store.clone()).await.unwrap();
    asleep.insert(&worker("A", 1)).await.unwrap();
    db.clock().advance(seconds(3_600));
    clock.slept(3_600);
    db.relay().run_once().await.unwrap();
    assert_eq!(db.relay().run_once().await.unwrap().partitions, 0, "the marker is gone");
    store.replan(DieInDelivery);
    let _ = asleep.insert(&worker("A", 2)).await;
    assert!(store.is_crashed());
    settle(&db).await;
    assert_exact(&db, &[worker("A", 1), worker("A", 2)], "woken").await;
}

/// Fails reads of the outbox of department A.
struct Unreadable;

impl FaultPlan for Unreadable {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        match call.request {
            Request::Query(query)
                if query.table == "Company"
                    && matches!(&query.range, KeyRange::Partition { partition, .. } if partition == "A") =>
            {
                Some(Fault::error(StoreErrorKind::Corrupt))
            }
            _ => None,
        }
    }
}

#[tokio::test]
async fn an_outbox_that_cannot_be_read_keeps_no_other_waiting() {
    let all = ["A", "B", "C"].map(|department| worker(department, 1));
    let db = undelivered(TestDatabase::new::<Model>().await.unwrap(), &all).await;
    let foreign =
        Batch::new("tmdirty", "00").with("no table|x", Action::Insert([("By", "another")].into_iter().collect()));
    db.store().commit(&[foreign]).await.unwrap();
    db.clock().advance(seconds(60));
    db.fail(Unreadable);
    assert_eq!(db.relay().poisoned().await.unwrap(), []);
    let report = db.relay().run_once().await.unwrap();
    let expected = RelayReport { partitions: 2, delivered: 2, unread: 1, ..RelayReport::default() };
    assert_eq!(report, expected);
    assert!(!report.is_settled());
    db.fail(Script::new());
    // Nor does it keep anybody from opening the store, or from mending it.
    let faulty = Arc::new(FaultStore::new(db.store(), Unreadable));
    let atomic = program(Consistency::Atomic, db.clock().clone(), faulty.clone()).await.unwrap();
    faulty.replan(Script::new());
    let report = atomic.relay().drain().await.unwrap();
    assert_eq!(report.delivered, 1, "{report:?}");
    assert_exact(&db, &all, "read").await;
}

/// Fails what asks the store for its time.
struct Timeless;

impl FaultPlan for Timeless {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        match call.request {
            Request::Commit(batches) if batches.iter().any(|batch| batch.partition == "clock") => {
                Some(Fault::error(StoreErrorKind::Unavailable))
            }
            _ => None,
        }
    }
}

#[tokio::test]
async fn what_is_to_be_delivered_waits_for_no_time_of_the_store() {
    let all = ["A", "B"].map(|department| worker(department, 1));
    let db = undelivered(TestDatabase::new::<Model>().await.unwrap(), &all).await;
    db.clock().advance(seconds(700));
    db.fail(Timeless);
    let report = db.relay().run_once().await.unwrap();
    assert_eq!(report, RelayReport { partitions: 2, delivered: 2, ..RelayReport::default() });
    db.relay().run_once().await.unwrap();
    assert_eq!(db.relay().run_once().await.unwrap().partitions, 2, "no marker is taken away");
    db.fail(Script::new());
    db.relay().run_once().await.unwrap();
    assert_eq!(db.relay().run_once().await.unwrap().partitions, 0);
    assert_exact(&db, &all, "delivered").await;
}

/// Both clocks may be wrong by a third of the fence, since sequence numbers begin at them.
#[tokio::test]
async fn a_program_whose_clock_is_far_from_the_stores_writes_nothing_elsewhere() {
    for (apart, is_ahead) in [(199, true), (199, false), (201, true), (201, false)] {
        let db = TestDatabase::new::<Model>().await.unwrap();
        let clock = ManualClock::new(db.clock().now());
        match is_ahead {
            true => clock.advance(seconds(apart)),
            false => clock.step_back(seconds(apart)),
        }
        let other = program(Consistency::Azure, clock, db.store()).await.unwrap();
        for _ in 0..2 {
            let written = other.insert(&worker("A", 1)).await; // the second time the marker is there
            if apart == 199 {
                written.unwrap();
                break;
            }
            assert_eq!(written.unwrap_err().kind(), &ErrorKind::Denied, "{apart} {is_ahead}");
        }
        let there = rows_in(&*db.store(), "Company").await;
        assert_eq!(there.is_empty(), apart == 201, "{apart} {is_ahead}: {there:?}");
    }
}

#[tokio::test]
async fn a_round_costs_its_lists_of_markers_and_the_dirty_partitions_whatever_was_written_before() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let all: Vec<_> = (0..500).map(|n| worker(&format!("D{n}"), 1)).collect();
    let report = db.bulk().insert_all(futures_util::stream::iter(all)).await.unwrap();
    assert_eq!(report.written, 500);
    db.clock().advance(seconds(601));
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    let relay = db.relay().progress(move |so_far| noted.lock().unwrap().push(so_far.partitions));
    assert_eq!(relay.run_once().await.unwrap().partitions, 500);
    assert_eq!(*told.lock().unwrap(), (1..=500).collect::<Vec<_>>());
    // Of 10,000 partitions one is dirty then. These are written past the database, by one request each where that makes several: nothing
    // tells a relay of a clean partition, whoever wrote it.
    for n in 500..10_000 {
        let row = Action::Insert([("By", "another")].into_iter().collect());
        db.store().commit(&[Batch::new("Company", format!("D{n}")).with("x", row)]).await.unwrap();
    }
    let db = undelivered(db, &[worker("D7", 2)]).await;
    db.clock().advance(seconds(60));
    db.relay().run_once().await.unwrap();
    db.forget_calls();
    assert_eq!(db.relay().run_once().await.unwrap(), RelayReport { partitions: 1, ..RelayReport::default() });
    let tally = db.tally();
    // Sixteen lists are whole partitions; one dirty partition; the store's time.
    assert_eq!((tally.partition_scans, tally.range_queries, tally.commits), (16, 1, 1), "{tally:?}");
    assert_eq!((tally.point_reads, tally.table_scans), (0, 0), "{tally:?}");
}

/// What an entity's last outbox row holds up is not swept yet.
#[tokio::test]
async fn a_round_tells_what_it_swept_and_nothing_else() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let mut there = db.insert(&worker("A", 1)).await.unwrap();
    there.city = "Oslo".into();
    db.save(&mut there).await.unwrap();
    db.clock().advance(seconds(601));
    db.fail(DieInDelivery);
    let _ = db.update(at!("A", 1), |worker| Ok(worker.city = "Bern".into())).await;
    let db = db.reopen::<Model>().await.unwrap();
    db.fail(Script::new());
    let report = db.relay().run_once().await.unwrap();
    assert_eq!((report.waiting, report.fenced, report.swept), (1, 1, 0), "{report:?}");
    settle(&db).await;
    db.clock().advance(seconds(601));
    assert_eq!(db.relay().run_once().await.unwrap().swept, 2);
    assert_eq!(leftovers(&db).await, []);
}

/// Fails whatever takes a row away from the table of cities.
struct Unswept;

impl FaultPlan for Unswept {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        match call.request {
            Request::Commit(batches) if batches.iter().any(is_removal) => {
                Some(Fault::error(StoreErrorKind::Unavailable))
            }
            _ => None,
        }
    }
}

fn is_removal(batch: &Batch) -> bool {
    batch.table == "Cities" && batch.operations.iter().any(|operation| matches!(operation.action, Action::Delete(_)))
}

#[tokio::test]
async fn a_sweep_that_failed_for_long_is_tried_again() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let mut there = db.insert(&worker("A", 1)).await.unwrap();
    there.city = "Oslo".into();
    db.save(&mut there).await.unwrap();
    db.fail(Unswept);
    for _ in 0..12 {
        db.clock().advance(seconds(601));
        let report = db.relay().run_once().await.unwrap();
        assert_eq!((report.failed, report.poisoned), (1, 0), "{report:?}");
        assert!(db.relay().run_once().await.unwrap().is_settled(), "not again at once");
    }
    db.fail(Script::new());
    db.clock().advance(seconds(601));
    assert_eq!(db.relay().run_once().await.unwrap().swept, 1);
    assert_exact(&db, &workers(&db).await, "swept").await;
    assert_eq!(leftovers(&db).await, []);
}

/// A partition that is given up since its first row took long is not one that is settled.
#[tokio::test]
async fn a_round_that_gave_a_partition_up_does_not_call_it_settled() {
    let mut given_up = 0;
    for call in 0.. {
        let db = undelivered(TestDatabase::new::<Model>().await.unwrap(), &[worker("A", 1), worker("A", 2)]).await;
        let clock = db.clock().clone();
        let meanwhile = async move { clock.advance(seconds(301)) };
        let relay = Program::standing_still::<Model>(&db, call, Box::pin(meanwhile)).await;
        let report = relay.db.relay().drain().await;
        if !relay.has_stalled() {
            break;
        }
        match report {
            Ok(report) if report.is_settled() => {
                assert_exact(&db, &[worker("A", 1), worker("A", 2)], &format!("before call {call}")).await;
            }
            _ => given_up += 1,
        }
    }
    assert!(given_up > 0, "{given_up}");
}
