//! Clauses of point reads.
//!
//! Rows are written by plain inserts only.

use super::{
    Broken,
    bench::{Bench, n, one},
    broken::ensure_eq,
};
use crate::{Action, Condition, KeyRange, Properties, key::RowKey};

type Checked = Result<(), Broken>;

pub(super) async fn a_missing_row_is_none(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    ensure_eq!(table.get("p", "r").await?, None, "a row of an empty table");
    table.insert("p", "r", n(1)).await?;
    ensure_eq!(table.get("p", "s").await?, None, "a row that was never written");
    table.act("p", "r", Action::Delete(Condition::Exists)).await?;
    ensure_eq!(table.get("p", "r").await?, None, "a deleted row");
    Ok(())
}

pub(super) async fn a_row_is_found_by_its_exact_keys_only(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("Ab", "c", n(1)).await?;
    for (partition, row) in [("A", "bc"), ("Abc", ""), ("", "Abc"), ("Ab", ""), ("ab", "c"), ("Ab", "C"), ("c", "Ab")] {
        ensure_eq!(table.get(partition, row).await?, None, "({partition}, {row}), where only (Ab, c) exists");
    }
    table.insert("A", "bc", n(2)).await?;
    ensure_eq!(table.properties("Ab", "c").await?, Some(n(1)), "(Ab, c)");
    ensure_eq!(table.properties("A", "bc").await?, Some(n(2)), "(A, bc)");
    for separator in ["|", "_", "-", ":", ";", ",", ".", "~", "+", " ", "!", "\u{a0}", "\u{ffff}"] {
        let (first, second) = (format!("x{separator}y"), format!("y{separator}z"));
        table.insert(&first, "z", n(3)).await?;
        ensure_eq!(table.get("x", &second).await?, None, "(x, {second}), where only ({first}, z) exists");
    }
    Ok(())
}

pub(super) async fn a_row_reads_back_with_its_receipts_etag_and_timestamp(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let written = table.insert("p", "r", one("Name", "Jones")).await?;
    let row = table.row("p", "r").await?;
    ensure_eq!(row.key, RowKey::new("p", "r"), "the key");
    ensure_eq!(Some(&row.etag), written.etag.as_ref(), "the ETag read, against the receipt's");
    ensure_eq!(row.timestamp, written.timestamp, "the timestamp read, against the receipt's");
    ensure_eq!(row.properties, one("Name", "Jones"), "the properties");
    ensure_eq!(table.rows(&table.query(KeyRange::table())).await?, [row], "the same row by a query");
    Ok(())
}

pub(super) async fn a_row_without_properties_is_a_row(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", Properties::new()).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(Properties::new()), "the row");
    Ok(())
}

pub(super) async fn a_point_read_shows_the_last_acknowledged_write(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for number in 0..20 {
        table.act("p", "r", Action::InsertOrReplace(n(number))).await?;
        ensure_eq!(table.properties("p", "r").await?, Some(n(number)), "after write {number}");
    }
    Ok(())
}

pub(super) async fn a_row_told_at_once_is_the_row(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let [there, gone] = [RowKey::new("p", "r"), RowKey::new("p", "s")];
    table.insert("p", "s", n(1)).await?;
    table.act("p", "s", Action::Delete(Condition::Exists)).await?;
    for number in 0..3 {
        table.act("p", "r", Action::InsertOrReplace(n(number))).await?;
        if let Some(told) = table.get_at_once(&there)? {
            ensure_eq!(told, table.get("p", "r").await?, "the row told at once, against the row");
        }
        if let Some(told) = table.get_at_once(&gone)? {
            ensure_eq!(told, None, "a deleted row");
        }
    }
    Ok(())
}

pub(super) async fn a_row_shown_is_the_row(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let [there, gone] = [RowKey::new("p", "r"), RowKey::new("p", "s")];
    table.insert("p", "s", n(1)).await?;
    table.act("p", "s", Action::Delete(Condition::Exists)).await?;
    for number in 0..3 {
        table.act("p", "r", Action::InsertOrReplace(n(number))).await?;
        if let Some(shown) = table.shown(&there)? {
            let row = table.get("p", "r").await?;
            ensure_eq!(
                shown,
                [row.clone(), row.clone(), row],
                "the row shown, as it was kept, and in passing, against the row"
            );
        }
        if let Some(shown) = table.shown(&gone)? {
            ensure_eq!(shown, [None, None, None], "a deleted row");
        }
    }
    Ok(())
}
