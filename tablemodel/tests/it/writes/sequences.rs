//! Whatever is written, in whatever order, the table holds exactly the rows that the living entities want.
//!
//! Random operations beside a model; one run per sequence.

use std::sync::Arc;

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tablemodel::{store::EmbeddedStore, testing::TestDatabase};

use super::{
    Club, database,
    oracle::{Rule, WRONG_RULES},
    script::{Run, Step, sequences},
};

const STEPS: usize = 50;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

async fn run(db: TestDatabase, steps: &[Step]) -> Run {
    let mut run = Run::new(db);
    for step in steps {
        run.step(step).await;
    }
    run.check().await;
    run
}

fn run_sequences(count: u32, database: impl AsyncFn() -> TestDatabase) {
    let runtime = runtime();
    // The same sequences in every run.
    let config = Config { failure_persistence: None, ..Config::with_cases(count) };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let result = runner.run(&sequences(STEPS), |steps| {
        runtime.block_on(async { run(database().await, &steps).await });
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn sequences_leave_exactly_the_rows_that_entities_want_in_memory() {
    run_sequences(256, async || database().await);
}

#[test]
fn sequences_leave_exactly_the_rows_that_entities_want_in_a_file() {
    run_sequences(64, async || {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.keep().join("club.tables");
        let open = |clock| -> Arc<dyn tablemodel::store::TableStore> {
            let builder = EmbeddedStore::builder().clock(clock).durability(tablemodel::store::Durability::Relaxed);
            Arc::new(builder.open(path).expect("opened"))
        };
        TestDatabase::over::<Club>(open).await.expect("a database")
    });
}

/// Deterministic sequences of their own, so that what they reach can be counted.
fn drawn(count: usize) -> Vec<Vec<Step>> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| sequences(STEPS).new_tree(&mut runner).expect("drawn").current()).collect()
}

#[tokio::test]
async fn sequences_reach_success_and_refusal_alike() {
    let (mut succeeded, mut refused) = (0, 0);
    for steps in drawn(20) {
        let run = run(database().await, &steps).await;
        (succeeded, refused) = (succeeded + run.succeeded, refused + run.refused);
    }
    assert!(succeeded > 150 && refused > 150, "{succeeded} succeeded, {refused} refused");
}

#[tokio::test]
async fn a_model_with_one_wrong_rule_is_found_out() {
    let mut runs = Vec::new();
    for steps in drawn(10) {
        let mut run = run(database().await, &steps).await;
        // One more, so that every rule has something to say; and a property of another program's.
        run.step(&Step::Insert(super::oracle::Entity::Member(super::Member {
            email: Some("Loud@x".into()),
            is_active: false,
            ..super::member("W", 1)
        })))
        .await;
        run.step(&Step::Insert(super::oracle::Entity::Member(super::Member { email: None, ..super::member("W", 2) })))
            .await;
        runs.push(run);
    }
    for run in &mut runs {
        assert!(run.differences(Rule::Right).await.is_empty());
        for rule in WRONG_RULES.into_iter().filter(|rule| *rule != Rule::CopyWithoutUnknown) {
            assert!(!run.differences(rule).await.is_empty(), "{rule:?} went unnoticed");
        }
    }
}
