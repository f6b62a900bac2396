//! Entities of several rows: wide ones, and ones with chunked values.
//!
//! Here are the entities and what the tests share; no test stands here.

use std::collections::BTreeMap;

use tablemodel::{
    Row, RowKey,
    prelude::*,
    store::{Condition, KeyRange, Query, TableStoreExt},
    testing::TestDatabase,
};

mod basics;
mod large;
mod sequences;
mod torn;
mod uncertain;

/// The guide's case: a counter for each day of a year.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stats", wide, allow_scan, partition = "{department}", row = "stats_{id:06}")]
#[table(index(by_name, row = "name_{name}_{id:06}", keep(note)))]
pub(crate) struct Stats {
    pub(crate) department: String,
    pub(crate) id: u32,
    pub(crate) name: String,
    #[table(flatten)]
    pub(crate) day: [u32; 365],
    pub(crate) note: Option<String>,
}

/// Large values, and fields in a part of their own.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stats", wide, allow_scan, partition = "{department}", row = "doc_{id:06}")]
#[table(index(by_title, row = "title_{title}_{id:06}", keys_only))]
pub(crate) struct Document {
    pub(crate) department: String,
    pub(crate) id: u32,
    pub(crate) title: String,
    #[table(chunked)]
    pub(crate) body: String,
    #[table(chunked)]
    pub(crate) scan: Option<Vec<u8>>,
    #[table(json, chunked)]
    pub(crate) tags: Vec<String>,
    #[table(part = "counts")]
    pub(crate) reads: i64,
    #[table(part = "counts")]
    pub(crate) likes: Option<i64>,
}

/// Chunked alone.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stats", partition = "{department}", row = "note_{id:06}")]
pub(crate) struct Note {
    pub(crate) department: String,
    pub(crate) id: u32,
    #[table(chunked)]
    pub(crate) text: String,
    pub(crate) reads: i64,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
#[expect(clippy::large_enum_variant, reason = "a year of counters is large, and few of them live at once")]
pub(crate) enum Model {
    Stats(Stats),
    Document(Document),
    Note(Note),
    #[table(other)]
    Other(Row),
}

pub(crate) const TABLE: &str = "Stats";

pub(crate) fn stats(id: u32) -> Stats {
    let day = std::array::from_fn(|day| id * 1_000 + day as u32);
    Stats { department: "Sales".into(), id, name: format!("n{id}"), day, note: None }
}

pub(crate) fn document(id: u32, body: usize, scan: Option<usize>) -> Document {
    Document {
        department: "Sales".into(),
        id,
        title: format!("t{id}"),
        body: text(id, body),
        scan: scan.map(|len| bytes(id, len)),
        tags: vec!["a".into()],
        reads: 0,
        likes: None,
    }
}

pub(crate) fn note(id: u32, text: usize) -> Note {
    Note { department: "Sales".into(), id, text: self::text(id, text), reads: 0 }
}

/// Text of so many characters, some of them of two UTF-16 units.
pub(crate) fn text(seed: u32, chars: usize) -> String {
    (0..chars as u32).map(|at| if at % 97 == 96 { '😀' } else { char::from(b'a' + ((at + seed) % 26) as u8) }).collect()
}

pub(crate) fn bytes(seed: u32, len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(31).wrapping_add(seed) % 251) as u8).collect()
}

pub(crate) async fn database() -> TestDatabase {
    TestDatabase::new::<Model>().await.expect("a database in memory")
}

/// The physical rows of partition `Sales`, by row key.
pub(crate) async fn rows(db: &Database) -> BTreeMap<String, Row> {
    let rows = db.store().query_all(&Query::new(TABLE, KeyRange::partition("Sales"))).await.expect("the rows");
    rows.into_iter().map(|row| (row.key.row.clone(), row)).collect()
}

/// Takes a row away as another program would.
pub(crate) async fn remove(db: &Database, row: &str) {
    db.store().delete(TABLE, &RowKey::new("Sales", row), Condition::Exists).await.expect("removed");
}

pub(crate) async fn keys(db: &Database) -> Vec<String> {
    rows(db).await.into_keys().collect()
}

pub(crate) async fn assert_clean(db: &Database) {
    let verified = db.verify().await.expect("verify runs");
    assert!(verified.is_clean(), "{:#?}", verified.violations);
}
