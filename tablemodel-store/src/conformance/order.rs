//! Clauses of order, for stores that declare `ordered`.
//!
//! Which rows a range holds is looked at elsewhere.

use super::{
    Broken,
    bench::{Bench, keys_in},
    broken::ensure_eq,
};
use crate::{KeyRange, key::RowKey};

type Checked = Result<(), Broken>;

/// In order of UTF-16 units: the last three differ from the order of code points and of UTF-8.
pub(super) const ASCENDING: [&str; 12] =
    ["", " ", "!", "-", "0", "A", "a", "\u{e9}", "\u{4e16}", "\u{1f600}", "\u{e000}", "\u{ffee}"];

pub(super) async fn rows_come_by_partition_key_then_row_key(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let keys = [("a", ""), ("a", "b"), ("a", "z"), ("a ", "a"), ("a!", "a"), ("aa", "a"), ("b", "a"), ("b", "aa")];
    let keys = keys.map(|(partition, row)| RowKey::new(partition, row));
    let mut shuffled = keys.to_vec();
    shuffled.rotate_left(3);
    shuffled.reverse();
    table.fill(&shuffled).await?;
    ensure_eq!(table.keys(&table.query(KeyRange::table())).await?, keys, "the keys in order");
    Ok(())
}

pub(super) async fn keys_order_by_utf16_units(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let mut rows = keys_in("p", &ASCENDING);
    rows.reverse();
    table.fill(&rows).await?;
    rows.reverse();
    ensure_eq!(table.keys(&table.query(KeyRange::partition("p"))).await?, rows, "row keys in order");
    let partitions = bench.table().await?;
    let mut keys = ASCENDING.map(|partition| RowKey::new(partition, "r"));
    keys.reverse();
    partitions.fill(&keys).await?;
    keys.reverse();
    ensure_eq!(partitions.keys(&partitions.query(KeyRange::table())).await?, keys, "partition keys in order");
    Ok(())
}

pub(super) async fn order_holds_over_pages(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let keys: Vec<_> = ASCENDING.into_iter().flat_map(|partition| keys_in(partition, &ASCENDING)).collect();
    for partition in ASCENDING.iter().rev() {
        table.fill(&keys_in(partition, &ASCENDING)).await?;
    }
    ensure_eq!(table.keys(&table.query(KeyRange::table()).limited(5)).await?, keys, "the keys over pages of 5");
    Ok(())
}
