//! The physical rows of a table, printed as the guide draws them.
//! Reads through the store's port, below entities; nothing is written.

use tablemodel::{
    Database, Row, ValueRef,
    store::{KeyRange, Query, TableStoreExt},
};

/// Properties of a row that are printed, and characters of a text.
const SHOWN: usize = 12;
const CHARACTERS: usize = 120;

/// Prints every row of a table as `PartitionKey | RowKey | EntityType | properties`.
///
/// Cost: a request for each 1,000 rows, all of which are in memory. Long texts and the properties after the first twelve are cut. The sequence number and operation ids are left out; `_rk`, the entity that a derived row belongs to, is shown.
///
/// # Errors
///
/// Those of the store.
pub async fn print_rows(db: &Database, table: &str) -> tablemodel::Result<()> {
    let rows = db.store().query_all(&Query::new(table, KeyRange::table())).await?;
    let heading = ["PartitionKey", "RowKey", "EntityType", "properties"].map(str::to_owned);
    let lines: Vec<_> = std::iter::once(heading).chain(rows.iter().map(cells)).collect();
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..3).filter_map(width).collect();
    println!("\n{table}:");
    for line in &lines {
        let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect::<Vec<_>>();
        println!("  {}  {}", padded.join("  "), line.last().map_or("", String::as_str));
    }
    println!();
    Ok(())
}

fn cells(row: &Row) -> [String; 4] {
    let is_shown = |name: &str| !matches!(name, "EntityType" | "_seq" | "_ops");
    let properties = row.properties.iter().filter(|(name, _)| is_shown(name.as_str()));
    let mut properties: Vec<_> = properties.map(|(name, value)| format!("{name}={}", text(value))).collect();
    if properties.len() > SHOWN {
        let last = format!("and {} more", properties.len() - SHOWN);
        properties.splice(SHOWN.., [last]);
    }
    let kind = row.properties.get("EntityType").map(text).unwrap_or_default();
    [row.key.partition.clone(), row.key.row.clone(), kind, properties.join(", ")]
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Binary(bytes) => format!("{} bytes", bytes.len()),
        ValueRef::Boolean(value) => value.to_string(),
        ValueRef::DateTime(value) => value.to_string(),
        ValueRef::Double(value) => value.to_string(),
        ValueRef::Guid(value) => value.to_string(),
        ValueRef::Int32(value) => value.to_string(),
        ValueRef::Int64(value) => value.to_string(),
        ValueRef::String(value) => match value.char_indices().nth(CHARACTERS) {
            Some((end, _)) => format!("{}.. ({} bytes)", value.get(..end).unwrap_or_default(), value.len()),
            None => value.to_owned(),
        },
    }
}
