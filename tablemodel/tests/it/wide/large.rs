//! Entities too large for one batch: their parts are written first and published by the head, and a fault at any call
//! leaves the old or the new whole.

use std::collections::BTreeMap;

use tablemodel::{
    Error, ErrorKind, Properties,
    prelude::*,
    store::{StoreErrorKind, fault::Call},
    testing::{Fault, Script, TestDatabase},
};

use super::{Document, Model, assert_clean, database, document, keys, rows};

const MIB: usize = 1024 * 1024;

fn is_generation(key: &str) -> bool {
    key.starts_with("doc_000001 ~~") && key.len() == "doc_000001 ~~00c0ffee00c0ffee~01".len()
}

async fn found(db: &Database) -> Option<Stored<Document>> {
    Document::find().department("Sales").id(1).one(db).await.expect("readable")
}

#[tokio::test]
async fn a_large_entity_is_written_in_several_batches_and_read_in_one_range() {
    let db = database().await;
    let large = document(1, 10, Some(20 * MIB));
    let stored = db.insert(&large).await.unwrap();
    assert!(db.tally().commits > 1, "{}", db.tally());
    assert_eq!(*stored, large);
    let read = found(&db).await.unwrap();
    assert_eq!(*read, large);
    assert_eq!(read.etags().collect::<Vec<_>>(), stored.etags().collect::<Vec<_>>());
    assert!(keys(&db).await.iter().filter(|key| is_generation(key)).count() >= 20);
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_small_change_of_a_large_entity_is_one_batch_in_its_generation() {
    let db = database().await;
    let mut stored = db.insert(&document(1, 10, Some(20 * MIB))).await.unwrap();
    db.forget_calls();
    stored.likes = Some(1);
    db.save(&mut stored).await.unwrap();
    db.patch(Document::find().department("Sales").id(1), Document::READS.set(7)).await.unwrap();
    assert_eq!(db.tally().commits, 2, "{}", db.tally());
    let read = found(&db).await.unwrap();
    assert_eq!((read.likes, read.reads), (Some(1), 7));
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_changed_large_entity_gets_a_new_generation_and_the_old_one_goes() {
    let db = database().await;
    let mut stored = db.insert(&document(1, 10, Some(9 * MIB))).await.unwrap();
    let generation =
        |keys: Vec<String>| keys.into_iter().find(|key| is_generation(key)).map(|key| key[..30].to_owned());
    let before = generation(keys(&db).await);
    stored.scan = Some(super::bytes(9, 12 * MIB));
    db.save(&mut stored).await.unwrap();
    let after = generation(keys(&db).await);
    assert!(after.is_some() && before != after);
    assert_eq!(keys(&db).await.iter().filter(|key| key.contains("~~")).count(), stored.etags().count() - 1);
    stored.scan = None;
    db.save(&mut stored).await.unwrap();
    assert_eq!(stored.etags().count(), 2); // the part of the counts
    assert_clean(&db).await;
    db.delete(stored).await.unwrap();
    assert!(keys(&db).await.is_empty());
}

#[tokio::test]
async fn more_than_the_parts_hold_is_refused_before_any_call() {
    let db = database().await;
    let vast = document(1, 10, Some(100 * MIB));
    let error = db.insert(&vast).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::TooLarge);
    let told = error.to_string();
    assert!(told.contains("`scan`") && told.contains("99") && error.entity() == Some("Document"), "{told}");
    assert_eq!(db.upsert(&vast).await.unwrap_err().kind(), &ErrorKind::TooLarge);
    assert_eq!(db.tally().to_string(), "no calls");
    let title = Document { title: "t".repeat(40_000), ..document(1, 1, None) };
    let told = db.insert(&title).await.unwrap_err().to_string();
    assert!(told.contains("KeyTooLong") || told.contains("`title`"), "{told}");
}

#[tokio::test]
async fn a_large_entity_goes_through_bulk_and_not_through_a_batch_with_others() {
    let db = database().await;
    let entities = [document(1, 10, Some(9 * MIB)), document(2, 10, None), document(3, 10, Some(5 * MIB))];
    let mut batch = db.batch(Document::in_partition("Sales"));
    batch.insert(&entities[0]).insert(&entities[1]);
    assert_eq!(batch.commit().await.unwrap_err().kind(), &ErrorKind::TooLarge);
    let report = db.bulk().insert_all(futures_util::stream::iter(entities.clone())).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (3, 0));
    assert_eq!(*found(&db).await.unwrap(), entities[0]);
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_writer_that_takes_too_long_gives_up_before_its_parts_can_be_taken_for_orphans() {
    let db = database().await;
    let clock = db.clock().clone();
    db.fail(move |call: &Call<'_>| {
        if call.request.writes() {
            clock.advance(std::time::Duration::from_secs(1_000));
        }
        None
    });
    let error = db.insert(&large(1, 8)).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable, "{error:?}");
    assert!(keys(&db).await.is_empty(), "its parts are removed");
}

/// What is done to a large entity.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    Insert,
    Grow,
    Change,
    Shrink,
    Upsert,
    Patch,
    Move,
    Delete,
}

const ACTS: [Act; 8] =
    [Act::Insert, Act::Grow, Act::Change, Act::Shrink, Act::Upsert, Act::Patch, Act::Move, Act::Delete];

/// An entity that needs two batches, and is small enough for many runs.
fn large(byte: u8, mibs: usize) -> Document {
    Document { scan: Some(vec![byte; mibs * MIB]), ..document(1, 0, None) }
}

async fn prepared(act: Act) -> TestDatabase {
    let db = database().await;
    match act {
        Act::Insert => {}
        Act::Grow => drop(db.insert(&document(1, 10, None)).await.expect("inserted")),
        _ => drop(db.insert(&large(1, 4)).await.expect("inserted")),
    }
    db
}

async fn act(db: &TestDatabase, act: Act, stored: Option<Stored<Document>>) -> Result<(), Error> {
    let new = large(2, 5);
    match (act, stored) {
        (Act::Insert, _) => db.insert(&new).await.map(drop),
        (Act::Upsert, _) => db.upsert(&new).await.map(drop),
        (Act::Patch, _) => db.patch(Document::find().department("Sales").id(1), Document::SCAN.set(new.scan)).await,
        (Act::Delete, Some(stored)) => db.delete(stored).await,
        (act, Some(mut stored)) => {
            stored.scan = if act == Act::Shrink { None } else { new.scan };
            stored.id = if act == Act::Move { 2 } else { 1 };
            db.save(&mut stored).await
        }
        (act, None) => unreachable!("{act:?} has a stored entity"),
    }
}

/// What readers see: the entities, without what differs from run to run.
async fn entities(db: &TestDatabase) -> Vec<Document> {
    let all = Document::find().department("Sales").all(db).await.expect("readable");
    let singly = match all.first() {
        Some(first) => Document::find().department("Sales").id(first.id).one(db).await.expect("readable"),
        None => found(db).await,
    };
    assert_eq!(singly.as_deref(), all.first().map(|first| &**first));
    all.into_iter().map(Stored::into_inner).collect()
}

/// The rows that are not parts.
async fn others(db: &TestDatabase) -> BTreeMap<String, Properties> {
    let rows = rows(db).await.into_iter().filter(|(key, _)| !key.contains(" ~~"));
    rows.map(|(key, mut row)| {
        for system in ["_ops", "_gen", "_seq"] {
            row.properties.remove(system);
        }
        (key, row.properties)
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_at_any_call_leaves_the_old_or_the_new_whole() {
    use StoreErrorKind as E;
    let faults = [
        (Fault::CrashBefore, true),
        (Fault::CrashAfter, true),
        (Fault::LostReply, false),
        (Fault::error(E::Unavailable), false),
        (Fault::error(E::ConditionNotMet), false),
        (Fault::error(E::Denied), false),
    ];
    let mut runs = 0;
    for kind in ACTS {
        let clean = prepared(kind).await;
        let old = (entities(&clean).await, others(&clean).await);
        let stored = found(&clean).await;
        clean.forget_calls();
        act(&clean, kind, stored).await.expect("it succeeds without faults");
        let calls = clean.calls().len();
        let new = (entities(&clean).await, others(&clean).await);
        assert_clean(&clean).await;
        assert!(kind == Act::Shrink || kind == Act::Delete || calls > 2, "{kind:?} takes {calls} calls");
        for call in 0..calls {
            for (fault, dies) in &faults {
                runs += 1;
                let what = format!("{kind:?}, call {call}, {fault:?}");
                let db = prepared(kind).await;
                let stored = found(&db).await;
                db.fail(Script::new().at(call, fault.clone()));
                let answer = act(&db, kind, stored).await;
                db.fail(Script::new());
                let db = db.reopen::<Model>().await.expect("opened again");
                let now = (entities(&db).await, others(&db).await);
                let (is_old, is_new) = (now == old, now == new);
                assert!(is_old || is_new, "{what}: neither old nor new");
                match answer {
                    _ if *dies => {}
                    Ok(()) => assert!(is_new, "{what}: success, but it is as it was"),
                    Err(error) if *error.kind() == ErrorKind::OutcomeUnknown => {}
                    Err(error) => assert!(is_old, "{what}: {error:?}, but it was written"),
                }
                swept(&db, *dies, &what).await;
            }
        }
    }
    assert!(runs > 120, "{runs}");
}

/// Parts that nobody reads are found once their writer cannot be about to publish them; nothing else is wrong.
async fn swept(db: &TestDatabase, dies: bool, what: &str) {
    assert_clean(db).await;
    db.clock().advance(std::time::Duration::from_secs(3_601));
    let violations = db.verify().await.expect("verify runs").violations;
    let orphans = violations.iter().all(|violation| violation.kind == tablemodel::ViolationKind::Orphan);
    assert!(orphans, "{what}: {violations:#?}");
    assert!(dies || violations.is_empty() || !what.contains("Unavailable"), "{what}: {violations:#?}");
    for orphan in violations {
        super::remove(db, &orphan.key.row).await;
    }
    assert_clean(db).await;
}
