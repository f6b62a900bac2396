//! The embedded store: its contract, and what a file adds to it.
//!
//! Crashes are `kill`'s and `power_cut`'s.

mod callers;
mod conformance;
mod damage;
mod full;
mod golden;
mod misled;
mod model;
mod open;
mod overlap;
mod reopen;
mod whole;
mod writers;

use std::path::PathBuf;

use tablemodel_store::{Action, Batch, EmbeddedStore, Properties, Receipts, RowKey, StoreError, TableStore, Value};
use tempfile::TempDir;

/// A directory of its own, and the path of a store in it.
fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    (directory, path)
}

/// A property `N` with a number.
fn numbered(number: i64) -> Properties {
    Properties::from_iter([("N", Value::Int64(number))])
}

/// Puts one row.
async fn put(store: &EmbeddedStore, table: &str, row: &str, number: i64) -> Result<Receipts, StoreError> {
    let batch = Batch::new(table, "p").with(row, Action::InsertOrReplace(numbered(number)));
    store.commit(&[batch]).await.map(|mut receipts| receipts.remove(0))
}

/// The number in one row.
async fn number(store: &EmbeddedStore, table: &str, row: &str) -> Option<i64> {
    let row = store.get(table, &RowKey::new("p", row)).await.unwrap()?;
    match row.properties.get("N") {
        Some(tablemodel_store::ValueRef::Int64(number)) => Some(number),
        other => panic!("{other:?}"),
    }
}

/// Puts rows `0` to `count` exclusive, each with its own number.
async fn fill(store: &EmbeddedStore, table: &str, count: i64) {
    for from in (0..count).step_by(100) {
        let rows = (from..count.min(from + 100)).fold(Batch::new(table, "p"), |batch, row| {
            batch.with(format!("{row:06}"), Action::InsertOrReplace(numbered(row)))
        });
        store.commit(&[rows]).await.unwrap();
    }
}
