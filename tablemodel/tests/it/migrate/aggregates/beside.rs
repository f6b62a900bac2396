//! Programs that write while it is counted, each call of theirs at any moment between those of the others.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tablemodel::{
    Consistency, ErrorKind, Row, RowKey,
    prelude::*,
    store::{Batch, Page, Query, Receipts, StoreError, TableStore},
};

use super::{
    super::{next, program_over},
    CITIES, Club, Person, Team, assert_counted, before, filled, person, team, town,
};
use crate::{
    between::{Around, Between},
    points::points,
};

/// A store each call of which waits for others a few times, by numbers from a seed.
struct Shuffled {
    dice: AtomicU64,
}

impl Shuffled {
    fn over(inner: Arc<dyn TableStore>, seed: u64) -> Arc<Around<Self>> {
        Around::over(inner, Self { dice: AtomicU64::new(seed * 0x9E37_79B9 + 1) })
    }

    async fn wait(&self) {
        pause(&self.dice, 6).await;
    }
}

/// Lets others go first, fewer times than that.
async fn pause(dice: &AtomicU64, times: u64) {
    for _ in 0..roll(dice, times) {
        tokio::task::yield_now().await;
    }
}

fn roll(dice: &AtomicU64, sides: u64) -> u64 {
    let mut number = dice.load(Ordering::Relaxed);
    number ^= number << 13;
    number ^= number >> 7;
    number ^= number << 17;
    dice.store(number, Ordering::Relaxed);
    number % sides
}

#[async_trait]
impl Between for Shuffled {
    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.wait().await;
        inner.get(table, key).await
    }

    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        self.wait().await;
        inner.query(query).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.wait().await;
        inner.commit(batches).await
    }
}

/// Whether a write that lost a race may be given up.
fn tolerate<T>(result: tablemodel::Result<T>, told: &str) {
    if let Err(error) = result {
        let is_race = matches!(
            error.kind(),
            ErrorKind::Conflict { .. } | ErrorKind::Unavailable | ErrorKind::NotFound | ErrorKind::AlreadyExists
        );
        assert!(is_race, "{told}: {error:?}");
    }
}

/// One change at random, by a program of the second release.
async fn write(db: &Database, dice: &AtomicU64, told: &str) {
    let (club, id) = (format!("c{}", roll(dice, 4)), roll(dice, 12) as u32);
    let visits = roll(dice, 50) as i64 - 10;
    match roll(dice, 9) {
        0 | 1 => tolerate(db.insert(&person(&club, id, visits)).await, told),
        2 => {
            let there = Person::find().club(&club).id(id).one(db).await.expect("read");
            if let Some(there) = there {
                tolerate(db.delete(there).await, told);
            }
        }
        3..=5 => {
            let city = CITIES[roll(dice, 4) as usize];
            let update = db.update(Person::find().club(&club).id(id), |p| {
                (p.visits, p.city, p.active) = (visits, city.into(), visits % 2 == 0);
                Ok(())
            });
            tolerate(update.await, told);
        }
        6 => {
            let there = Person::find().club(&club).id(id).one(db).await.expect("read");
            if let Some(mut there) = there {
                there.id = roll(dice, 12) as u32;
                tolerate(db.save(&mut there).await, told);
            }
        }
        7 => match Team::find().club(&club).one(db).await.expect("read") {
            Some(there) => tolerate(db.delete(there).await, told),
            None => tolerate(db.insert(&team(&club, "New")).await, told),
        },
        _ => tolerate(db.upsert(&town(CITIES[roll(dice, 4) as usize], &club)).await, told),
    }
}

/// So often others may go first between two writes of one program, at most: each of its calls is one time where it is shuffled, and a
/// whole write is where it is not. Who never waited would write more than is counted.
const PAUSE: u64 = 40;

/// So many of the seeds from 1 on.
fn seeds(count: usize, at_most: usize, told: &str) -> impl Iterator<Item = u64> {
    points(count, at_most, told).into_iter().map(|seed| 1 + seed as u64)
}

#[tokio::test]
async fn writers_of_the_new_release_change_everything_while_it_is_counted() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let whole = filled(mode, 3, if mode == Consistency::Azure { 8 } else { 70 }).await;
        for seed in seeds(8, 4, &format!("{mode:?}")) {
            let told = format!("{mode:?}, seed {seed}");
            let store = whole.fork().expect("in memory");
            let db = match mode {
                Consistency::Azure => next::<Club>(&store).await,
                Consistency::Atomic => program_over::<Club>(&store, Shuffled::over(store.store(), seed)).await,
            };
            db.ensure_tables().await.expect("ensured");
            let second = match mode {
                Consistency::Azure => program_over::<Club>(&store, Shuffled::over(store.store(), seed * 7)).await,
                Consistency::Atomic => db.clone(),
            };
            let leader = match mode {
                Consistency::Azure => program_over::<Club>(&store, Shuffled::over(store.store(), seed * 11)).await,
                Consistency::Atomic => db.clone(),
            };
            let (dice, over) = (AtomicU64::new(seed * 977 + 5), Cell::new(false));
            let (told, writes) = (&told, Cell::new(0));
            let writer = async |db: &Database| {
                while !over.get() {
                    write(db, &dice, told).await;
                    writes.set(writes.get() + 1);
                    tokio::task::yield_now().await;
                    pause(&dice, PAUSE).await;
                }
            };
            let work = async {
                let mut result = leader.migrations().apply().rate(200.0).batch(5).await;
                for _ in 0..5 {
                    if result.as_ref().is_ok_and(|applied| applied.is_complete()) {
                        break;
                    }
                    result = leader.migrations().apply().await;
                }
                for _ in 0..3 * PAUSE {
                    tokio::task::yield_now().await; // some are written after it
                }
                over.set(true);
                result
            };
            let (applied, ..) = tokio::join!(work, writer(&db), writer(&second));
            let applied = applied.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            assert!(applied.is_complete(), "{told}: {applied:?}");
            assert!(writes.get() > 20, "{told}: {} writes", writes.get());
            assert_counted(&leader, told).await;
        }
    }
}

/// A program of the first release counts nothing: it is waited for, and what it wrote is counted.
#[tokio::test]
async fn what_an_old_program_writes_before_it_ends_is_counted() {
    let whole = filled(Consistency::Azure, 3, 8).await;
    for seed in seeds(6, 3, "old") {
        let told = format!("seed {seed}");
        let store = whole.fork().expect("in memory");
        let old = program_over::<before::Club>(&store, Shuffled::over(store.store(), seed)).await;
        let new = next::<Club>(&store).await;
        let db = program_over::<Club>(&store, Shuffled::over(store.store(), seed * 7)).await;
        let (dice, over) = (AtomicU64::new(seed * 31 + 7), Cell::new(false));
        let old_writer = async {
            for _ in 0..40 {
                let (club, id) = (format!("c{}", roll(&dice, 4)), 20 + roll(&dice, 9) as u32);
                tolerate(old.upsert(&super::old_person(&club, id)).await, &told);
                store.clock().advance(Duration::from_millis(500 + roll(&dice, 2_000)));
            }
        };
        let new_writer = async {
            while !over.get() {
                write(&new, &dice, &told).await;
                tokio::task::yield_now().await;
                pause(&dice, PAUSE).await;
            }
        };
        let work = async {
            let mut result = db.migrations().apply().rate(100.0).batch(5).wait(Duration::from_secs(2_000)).await;
            for _ in 0..5 {
                if result.as_ref().is_ok_and(|applied| applied.is_complete()) {
                    break; // else they are written faster than they are counted
                }
                result = db.migrations().apply().wait(Duration::from_secs(2_000)).await;
            }
            over.set(true);
            result
        };
        let (applied, ..) = tokio::join!(work, old_writer, new_writer);
        let applied = applied.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_counted(&db, &told).await;
    }
}
