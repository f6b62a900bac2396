//! Aggregates and copies that meet: a source that copies its target, and a target that copies one of its sources.

use std::error::Error as _;

use futures_util::FutureExt;
use tablemodel::{Consistency, prelude::*, testing::TestDatabase};

use super::{super::settle, MODES};
use crate::stall::Program;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Players", partition = "{country}", row = "player_{id:04}")]
#[table(count(Team, key(name = team), into = players), max(Team, key(name = team), of = score, into = best))]
struct Player {
    country: String,
    id: u32,
    team: String,
    score: i64,
    #[table(copy_of(Team, key(name = team)))]
    card: Option<Card>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Team)]
struct Card {
    motto: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Teams", partition = "{name}", row = "team")]
struct Team {
    name: String,
    motto: String,
    #[table(aggregate)]
    players: i64,
    #[table(aggregate)]
    best: Option<i64>,
}

#[derive(TableModel)]
enum SourcesCopy {
    Player(Player),
    Team(Team),
}

fn player(id: u32, team: &str) -> Player {
    Player { country: "N".into(), id, team: team.into(), score: id.into(), card: None }
}

async fn database<M: tablemodel::TableModel>(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<M>(mode).await
}

async fn check(db: &TestDatabase, told: &str) {
    settle(db).await;
    assert_eq!(db.verify().await.unwrap().violations, [], "{told}");
}

#[tokio::test]
async fn a_source_may_copy_the_target_that_it_adds_to() {
    for mode in MODES {
        let db = database::<SourcesCopy>(mode).await;
        let team = |name: &str| Team { name: name.into(), motto: "m".into(), players: 0, best: None };
        let mut early = db.insert(&player(1, "a")).await.unwrap();
        assert_eq!(early.card, None);
        db.insert(&team("a")).await.unwrap();
        db.insert(&team("b")).await.unwrap();
        check(&db, "the team came later").await;
        db.insert(&player(2, "a")).await.unwrap();
        let mut batch = db.batch(Player::in_partition("N"));
        batch.insert(&player(3, "a")).insert(&player(4, "b"));
        batch.commit().await.unwrap();
        check(&db, "inserted").await;
        let find = |name: &'static str| Team::find().name(name);
        let read = find("a").one(&db).await.unwrap().unwrap();
        assert_eq!((read.players, read.best), (3, Some(3)), "{mode:?}");
        db.patch(find("a"), Team::MOTTO.set("n")).await.unwrap();
        check(&db, "patched").await;
        early = Player::find().country("N").id(1).one(&db).await.unwrap().unwrap();
        assert_eq!(early.card, Some(Card { motto: "n".into() }));
        early.team = "b".into();
        db.save(&mut early).await.unwrap();
        settle(&db).await; // its card follows
        let read = |country: &'static str| Player::find().country(country).id(1).one(&db);
        early = read("N").await.unwrap().unwrap();
        early.country = "S".into();
        db.rekey(&mut early).await.unwrap();
        check(&db, "moved").await;
        let [a, b] = [find("a"), find("b")].map(|path| path.one(&db));
        let (a, b) = (a.await.unwrap().unwrap(), b.await.unwrap().unwrap());
        assert_eq!(((a.players, a.best), (b.players, b.best)), ((2, Some(3)), (2, Some(4))), "{mode:?}");
        db.delete(read("S").await.unwrap().unwrap()).await.unwrap();
        let b = find("b").one(&db).await.unwrap().unwrap(); // it counts one less
        db.delete(b).await.unwrap();
        check(&db, "deleted").await;
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Books", partition = "{author}", row = "book_{id:04}")]
#[table(count(Shelf, key(name = shelf), into = books), sum(Shelf, key(name = shelf), of = pages, into = pages))]
struct Book {
    author: String,
    id: u32,
    shelf: String,
    pages: i64,
    title: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Book)]
struct Title {
    title: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shelves", partition = "{name}", row = "shelf")]
struct Shelf {
    name: String,
    author: String,
    first: u32,
    #[table(copy_of(Book, key(author = author, id = first)))]
    shown: Option<Title>,
    #[table(aggregate)]
    books: i64,
    #[table(aggregate)]
    pages: i64,
}

#[derive(TableModel)]
enum TargetsCopy {
    Book(Book),
    Shelf(Shelf),
}

#[tokio::test]
async fn a_target_may_copy_one_of_its_sources() {
    for mode in MODES {
        let db = database::<TargetsCopy>(mode).await;
        let book =
            |id: u32, title: &str| Book { author: "A".into(), id, shelf: "s".into(), pages: 10, title: title.into() };
        let (author, name) = ("A".to_owned(), "s".to_owned());
        db.insert(&Shelf { name, author, first: 1, shown: None, books: 0, pages: 0 }).await.unwrap();
        let mut first = db.insert(&book(1, "one")).await.unwrap();
        db.insert(&book(2, "two")).await.unwrap();
        check(&db, "inserted").await;
        let read = || async { Shelf::find().name("s").one(&db).await.unwrap().unwrap() };
        let shelf = read().await;
        assert_eq!((shelf.books, shelf.pages), (2, 20), "{mode:?}");
        assert_eq!(shelf.shown, Some(Title { title: "one".into() }), "{mode:?}");
        // One change that the shelf follows twice.
        (first.title, first.pages) = ("uno".into(), 15);
        db.save(&mut first).await.unwrap();
        check(&db, "both").await;
        let shelf = read().await;
        assert_eq!((shelf.pages, shelf.shown.clone()), (25, Some(Title { title: "uno".into() })), "{mode:?}");
        db.delete(first).await.unwrap();
        check(&db, "deleted").await;
        let shelf = read().await;
        assert_eq!((shelf.books, shelf.pages, shelf.shown.clone()), (1, 10, None), "{mode:?}");
    }
}

fn book(id: u32) -> Book {
    Book { author: "A".into(), id, shelf: "s".into(), pages: 10, title: format!("T{id}") }
}

async fn shelved(mode: Consistency) -> TestDatabase {
    let db = database::<TargetsCopy>(mode).await;
    let (author, name) = ("A".to_owned(), "s".to_owned());
    db.insert(&Shelf { name, author, first: 1, shown: None, books: 0, pages: 0 }).await.unwrap();
    for id in [1, 2] {
        db.insert(&book(id)).await.unwrap();
    }
    settle(&db).await;
    db
}

async fn change_first(db: &Database, how: u8) -> tablemodel::Result<()> {
    assert!(Book::find().author("A").id(1).exists(db).await?, "nobody else takes it");
    change_found(db, how).await
}

/// What becomes of the first book, if it is there: gone, larger, or moved.
async fn change_found(db: &Database, how: u8) -> tablemodel::Result<()> {
    let Some(mut first) = Book::find().author("A").id(1).one(db).await? else { return Ok(()) };
    match how {
        0 => return db.delete(first).await,
        1 => (first.title, first.pages) = ("uno".into(), 15),
        _ => first.author = "B".into(),
    }
    db.rekey(&mut first).await
}

#[tokio::test]
async fn a_target_counts_a_source_that_it_copies_until_somewhere_in_between() {
    for mode in MODES {
        let base = shelved(mode).await;
        for (how, turns_to) in [(0, 2), (1, 2), (2, 2), (0, 9), (1, 9), (2, 9)] {
            for at in 0.. {
                let told = format!("{mode:?}: change {how}, the shelf turns to {turns_to} before call {at}");
                let db = base.fork().expect("in memory");
                let (other, during) = (db.database().clone(), told.clone());
                let turn = async move {
                    let turned = other.update(Shelf::find().name("s"), |shelf| Ok(shelf.first = turns_to)).await;
                    turned.map(drop).unwrap_or_else(|error| panic!("{during}: {error:?}"));
                };
                let program = Program::stalling_in::<TargetsCopy>(mode, &db, at, turn.boxed()).await;
                change_first(&program.db, how).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                check(&db, &told).await;
                if !program.has_stalled() {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_source_that_goes_while_it_is_changed_is_gone_or_outdated_and_no_damage() {
    for mode in MODES {
        let base = shelved(mode).await;
        let second = Book::find().author("A").id(2).one(&base).await.unwrap().unwrap();
        base.delete(second).await.unwrap();
        settle(&base).await; // one is left to be counted
        for how in [0, 1, 2] {
            for at in 0.. {
                let told = format!("{mode:?}: change {how}, the book goes before call {at}");
                let db = base.fork().expect("in memory");
                let other = db.database().clone();
                // It may have moved by then.
                let gone = async move { drop(change_found(&other, 0).await) };
                let program = Program::stalling_in::<TargetsCopy>(mode, &db, at, gone.boxed()).await;
                if let Err(error) = change_found(&program.db, how).await {
                    let is_race = matches!(
                        error.kind(),
                        ErrorKind::Conflict { .. } | ErrorKind::NotFound | ErrorKind::OutcomeUnknown
                    );
                    assert!(
                        is_race && error.source().is_none_or(|cause| !cause.to_string().contains("fewer")),
                        "{told}: {error:?}"
                    );
                }
                check(&db, &told).await;
                if !program.has_stalled() {
                    break;
                }
            }
        }
    }
}
