//! What a copy restricts is restricted in every form and at every moment; and programs that have not learnt yet that an entity has
//! moved neither lose a change of what it copies, nor what it holds.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind,
    prelude::*,
    store::clock::Sleep,
    testing::{Fault, Script},
};

use super::{
    City, Club, MODES, Sponsor, assert_clean, assert_follow, before, filled, first, new_people, next, old_people,
    program, second,
};
use crate::{crashes::writing, moves::Passing, points::points};

async fn refused_to_delete(db: &Database, club: &str, told: &str) {
    let club = Club::find().name(club).one(db).await.expect("read").expect("there");
    let error = db.delete(club).await.expect_err(told);
    assert!(matches!(error.kind(), ErrorKind::Restricted { .. }), "{told}: {error:?}");
}

#[tokio::test]
async fn a_source_that_must_stay_stays_in_every_form_and_goes_with_the_last_who_holds_it() {
    for mode in MODES {
        let store = filled(mode, 105).await;
        let old = program::<before::Model>(&store).await;
        refused_to_delete(&old, "Judo", "before").await;
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<first::Model>(&store).await;
        refused_to_delete(&db, "Judo", "both").await;
        db.migrations().apply().await.expect("applied");
        refused_to_delete(&db, "Judo", "applied").await;
        for (city, id) in old_people(&db).await.into_iter().filter(|(_, said)| said.club == "Oslo").map(|(key, _)| key)
        {
            let there = first::Person::find().city(city).id(id).one(&db).await.unwrap().unwrap();
            db.delete(there).await.expect("deleted");
        }
        let free = Club::find().name("Oslo").one(&db).await.unwrap().unwrap();
        db.delete(free).await.expect("nobody holds it, in whatever form");
        assert_clean(&db, "applied").await;
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<second::Model>(&store).await;
        refused_to_delete(&db, "Judo", "readable").await;
        db.migrations().contract().await.expect("switched");
        refused_to_delete(&db, "Judo", "switched").await;
        for there in second::Person::find().club("Judo").all(&db).await.expect("read") {
            db.delete(there).await.expect("deleted");
        }
        let free = Club::find().name("Judo").one(&db).await.unwrap().unwrap();
        db.delete(free).await.expect("nobody holds it");
        assert_clean(&db, "switched").await;
    }
}

/// A person of the new form.
fn member(club: &str) -> second::Person {
    second::Person {
        club: club.into(),
        city: "Oslo".into(),
        id: 77,
        sponsor: None,
        fund: "Acme".into(),
        visits: 1,
        mayor: None,
        shirt: super::Colour { colour: String::new() },
        logo: None,
    }
}

/// What a program does that was opened before the switch: changes sources, tries to delete one that is held, and writes a person if
/// it may.
async fn go_on(db: &Database, told: &str) {
    let usual = |error: &tablemodel::Error| {
        let is_usual =
            matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::NotSwitched { .. } | ErrorKind::Moved { .. });
        assert!(is_usual, "{told}: {error:?}");
    };
    let held = Club::find().name("Judo").one(db).await.expect("read").expect("there");
    match db.delete(held).await {
        Ok(()) => panic!("{told}: a source went that is held"),
        Err(error) if matches!(error.kind(), ErrorKind::Restricted { .. }) => {}
        Err(error) => usual(&error),
    }
    if let Err(error) = db.insert(&member("Judo")).await {
        usual(&error);
    }
    if let Err(error) = db.patch(Club::find().name("Judo"), Club::COLOUR.set("late")).await {
        usual(&error);
    }
    if let Err(error) = db.patch(City::find().name("Oslo"), City::MAYOR.set("late")).await {
        usual(&error);
    }
}

/// A switch that dies at a call, beside a program that has not learnt of it: in the end all is as the sources say.
async fn beside_one_that_dies(mode: Consistency) {
    let made = async || {
        let store = filled(mode, 4).await;
        let one = next::<second::Model>(&store).await;
        let other = match mode {
            Consistency::Azure => program::<second::Model>(&store).await,
            Consistency::Atomic => one.clone(), // nobody else has the store
        };
        one.migrations().apply().await.expect("applied");
        new_people(&other).await.expect("readable");
        (store, one, other)
    };
    let (store, one, _other) = made().await;
    store.forget_calls();
    one.migrations().contract().await.expect("switched");
    let writing = writing(&store.calls());
    for call in points(writing.len(), 24, &format!("{mode:?}")).into_iter().map(|point| writing[point]) {
        let told = format!("{mode:?}: call {call} of the switch");
        let (store, one, other) = made().await;
        store.fail(Script::new().at(call, Fault::CrashAfter));
        let _ = one.migrations().contract().await;
        drop(one);
        store.fail(Script::new());
        let store = store.reopen::<second::Model>().await.expect("opened");
        go_on(&other, &told).await;
        drop(other);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<second::Model>(&store).await;
        db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        assert_clean(&db, &told).await;
        let people = new_people(&db).await.expect("read");
        assert!(people.len() >= 8, "{told}");
        assert_follow(&db, &people, &told).await;
    }
}

#[tokio::test]
async fn a_program_that_has_not_learnt_of_the_switch_loses_nothing() {
    for mode in MODES {
        beside_one_that_dies(mode).await;
    }
}

/// A switch, and a program that looks whether it may write the new form so often, and does as soon as it may; then what becomes of the
/// attempt of another, which went on by what it knew, to delete what that holds.
async fn deleted_after_the_switch(pause: Duration) -> tablemodel::Result<()> {
    let store = filled(Consistency::Azure, 2).await;
    let one = next::<second::Model>(&store).await;
    let (newer, other) = (program::<second::Model>(&store).await, program::<second::Model>(&store).await);
    one.migrations().apply().await.expect("applied");
    other.insert(&super::club("Polo", "white")).await.expect("inserted");
    let time = Passing(store.clock().clone());
    let watch = async {
        for number in 0_i64.. {
            let _ = other.patch(Sponsor::find().name("Zorg"), Sponsor::LOGO.set(number)).await;
            if newer.insert(&member("Polo")).await.is_ok() {
                break;
            }
            time.sleep(pause).await;
        }
        let polo = Club::find().name("Polo").one(&other).await?.expect("there");
        other.delete(polo).await
    };
    let switch = async { one.migrations().contract().await };
    let deleted = tokio::select! {
        biased;
        switched = switch => panic!("nobody could look: {switched:?}"),
        deleted = watch => deleted,
    };
    drop((one, other)); // killed as they are
    store.clock().advance(Duration::from_secs(130));
    newer.migrations().contract().await.expect("taken up");
    assert_clean(&newer, "taken up").await;
    deleted
}

#[tokio::test]
async fn a_program_that_has_not_learnt_of_the_switch_deletes_nothing_that_one_holds_that_has() {
    let mut held_back = 0;
    for seconds in 1..=8 {
        match deleted_after_the_switch(Duration::from_secs(seconds)).await {
            Ok(()) => panic!("every {seconds} s: a source went that is held"),
            Err(error) if *error.kind() == ErrorKind::Unavailable => held_back += 1,
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Restricted { .. }), "{seconds} s: {error:?}"),
        }
    }
    assert!(held_back > 0, "some had not learnt of it");
}

/// In one commit with its holders, a source waits while they are closed, and says so if nobody goes on.
#[tokio::test]
async fn a_source_waits_while_a_switch_is_on_its_way_and_says_who_is_to_go_on() {
    let (mut held_back, mut call) = (0, 0);
    loop {
        let store = filled(Consistency::Atomic, 2).await;
        let db = next::<second::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        store.fail(Script::new().at(call, Fault::CrashBefore));
        if db.migrations().contract().await.is_ok() {
            break;
        }
        store.fail(Script::new());
        let store = store.reopen::<second::Model>().await.expect("opened");
        match store.patch(Club::find().name("Judo"), Club::COLOUR.set("late")).await {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error.kind(), &ErrorKind::Unavailable, "call {call}: {error:?}");
                assert!(error.to_string().contains("call `contract` again"), "call {call}: {error}");
                held_back += 1;
            }
        }
        let db = program::<second::Model>(&store).await;
        db.migrations().contract().await.expect("taken up");
        db.patch(Club::find().name("Judo"), Club::COLOUR.set("later")).await.expect("patched");
        let people = new_people(&db).await.expect("read");
        assert_follow(&db, &people, &format!("call {call}")).await;
        call += 1;
    }
    assert!(held_back > 0, "it was closed somewhere in {call} calls");
}
