//! Where the store keeps an entity: its table and the templates of its keys, on its record. A program that keeps it elsewhere is
//! refused, since its rows would seem gone, and new ones would stand beside them.
//!
//! Which form of an entity that moves is the one that is kept is told in `moved`.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value as Json;
use tablemodel_store::{Properties, Row, ValueRef};

use super::{Closed, entity_row, moved};
use crate::{
    error::{Error, Result},
    format::KeyFormat,
    schema::EntitySchema,
};

/// On the record of an entity: a JSON list of the templates of its partition key and its row key, as the lock has them.
const KEYS: &str = "Keys";

/// Says on the record of an entity where its rows stand.
pub(in crate::database) fn keep(schema: &EntitySchema, to: &mut Properties) {
    to.insert("Table", schema.table);
    to.insert("Version", i64::from(schema.version));
    let [partition, row] = templates(schema).map(|key| key.to_string());
    to.insert(KEYS, Json::from(vec![partition, row]).to_string());
}

fn templates(schema: &EntitySchema) -> [KeyFormat; 2] {
    [&schema.partition, &schema.row].map(KeyFormat::from)
}

/// That the store keeps the entity elsewhere than this program does.
pub(super) fn elsewhere(schema: &EntitySchema, rows: &HashMap<String, Row>) -> Result<Option<Closed>> {
    let Some(row) = rows.get(&entity_row(schema)) else { return Ok(None) };
    if let Some(ValueRef::String(table)) = row.properties.get("Table")
        && !table.eq_ignore_ascii_case(schema.table)
    {
        return Ok(Some(apart(&format!("in table `{table}`"), &format!("in `{}`", schema.table))));
    }
    let Some(kept) = keys(row)? else { return Ok(None) };
    let own = templates(schema);
    let is_same = own.iter().zip(&kept).all(|(own, kept)| own.makes_the_keys_of(kept));
    if is_same && !(version(row) == Some(schema.version) && are_swapped(&own, &kept)) {
        return Ok(None);
    }
    let text = |[partition, row]: &[KeyFormat; 2]| format!("under the keys `{partition}` and `{row}`");
    Ok(Some(apart(&text(&kept), &text(&own))))
}

/// That this program keeps the entity where the store does: that it has moved on from there says more than that it stands elsewhere.
pub(in crate::database) fn check(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<()> {
    let moved = moved::gone(schema, rows).filter(|closed| matches!(closed, Closed::Moved { .. }));
    let closed = if moved.is_some() { moved } else { elsewhere(schema, rows)? };
    closed.map_or(Ok(()), |closed| Err(closed.error(schema)))
}

/// Whether the same properties stand in the keys in another order. (By other names they may be the same values: of a newer version, an
/// upgrade tells.)
fn are_swapped(own: &[KeyFormat; 2], kept: &[KeyFormat; 2]) -> bool {
    let names =
        |keys: &[KeyFormat; 2]| keys.iter().flat_map(KeyFormat::properties).map(str::to_owned).collect::<Vec<_>>();
    let (mut own, mut kept) = (names(own), names(kept));
    let is_other = own != kept;
    own.sort_unstable();
    kept.sort_unstable();
    is_other && own == kept
}

fn apart(kept: &str, own: &str) -> Closed {
    let detail = format!(
        "the store keeps this entity {kept}, the program {own}, where its rows would not be found: name the struct of the \
         former by `#[table(moved_from = ..)]` on one of a higher version, which moves them, or deploy the program that keeps it there \
         (where nothing in the store is to be kept, `drop_tables` forgets it)"
    );
    Closed::Elsewhere(Arc::from(detail))
}

/// The version that the record was made for.
pub(in crate::database) fn version(record: &Row) -> Option<u32> {
    match record.properties.get("Version") {
        Some(ValueRef::Int64(version)) => u32::try_from(version).ok(),
        _ => None,
    }
}

/// The templates on the record; none where it does not tell them.
fn keys(row: &Row) -> Result<Option<[KeyFormat; 2]>> {
    let Some(stored) = row.properties.get(KEYS) else { return Ok(None) };
    let read = || {
        let ValueRef::String(text) = stored else { return None };
        let [partition, row] = serde_json::from_str::<[String; 2]>(text).ok()?;
        Some([partition.parse().ok()?, row.parse().ok()?])
    };
    match read() {
        Some(keys) => Ok(Some(keys)),
        None => Err(Error::corrupt("the keys of an entity in the schema table cannot be read").at_key(row.key.clone())),
    }
}
