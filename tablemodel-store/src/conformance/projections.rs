//! Clauses of projections: which properties travel.
//!
//! Which rows come is looked at elsewhere.

use std::ops::Bound;

use super::{
    Broken,
    bench::{Bench, Table, one},
    broken::ensure_eq,
};
use crate::{Comparison, Filter, KeyRange, Properties, PropertyName, Query, RowRange, key::RowKey};

type Checked = Result<(), Broken>;

fn selecting(table: &Table<'_>, names: &[&'static str]) -> Query {
    let select = names.iter().map(|name| PropertyName::from_static(name)).collect();
    Query { select: Some(select), ..table.query(KeyRange::table()) }
}

/// Ranges of each kind that hold the row `("p", "r")`.
fn ranges() -> [KeyRange; 5] {
    let rows = RowRange { lower: Bound::Included("a".to_owned()), ..RowRange::all() };
    let slice = KeyRange::Table { after: Some(RowKey::new("p", "a")), before_partition: Some("q".to_owned()) };
    let exact = KeyRange::rows("p", RowRange::exactly("r"));
    [KeyRange::table(), slice, KeyRange::partition("p"), KeyRange::rows("p", rows), exact]
}

async fn three_properties(bench: &Bench) -> Result<Table<'_>, Broken> {
    let table = bench.table().await?;
    table.insert("p", "r", Properties::from_iter([("A", 1), ("B", 2), ("C", 3)])).await?;
    Ok(table)
}

pub(super) async fn only_selected_properties_come(bench: &Bench) -> Checked {
    let table = three_properties(bench).await?;
    for (names, expected) in [
        (&["A"][..], one("A", 1)),
        (&["C", "A"], Properties::from_iter([("A", 1), ("C", 3)])),
        (&["B", "Missing"], one("B", 2)),
        (&["b"], Properties::new()),
    ] {
        for range in ranges() {
            let rows = table.rows(&Query { range: range.clone(), ..selecting(&table, names) }).await?;
            let found: Vec<_> = rows.into_iter().map(|row| row.properties).collect();
            ensure_eq!(&*found, std::slice::from_ref(&expected), "the properties with {names:?} selected of {range:?}");
        }
    }
    Ok(())
}

pub(super) async fn a_selection_of_nothing_still_gives_keys_and_etag(bench: &Bench) -> Checked {
    let table = three_properties(bench).await?;
    let mut expected = table.row("p", "r").await?;
    expected.properties = Properties::new();
    ensure_eq!(table.rows(&selecting(&table, &[])).await?, [expected], "the row with nothing selected");
    Ok(())
}

pub(super) async fn a_filter_may_use_what_is_not_selected(bench: &Bench) -> Checked {
    let table = three_properties(bench).await?;
    table.insert("p", "other", Properties::from_iter([("A", 4), ("B", 5)])).await?;
    let query = selecting(&table, &["A"]).filtered(Filter::compare("B", Comparison::Equal, 2));
    let found: Vec<_> = table.rows(&query).await?.into_iter().map(|row| row.properties).collect();
    ensure_eq!(found, [one("A", 1)], "the row found by B");
    Ok(())
}
