//! Several programs at once, over a store that answers slowly, badly or not at all, and some of which die: what was
//! acknowledged happened, nothing happened that was refused, and in the end the tables hold exactly the rows of the entities.
//!
//! All of it is drawn from a seed: the same seed gives the same course.

mod client;
mod found;
mod history;
mod wire;
mod world;

use std::sync::{Arc, Mutex};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tablemodel::{
    Consistency, Random,
    blob::{MemoryBlobs, ObjectStore},
    store::{MemoryStore, TableStore},
};

use self::{
    client::{Answers, Client, Shared},
    history::{Effect, History},
    wire::Wire,
    world::World,
};
use super::{
    Stage,
    rooms::assert_exact,
    steps::{Step, sequences},
};

impl Random for World {
    fn next(&self) -> u64 {
        (self.roll(1 << 32) << 32) | self.roll(1 << 32)
    }
}

/// Steps by a seed.
fn drawn(seed: u64, count: usize) -> Vec<Step> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    sequences(count).new_tree(&mut runner).expect("drawn").current()
}

/// Tells which seed it was, should the test fail.
struct Told(u64, Consistency);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?}, seed {}", self.1, self.0);
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
struct Course {
    events: usize,
    impossible: Vec<String>,
}

fn simulate(seed: u64, mode: Consistency, answers: &Answers) -> Course {
    let _told = Told(seed, mode);
    let world = World::new(seed);
    let store = Arc::new(MemoryStore::builder().clock(world.clock().clone()).build());
    let blobs: Arc<dyn ObjectStore> = Arc::new(MemoryBlobs::new(Arc::new(world.clock().clone())));
    let history = History::default();
    let quiet = Shared {
        world: world.clone(),
        store: store.clone(),
        blobs: blobs.clone(),
        mode,
        history: history.clone(),
        answers: answers.clone(),
        death: u64::MAX,
    };
    let opener = quiet.clone();
    world.begin(async move {
        let db = opener.open(0).await.expect("opened");
        db.ensure_tables().await.expect("tables");
    });
    world.run();
    let fault = 20 + world.roll(100);
    let shared = Shared { death: 200 + world.roll(2_000), ..quiet.clone() };
    for number in 0..2 + world.roll(3) {
        let wire: Arc<dyn TableStore> = Arc::new(Wire { world: world.clone(), store: store.clone(), fault, number });
        let shared = Shared { store: wire, ..shared.clone() };
        let (shared, steps) = (shared, drawn(seed * 8 + number, 30));
        world.begin(async move { Box::pin(Client::new(shared, number).await.live(steps)).await });
    }
    world.run();
    let course = Arc::new(Mutex::new(Course::default()));
    let told = course.clone();
    world.begin(async move {
        let db = quiet.open(0).await.expect("opened");
        let stage = Stage { db, blobs, clock: quiet.world.clock().clone() };
        stage.settle().await;
        let entities = stage.entities().await;
        for key in history.keys() {
            history.add(
                u64::MAX,
                key.clone(),
                (u64::MAX - 1, Some(u64::MAX)),
                Effect::seen(entities.get(&key).cloned()),
            );
        }
        *told.lock().unwrap() = Course { events: history.len(), impossible: history.impossible() };
        assert_exact(&stage, &format!("seed {seed}")).await;
    });
    world.run();
    std::mem::take(&mut *course.lock().unwrap())
}

fn simulate_all(seeds: std::ops::Range<u64>, mode: Consistency) {
    let (mut events, answers) = (0, Answers::default());
    for seed in seeds {
        let course = simulate(seed, mode, &answers);
        assert!(course.impossible.is_empty(), "{mode:?}, seed {seed}:\n{}", course.impossible.join("\n"));
        events += course.events;
    }
    eprintln!("{events} events {:?}", answers.lock().unwrap());
}

/// From the environment, for long runs: `TABLEMODEL_SEEDS=1000..2000`.
fn seeds() -> std::ops::Range<u64> {
    let Ok(told) = std::env::var("TABLEMODEL_SEEDS") else { return 0..40 };
    let (first, end) = told.split_once("..").expect("FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

#[test]
fn programs_at_once_where_partitions_are_written_one_by_one() {
    simulate_all(seeds(), Consistency::Azure);
}

#[test]
fn programs_at_once_where_partitions_are_written_at_once() {
    simulate_all(seeds(), Consistency::Atomic);
}
