//! Random operations on entities and on what they copy, at every state of the move: both forms say the same, and what the sources say.

use std::time::Duration;

use tablemodel::{ErrorKind, prelude::*};

use super::{
    CITIES, CLUBS, City, Club, MODES, SPONSORS, Sponsor, assert_clean, assert_follow, assert_switches, filled, first,
    next, old_people, second,
};
use crate::moves::together::Dice;

fn person(dice: &mut Dice) -> first::Person {
    let pick = |of: &[&str], roll: u64| of[roll as usize % of.len()].to_owned();
    let sponsor = dice.roll(3);
    first::Person {
        city: pick(&CITIES, dice.roll(2)),
        id: dice.roll(8) as u32,
        club: pick(&CLUBS, dice.roll(3)),
        sponsor: (sponsor < 2).then(|| pick(&SPONSORS, sponsor)),
        fund: pick(&SPONSORS, dice.roll(2)),
        visits: dice.roll(100) as i64,
        mayor: None,
        shirt: super::Shirt { colour: String::new(), motto: None },
        logo: None,
    }
}

/// What an operation may be refused for: a source that is not there, or is held, or was to be by one that was refused.
fn usual(result: tablemodel::Result<()>) {
    if let Err(error) = result {
        let is_usual = matches!(
            error.kind(),
            ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::Restricted { .. } | ErrorKind::Unavailable
        );
        assert!(is_usual, "{error:?}");
    }
}

async fn on_people(db: &Database, dice: &mut Dice) {
    let new = person(dice);
    let path = || first::Person::find().city(&new.city).id(new.id);
    match dice.roll(8) {
        0 => usual(db.insert(&new).await.map(drop)),
        1 => usual(db.upsert(&new).await.map(drop)),
        2 => usual(
            db.update(path(), |there| {
                there.visits = new.visits;
                Ok(())
            })
            .await
            .map(drop),
        ),
        3 => {
            if let Some(there) = path().one(db).await.expect("read") {
                usual(db.delete(there).await);
            }
        }
        4 => {
            let to = person(dice);
            if let Some(mut there) = path().one(db).await.expect("read") {
                (there.city, there.id) = (to.city, to.id);
                usual(db.rekey(&mut there).await.map(drop));
            }
        }
        5 => {
            let mut batch = db.batch(first::Person::in_partition(&new.city));
            let others: Vec<_> = (0..3).map(|_| first::Person { city: new.city.clone(), ..person(dice) }).collect();
            let mut seen = std::collections::BTreeSet::new();
            others.iter().filter(|one| seen.insert(one.id)).for_each(|one| {
                batch.upsert(one);
            });
            usual(batch.commit().await.map(drop));
        }
        6 => {
            let several: Vec<_> = (0..6).map(|_| person(dice)).collect();
            let report = db.bulk().upsert_all(futures_util::stream::iter(several)).await.expect("begun");
            for failed in report.failed {
                usual(Err(failed));
            }
        }
        _ => usual(
            db.update(path(), |there| {
                (there.club, there.sponsor) = (new.club.clone(), new.sponsor.clone());
                Ok(())
            })
            .await
            .map(drop),
        ),
    }
}

/// One operation on a source: of any release, since none of them moves.
pub(super) async fn on_sources(db: &Database, dice: &mut Dice) -> tablemodel::Result<()> {
    let (number, which) = (dice.roll(100), dice.roll(3) as usize);
    let (city, club, sponsor) = (CITIES[which % 2], CLUBS[which], SPONSORS[which % 2]);
    match dice.roll(6) {
        0 => db.patch(City::find().name(city), City::MAYOR.set(format!("m{number}"))).await,
        1 => db.patch(Club::find().name(club), Club::COLOUR.set(format!("c{number}"))).await,
        2 => db.patch(Sponsor::find().name(sponsor), Sponsor::LOGO.set(number as i64)).await,
        3 => match City::find().name(city).one(db).await? {
            Some(there) => db.delete(there).await,
            None => db.insert(&super::city(city, &format!("m{number}"))).await.map(drop),
        },
        4 => match Sponsor::find().name(sponsor).one(db).await? {
            Some(there) => db.delete(there).await,
            None => db.insert(&super::sponsor(sponsor, number as i64)).await.map(drop),
        },
        _ => match Club::find().name(club).one(db).await? {
            Some(there) => db.delete(there).await,
            None => db.insert(&super::club(club, "new")).await.map(drop),
        },
    }
}

async fn steps(db: &Database, dice: &mut Dice, steps: u32) {
    for _ in 0..steps {
        match dice.roll(3) {
            0 => usual(on_sources(db, dice).await),
            _ => on_people(db, dice).await,
        }
    }
}

#[tokio::test]
async fn whatever_is_written_both_forms_say_the_same_and_what_the_sources_say() {
    for mode in MODES {
        for seed in 1..=12 {
            let told = format!("{mode:?} {seed}");
            let store = filled(mode, 4).await;
            let db = next::<first::Model>(&store).await;
            let mut dice = Dice(seed * 77);
            steps(&db, &mut dice, 15).await;
            db.migrations().apply().await.expect("applied");
            steps(&db, &mut dice, 50).await;
            assert_clean(&db, &told).await;
            let people = old_people(&db).await;
            assert_follow(&db, &people, &told).await;
            drop(db);
            store.clock().advance(Duration::from_secs(130));
            let db = next::<second::Model>(&store).await;
            for _ in 0..10 {
                usual(on_sources(&db, &mut dice).await);
            }
            assert_clean(&db, &told).await;
            let people = super::new_people(&db).await.expect("readable");
            drop(db);
            let db = assert_switches(&store, &people, &told).await;
            for _ in 0..10 {
                usual(on_sources(&db, &mut dice).await);
            }
            assert_clean(&db, &told).await;
            assert_follow(&db, &super::new_people(&db).await.expect("read"), &told).await;
        }
    }
}
