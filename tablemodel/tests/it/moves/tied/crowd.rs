//! Many tasks of one program that meet in totals and in what they copy, while the entity that they write moves.

use std::time::Duration;

use futures_util::future::{join, join_all};
use tablemodel::{Consistency, ErrorKind, prelude::*};

use super::{
    CITIES, CLUBS, City, Club, MODES, People, Sponsor, assert_clean, assert_follow, assert_switches, before, filled,
    first, next, old_people,
};
use crate::{crowds::program, moves::together::Dice};

/// One change of the person that is a task's own: what it leaves.
async fn change(
    db: &Database,
    dice: &mut Dice,
    id: u32,
    own: Option<Stored<first::Person>>,
) -> tablemodel::Result<Option<Stored<first::Person>>> {
    let (club, visits) = (CLUBS[dice.roll(3) as usize], 1 + dice.roll(90) as i64);
    let before::Person { city, id, club: first_club, sponsor, fund, shirt, .. } =
        before::person(CITIES[id as usize % 2], id);
    let path = first::Person::find().city(&city).id(id);
    let new = first::Person { city, id, club: first_club, sponsor, fund, visits, mayor: None, shirt, logo: None };
    Ok(match own {
        None => Some(db.insert(&new).await?),
        Some(_) if dice.roll(4) == 0 => Some(db.upsert(&new).await?),
        Some(mut there) if dice.roll(4) == 0 => {
            there.club = club.into();
            db.save(&mut there).await?;
            Some(there)
        }
        Some(there) if dice.roll(5) == 0 => {
            db.delete(there).await?;
            None
        }
        Some(_) => {
            let update = |there: &mut first::Person| Ok((there.visits, there.club) = (visits, club.into()));
            Some(db.update(path, update).await?)
        }
    })
}

/// What a task does with the person that is its own: gives what it left, and how often the store was busy.
async fn live(db: &Database, seed: u64, id: u32) -> tablemodel::Result<(Option<first::Person>, u32)> {
    let (mut dice, mut busy) = (Dice(seed * 1_000 + u64::from(id) + 1), 0);
    let path = || first::Person::find().city(CITIES[id as usize % 2]).id(id);
    let mut own = path().one(db).await?;
    for _ in 0..8 {
        own = match change(db, &mut dice, id, own).await {
            Err(error) if *error.kind() == ErrorKind::Unavailable => {
                busy += 1;
                path().one(db).await?
            }
            // A source that changes writes those that copy it.
            Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => path().one(db).await?,
            changed => changed?,
        };
    }
    Ok((own.map(|there| (*there).clone()), busy))
}

async fn change_sources(db: &Database, seed: u64, task: u64) -> tablemodel::Result<()> {
    let mut dice = Dice(seed * 77 + task + 1);
    for _ in 0..6 {
        let number = dice.roll(100);
        match dice.roll(4) {
            0 => {
                db.patch(City::find().name(CITIES[number as usize % 2]), City::MAYOR.set(format!("m{number}"))).await?
            }
            1 => db.patch(Sponsor::find().name("Acme"), Sponsor::LOGO.set(number as i64)).await?,
            _ => {
                let path = Club::find().name(CLUBS[number as usize % 3]);
                db.update(path, |club| Ok(club.colour = format!("c{number}"))).await.map(drop)?;
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_crowd_leaves_what_each_of_it_said_while_its_entity_moves() {
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (1..=2).map(move |seed| (mode, seed))) {
        let told = format!("{mode:?}, seed {seed}");
        let store = filled(mode, 10).await;
        let db = program::<first::Model>(&store).await;
        db.ensure_tables().await.expect("ensured");
        // In the atomic mode one program owns the store.
        let mover = if mode == Consistency::Atomic { db.clone() } else { next::<first::Model>(&store).await };
        let lives = join_all((0..30).map(|id| live(&db, seed, id)));
        let sources = join_all((0..6).map(|task| change_sources(&db, seed, task)));
        let work = async { mover.migrations().apply().batch(7).wait(Duration::from_secs(2_000)).await };
        let (applied, (lived, changed)) = join(work, join(lives, sources)).await;
        assert!(applied.unwrap_or_else(|error| panic!("{told}: {error:?}")).is_complete(), "{told}");
        for error in changed.into_iter().filter_map(Result::err) {
            let is_busy = *error.kind() == ErrorKind::Unavailable && mode == Consistency::Azure;
            assert!(is_busy, "{told}: {error:?}");
        }
        assert_clean(&db, &told).await;
        let people: People = old_people(&db).await;
        for (id, lived) in (0..).zip(lived) {
            let (lived, busy) = lived.unwrap_or_else(|error| panic!("{told}: {id}: {error:?}"));
            // Another program that writes what they meet in is no part of their turns.
            assert!(busy == 0 || mode == Consistency::Azure, "{told}: {id}: the store was busy {busy} times");
            let there = people.get(&(CITIES[id as usize % 2].to_owned(), id));
            let said = there.map(|said| (said.club.as_str(), said.visits));
            assert_eq!(said, lived.as_ref().map(|own| (own.club.as_str(), own.visits)), "{told}: {id}");
        }
        assert_follow(&db, &people, &told).await;
        drop((db, mover));
        assert_switches(&store, &people, &told).await;
    }
}
