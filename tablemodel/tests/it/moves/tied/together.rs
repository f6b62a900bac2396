//! Programs that write entities and what they copy while those move, and are switched.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind,
    prelude::*,
    store::{Action, Batch, Condition, clock::Sleep},
    testing::{Fault, Script},
};

use super::{
    CITIES, CLUBS, Sponsor, assert_clean, assert_follow, filled, first, new_people, next, old_people, program,
    random::on_sources, second,
};
use crate::{
    moves::{Passing, together::Dice},
    stall::Program,
};

fn usual(told: &str, result: tablemodel::Result<()>) {
    if let Err(error) = result {
        let is_usual = matches!(
            error.kind(),
            ErrorKind::Conflict { .. }
                | ErrorKind::Unavailable
                | ErrorKind::AlreadyExists
                | ErrorKind::NotFound
                | ErrorKind::Restricted { .. }
                | ErrorKind::NotSwitched { .. }
                | ErrorKind::Moved { .. }
        );
        assert!(is_usual, "{told}: {error:?}");
    }
}

/// Changes sources, and people of the old form, at random.
async fn old_writer(db: Database, time: Passing, seed: u64, writes: u32) {
    let mut dice = Dice(seed);
    for _ in 0..writes {
        usual("sources", on_sources(&db, &mut dice).await);
        let (city, id) = (CITIES[dice.roll(2) as usize], dice.roll(10) as u32);
        let club = CLUBS[dice.roll(3) as usize];
        let update = db.update(first::Person::find().city(city).id(id), |there| {
            there.club = club.into();
            there.visits += 1;
            Ok(())
        });
        usual("people", update.await.map(drop));
        time.sleep(Duration::from_millis(500 + dice.roll(3_000))).await;
    }
}

/// Changes sources, and people of the new form as soon as it may.
async fn new_writer(db: Database, time: Passing, seed: u64, writes: u32, pause: u64) {
    let mut dice = Dice(seed);
    for _ in 0..writes {
        usual("sources", on_sources(&db, &mut dice).await);
        let (club, city) = (CLUBS[dice.roll(3) as usize], CITIES[dice.roll(2) as usize]);
        let id = dice.roll(10) as u32;
        let path = second::Person::find().club(club).city(city).id(id);
        let update = db.update(path, |there| {
            there.visits += 1;
            Ok(())
        });
        usual("people", update.await.map(drop));
        time.sleep(Duration::from_millis(dice.roll(pause))).await;
    }
}

#[tokio::test]
async fn copies_are_what_their_sources_are_whoever_writes_while_it_moves() {
    for seed in 1..=6 {
        let store = filled(Consistency::Azure, 10).await;
        let (db, other) = (next::<first::Model>(&store).await, program::<first::Model>(&store).await);
        let time = || Passing(store.clock().clone());
        let work =
            async { db.migrations().apply().rate(5.0).batch(7).workers(3).wait(Duration::from_secs(2_000)).await };
        let (applied, (), ()) =
            tokio::join!(work, old_writer(other, time(), seed * 7, 60), old_writer(db.clone(), time(), seed * 13, 60));
        assert!(applied.expect("applied").is_complete(), "seed {seed}");
        assert_clean(&db, "applied").await;
        let people = old_people(&db).await;
        assert_follow(&db, &people, &format!("seed {seed}")).await;
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let new = next::<second::Model>(&store).await;
        assert_eq!(new_people(&new).await.expect("readable"), people, "seed {seed}");
    }
}

#[tokio::test]
async fn a_switch_beside_programs_that_change_sources_leaves_no_copy_behind() {
    for mode in super::MODES {
        for seed in 1..=10 {
            let told = format!("{mode:?} {seed}");
            let store = filled(mode, 10).await;
            let db = next::<second::Model>(&store).await;
            db.migrations().apply().await.expect("applied");
            let others = [program::<second::Model>(&store).await, program::<second::Model>(&store).await];
            let time = || Passing(store.clock().clone());
            let [a, b] = others.clone();
            let pause = 1 + seed * seed * 400;
            let (switched, (), ()) = tokio::join!(
                async { db.migrations().contract().await },
                new_writer(a, time(), seed * 7, 120, pause),
                new_writer(b, time(), seed * 13, 120, pause)
            );
            switched.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            assert_clean(&db, &told).await;
            assert_follow(&db, &new_people(&db).await.expect("read"), &told).await;
        }
    }
}

/// A writer that died before its source could know of it, a source that changes then, and a switch before anybody has looked again.
#[tokio::test]
async fn what_nobody_had_looked_at_again_before_the_switch_is_looked_at_after_it() {
    let made = async || {
        let store = filled(Consistency::Azure, 4).await;
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        (store, db)
    };
    let joins = async |db: &Database| {
        db.update(first::Person::find().city("Oslo").id(1), |person| {
            person.sponsor = Some("Acme".into()); // nothing is put with the source before it is copied
            Ok(())
        })
        .await
        .map(drop)
    };
    let (store, db) = made().await;
    store.forget_calls();
    joins(&db).await.expect("without a fault");
    let calls = store.calls().len();
    for call in 0..calls {
        let told = format!("call {call} of {calls}");
        let (store, db) = made().await;
        store.fail(Script::new().at(call, Fault::CrashBefore));
        let _ = joins(&db).await;
        drop(db);
        let store = store.reopen::<second::Model>().await.expect("opened");
        store.clock().advance(Duration::from_secs(130));
        let db = next::<second::Model>(&store).await;
        db.patch(Sponsor::find().name("Acme"), Sponsor::LOGO.set(9)).await.expect("patched");
        db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        assert_clean(&db, &told).await;
        assert_follow(&db, &new_people(&db).await.expect("read"), &told).await;
    }
}

/// One that cannot be read once the tables were walked is for `verify` to tell, and holds no switch up.
#[tokio::test]
async fn a_switch_passes_over_what_cannot_be_read_and_copies_what_can() {
    let whole = filled(Consistency::Azure, 4).await;
    let db = next::<second::Model>(&whole).await;
    db.migrations().apply().await.expect("applied");
    db.patch(Sponsor::find().name("Zorg"), Sponsor::LOGO.set(9)).await.expect("patched");
    let rows = crate::migrate::all_rows(&db, "Clubs").await;
    let broken = rows.into_iter().find(|row| row.key.row == "m_Oslo_0001").expect("a shadow");
    drop(db);
    let mut told = 0;
    for at in (0..).step_by(4) {
        let store = whole.fork().expect("in memory");
        let (mut properties, key, inner) = (broken.properties.clone(), broken.key.clone(), store.store());
        properties.insert("Visits", "many");
        properties.insert("Logo_Logo", 1_i64);
        let damage = async move {
            let batch =
                Batch::new("Clubs", key.partition).with(key.row, Action::Replace(properties, Condition::Exists));
            inner.commit(&[batch]).await.expect("planted");
        };
        let program = Program::sleeping::<second::Model>(&store, at, Box::pin(damage)).await;
        program.db.migrations().contract().await.unwrap_or_else(|error| panic!("before call {at}: {error:?}"));
        if !program.has_stalled() {
            break;
        }
        let verified = program.db.verify().await.expect("verify runs");
        assert!(
            verified.violations.iter().all(|of| of.key == broken.key),
            "before call {at}: {:#?}",
            verified.violations
        );
        told += usize::from(!verified.is_clean());
        let other = second::Person::find().club("Judo").city("Rome").id(1).one(&program.db).await.expect("read");
        let logo = other.expect("there").logo.as_ref().map(|logo| logo.logo);
        assert_eq!(logo, Some(9), "before call {at}");
    }
    assert!(told > 0, "what was damaged was put right each time");
}
