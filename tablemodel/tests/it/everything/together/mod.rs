//! Several programs at once, over a store that answers slowly, badly or not at all, and some of which die: what was
//! acknowledged happened, nothing happened that was refused, and in the end the tables hold exactly the rows of the entities.
//!
//! All of it is drawn from a seed: the same seed gives the same course. `TABLEMODEL_SEEDS=1000..9000` takes others than every run
//! does, and `TABLEMODEL_TRACE=1` tells each commit.

mod client;
mod found;
mod history;
mod releases;
mod rollout;
mod wire;
mod world;

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tablemodel::{
    Consistency, Random,
    blob::{MemoryBlobs, ObjectStore},
    store::MemoryStore,
};

use self::{
    client::{Client, Program},
    history::{Effect, History},
    wire::{Lie, Way, Wire},
    world::World,
};
use super::{
    Entity, Key, Stage,
    release::{Newest, Release},
    rooms::assert_exact,
    steps::{Edit, Step, sequences},
};
use crate::blob::faulty::FaultyBlobs;

const STEPS: usize = 30;
/// Seeds that found something of which there is no test of its own: a target that was read before its cell.
const FOUND: [u64; 1] = [7064];

impl Random for World {
    fn next(&self) -> u64 {
        (self.roll(1 << 32) << 32) | self.roll(1 << 32)
    }
}

/// Steps by a seed: about few entities where they are `crowded`.
fn drawn(seed: u64, crowded: bool) -> Vec<Step> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let mut steps = sequences(STEPS).new_tree(&mut runner).expect("drawn").current();
    if crowded {
        steps.iter_mut().for_each(crowd);
    }
    steps
}

fn crowd(step: &mut Step) {
    match step {
        Step::Read(_, key) => crowd_key(key),
        Step::Insert(entity) | Step::Upsert(entity) => crowd_entity(entity),
        Step::Save(_, edit) | Step::Rekey(_, edit) => crowd_edit(edit),
        Step::Update(key, edit) => {
            crowd_key(key);
            crowd_edit(edit);
        }
        Step::Patch(club, id, ..) => (*club, *id) = (0, 0),
        Step::Rename(id, _) => *id = 0,
        Step::Batch(club, steps) => {
            "A".clone_into(club);
            steps.iter_mut().for_each(crowd);
        }
        Step::Bulk(entities) => entities.iter_mut().for_each(crowd_entity),
        Step::Tick(seconds) => *seconds /= 100,
        Step::Delete(_) | Step::Relay => {}
    }
}

fn crowd_edit(edit: &mut Edit) {
    (edit.person.club, edit.person.year, edit.person.id) = ("A".into(), 2014, edit.person.id % 2);
    (edit.doc.club, edit.doc.id) = ("A".into(), 0);
    (edit.fan.club, edit.fan.id) = ("A".into(), edit.fan.id % 2);
    (edit.team.club, edit.sponsor.id) = ("A".into(), 0);
}

fn crowd_entity(entity: &mut Entity) {
    match entity {
        Entity::Person(person) => (person.club, person.year, person.id) = ("A".into(), 2014, person.id % 2),
        Entity::Doc(doc) => (doc.club, doc.id) = ("A".into(), 0),
        Entity::Fan(fan) => (fan.club, fan.id) = ("A".into(), fan.id % 2),
        Entity::Team(team) => team.club = "A".into(),
        Entity::Sponsor(sponsor) => sponsor.id = 0,
    }
}

fn crowd_key((partition, row): &mut Key) {
    let last = row.pop();
    *row = match row.get(..2) {
        Some("p_") if last == Some('0') => "p_02014_00".into(),
        Some("p_") => "p_02014_01".into(),
        Some("d_") => "d_00".into(),
        Some("f_") if last == Some('1') => "f_01".into(),
        Some("f_") => "f_00".into(),
        Some("te") => "team".into(),
        _ => {
            "000".clone_into(partition);
            return "sponsor".clone_into(row);
        }
    };
    "A".clone_into(partition);
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

/// What programs did, in what world, and what is left of it.
struct Course {
    seed: u64,
    world: World,
    store: MemoryStore,
    blobs: Arc<dyn ObjectStore>,
    mode: Consistency,
    history: History,
}

impl Course {
    /// Connections break while requests go on: not in the courses of the first seeds, which are known by what they found.
    fn breaks(&self) -> bool {
        self.seed >= BREAKING.start
    }

    fn new(seed: u64, mode: Consistency) -> Self {
        Self::of::<Newest>(seed, mode)
    }

    /// One whose tables a release made.
    fn of<R: Release>(seed: u64, mode: Consistency) -> Self {
        let world = World::new(seed);
        let store = MemoryStore::builder().clock(world.clock().clone()).build();
        let blobs = Arc::new(MemoryBlobs::new(Arc::new(world.clock().clone())));
        let history = if seed < BREAKING.start { History::default() } else { History::of_late_requests() };
        let course = Self { seed, world, store, blobs, mode, history };
        let program = course.undisturbed();
        course.world.begin(async move {
            let db = program.open::<R>(0).await.expect("opened");
            db.ensure_tables().await.expect("tables");
        });
        course.world.run();
        course
    }

    /// A program to which nothing happens.
    fn undisturbed(&self) -> Program {
        let (world, store, blobs) = (self.world.clone(), Arc::new(self.store.clone()), self.blobs.clone());
        Program {
            world,
            store,
            blobs,
            mode: self.mode,
            history: self.history.clone(),
            death: u64::MAX,
            ensures: false,
            shared: None,
        }
    }

    /// A program that ensures its tables, and to which things happen.
    fn disturbed(&self, number: u64, fault: u64, death: u64) -> Program {
        let wire = Wire {
            world: self.world.clone(),
            store: self.store.clone(),
            number,
            fault,
            lie: None,
            breaks: self.breaks(),
        };
        let way = Way { world: self.world.clone(), fault: fault * 2 };
        let blobs = Arc::new(FaultyBlobs::by(self.blobs.clone(), way));
        Program { store: Arc::new(wire), blobs, death, ensures: true, ..self.undisturbed() }
    }

    /// Two to four programs that do their steps; where the store tells a lie, it does so from time to time.
    fn run(&self, lie: Option<Lie>) {
        let (fault, death) = (20 + self.world.roll(100), 200 + self.world.roll(2_000));
        let crowded = self.seed.is_multiple_of(2);
        for number in 0..2 + self.world.roll(if crowded { 5 } else { 3 }) {
            let wire = Wire {
                world: self.world.clone(),
                store: self.store.clone(),
                number,
                fault,
                lie,
                breaks: self.breaks(),
            };
            let way = Way { world: self.world.clone(), fault: fault * 2 };
            let blobs = Arc::new(FaultyBlobs::by(self.blobs.clone(), way));
            let program = Program { store: Arc::new(wire), blobs, death, ..self.undisturbed() };
            let steps = drawn(self.seed * 8 + number, crowded);
            self.world.begin(async move { Box::pin(Client::<Newest>::new(program, number).await.live(steps)).await });
        }
        self.world.run();
    }

    /// That all of it can have happened, and that the tables hold what it comes to. Gives how often each answer came.
    fn judge(self) -> Vec<(String, usize)> {
        let (program, answers) = (self.undisturbed(), Arc::new(Mutex::new(Vec::new())));
        let (told, seed) = (Arc::clone(&answers), self.seed);
        self.world.begin(async move {
            let db = program.open::<Newest>(0).await.expect("opened");
            let stage = Stage { db, blobs: program.blobs.clone(), clock: program.world.clock().clone() };
            stage.settle().await;
            let entities = stage.entities().await;
            for key in program.history.keys() {
                let seen = Effect::seen(entities.get(&key).cloned());
                program.history.add(u64::MAX, key, (u64::MAX - 1, Some(u64::MAX)), seen);
            }
            let impossible = program.history.impossible();
            assert!(impossible.is_empty(), "{}", impossible.join("\n"));
            assert_exact(&stage, &format!("seed {seed}")).await;
            *told.lock().unwrap() = program.history.answers();
        });
        self.world.run();
        Arc::into_inner(answers).expect("all is over").into_inner().unwrap()
    }
}

/// Every seed, and that it came to something: what was done, refused, unknown, and died.
fn simulate(mode: Consistency) {
    let mut all = std::collections::BTreeMap::new();
    for seed in seeds().chain(FOUND).chain(BREAKING) {
        let _told = Told(seed, mode);
        let course = Course::new(seed, mode);
        course.run(None);
        for (answer, times) in course.judge() {
            *all.entry(answer).or_insert(0) += times;
        }
    }
    if seeds().count() < 40 {
        return; // so few need not meet all of it
    }
    for answer in ["done", "died", "Conflict", "AlreadyExists", "NotFound", "UniqueViolation", "OutcomeUnknown"] {
        assert!(all.contains_key(answer), "{answer} never came: {all:?}");
    }
}

/// Courses in which connections break while requests go on.
const BREAKING: Range<u64> = 50_000..50_015;

/// From the environment, for long runs.
pub(crate) fn seeds() -> Range<u64> {
    let Ok(told) = std::env::var("TABLEMODEL_SEEDS") else { return 0..40 };
    let (first, end) = told.split_once("..").expect("FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

#[test]
fn programs_at_once_lose_nothing_where_partitions_are_written_one_by_one() {
    simulate(Consistency::Azure);
}

#[test]
fn programs_at_once_lose_nothing_where_partitions_are_written_at_once() {
    simulate(Consistency::Atomic);
}

#[test]
fn a_store_that_lies_is_found_out() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        for lie in [Lie::Forgets, Lie::Tears, Lie::IgnoresETags] {
            let is_found_out = |seed| {
                let course = Course::new(seed, mode);
                catch_unwind(AssertUnwindSafe(|| {
                    course.run(Some(lie));
                    course.judge();
                }))
                .is_err()
            };
            assert!((0..20).any(is_found_out), "{mode:?}: nobody noticed that the store {lie:?}");
        }
    }
}
