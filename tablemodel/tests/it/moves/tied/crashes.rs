//! A fault at the store calls of a move, and of writes beside it, of entities and of what they copy: in the end both forms are alike,
//! and say what the sources do.
//!
//! In a usual run some calls fail, of each write others.

use tablemodel::{Consistency, IndexState, prelude::*, testing::TestDatabase};

use super::{
    City, Club, MODES, Sponsor, assert_clean, assert_follow, before, filled, first, new_people, next, old_people,
    program, rows_of, second,
};
use crate::{
    crashes::{GONE, replay},
    moves::{states, told_or_unknown},
};

/// What is written of a store whose people have both forms.
#[derive(Debug, Clone, Copy)]
enum Write {
    Insert,
    /// To another club: another key of the new form, and another source.
    Repoint,
    Rekey,
    Delete,
    /// A source beside the old form; beside the new one; elsewhere.
    City,
    Club,
    Sponsor,
    /// A source that goes.
    NoCity,
}

const WRITES: [Write; 8] = [
    Write::Insert,
    Write::Repoint,
    Write::Rekey,
    Write::Delete,
    Write::City,
    Write::Club,
    Write::Sponsor,
    Write::NoCity,
];

impl Write {
    async fn run(self, db: &Database) -> tablemodel::Result<()> {
        let path = || first::Person::find().city("Oslo").id(1);
        let there = async || path().one(db).await.map(|found| found.expect("there"));
        match self {
            Self::Insert => {
                let (shirt, mayor, logo) = (super::Shirt { colour: "?".into(), motto: None }, None, None);
                let (city, club, sponsor) = ("Rome".into(), "Chess".into(), Some("Zorg".into()));
                let fund = "Zorg".into();
                let new = first::Person { city, id: 50, club, sponsor, fund, visits: 5, mayor, shirt, logo };
                db.insert(&new).await.map(drop)
            }
            Self::Repoint => db
                .update(path(), |person| {
                    (person.club, person.sponsor) = ("Chess".into(), Some("Acme".into()));
                    (person.fund, person.visits) = ("Acme".into(), 0);
                    Ok(())
                })
                .await
                .map(drop),
            Self::Rekey => {
                let mut there = there().await?;
                (there.city, there.id) = ("Rome".into(), 60);
                told_or_unknown(db.rekey(&mut there).await.map(drop))
            }
            Self::Delete => told_or_unknown(db.delete(there().await?).await),
            Self::City => db.patch(City::find().name("Oslo"), City::MAYOR.set("late")).await,
            Self::Club => db.patch(Club::find().name("Judo"), Club::COLOUR.set("late")).await,
            Self::Sponsor => db.patch(Sponsor::find().name("Zorg"), Sponsor::LOGO.set(9)).await,
            Self::NoCity => {
                let city = City::find().name("Oslo").one(db).await?.expect("there");
                told_or_unknown(db.delete(city).await)
            }
        }
    }
}

/// A store whose people have both forms, as a program of that release left it, which has ended.
async fn applied<M: TableModel>(mode: Consistency) -> TestDatabase {
    let store = filled(mode, 3).await;
    let db = next::<M>(&store).await;
    db.migrations().apply().await.expect("applied");
    db.close().await.expect("ended");
    store
}

#[tokio::test]
async fn a_write_beside_the_move_that_died_anywhere_leaves_both_forms_alike() {
    for mode in MODES {
        let both = applied::<first::Model>(mode).await;
        for write in WRITES {
            let calls = replay::<first::Model, _, _>(
                (&format!("{write:?}"), 5),
                &both,
                async |store| program::<first::Model>(store).await,
                async |db| write.run(db).await,
                async |store, told| {
                    let db = program::<first::Model>(store).await;
                    assert_clean(&db, told).await;
                    let was = old_people(&db).await;
                    assert_follow(&db, &was, told).await;
                    drop(db);
                    store.clock().advance(GONE);
                    let db = next::<second::Model>(store).await;
                    assert_eq!(new_people(&db).await.unwrap(), was, "{told}");
                },
            )
            .await;
            assert!(calls > 2, "{write:?}: {calls} calls");
        }
    }
}

#[tokio::test]
async fn a_move_with_copies_that_died_anywhere_is_taken_up() {
    for mode in MODES {
        replay::<before::Model, _, _>(
            ("moved", 24),
            &filled(mode, 3).await,
            async |store| program::<first::Model>(store).await,
            async |db| {
                db.ensure_tables().await?;
                db.migrations().apply().workers(1).await.map(drop)
            },
            async |store, told| {
                let db = next::<second::Model>(store).await;
                db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                switched(store, told).await;
            },
        )
        .await;
    }
}

async fn switched(store: &TestDatabase, told: &str) {
    let db = program::<second::Model>(store).await;
    assert_clean(&db, told).await;
    let was = new_people(&db).await.expect("readable");
    assert_eq!(was.len(), 6, "{told}");
    db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    assert_clean(&db, told).await;
    assert_eq!(new_people(&db).await.expect("read"), was, "{told}");
    assert_follow(&db, &was, told).await;
    let left = rows_of(&db, "@1").await;
    assert!(left.is_empty(), "{told}: {left:#?}");
    db.patch(Club::find().name("Judo"), Club::COLOUR.set("at last")).await.expect("patched");
    assert_clean(&db, told).await;
    assert_follow(&db, &new_people(&db).await.expect("read"), told).await;
}

#[tokio::test]
async fn a_switch_with_copies_that_died_anywhere_is_taken_up() {
    for mode in MODES {
        replay::<second::Model, _, _>(
            ("switched", 24),
            &applied::<second::Model>(mode).await,
            async |store| program::<second::Model>(store).await,
            async |db| db.migrations().contract().await.map(drop),
            async |store, told| switched(store, told).await,
        )
        .await;
    }
}

#[tokio::test]
async fn a_rollback_with_copies_that_died_anywhere_is_taken_up() {
    for mode in MODES {
        replay::<first::Model, _, _>(
            ("taken back", 24),
            &applied::<first::Model>(mode).await,
            async |store| program::<first::Model>(store).await,
            async |db| db.migrations().rollback().await.map(drop),
            async |store, told| {
                let db = program::<first::Model>(store).await;
                let is_over = states(&db).await == [IndexState::Absent]
                    && db.migrations().plan().await.expect("planned").unfinished.is_none();
                if !is_over {
                    db.migrations().rollback().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                }
                db.patch(Club::find().name("Judo"), Club::COLOUR.set("back")).await.expect("patched");
                assert_clean(&db, told).await;
                let people = old_people(&db).await;
                assert_eq!(people.len(), 6, "{told}");
                assert_follow(&db, &people, told).await;
                let left = rows_of(&db, "@2").await;
                assert!(left.is_empty(), "{told}: {left:#?}");
            },
        )
        .await;
    }
}
