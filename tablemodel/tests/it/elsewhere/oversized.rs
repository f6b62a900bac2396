//! Rows that no store takes: an entity that wants one elsewhere is refused before anything is written.

use tablemodel::{
    Consistency, ErrorKind,
    prelude::*,
    store::{limits, size},
    testing::TestDatabase,
};

use super::rows_in;

/// Of which the index holds a whole copy, and whose it is.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shelf", entity_type = "Book", partition = "{shelf}", row = "b_{title}")]
#[table(index(by_topic, table = "Topics", partition = "{topic}", row = "{shelf}_{title}"))]
#[table(index(by_number, table = "Numbers", partition = "{number}", row = "number", unique, keys_only))]
struct Book {
    shelf: String,
    title: String,
    topic: String,
    number: Option<u32>,
    #[table(flatten)]
    pages: [String; 16],
    rest: String,
}

#[derive(TableModel)]
enum Model {
    Book(Book),
}

const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];

async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

/// A book without a topic, of so many more letters than 16 pages have.
fn book(title: &str, rest: usize) -> Book {
    let pages = std::array::from_fn(|_| "p".repeat(32_000));
    Book { shelf: "A".into(), title: title.into(), topic: "t".into(), number: None, pages, rest: "r".repeat(rest) }
}

/// The letters that a row has room for beside the book's.
async fn room(mode: Consistency) -> usize {
    let db = database(mode).await;
    let stored = db.insert(&book("a", 0)).await.unwrap();
    let row = db.store().get("Shelf", stored.key()).await.unwrap().unwrap();
    (limits::MAX_ROW_BYTES - size::row_bytes("A", &row.key.row, &row.properties)) / 2
}

async fn assert_empty(db: &TestDatabase, told: &str) {
    for table in ["Shelf", "Topics", "Numbers"] {
        let rows = rows_in(&*db.store(), table).await;
        assert!(rows.is_empty(), "{told}: {:?}", rows.keys());
    }
}

#[tokio::test]
async fn an_entity_whose_row_elsewhere_could_never_follow_is_refused() {
    for mode in MODES {
        let (db, room) = (database(mode).await, room(mode).await);
        let error = db.insert(&book("b", room)).await.unwrap_err();
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::TooLarge, Some("Book")), "{mode:?}: {error}");
        assert!(error.to_string().contains("`by_topic`"), "{mode:?}: {error}");
        assert_empty(&db, &format!("{mode:?}")).await;
        if mode == Consistency::Azure {
            assert_eq!(db.tally().commits, 0, "{}", db.tally());
        }
        let mut stored = db.insert(&book("b", room - 200)).await.expect("there is room for the copy too");
        stored.rest = "r".repeat(room);
        let error = db.save(&mut stored).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::TooLarge, "{mode:?}: {error}");
        assert!(db.verify().await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn of_an_entity_too_large_for_its_row_no_value_is_claimed() {
    for mode in MODES {
        let (db, room) = (database(mode).await, room(mode).await);
        let error = db.insert(&Book { number: Some(7), ..book("b", room + 1_000) }).await.unwrap_err();
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::TooLarge, Some("Book")), "{mode:?}: {error}");
        assert_empty(&db, &format!("{mode:?}")).await;
        if mode == Consistency::Azure {
            assert_eq!(db.tally().commits, 0, "{}", db.tally());
        }
    }
}

#[tokio::test]
async fn what_is_too_large_is_told_by_its_field_and_with_what_to_do_in_both_modes() {
    for mode in MODES {
        let db = database(mode).await;
        let small = Book { pages: std::array::from_fn(|_| String::new()), number: Some(7), ..book("b", 0) };
        let error = db.insert(&Book { rest: "r".repeat(limits::MAX_STRING_CHARS + 1), ..small }).await.unwrap_err();
        assert_eq!((error.kind(), error.field()), (&ErrorKind::TooLarge, Some("rest")), "{mode:?}: {error}");
        assert!(error.to_string().contains("`#[table(chunked)]`"), "{mode:?}: {error}");
        assert_empty(&db, &format!("{mode:?}")).await;
    }
}

/// With keys as long as a store takes them.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Tenants", partition = "{tenant}", row = "{name}")]
#[table(index(by_tag, table = "Tags", partition = "{tag}", row = "{tenant}_{name}", keys_only, when = tag))]
struct Tenant {
    tenant: String,
    name: String,
    tag: Option<String>,
}

#[derive(TableModel)]
enum Tenants {
    Tenant(Tenant),
}

#[tokio::test]
async fn keys_too_long_for_the_outbox_are_refused_by_name_before_anything_is_written() {
    let db = TestDatabase::new::<Tenants>().await.unwrap();
    db.forget_calls();
    let long = "k".repeat(limits::MAX_KEY_CHARS - 5);
    for (tenant, name, which) in [(&*long, "n", "partition key"), ("t", &*long, "row key")] {
        let tenant = Tenant { tenant: tenant.into(), name: name.into(), tag: Some("x".into()) };
        let error = db.insert(&tenant).await.unwrap_err();
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::KeyTooLong, Some("Tenant")), "{error}");
        assert!(error.to_string().contains(which), "{error}");
        assert_eq!(db.tally().commits, 0, "{}", db.tally());
        db.insert(&Tenant { tag: None, ..tenant }).await.expect("nothing follows it");
        db.forget_calls();
    }
}
