//! A second move of an entity with blobs, back to the keys of before the first one: the blobs stay where they are.

use std::time::Duration;

use tablemodel::{
    Consistency,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::*;

/// People that have moved once, some of whom were written since; that program has ended.
async fn moved(mode: Consistency) -> (TestDatabase, People) {
    let (store, _) = filled(mode).await;
    let db = next::<second::Model>(&store).await;
    db.migrations().apply().await.expect("applied");
    db.migrations().contract().await.expect("switched");
    let path = |name| second::Person::find().name(name).team("A");
    db.update(path("lee"), |person| Ok(person.film = Some(large(60).into()))).await.expect("updated");
    let mut max = path("max").one(&db).await.expect("read").expect("there");
    max.team = "C".into();
    db.rekey(&mut max).await.expect("in another team");
    assert_no_litter(&db, &store, "moved once").await;
    let people = new_people(&db).await;
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    (store, people)
}

async fn people(db: &Database) -> People {
    let mut all = People::new();
    for team in TEAMS {
        for p in back::Person::find().team(team).all(db).await.expect("read") {
            all.insert((p.team.clone(), p.name.clone()), contents(db, &p.portrait, p.film.as_ref()).await);
        }
    }
    all
}

#[tokio::test]
async fn blobs_stay_through_a_second_move_that_died_anywhere() {
    for mode in MODES {
        for call in (0..).step_by(9) {
            let (store, were) = moved(mode).await;
            let told = format!("{mode:?}, died at call {call}");
            let db = program::<back::Model>(&store).await;
            let links = linked(&db).await;
            assert_no_litter(&db, &store, &told).await;
            store.forget_calls();
            store.fail(Script::new().at(call, Fault::CrashAfter));
            let is_over = db.ensure_tables().await.is_ok() && db.migrations().apply().workers(1).batch(2).await.is_ok();
            drop(db);
            store.fail(Script::new());
            let store = store.reopen::<before::Model>().await.expect("opened");
            store.clock().advance(Duration::from_secs(130));
            let db = next::<back::Model>(&store).await;
            assert_no_litter(&db, &store, &told).await;
            db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            assert_eq!((people(&db).await, linked(&db).await), (were.clone(), links.clone()), "{told}");
            db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            assert_eq!((people(&db).await, linked(&db).await), (were, links), "{told}");
            assert_no_litter(&db, &store, &told).await;
            let kim = back::Person::find().team("A").name("kim").one(&db).await.expect("read").expect("there");
            db.delete(kim).await.expect("deleted");
            assert_no_litter(&db, &store, &told).await;
            if is_over {
                assert!(call > 10, "{told}");
                break;
            }
        }
    }
}
