//! Programs of the old form that write while it moves.

use std::time::Duration;

use tablemodel::{Consistency, ErrorKind, prelude::*, store::clock::Sleep};

use super::{Flights, ORIGINS, Passing, assert_clean, filled, first, new_flights, next, old_flights, program, second};

/// Numbers from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Changes flights at random: each change adds a seat. Gives how many it made of each.
async fn writer(db: Database, time: Passing, seed: u64, writes: u32) -> std::collections::BTreeMap<(String, u32), i64> {
    let (mut dice, mut made) = (Dice(seed), std::collections::BTreeMap::new());
    for _ in 0..writes {
        let (carrier, number) = (format!("C{}", dice.roll(3)), dice.roll(20) as u32);
        let origin = ORIGINS[dice.roll(5) as usize];
        let moves = dice.roll(3) > 0;
        let path = first::Flight::find().carrier(&carrier).number(number);
        let result = db.update(path, |f| {
            f.seats += 1;
            if moves {
                f.origin = origin.into();
            }
            Ok(())
        });
        match result.await {
            Ok(_) => *made.entry((carrier, number)).or_default() += 1,
            Err(error) => {
                let is_usual = matches!(error.kind(), ErrorKind::Conflict { .. } | ErrorKind::Unavailable);
                assert!(is_usual, "{error:?}");
            }
        }
        time.sleep(Duration::from_millis(500 + dice.roll(3_000))).await;
    }
    made
}

#[tokio::test]
async fn nothing_is_lost_that_is_written_while_it_moves() {
    for seed in 1..=6 {
        let store = filled(Consistency::Azure, 3, 20).await;
        let was = old_flights(&program::<first::Model>(&store).await, 3).await;
        let (db, other) = (next::<first::Model>(&store).await, program::<first::Model>(&store).await);
        let time = || Passing(store.clock().clone());
        let work =
            async { db.migrations().apply().rate(5.0).batch(7).workers(3).wait(Duration::from_secs(2_000)).await };
        let (applied, first, second) =
            tokio::join!(work, writer(other, time(), seed * 7, 100), writer(db.clone(), time(), seed * 13, 100),);
        let applied = applied.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert!(applied.is_complete(), "seed {seed}: {applied:?}");
        assert_clean(&db, "applied").await;
        let flights: Flights = old_flights(&db, 3).await;
        for (key, (_, seats)) in &flights {
            let made = [&first, &second].iter().filter_map(|made| made.get(key)).sum::<i64>();
            assert_eq!(*seats, was[key].1 + made, "seed {seed}: {key:?}");
        }
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let new = next::<second::Model>(&store).await;
        new.migrations().contract().await.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert_eq!(new_flights(&new, 3).await.expect("readable"), flights, "seed {seed}");
        assert_clean(&new, "switched").await;
    }
}

#[tokio::test]
async fn a_switch_waits_for_programs_of_the_old_form_and_is_given_up_while_they_live() {
    let store = filled(Consistency::Azure, 1, 20).await;
    let old = next::<first::Model>(&store).await;
    old.migrations().apply().await.expect("applied");
    let new = next::<second::Model>(&store).await;
    let time = Passing(store.clock().clone());
    let writes = async {
        for _ in 0..60 {
            let path = first::Flight::find().carrier("C0").number(1);
            old.patch(path, first::Flight::SEATS.set(5)).await.expect("the old form is still the truth");
            time.sleep(Duration::from_secs(10)).await;
        }
    };
    let (switched, ()) = tokio::join!(async { new.migrations().contract().await }, writes);
    assert_eq!(switched.unwrap_err().kind(), &ErrorKind::Unavailable);
    let plan = new.migrations().plan().await.expect("planned");
    assert!(plan.unfinished.is_none() && plan.dropped.len() == 1, "{plan:?}");
    new.migrations().rollback().await.expect("there is a way back still");
    assert_clean(&old, "taken back").await;
}
