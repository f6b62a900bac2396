//! Outbox rows that cannot be delivered: how often they are tried, and what becomes of them when they are set aside.

use tablemodel::{
    ErrorKind, RowKey,
    store::{
        Action, Batch, Condition, StoreError, StoreErrorKind,
        fault::{Call, Request},
    },
    testing::{Fault, FaultPlan, Script, TestDatabase},
};

use super::{
    Model, assert_exact, at, leftovers,
    relays::{seconds, undelivered},
    rows_in, worker, workers,
};

/// What cannot be delivered: another's row is where its own is to be.
async fn stuck() -> TestDatabase {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let foreign = Batch::new("Cities", "Rome").with("A_0001", Action::Insert([("Mine", true)].into_iter().collect()));
    db.store().commit(&[foreign]).await.unwrap();
    db.insert(&worker("A", 1)).await.unwrap();
    db
}

#[tokio::test]
async fn a_delivery_that_fails_is_tried_ten_times_ever_later_and_then_set_aside() {
    let db = stuck().await;
    let (mut tried, mut gaps, mut last) = (0, Vec::new(), 0);
    for second in 1..6_000_u64 {
        db.clock().advance(seconds(1));
        let report = db.relay().run_once().await.unwrap();
        if report.failed == 1 {
            tried += 1;
            gaps.push(second - last);
            last = second;
        }
        assert!(report.poisoned == 0 || tried == 10, "after {tried}");
        if report.poisoned == 1 {
            break;
        }
    }
    assert_eq!(gaps.len(), 10, "{gaps:?}");
    assert_eq!(gaps[0], 10, "the writer's own time: {gaps:?}");
    for (attempt, gap) in (0..).zip(&gaps[1..]) {
        let least = 300.min(1 << attempt);
        assert!((least..=2 * least + 1).contains(gap), "attempt {attempt}: {gaps:?}");
    }
}

/// Refuses whatever is written to the table of cities, in very many words.
struct Verbose;

impl FaultPlan for Verbose {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        let is_it =
            matches!(call.request, Request::Commit(batches) if batches.iter().any(|batch| batch.table == "Cities"));
        is_it.then(|| Fault::Error(StoreError::new(StoreErrorKind::InvalidInput, "\u{10437}".repeat(40_000))))
    }
}

#[tokio::test]
async fn what_fails_with_an_error_of_very_many_words_is_set_aside_too() {
    let db = undelivered(TestDatabase::new::<Model>().await.unwrap(), &[worker("A", 1)]).await;
    db.fail(Verbose);
    for _ in 0..12 {
        db.clock().advance(seconds(601));
        db.relay().run_once().await.unwrap();
    }
    let poisoned = db.relay().poisoned().await.unwrap();
    assert_eq!(poisoned.iter().map(|row| row.attempts).collect::<Vec<_>>(), [10]);
    assert!(poisoned[0].error.encode_utf16().count() <= 512);
    db.fail(Script::new());
    db.relay().retry(&poisoned[0]).await.unwrap();
    assert_eq!(db.relay().run_once().await.unwrap().delivered, 1);
    assert_exact(&db, &[worker("A", 1)], "tried again").await;
}

#[tokio::test]
async fn what_is_discarded_is_left_to_repair() {
    let db = stuck().await;
    for _ in 0..40 {
        db.clock().advance(seconds(600));
        db.relay().run_once().await.unwrap();
    }
    let poisoned = db.relay().poisoned().await.unwrap();
    assert_eq!(poisoned.len(), 1);
    db.relay().discard(&poisoned[0]).await.unwrap();
    assert_eq!(db.relay().poisoned().await.unwrap(), []);
    let own = rows_in(&*db.store(), "Company").await;
    assert!(!own.keys().any(|(_, _, row)| row.starts_with("~~out|")), "{own:?}");
    let foreign = RowKey::new("Rome", "A_0001");
    let delete = Batch::new("Cities", &foreign.partition).with(&foreign.row, Action::Delete(Condition::Exists));
    db.store().commit(&[delete]).await.unwrap();
    assert!(!db.verify().await.unwrap().is_clean());
    drop(db.repair().await.unwrap());
    assert_exact(&db, &workers(&db).await, "repaired").await;
    assert_eq!(leftovers(&db).await, []);
}

#[tokio::test]
async fn what_was_delivered_after_it_was_set_aside_is_not_told_as_set_aside() {
    let db = stuck().await;
    db.update(at!("A", 1), |worker| Ok(worker.city = "Oslo".into())).await.unwrap();
    for _ in 0..40 {
        db.clock().advance(seconds(600));
        db.relay().run_once().await.unwrap();
    }
    let poisoned = db.relay().poisoned().await.unwrap();
    assert_eq!(poisoned.len(), 2, "that it goes to Rome, and that it leaves it");
    let delete = Batch::new("Cities", "Rome").with("A_0001", Action::Delete(Condition::Exists));
    db.store().commit(&[delete]).await.unwrap();
    assert_eq!(db.relay().drain().await.unwrap().delivered, 2);
    assert_eq!(db.relay().poisoned().await.unwrap(), [], "what it left waits for the fence");
    for gone in &poisoned {
        // Without them nothing would sweep what they left.
        assert_eq!(db.relay().discard(gone).await.unwrap_err().kind(), &ErrorKind::NotFound);
        assert_eq!(db.relay().retry(gone).await.unwrap_err().kind(), &ErrorKind::NotFound);
    }
    db.clock().advance(seconds(601));
    db.relay().run_once().await.unwrap();
    assert_exact(&db, &workers(&db).await, "swept").await;
    assert_eq!(leftovers(&db).await, []);
}
