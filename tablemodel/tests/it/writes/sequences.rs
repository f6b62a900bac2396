//! Whatever is written, in whatever order, the table holds exactly the rows that the living entities want.
//!
//! Random operations beside a model; one run per sequence.

use std::sync::Arc;

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tablemodel::{
    store::{Durability, EmbeddedStore, TableStore},
    testing::TestDatabase,
};

use super::{
    Club, Member, database, member,
    oracle::{Entity, WRONG_RULES},
    plant_row, row,
    script::Run,
    steps::{Step, sequences},
};

const SEQUENCES: u32 = 256;
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

/// Beside each database, what has to live as long.
fn run_sequences<T>(database: impl AsyncFn() -> (TestDatabase, T)) {
    let runtime = runtime();
    // The same sequences in every run.
    let config = Config { failure_persistence: None, ..Config::with_cases(SEQUENCES) };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let result = runner.run(&sequences(STEPS), |steps| {
        runtime.block_on(async {
            let (db, _alive) = database().await;
            run(db, &steps).await;
        });
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn sequences_leave_exactly_the_rows_that_entities_want_in_memory() {
    run_sequences(async || (database().await, ()));
}

#[test]
fn sequences_leave_exactly_the_rows_that_entities_want_in_a_file() {
    run_sequences(async || {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("club.tables");
        let open = |clock| -> Arc<dyn TableStore> {
            let builder = EmbeddedStore::builder().clock(clock).durability(Durability::Relaxed);
            Arc::new(builder.open(path).expect("opened"))
        };
        (TestDatabase::over::<Club>(open).await.expect("a database"), directory)
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

/// Adds a property that this program does not know to a member and its whole copy.
async fn add_unknown(run: &mut Run, id: u32) {
    for key in [format!("m_{id:04}"), format!("name_Jones_{id:04}")] {
        let mut properties = row(&run.db, "W", &key).await.expect("there").properties;
        properties.insert("Colour", "red");
        plant_row(&run.db, "W", &key, properties).await;
    }
    let live = run.lives.get_mut(&("W".into(), format!("m_{id:04}"))).expect("lives");
    live.unknown.insert("Colour".into(), "red".into());
}

#[tokio::test]
async fn a_model_with_one_wrong_rule_is_found_out() {
    for steps in drawn(10) {
        let mut run = run(database().await, &steps).await;
        // Two more, so that every rule has something to say.
        let loud = Member { email: Some("Loud@x".into()), is_active: false, ..member("W", 1) };
        let silent = Member { email: None, ..member("W", 2) };
        for member in [loud, silent] {
            run.step(&Step::Insert(Entity::Member(member))).await;
        }
        add_unknown(&mut run, 2).await;
        run.step(&Step::Upsert(Entity::Member(Member { email: None, age: 1, ..member("W", 2) }))).await;
        run.check().await;
        for rule in WRONG_RULES {
            assert!(!run.differences(rule).await.is_empty(), "{rule:?} went unnoticed");
        }
    }
}
