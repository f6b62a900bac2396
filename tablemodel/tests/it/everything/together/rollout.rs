//! A release that derives more than the one before takes its place: programs of both write, some of the older one late, while
//! others build what is new, take it back, or die of it.

use std::{marker::PhantomData, time::Duration};

use tablemodel::{Error, ErrorKind, Result, migrations::Applied, prelude::*, store::clock::Sleep};

use super::{
    super::{
        Doc, Entity, Fan, Key, Person,
        release::{Before, Form, Older, Raised},
    },
    client::is_of_the_store,
    *,
};

/// Who builds what is new: with a program of the newest release, which may die.
struct Operator<R> {
    program: Program,
    db: Database,
    /// How often all was built, or taken away.
    built: usize,
    release: PhantomData<R>,
}

impl<R: Release> Operator<R> {
    async fn new(program: Program) -> Self {
        let db = program.begin::<R>().await;
        Self { program, db, built: 0, release: PhantomData }
    }

    /// What is done; none where the program died of it, and began anew.
    async fn mortal<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let done = self.program.world.mortal(std::pin::pin!(work), self.program.death * 10).await;
        if done.is_none() {
            self.db = self.program.begin::<R>().await;
        }
        done
    }

    /// Calls, as they come.
    async fn operate(mut self) -> usize {
        let world = self.program.world.clone();
        for _ in 0..1 + world.roll(5) {
            let db = self.db.clone();
            let result = match world.roll(8) {
                0 => Box::pin(self.mortal(undo(&db))).await,
                1 => Box::pin(self.mortal(async { db.migrations().retry_failures().await.map(drop) })).await,
                _ if R::LACKS => {
                    let contracted = Box::pin(self.mortal(contract(&db))).await;
                    self.built += usize::from(matches!(&contracted, Some(Ok(()))));
                    contracted
                }
                _ => {
                    let applied = Box::pin(self.mortal(apply(&db, &world))).await;
                    self.built += usize::from(matches!(&applied, Some(Ok(applied)) if applied.is_complete()));
                    applied.map(|applied| applied.map(drop))
                }
            };
            if let Some(Err(error)) = result {
                assert!(is_of_migrations(&error), "{error:?}");
            }
            world.sleep(Duration::from_secs(world.roll(300))).await;
        }
        self.built
    }
}

async fn undo(db: &Database) -> Result<()> {
    db.migrations().rollback().await.map(drop)
}

async fn contract(db: &Database) -> Result<()> {
    db.migrations().contract().await.map(drop)
}

async fn apply(db: &Database, world: &World) -> Result<Applied> {
    let (workers, batch, wait) = (1 + world.roll(3), 1 + world.roll(5), 60 + world.roll(600));
    let apply = db.migrations().apply().workers(workers as usize).batch(batch as usize);
    apply.wait(Duration::from_secs(wait)).await
}

/// It goes on when it is called again.
fn is_of_migrations(error: &Error) -> bool {
    let is_nothing_there = *error.kind() == ErrorKind::NotFound || is_contracting(error);
    is_of_the_store(error)
        || is_running(error)
        || is_nothing_there
        || is_taken_back(error)
        || *error.kind() == ErrorKind::OutcomeUnknown
}

/// There is no way back from that.
fn is_contracting(error: &Error) -> bool {
    *error.kind() == ErrorKind::Unsupported && error.to_string().contains("call `contract`")
}

fn is_running(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::MigrationRunning { .. })
}

fn is_taken_back(error: &Error) -> bool {
    *error.kind() == ErrorKind::Unsupported && error.to_string().contains("is being taken back")
}

impl Course {
    /// Programs of both releases, and one or two who build.
    fn roll_out<Old: Release, New: Release>(&self) {
        let (fault, death) = (20 + self.world.roll(100), 200 + self.world.roll(2_000));
        let crowded = self.seed.is_multiple_of(2);
        let (older, late) = (1 + self.world.roll(3), self.world.roll(2));
        for number in 0..older + late {
            let (program, steps) = (self.disturbed(number, fault, death), drawn(self.seed * 8 + number, crowded));
            let pause = if number < older { 0 } else { 300 + self.world.roll(3_000) };
            self.world.begin(async move {
                program.world.sleep(Duration::from_secs(pause)).await;
                Box::pin(Client::<Old>::new(program, number).await.live(steps)).await;
            });
        }
        for number in older + late..older + late + 1 + self.world.roll(2) {
            let (program, steps) = (self.disturbed(number, fault, death), drawn(self.seed * 8 + number, crowded));
            let pause = self.world.roll(1_200);
            self.world.begin(async move {
                program.world.sleep(Duration::from_secs(pause)).await;
                Box::pin(Client::<New>::new(program, number).await.live(steps)).await;
            });
        }
        for number in 100..101 + self.world.roll(2) {
            let (program, pause) = (self.disturbed(number, fault, death), self.world.roll(2_000));
            let history = self.history.clone();
            self.world.begin(async move {
                program.world.sleep(Duration::from_secs(pause)).await;
                let built = Operator::<New>::new(program).await.operate().await;
                history.count_as("built", built);
            });
        }
        self.world.run();
    }

    /// One program owns the store, first of the one release, then of the other: its tasks write while others of them build.
    fn roll_out_at_once<Old: Release, New: Release>(&self) {
        let (fault, death) = (20 + self.world.roll(100), 200 + self.world.roll(2_000));
        let (crowded, count) = (self.seed.is_multiple_of(2), 1 + self.world.roll(3));
        for number in 0..count {
            let (program, steps) = (self.disturbed(number, fault, death), drawn(self.seed * 8 + number, crowded));
            self.world.begin(async move { Box::pin(Client::<Old>::new(program, number).await.live(steps)).await });
        }
        self.world.run();
        let (course, history) = (self.disturbed(100, fault, death), self.history.clone());
        let (world, seed, operators) = (self.world.clone(), self.seed, 1 + self.world.roll(2));
        let tasks = 1 + self.world.roll(4);
        self.world.begin(async move {
            let db = Program { ensures: false, ..course.clone() }.begin::<New>().await;
            let program = Program { shared: Some(db.clone()), ..course };
            for number in count..count + tasks {
                let (program, steps) = (program.clone(), drawn(seed * 8 + number, crowded));
                world.begin(async move { Box::pin(Client::<New>::new(program, number).await.live(steps)).await });
            }
            // Before that, there are no tables for what is new.
            while Box::pin(db.ensure_tables()).await.is_err() {}
            for _ in 0..operators {
                let (program, history) = (program.clone(), history.clone());
                world.begin(
                    async move { history.count_as("built", Operator::<New>::new(program).await.operate().await) },
                );
            }
        });
        self.world.run();
    }

    /// Takes away what a release lacks, by a program to which nothing happens.
    fn contract<New: Release>(&self) {
        let program = self.undisturbed();
        self.world.begin(async move {
            let db = program.open::<New>(0).await.expect("opened");
            for round in 0.. {
                assert!(round < 20, "it never goes: {:?}", db.migrations().plan().await);
                match contract(&db).await {
                    Ok(()) => break,
                    Err(error) if is_taken_back(&error) => undo(&db).await.expect("taken back"),
                    Err(error) if is_running(&error) || *error.kind() == ErrorKind::Unavailable => {
                        program.world.sleep(Duration::from_secs(60)).await;
                    }
                    Err(error) => panic!("{error:?}: {:?}", db.relay().poisoned().await),
                }
            }
        });
        self.world.run();
    }

    /// Builds what is left, by a program to which nothing happens.
    fn complete<New: Release>(&self) {
        let (program, history) = (self.undisturbed(), self.history.clone());
        self.world.begin(async move {
            let db = program.open::<New>(0).await.expect("opened");
            db.ensure_tables().await.expect("tables");
            for round in 0.. {
                assert!(round < 20, "it is never built: {:?}", db.migrations().plan().await);
                match db.migrations().apply().await {
                    Ok(applied) if applied.is_complete() => break,
                    Ok(applied) => {
                        for entity in applied.violations.iter().filter_map(|violation| named(&violation.detail)) {
                            put_right::<New>(&db, &history, &program.world, entity).await;
                        }
                    }
                    Err(error) if is_taken_back(&error) => undo(&db).await.expect("taken back"),
                    Err(error) if is_contracting(&error) => contract(&db).await.expect("taken away"),
                    // Somebody died who was taking it back, or over a value.
                    Err(error) if is_running(&error) || *error.kind() == ErrorKind::Unavailable => {
                        program.world.sleep(Duration::from_secs(60)).await
                    }
                    Err(error) => panic!("{error:?}: {:?}", db.relay().poisoned().await),
                }
                for failure in db.migrations().failures().await.expect("told") {
                    history.count_as("set aside", 1);
                    put_right::<New>(&db, &history, &program.world, (failure.key.partition, failure.key.row)).await;
                }
                db.migrations().retry_failures().await.expect("retried");
            }
        });
        self.world.run();
    }
}

/// The entity that a violation names: `(PARTITION, ROW) has this unique value too`.
fn named(detail: &str) -> Option<Key> {
    let (partition, row) = detail.strip_suffix(" has this unique value too: change one of them")?.split_once(", ")?;
    Some((partition.strip_prefix('(')?.to_owned(), row.strip_suffix(')')?.to_owned()))
}

/// Who has what another has too gives it up.
async fn put_right<R: Release>(db: &Database, history: &History, world: &World, key: Key) {
    let edit: fn(&mut Entity) = |entity| match entity {
        Entity::Person(person) => person.email = None,
        Entity::Doc(doc) => doc.isbn = None,
        Entity::Fan(fan) => fan.card = None,
        Entity::Team(_) | Entity::Sponsor(_) => {}
    };
    let begun = world.next();
    let done = match &key.1[..2] {
        "p_" => give_up::<R::Of<Person>>(db, &key, |person| person.email = None).await,
        "d_" => give_up::<R::Of<Doc>>(db, &key, |doc| doc.isbn = None).await,
        _ => give_up::<R::Of<Fan>>(db, &key, |fan| fan.card = None).await,
    };
    match done {
        Ok(()) => history.add(1_000, key, (begun, Some(world.next())), Effect::Edit(std::sync::Arc::new(edit))),
        Err(error) => assert!(*error.kind() == ErrorKind::NotFound, "{error:?}"),
    }
}

async fn give_up<F: Form>(db: &Database, key: &Key, edit: fn(&mut F::Of)) -> Result<()> {
    Box::pin(db.update(F::at(key), |there| Ok(edit(there.it_mut())))).await.map(drop)
}

/// Every seed, and those that found something; and that they came to something.
fn simulate_rollouts<Old: Release, New: Release>(mode: Consistency, found: &[u64], met: &[&str]) {
    let mut all = std::collections::BTreeMap::new();
    for seed in seeds().chain(found.iter().copied()).chain(BREAKING) {
        let _told = Told(seed, mode);
        let course = Course::of::<Old>(seed, mode);
        match mode {
            Consistency::Azure => course.roll_out::<Old, New>(),
            Consistency::Atomic => course.roll_out_at_once::<Old, New>(),
        }
        if New::LACKS {
            course.contract::<New>();
            course.complete::<Old>();
        } else {
            course.complete::<New>();
        }
        for (answer, times) in course.judge() {
            *all.entry(answer).or_insert(0) += times;
        }
    }
    if seeds().count() < 40 {
        return; // so few need not meet all of it
    }
    for answer in met {
        assert!(all.contains_key(*answer), "{answer} never came: {all:?}");
    }
}

/// What comes while something is built.
const BUILT: &[&str] = &["done", "died", "built", "set aside"];
/// What comes while something is taken away.
const DROPPED: &[&str] = &["done", "died", "built"];

#[test]
fn a_release_takes_the_place_of_another_while_both_write() {
    simulate_rollouts::<Before, Newest>(Consistency::Azure, &[49, 372], BUILT);
}

#[test]
fn a_release_takes_over_a_store_of_its_own_while_it_writes() {
    simulate_rollouts::<Before, Newest>(Consistency::Atomic, &[278, 834, 1644, 1958, 30046], BUILT);
}

#[test]
fn a_release_of_a_newer_version_takes_the_place_of_another_while_both_write() {
    simulate_rollouts::<Older, Raised>(Consistency::Azure, &[187, 193], BUILT);
}

#[test]
fn a_release_of_a_newer_version_takes_over_a_store_of_its_own_while_it_writes() {
    simulate_rollouts::<Older, Raised>(Consistency::Atomic, &[240], BUILT);
}

#[test]
fn a_release_that_drops_takes_the_place_of_another_while_both_write() {
    simulate_rollouts::<Newest, Before>(Consistency::Azure, &[], DROPPED);
}

#[test]
fn a_release_that_drops_takes_over_a_store_of_its_own_while_it_writes() {
    simulate_rollouts::<Newest, Before>(Consistency::Atomic, &[], DROPPED);
}
