//! A second move, back to the keys of before the first one: totals and copies stay exact, however the application died.

use std::time::Duration;

use tablemodel::{Consistency, prelude::*, testing::TestDatabase};

use super::{CITIES, City, Club, MODES, People, assert_clean, before, filled, new_people, next, program, second};
use crate::crashes::replay;

/// The release that moves people on.
mod third {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    // What people show of a club is the colour alone, by now.
    use super::super::{City, Club, Colour, Colour as Shirt, Logo, Mayor, Sponsor};

    old_person!(PersonV1, frozen);
    new_person!(PersonV2 from PersonV1, frozen);
    old_person!(Person, version = 3, moved_from = PersonV2);
    model!();

    impl Upgrade<PersonV2> for Person {
        fn upgrade(old: PersonV2) -> Result<Self, UpgradeError> {
            let PersonV2 { club, city, id, sponsor, fund, visits, mayor, shirt, logo } = old;
            Ok(Self { city, id, club, sponsor, fund, visits, mayor, shirt, logo })
        }
    }
}

/// People that have moved once, some of whom were written since; that program has ended.
async fn moved(mode: Consistency, is_written: bool) -> (TestDatabase, People) {
    let store = filled(mode, 6).await;
    let db = next::<second::Model>(&store).await;
    db.migrations().apply().await.expect("applied");
    db.migrations().contract().await.expect("switched");
    if is_written {
        let path = |id| second::Person::find().club("Judo").city("Oslo").id(id);
        db.update(path(1), |person| Ok(person.visits = 40)).await.expect("updated");
        let mut moved = path(4).one(&db).await.expect("read").expect("there");
        moved.club = "Chess".into();
        db.rekey(&mut moved).await.expect("in another club");
        db.patch(Club::find().name("Judo"), Club::COLOUR.set("red")).await.expect("patched");
        db.delete(City::find().name("Rome").one(&db).await.expect("read").expect("there")).await.expect("deleted");
    }
    assert_clean(&db, "moved once").await;
    let people = new_people(&db).await.expect("readable");
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    (store, people)
}

async fn people(db: &Database) -> People {
    let mut all = People::new();
    for city in CITIES {
        let found = third::Person::find().city(city).all(db).await.expect("readable");
        all.extend(found.iter().map(|person| said!(person)));
    }
    all
}

#[tokio::test]
async fn what_ties_people_stays_exact_through_a_second_move_that_died_anywhere() {
    for mode in MODES {
        for is_written in [false, true] {
            let (moved, were) = moved(mode, is_written).await;
            let told = format!("moved on, written: {is_written}");
            let calls = replay::<before::Model, _, _>(
                (&told, 12),
                &moved,
                async |store| {
                    let db = program::<third::Model>(store).await;
                    assert_clean(&db, "before anything is done").await;
                    assert_eq!(db.repair().await.expect("repaired").repaired, 0);
                    db
                },
                async |db| {
                    db.ensure_tables().await?;
                    db.migrations().apply().workers(1).await.map(drop)
                },
                async |store, told| {
                    let db = next::<third::Model>(store).await;
                    assert_clean(&db, told).await;
                    db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                    assert_eq!(people(&db).await, were, "{told}");
                    db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                    assert_clean(&db, told).await;
                    assert_eq!(people(&db).await, were, "{told}");
                },
            )
            .await;
            assert!(calls > 20, "{calls} calls");
        }
    }
}
