//! A move that an older version began, of an entity of several rows: the newer, which keeps it in one, ends it.

use std::time::Duration;

use tablemodel::{
    Row, Upgrade, UpgradeError,
    prelude::*,
    store::{KeyRange, Query},
    testing::{Fault, Script, TestDatabase},
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shelves", entity_type = "Book", wide, partition = "{shelf}", row = "b_{id:04}")]
#[table(index(by_author, table = "Authors", partition = "{author}", row = "{shelf}_{id:04}", keys_only))]
struct BookV1 {
    shelf: String,
    id: u32,
    author: String,
    #[table(chunked)]
    text: String,
}

#[derive(TableModel)]
enum LibraryV1 {
    Book(BookV1),
}

/// Of the text only its length is left.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shelves", version = 2, previous = BookV1, partition = "{shelf}", row = "b_{id:04}")]
#[table(index(by_author, table = "Authors", partition = "{author}", row = "{shelf}_{id:04}", keys_only))]
struct Book {
    shelf: String,
    id: u32,
    author: String,
    length: u32,
}

impl Upgrade<BookV1> for Book {
    fn upgrade(old: BookV1) -> Result<Self, UpgradeError> {
        let BookV1 { shelf, id, author, text } = old;
        Ok(Self { shelf, id, author, length: text.len() as u32 })
    }
}

#[derive(TableModel)]
enum Library {
    Book(Book),
}

/// More than a row takes, and less than a batch.
const LENGTH: usize = 700_000;

async fn run(db: &Database) -> tablemodel::Result<()> {
    let Some(mut moved) = BookV1::find().shelf("A").id(1).one(db).await? else { return Ok(()) };
    moved.shelf = "B".into();
    db.rekey(&mut moved).await
}

async fn rows(db: &TestDatabase) -> Vec<Row> {
    db.store().query(&Query::new("Shelves", KeyRange::table())).await.expect("the table is read").rows
}

/// The program of the newer version, with all done that was under way.
async fn outlived(db: &TestDatabase) -> TestDatabase {
    let db = db.reopen::<Library>().await.expect("opened");
    db.ensure_tables().await.expect("ensured");
    for _ in 0..6 {
        db.clock().advance(Duration::from_secs(700));
        db.relay().run_once().await.expect("the relay runs");
    }
    db
}

#[tokio::test]
async fn a_move_that_an_older_version_began_is_ended_by_the_one_that_keeps_less_rows() {
    let prepared = TestDatabase::new::<LibraryV1>().await.unwrap();
    let book = BookV1 { shelf: "A".into(), id: 1, author: "Grimm".into(), text: "x".repeat(LENGTH) };
    assert!(prepared.insert(&book).await.unwrap().etags().count() > 1, "in several rows");
    let whole = prepared.fork().unwrap();
    run(&whole).await.unwrap();
    let (calls, mut left, mut arrived) = (whole.calls().len(), 0, 0);
    for call in 0..calls {
        let db = prepared.fork().unwrap();
        db.fail(Script::new().at(call, Fault::CrashAfter));
        let _ = run(&db).await;
        db.fail(Script::new());
        let db = db.reopen::<LibraryV1>().await.expect("opened");
        left += usize::from(rows(&db).await.iter().any(|row| row.key.row.starts_with("~~move")));
        let db = outlived(&db).await;
        let books = Book::by_author().author("Grimm").all(&db).await.unwrap();
        let all = [Book::find().shelf("A").id(1).one(&db).await, Book::find().shelf("B").id(1).one(&db).await];
        let found: Vec<_> = all.into_iter().filter_map(|one| one.expect("it can be read")).collect();
        assert_eq!(found.iter().map(|book| book.length as usize).collect::<Vec<_>>(), [LENGTH], "call {call}");
        assert_eq!(books.iter().map(|seen| &seen.shelf).collect::<Vec<_>>(), [&found[0].shelf], "call {call}");
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean() && verified.pending == 0, "call {call}: {verified:#?}");
        // Else the older version let it arrive, in several rows.
        if found[0].shelf == "B" && found[0].version() == Some(2) {
            arrived += 1;
            let strays = rows(&db).await.into_iter().map(|row| row.key.row).filter(|row| row.contains("~~"));
            assert_eq!(strays.filter(|row| !row.starts_with("~~out")).collect::<Vec<_>>(), [""; 0], "call {call}");
        }
    }
    assert!(left > 1 && arrived > 0, "{left} were under way and {arrived} arrived, of {calls}");
}
