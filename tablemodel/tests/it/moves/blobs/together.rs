//! Programs that write blobs, move them and collect them while their entity moves.

use std::time::Duration;

use tablemodel::{ErrorKind, prelude::*, store::clock::Sleep};

use super::*;
use crate::{migrate::Passing, moves::together::Dice};

/// Changes people at random: the last content of each that was acknowledged, by name.
async fn writer(db: Database, time: Passing, seed: u64) {
    let mut dice = Dice(seed);
    for number in 0..60_u8 {
        let (team, name) = (TEAMS[dice.roll(3) as usize], NAMES[dice.roll(3) as usize]);
        let found = first::Person::find().team(team).name(name).one(&db).await.expect("read");
        let result = match (found, dice.roll(4)) {
            (None, _) => Ok(()),
            (Some(mut person), 0) => {
                person.portrait = if number % 3 == 0 { vec![number].into() } else { large(number).into() };
                db.save(&mut person).await
            }
            (Some(mut person), 1) => {
                person.film = (number % 2 == 0).then(|| large(number).into());
                db.save(&mut person).await
            }
            (Some(mut person), _) => {
                person.team = TEAMS[dice.roll(3) as usize].into();
                db.rekey(&mut person).await
            }
        };
        if let Err(error) = result {
            let is_usual =
                matches!(error.kind(), ErrorKind::Conflict { .. } | ErrorKind::Unavailable | ErrorKind::NotFound);
            assert!(is_usual, "{error:?}");
        }
        time.sleep(Duration::from_secs(20 + dice.roll(60))).await;
    }
}

async fn collector(db: Database, time: Passing) {
    for _ in 0..40 {
        let _ = db.blobs().collect().await.expect("collected");
        time.sleep(Duration::from_secs(70)).await;
    }
}

#[tokio::test]
async fn nothing_that_is_linked_is_collected_while_it_moves_and_is_written() {
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (1..=4).map(move |seed| (mode, seed))) {
        let told = format!("{mode:?} {seed}");
        let (store, _) = filled(mode).await;
        let (db, other) = (next::<first::Model>(&store).await, program::<first::Model>(&store).await);
        let collects = program::<before::Model>(&store).await;
        let time = || Passing(store.clock().clone());
        let work =
            async { db.migrations().apply().rate(0.1).batch(1).workers(1).wait(Duration::from_secs(4_000)).await };
        let (applied, (), ()) = tokio::join!(work, writer(other, time(), seed * 77), collector(collects, time()));
        assert!(applied.unwrap_or_else(|error| panic!("{told}: {error:?}")).is_complete(), "{told}");
        writer(db.clone(), time(), seed * 13).await;
        assert_no_litter(&db, &store, &told).await;
        let people = old_people(&db).await;
        assert_eq!(people.len(), 3, "{told}");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<second::Model>(&store).await;
        assert_eq!(new_people(&db).await, people, "{told}");
        db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        assert_no_litter(&db, &store, &told).await;
        assert_eq!(new_people(&db).await, people, "{told}");
    }
}
