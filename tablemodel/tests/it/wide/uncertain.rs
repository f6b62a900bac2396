//! Writers of large entities that are uncertain, or late: what other programs do in between stays, and nothing is torn.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tablemodel::{
    Consistency,
    prelude::*,
    store::{
        MemoryStore, TableStore,
        clock::{Clock, ManualClock},
        fault::{Call, FaultStore, Request},
    },
    testing::{Fault, Script, TestDatabase},
};

use super::{Document, Model, assert_clean, document};

const MIB: usize = 1024 * 1024;

/// A database, and another program over the same store whose clock is ahead.
async fn programs(ahead: Duration) -> (TestDatabase, Database) {
    let mut rows = None;
    let made = |clock: Arc<dyn Clock>| {
        let store: Arc<dyn TableStore> = Arc::new(MemoryStore::builder().clock(clock).build());
        rows = Some(store.clone());
        store
    };
    let db = TestDatabase::over::<Model>(made).await.expect("a database");
    let clock = ManualClock::new(db.clock().now());
    clock.advance(ahead);
    let other = Database::builder().consistency(Consistency::Azure).clock(Arc::new(clock));
    let rows = Arc::new(FaultStore::new(rows.expect("made"), Script::new()));
    (db, other.with_store::<Model>(rows).await.expect("the same store"))
}

/// Whether the call publishes the entity.
fn is_of_head(call: &Call<'_>) -> bool {
    let Request::Commit(batches) = call.request else { return false };
    batches.iter().flat_map(|batch| &batch.operations).any(|operation| operation.row == "doc_000001")
}

#[tokio::test]
async fn parts_are_not_written_over_once_they_may_be_published() {
    for (is_upsert, reads) in [(false, 7), (true, 8)] {
        let (db, other) = programs(Duration::ZERO).await;
        let large = document(1, 10, Some(10 * MIB));
        if is_upsert {
            db.insert(&document(1, 3, None)).await.expect("inserted");
        }
        let path = Document::find().department("Sales").id(1);
        let patch = async move { other.patch(path, Document::READS.set(reads)).await.expect("patched") };
        let (mut patch, mut is_lost, clock) = (Some(Box::pin(patch)), false, db.clock().clone());
        db.fail(move |call: &Call<'_>| {
            if !is_lost && is_of_head(call) {
                is_lost = true;
                clock.advance(Duration::from_secs(1));
                return Some(Fault::LostReply);
            }
            if let Some(patch) = patch.take_if(|_| is_lost && call.request.writes()) {
                patch.now_or_never().expect("a store in memory answers at once");
            }
            None
        });
        let written = if is_upsert { db.upsert(&large).await } else { db.insert(&large).await };
        written.expect("recognised");
        db.fail(Script::new());
        let found = Document::find().department("Sales").id(1).one(&db).await.expect("whole").expect("there");
        assert_eq!(*found, Document { reads, ..large }, "with what the other program wrote");
        assert_clean(&db).await;
    }
}

#[tokio::test]
async fn a_large_entity_whose_reply_was_lost_is_current() {
    let (db, _) = programs(Duration::ZERO).await;
    let (mut staged, mut published, clock) = (false, false, db.clock().clone());
    db.fail(move |call: &Call<'_>| {
        clock.advance(Duration::from_secs(1));
        let once = if is_of_head(call) { &mut published } else { &mut staged };
        let is_first = call.request.writes() && !std::mem::replace(once, true);
        is_first.then_some(Fault::LostReply)
    });
    let mut stored = db.insert(&document(1, 10, Some(10 * MIB))).await.expect("recognised");
    db.fail(Script::new());
    stored.reads = 3;
    db.save(&mut stored).await.expect("its head and parts are as they were written");
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_repair_by_a_clock_that_is_ahead_leaves_what_is_about_to_be_published() {
    let (db, other) = programs(Duration::from_secs(2 * 3_600)).await;
    let repair = async move { other.repair().await.expect("repair runs") };
    let mut repair = Some(Box::pin(repair));
    db.fail(move |call: &Call<'_>| {
        if let Some(repair) = repair.take_if(|_| is_of_head(call)) {
            let repaired = repair.now_or_never().expect("a store in memory answers at once");
            assert_eq!(repaired.repaired, 0, "{repaired:?}");
            assert!(repaired.left.iter().any(|(_, why)| why.contains("clock")), "{repaired:?}");
        }
        None
    });
    let large = document(1, 10, Some(10 * MIB));
    db.insert(&large).await.expect("inserted");
    let found = Document::find().department("Sales").id(1).one(&db).await.expect("whole").expect("there");
    assert_eq!(*found, large);
    assert_clean(&db).await;
}
