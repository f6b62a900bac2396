//! Entities of several rows that move: whatever fails, they are whole at one key, and no part of them is anywhere else.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, Result, Row, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::{Fault, Script, TestDatabase},
};

use super::{MODES, crashes::left};
use crate::{crashes::enumerate, tools::rows_of};

/// With a text of any length, and rows of every kind.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shelves", wide, partition = "{shelf}", row = "b_{id:04}")]
#[table(index(by_title, row = "t_{title}_{id:04}", keys_only))]
#[table(index(by_author, table = "Authors", partition = "{author}", row = "{shelf}_{id:04}", keep(title)))]
#[table(index(by_isbn, table = "Isbns", partition = "{isbn:04}", row = "isbn", unique, keep(title)))]
struct Book {
    shelf: String,
    id: u32,
    title: String,
    author: String,
    isbn: Option<u32>,
    #[table(part = "counts")]
    loans: i64,
    #[table(chunked)]
    text: String,
}

#[derive(TableModel)]
enum Library {
    Book(Book),
}

/// More than a batch takes.
const HUGE: usize = 4_400_000;

fn book(shelf: &str, text: usize) -> Book {
    let text = "once upon a time, ".chars().cycle().take(text).collect();
    let (title, author) = ("Tales".to_owned(), "Grimm".to_owned());
    Book { shelf: shelf.into(), id: 1, title, author, isbn: Some(12), loans: 3, text }
}

async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Library>(mode).await
}

async fn prepared(mode: Consistency, text: usize) -> TestDatabase {
    let db = database(mode).await;
    db.insert(&book("A", text)).await.unwrap();
    settle(&db).await;
    db
}

async fn find(db: &Database, shelf: &str) -> Option<Stored<Book>> {
    Book::find().shelf(shelf).id(1).one(db).await.unwrap()
}

async fn run(db: &Database, text: usize) -> Result<()> {
    let Some(mut moved) = Book::find().shelf("A").id(1).one(db).await? else { return Ok(()) };
    (moved.shelf, moved.text) = ("B".into(), book("B", text).text);
    db.rekey(&mut moved).await
}

async fn rows(db: &TestDatabase) -> Vec<Row> {
    rows_of(&*db.store(), "Shelves").await.into_values().collect()
}

/// Until relays have nothing to do, and what an interrupted write left is old enough to be taken away.
async fn settle(db: &TestDatabase) {
    for _ in 0..6 {
        db.clock().advance(Duration::from_secs(700));
        db.relay().run_once().await.expect("the relay runs");
    }
    let found = db.repair().await.expect("repair runs").found.violations;
    assert!(found.iter().all(|violation| violation.kind == ViolationKind::Orphan), "{found:#?}");
}

/// The books at both keys.
async fn books(db: &TestDatabase) -> [Option<Book>; 2] {
    [find(db, "A").await.map(Stored::into_inner), find(db, "B").await.map(Stored::into_inner)]
}

/// That the parts are those of books that are there, and that nothing is under way.
async fn assert_exact(db: &TestDatabase, told: &str) {
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean() && verified.pending == 0, "{told}: {verified:#?}");
    let mut parts = 0;
    for stored in [find(db, "A").await, find(db, "B").await].into_iter().flatten() {
        parts += stored.etags().count() - 1;
        let by_isbn = Book::by_isbn().isbn(12_u32).one(db).await.unwrap();
        assert_eq!(by_isbn.map(|seen| seen.shelf.clone()), Some(stored.shelf.clone()), "{told}");
        let by_author = Book::by_author().author("Grimm").all(db).await.unwrap();
        let shelves: Vec<_> = by_author.iter().map(|seen| seen.shelf.clone()).collect();
        assert_eq!(shelves, std::slice::from_ref(&stored.shelf), "{told}");
    }
    let all: Vec<_> = rows(db).await.into_iter().map(|row| row.key).collect();
    let of_parts = all.iter().filter(|key| key.row.contains(" ~~")).count();
    assert_eq!(of_parts, parts, "{told}: {all:?}");
    assert!(!all.iter().any(|key| key.row.starts_with("~~move")), "{told}: {all:?}");
}

#[tokio::test]
async fn an_entity_of_several_rows_moves_whole() {
    for (mode, before, after) in MODES.into_iter().flat_map(|mode| [(mode, 70_000, 90_000), (mode, HUGE, HUGE + 9)]) {
        let told = format!("{mode:?}, {before} and {after}");
        let db = prepared(mode, before).await;
        let mut moved = find(&db, "A").await.unwrap();
        (moved.shelf, moved.text) = ("B".into(), book("B", after).text);
        db.rekey(&mut moved).await.unwrap();
        assert_eq!(*moved, book("B", after), "{told}");
        moved.loans = 4;
        db.save(&mut moved).await.expect("what was moved is current");
        assert_eq!(books(&db).await, [None, Some(Book { loans: 4, ..book("B", after) })], "{told}");
        settle(&db).await;
        assert_exact(&db, &told).await;
    }
}

#[tokio::test]
async fn a_fault_at_any_store_call_leaves_an_entity_of_several_rows_whole_at_one_key() {
    let mut points = 0;
    for mode in MODES {
        points += enumerate::<Library, _>(
            &format!("{mode:?}"),
            async || prepared(mode, 70_000).await,
            async |db| run(db, 90_000).await,
            async |db| settle(db).await,
            async |db| books(db).await,
            async |db, told, _| assert_exact(db, told).await,
        )
        .await;
    }
    assert!(points > 100, "{points} points");
}

/// The parts of its intent are written before it leaves, and those of the entity before it arrives.
#[tokio::test]
async fn a_crash_at_any_store_call_leaves_one_that_is_larger_than_a_batch_whole_at_one_key() {
    let old_key = prepared(Consistency::Azure, HUGE).await;
    let whole = old_key.fork().expect("in memory");
    whole.forget_calls();
    run(&whole, HUGE).await.unwrap();
    let calls = whole.calls().len();
    let (old, new) = ([Some(book("A", HUGE)), None], [None, Some(book("B", HUGE))]);
    for call in 0..calls {
        let told = format!("call {call} of {calls}");
        let db = old_key.fork().expect("in memory");
        db.fail(Script::new().at(call, Fault::CrashAfter));
        let result = run(&db, HUGE).await;
        db.fail(Script::new());
        let db = db.reopen::<Library>().await.unwrap();
        settle(&db).await;
        let now = books(&db).await;
        assert!(now == new || (now == old && result.is_err()), "{told}");
        assert_exact(&db, &told).await;
    }
    assert!(calls > 20, "{calls} calls");
}

#[tokio::test]
async fn a_taken_key_is_told_before_anything_is_written_there() {
    let db = prepared(Consistency::Azure, 70_000).await;
    db.insert(&Book { isbn: None, author: "Andersen".into(), ..book("B", 90_000) }).await.unwrap();
    let before = books(&db).await;
    assert_eq!(run(&db, 80_000).await.unwrap_err().kind(), &ErrorKind::AlreadyExists);
    assert_eq!(books(&db).await, before);
    settle(&db).await;
    assert!(!rows(&db).await.iter().any(|row| row.key.row.starts_with("~~move")));
}

#[tokio::test]
async fn a_part_that_is_lost_on_the_way_is_told_of_and_nothing_arrives_without_it() {
    let db = prepared(Consistency::Azure, 70_000).await;
    db.fail(left());
    assert!(run(&db, 90_000).await.is_err());
    db.fail(Script::new());
    let db = db.reopen::<Library>().await.unwrap();
    let part = rows(&db).await.into_iter().find(|row| row.key.row.starts_with("~~move") && row.key.row.contains(" ~~"));
    let part = part.expect("an intent of several rows");
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean() && verified.pending > 0, "{verified:#?}");
    let batch = |action| Batch::new("Shelves", "A").with(part.key.row.clone(), action);
    db.store().commit(&[batch(Action::Delete(Condition::Exists))]).await.unwrap();
    db.clock().advance(Duration::from_secs(60));
    assert!(db.relay().run_once().await.unwrap().failed > 0);
    let verified = db.verify().await.unwrap();
    let found: Vec<_> = verified.violations.iter().map(|violation| (violation.kind, violation.key.clone())).collect();
    assert_eq!(found, [(ViolationKind::Corrupt, part.key.clone())]);
    assert_eq!(books(&db).await, [None, None]);
    db.store().commit(&[batch(Action::Insert(part.properties.clone()))]).await.unwrap();
    settle(&db).await;
    assert_eq!(books(&db).await, [None, Some(book("B", 90_000))]);
    assert_exact(&db, "put back").await;
}

#[tokio::test]
async fn who_writes_over_an_entity_on_its_way_there_knows_all_its_rows() {
    let db = prepared(Consistency::Azure, 70_000).await;
    db.fail(left());
    assert!(run(&db, 70_000).await.is_err());
    db.fail(Script::new());
    let db = db.reopen::<Library>().await.unwrap();
    db.upsert(&book("B", 80_000)).await.expect("it arrives first, and is then written over");
    settle(&db).await;
    assert_eq!(find(&db, "B").await.unwrap().text.len(), 80_000);
    assert!(find(&db, "A").await.is_none());
    assert!(db.verify().await.unwrap().is_clean());
}
