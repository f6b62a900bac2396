//! A second move, back to the keys of before the first one: totals and copies stay exact, however the application died.

use std::time::Duration;

use tablemodel::{
    Consistency,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{CITIES, City, Club, MODES, People, assert_clean, before, filled, new_people, next, program, second};
use crate::points::points;

/// The release that moves people on.
mod third {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::super::{City, Club, Colour, Logo, Mayor, Shirt, Sponsor};

    old_person!(PersonV1, frozen);
    new_person!(PersonV2 from PersonV1, frozen);

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "People", version = 3, moved_from = PersonV2, partition = "{city}", row = "p_{id:04}")]
    #[table(index(by_club, row = "c_{club}_{id:04}", keys_only))]
    #[table(sum(City, key(name = city), of = visits, into = visits))]
    #[table(min(City, key(name = city), of = visits, into = fewest))]
    #[table(count(Club, key(name = club), into = members))]
    #[table(max(Club, key(name = club), of = visits, into = most))]
    #[table(count(Sponsor, key(name = fund), into = sponsored))]
    #[table(max(Sponsor, key(name = fund), of = visits, into = best))]
    pub(crate) struct Person {
        pub(crate) city: String,
        pub(crate) id: u32,
        pub(crate) club: String,
        pub(crate) sponsor: Option<String>,
        pub(crate) fund: String,
        pub(crate) visits: i64,
        #[table(copy_of(City, key(name = city), on_delete = clear))]
        pub(crate) mayor: Option<Mayor>,
        #[table(copy_of(Club, key(name = club), on_delete = restrict))]
        pub(crate) shirt: Colour,
        #[table(copy_of(Sponsor, key(name = sponsor), on_delete = keep))]
        pub(crate) logo: Option<Logo>,
    }

    impl Upgrade<PersonV2> for Person {
        fn upgrade(old: PersonV2) -> Result<Self, UpgradeError> {
            let PersonV2 { club, city, id, sponsor, fund, visits, mayor, shirt, logo } = old;
            Ok(Self { city, id, club, sponsor, fund, visits, mayor, shirt, logo })
        }
    }

    model!();
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

async fn move_on(db: &Database) -> tablemodel::Result<()> {
    db.ensure_tables().await?;
    db.migrations().apply().workers(1).await.map(drop)
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
            let whole = moved.fork().expect("in memory");
            let db = program::<third::Model>(&whole).await;
            whole.forget_calls();
            move_on(&db).await.expect("applied");
            let calls = whole.calls().len();
            assert!(calls > 20, "{calls} calls");
            for call in points(calls, 12, "moved on") {
                let told = format!("{mode:?}, written: {is_written}, died at call {call} of {calls}");
                let store = moved.fork().expect("in memory");
                let db = program::<third::Model>(&store).await;
                assert_clean(&db, &told).await;
                store.forget_calls();
                store.fail(Script::new().at(call, Fault::CrashAfter));
                let _ = move_on(&db).await; // it died
                drop(db);
                store.fail(Script::new());
                store.clock().advance(Duration::from_secs(130));
                let store = store.reopen::<before::Model>().await.expect("opened");
                let db = next::<third::Model>(&store).await;
                assert_clean(&db, &told).await;
                let repaired = db.repair().await.expect("repaired");
                assert_eq!(repaired.repaired, 0, "{told}: {repaired:?}");
                db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_clean(&db, &told).await;
                assert_eq!(people(&db).await, were, "{told}");
                drop(db);
                store.clock().advance(Duration::from_secs(130));
                let db = program::<third::Model>(&store).await;
                db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_clean(&db, &told).await;
                assert_eq!(people(&db).await, were, "{told}");
            }
        }
    }
}
