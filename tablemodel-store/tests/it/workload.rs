//! Numbered commits whose traces tell how far a writer came, and whether any of them is torn.
//!
//! Shared by the tests of crashes; knows nothing of how they come about.

use std::collections::BTreeMap;

use tablemodel_store::{
    Action, Batch, Condition, EmbeddedStore, KeyRange, Properties, Query, Row, StoreError, TableStoreExt, Value,
    ValueRef,
};

pub(crate) const TABLES: [&str; 2] = ["Rows", "Mirrors"];

/// The number in each row, by partition and row key.
pub(crate) type Numbers = BTreeMap<(String, String), i64>;

/// Properties with a number, and some bytes beside it.
pub(crate) fn numbered(number: u32, bytes: usize) -> Properties {
    Properties::from_iter([("Number", Value::Int64(number.into())), ("Padding", Value::Binary(vec![7; bytes]))])
}

/// Commit `number` of a writer: over two tables, with rows replaced, inserted and deleted, some of them large.
pub(crate) fn commit(writer: usize, number: u32) -> [Batch; 2] {
    let put = |bytes| Action::InsertOrReplace(numbered(number, bytes));
    let large = if number.is_multiple_of(5) { 9_000 } else { 40 };
    let mut rows = Batch::new("Rows", format!("w{writer}"))
        .with("primary", put(large))
        .with(format!("slot{}", number % 4), put(10))
        .with(format!("log{number:04}"), Action::Insert(numbered(number, 10)));
    if number > 1 {
        rows = rows.with(format!("log{:04}", number - 1), Action::Delete(Condition::Exists));
    }
    [rows, Batch::new("Mirrors", format!("m{writer}")).with("mirror", put(100))]
}

/// What a writer's rows are after its commits up to `number`: the number in each row, by key.
pub(crate) fn expected(writer: usize, number: u32) -> Numbers {
    let mut rows = BTreeMap::new();
    for slot in 0..4.min(number) {
        let latest = number - slot;
        rows.insert(at(format!("w{writer}"), format!("slot{}", latest % 4)), latest.into());
    }
    if number > 0 {
        for row in ["primary".to_owned(), format!("log{number:04}")] {
            rows.insert(at(format!("w{writer}"), row), number.into());
        }
        rows.insert(at(format!("m{writer}"), "mirror".to_owned()), number.into());
    }
    rows
}

/// Everything that the workload left in a store.
pub(crate) async fn all_rows(store: &EmbeddedStore) -> Result<Vec<Row>, StoreError> {
    let mut rows = Vec::new();
    for table in TABLES {
        let found = store.query_all(&Query::new(table, KeyRange::table())).await?;
        rows.extend(found.into_iter().filter(|row| row.key.partition != "after"));
    }
    Ok(rows)
}

pub(crate) fn number(row: &Row) -> i64 {
    match row.properties.get("Number") {
        Some(ValueRef::Int64(number)) => number,
        other => panic!("{other:?}"),
    }
}

/// The numbers in these rows.
pub(crate) fn numbers(rows: &[Row]) -> Numbers {
    rows.iter().map(|row| (at(row.key.partition.clone(), row.key.row.clone()), number(row))).collect()
}

/// How far a writer came.
pub(crate) fn reached(found: &Numbers, writer: usize) -> u32 {
    found.get(&at(format!("m{writer}"), "mirror".to_owned())).map_or(0, |number| *number as u32)
}

fn at(partition: String, row: String) -> (String, String) {
    (partition, row)
}
