//! Clauses of key ranges: which rows a query gives.
//!
//! Filters and pages are looked at elsewhere.

use std::ops::Bound;

use super::{
    Broken,
    bench::{Bench, keys_in},
    broken::ensure_eq,
    order::ASCENDING,
};
use crate::{KeyRange, RowRange, key::RowKey};

type Checked = Result<(), Broken>;

fn between(lower: Bound<&str>, upper: Bound<&str>) -> RowRange {
    RowRange { lower: lower.map(str::to_owned), upper: upper.map(str::to_owned) }
}

/// Every pair of ends at these keys, with and without the key itself, or at none.
fn pairs(keys: &[&'static str]) -> Vec<(Bound<&'static str>, Bound<&'static str>)> {
    let both = |key: &&'static str| [Bound::Included(*key), Bound::Excluded(*key)];
    let ends: Vec<_> = keys.iter().flat_map(both).chain([Bound::Unbounded]).collect();
    ends.iter().flat_map(|lower| ends.iter().map(|upper| (*lower, *upper))).collect()
}

pub(super) async fn a_partition_is_read_without_its_neighbours(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let partitions = ["", "P", "o", "p", "p ", "p!", "pa", "pp", "q"];
    for partition in partitions {
        table.fill(&keys_in(partition, &["", "a", "p"])).await?;
    }
    for partition in partitions {
        let keys = table.keys(&table.query(KeyRange::partition(partition))).await?;
        ensure_eq!(keys, keys_in(partition, &["", "a", "p"]), "the rows of partition {partition:?}");
    }
    let none = table.keys(&table.query(KeyRange::partition("pb"))).await?;
    ensure_eq!(none, [], "the rows of a partition that has none");
    Ok(())
}

pub(super) async fn every_pair_of_row_bounds_gives_the_rows_between(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let keys = keys_in("p", &["", "b", "d", "d!", "dd", "f"]);
    table.fill(&keys).await?;
    table.fill(&keys_in("o", &["c"])).await?;
    table.fill(&keys_in("q", &["c"])).await?;
    for (lower, upper) in pairs(&["", "a", "b", "d", "d!", "e", "f", "g"]) {
        let rows = between(lower, upper);
        let expected: Vec<_> = keys.iter().filter(|key| rows.contains(&key.row)).cloned().collect();
        let found = table.keys(&table.query(KeyRange::rows("p", rows))).await?;
        ensure_eq!(found, expected, "the rows from {lower:?} to {upper:?}");
    }
    Ok(())
}

pub(super) async fn bounds_order_by_utf16_units(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let keys = keys_in("p", &ASCENDING);
    table.fill(&keys).await?;
    for (at, end) in ASCENDING.into_iter().enumerate() {
        let (below, from) = keys.split_at(at);
        let lower = KeyRange::rows("p", between(Bound::Included(end), Bound::Unbounded));
        ensure_eq!(table.keys(&table.query(lower)).await?, from, "the rows from {end:?}");
        let upper = KeyRange::rows("p", between(Bound::Unbounded, Bound::Excluded(end)));
        ensure_eq!(table.keys(&table.query(upper)).await?, below, "the rows before {end:?}");
    }
    Ok(())
}

pub(super) async fn empty_and_inverted_ranges_give_nothing(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.fill(&keys_in("p", &["a", "b", "c"])).await?;
    let inverted = [
        between(Bound::Included("c"), Bound::Included("a")),
        between(Bound::Excluded("b"), Bound::Excluded("b")),
        between(Bound::Included("b"), Bound::Excluded("b")),
        between(Bound::Excluded("b"), Bound::Included("b")),
        between(Bound::Excluded("c"), Bound::Unbounded),
        between(Bound::Unbounded, Bound::Excluded("")),
    ];
    for rows in inverted {
        let found = table.keys(&table.query(KeyRange::rows("p", rows.clone()))).await?;
        ensure_eq!(found, [], "the rows of {rows:?}");
    }
    let slice = KeyRange::Table { after: Some(RowKey::new("p", "c")), before_partition: Some("a".to_owned()) };
    ensure_eq!(table.keys(&table.query(slice)).await?, [], "the rows of an inverted slice");
    Ok(())
}

pub(super) async fn bounds_need_not_be_legal_keys(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.fill(&keys_in("p", &["a", "a0", "b"])).await?;
    let prefix = between(Bound::Included("a/"), Bound::Excluded("a?"));
    let found = table.keys(&table.query(KeyRange::rows("p", prefix))).await?;
    ensure_eq!(found, keys_in("p", &["a0"]), "the rows from `a/` to `a?`");
    let long = "a".repeat(2000);
    let found =
        table.keys(&table.query(KeyRange::rows("p", between(Bound::Included(&long), Bound::Unbounded)))).await?;
    ensure_eq!(found, keys_in("p", &["b"]), "the rows from a text longer than any key");
    Ok(())
}

pub(super) async fn one_exact_row_can_be_queried(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.fill(&keys_in("p", &["", "a", "aa"])).await?;
    for row in ["", "a", "aa"] {
        let found = table.keys(&table.query(KeyRange::rows("p", RowRange::exactly(row)))).await?;
        ensure_eq!(found, keys_in("p", &[row]), "the row with the key {row:?}");
    }
    Ok(())
}

/// Four partitions of three rows.
fn twelve() -> Vec<RowKey> {
    ["", "a", "a!", "b"].into_iter().flat_map(|partition| keys_in(partition, &["", "m", "z"])).collect()
}

pub(super) async fn a_whole_table_is_read(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.fill(&twelve()).await?;
    ensure_eq!(table.keys(&table.query(KeyRange::table())).await?, twelve(), "the rows");
    Ok(())
}

pub(super) async fn a_slice_of_a_table_begins_after_a_key(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.fill(&twelve()).await?;
    let between_rows = [RowKey::new("", "a"), RowKey::new("a", "zz"), RowKey::new("c", "")];
    for after in twelve().into_iter().chain(between_rows) {
        let expected: Vec<_> = twelve().into_iter().filter(|key| *key > after).collect();
        let slice = KeyRange::Table { after: Some(after.clone()), before_partition: None };
        ensure_eq!(table.keys(&table.query(slice)).await?, expected, "the rows after {after}");
    }
    Ok(())
}

pub(super) async fn a_slice_of_a_table_ends_before_a_partition(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.fill(&twelve()).await?;
    for (end, count) in [("", 0), (" ", 3), ("a", 3), ("a!", 6), ("aa", 9), ("b", 9), ("c", 12)] {
        for after in [None, Some(RowKey::new("", "m"))] {
            let rows = twelve().into_iter().take(count);
            let expected: Vec<_> = rows.filter(|key| after.as_ref().is_none_or(|after| key > after)).collect();
            let slice = KeyRange::Table { after: after.clone(), before_partition: Some(end.to_owned()) };
            let found = table.keys(&table.query(slice)).await?;
            ensure_eq!(found, expected, "the rows after {after:?} before partition {end:?}");
        }
    }
    Ok(())
}

pub(super) async fn slices_of_a_table_order_by_utf16_units(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let keys = ASCENDING.map(|partition| RowKey::new(partition, "r"));
    table.fill(&keys).await?;
    for (at, end) in keys.iter().enumerate() {
        let (below, from) = keys.split_at(at);
        let before = KeyRange::Table { after: None, before_partition: Some(end.partition.clone()) };
        ensure_eq!(table.keys(&table.query(before)).await?, below, "the rows before partition {:?}", end.partition);
        let above: Vec<_> = from.iter().skip(1).cloned().collect();
        let after = KeyRange::Table { after: Some(end.clone()), before_partition: None };
        ensure_eq!(table.keys(&table.query(after)).await?, above, "the rows after {end}");
    }
    Ok(())
}
