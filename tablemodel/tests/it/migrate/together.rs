//! Programs that write while an index is built.

use std::{collections::BTreeMap, time::Duration};

use tablemodel::{Consistency, ErrorKind, prelude::*, store::clock::Sleep};

use super::{Club, Passing, Person, assert_built, filled, first, next, program};

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

const CITIES: [&str; 5] = ["Oslo", "Rome", "Bern", "Paris", "Kyiv"];

/// A program that changes persons at random; every change counts its visits. Gives how many it made of each.
macro_rules! writer {
    ($name:ident, $find:expr) => {
        async fn $name(db: Database, time: Passing, seed: u64, writes: u32) -> BTreeMap<(String, u32), i64> {
            let (mut dice, mut made) = (Dice(seed), BTreeMap::new());
            for _ in 0..writes {
                let (club, id) = (format!("c{}", dice.roll(3)), dice.roll(20) as u32);
                let (city, name) = (CITIES[dice.roll(5) as usize], format!("n{}", dice.roll(5)));
                let changes = dice.roll(3) > 0;
                let path = $find(club.clone(), id);
                let result = db.update(path, |p| {
                    p.visits += 1;
                    if changes {
                        (p.city, p.name) = (city.into(), name.clone());
                    }
                    Ok(())
                });
                match result.await {
                    Ok(_) => *made.entry((club, id)).or_default() += 1,
                    Err(error) => assert!(
                        matches!(error.kind(), ErrorKind::Conflict { .. } | ErrorKind::Unavailable),
                        "{error:?}"
                    ),
                }
                time.sleep(Duration::from_millis(500 + dice.roll(3_000))).await;
            }
            made
        }
    };
}

writer!(old_writer, |club: String, id| first::Person::find().club(&club).id(id));
writer!(new_writer, |club: String, id| Person::find().club(&club).id(id));

#[tokio::test]
async fn an_old_program_and_new_ones_write_while_an_index_is_built() {
    for seed in 1..=12 {
        let store = filled(Consistency::Azure, 3, 20).await;
        let old = program::<first::Club>(&store).await;
        let (db, new) = (next::<Club>(&store).await, program::<Club>(&store).await);
        let time = || Passing(store.clock().clone());
        let work = async {
            let apply = db.migrations().apply().rate(5.0).batch(7).workers(3).wait(Duration::from_secs(2_000));
            apply.await
        };
        let writers = (
            old_writer(old, time(), seed * 7, 60),
            new_writer(new, time(), seed * 11, 150),
            new_writer(db.clone(), time(), seed * 13, 90),
        );
        let (applied, first, second, third) = tokio::join!(work, writers.0, writers.1, writers.2);
        let applied = applied.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert!(applied.is_complete(), "seed {seed}: {applied:?}");
        let mut made = first;
        for (key, count) in second.into_iter().chain(third) {
            *made.entry(key).or_default() += count;
        }
        for club in 0..3 {
            for id in 0..20 {
                let key = (format!("c{club}"), id);
                let person = Person::find().club(&key.0).id(id).one(&db).await.unwrap().expect("there");
                assert_eq!(person.visits, made.get(&key).copied().unwrap_or(0), "seed {seed}: {key:?} lost an update");
            }
        }
        assert_built(&db, &format!("seed {seed}")).await;
    }
}

#[tokio::test]
async fn writes_of_one_program_go_on_while_its_index_is_built() {
    for seed in 1..=6 {
        let store = filled(Consistency::Atomic, 3, 100).await;
        let db = next::<Club>(&store).await;
        let time = || Passing(store.clock().clone());
        let work = async { db.migrations().apply().rate(20.0).batch(7).workers(3).await };
        let (applied, first, second) = tokio::join!(
            work,
            new_writer(db.clone(), time(), seed * 11, 60),
            new_writer(db.clone(), time(), seed * 13, 60)
        );
        assert!(applied.expect("applied").is_complete());
        let made: i64 = first.values().chain(second.values()).sum();
        let mut visits = 0;
        for club in 0..3 {
            visits +=
                Person::find().club(format!("c{club}")).all(&db).await.unwrap().iter().map(|p| p.visits).sum::<i64>();
        }
        assert_eq!(visits, made, "seed {seed}: no update is lost");
        assert_built(&db, &format!("seed {seed}")).await;
    }
}
