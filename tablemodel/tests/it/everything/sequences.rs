//! Random operations beside the model, over each kind of store: 256 sequences of 50 operations, the same in every run.

use std::sync::Arc;

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tablemodel::{
    Consistency,
    blob::{MemoryBlobs, ObjectStore},
    prelude::*,
    store::{Durability, EmbeddedStore, clock::ManualClock},
};

use super::{
    Model, Person, Stage,
    model::Refusal,
    oracle::{Rule, WRONG_RULES},
    run::Run,
    steps::{Step, sequences},
};

const STEPS: usize = 50;

/// A stage, and what has to live as long.
async fn in_memory(mode: Consistency) -> (Stage, ()) {
    let db = crate::migrate::store_of::<Model>(mode).await;
    (super::rooms::stage(&db), ())
}

async fn in_a_file() -> (Stage, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let start = tablemodel::DateTime::from_unix_seconds(1_577_836_800).expect("a time");
    let clock = ManualClock::new(start);
    let builder = EmbeddedStore::builder().clock(Arc::new(clock.clone())).durability(Durability::Relaxed);
    let store = builder.open(directory.path().join("everything.tables")).expect("a file");
    let blobs: Arc<dyn ObjectStore> = Arc::new(MemoryBlobs::new(Arc::new(clock.clone())));
    let builder = Database::builder().clock(Arc::new(clock.clone())).consistency(Consistency::Atomic);
    let db = builder.blobs(blobs.clone()).with_store::<Model>(Arc::new(store)).await.expect("a database");
    db.ensure_tables().await.expect("tables");
    (Stage { db, blobs, clock }, directory)
}

async fn run<T>(stage: (Stage, T), steps: &[Step]) -> Run<T> {
    let mut run = Run::new(stage);
    for step in steps {
        run.step(step).await;
    }
    run.check().await;
    run
}

fn run_sequences<T>(count: u32, stage: impl AsyncFn() -> (Stage, T)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let config = Config { failure_persistence: None, max_shrink_iters: 256, ..Config::with_cases(count) };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let result = runner.run(&sequences(STEPS), |steps| {
        runtime.block_on(async { run(stage().await, &steps).await });
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn sequences_leave_exactly_the_rows_of_all_rooms_where_partitions_are_written_one_by_one() {
    run_sequences(112, async || in_memory(Consistency::Azure).await);
}

#[test]
fn sequences_leave_exactly_the_rows_of_all_rooms_where_partitions_are_written_at_once() {
    run_sequences(80, async || in_memory(Consistency::Atomic).await);
}

#[test]
fn sequences_leave_exactly_the_rows_of_all_rooms_in_a_file() {
    run_sequences(64, in_a_file);
}

/// Sequences of their own, so that what they reach can be counted.
fn drawn(count: usize) -> Vec<Vec<Step>> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| sequences(STEPS).new_tree(&mut runner).expect("drawn").current()).collect()
}

#[tokio::test]
async fn sequences_reach_success_and_every_refusal() {
    let (mut succeeded, mut refused) = (0, Vec::new());
    for steps in drawn(24) {
        let run = run(in_memory(Consistency::Azure).await, &steps).await;
        succeeded += run.succeeded;
        refused.extend(run.refused);
    }
    assert!(succeeded > 150, "{succeeded} succeeded");
    for refusal in [Refusal::AlreadyExists, Refusal::NotFound, Refusal::Conflict, Refusal::Unique] {
        assert!(refused.contains(&refusal), "{refusal:?} was never met, of {} refusals", refused.len());
    }
}

#[tokio::test]
async fn a_reference_with_one_wrong_rule_is_found_out() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let mut run = Run::new(in_memory(mode).await);
        for entity in super::rooms::one_of_each() {
            run.step(&Step::Insert(entity)).await;
        }
        run.check().await;
        for rule in WRONG_RULES {
            assert!(!run.differences(rule).await.is_empty(), "{rule:?} went unnoticed");
        }
        assert!(run.differences(Rule::Right).await.is_empty());
    }
}

/// A row too many, and one too few, are seen.
#[tokio::test]
async fn a_row_that_is_lost_or_left_behind_is_found_out() {
    let mut run = Run::new(in_memory(Consistency::Azure).await);
    for entity in super::rooms::one_of_each() {
        run.step(&Step::Insert(entity)).await;
    }
    run.check().await;
    let first = Person::find().club("A").year(2014).id(1).one(&run.stage.db).await.expect("readable").expect("there");
    run.stage.db.delete(first).await.expect("deleted");
    assert!(!run.differences(Rule::Right).await.is_empty());
    run.stage.settle().await;
    assert!(!run.differences(Rule::Right).await.is_empty());
}

/// The tombstone of an entity that wants no row elsewhere is swept as any other.
#[tokio::test]
async fn what_wants_no_row_elsewhere_leaves_nothing_behind_when_it_is_deleted() {
    let (stage, ()) = in_memory(Consistency::Azure).await;
    let doc = super::Doc { topic: None, isbn: None, scan: None, ..super::rooms::doc(1, 10) };
    let stored = stage.db.insert(&doc).await.expect("inserted");
    stage.db.delete(stored).await.expect("deleted");
    stage.settle().await;
    assert_eq!(stage.rows().await.into_keys().collect::<Vec<_>>(), []);
}
