//! What stands in the store, in the form of the reference: parts joined, chunks put together, blobs in place of links.

use std::collections::BTreeMap;

use tablemodel::{Properties, Value};

use super::{Fields, Physical, Place, in_name, linked};
use crate::everything::Key;

/// What stands in the store.
pub(in crate::everything) struct Found {
    /// Those of one entity joined, chunks put together, and blobs in place of their links.
    pub(in crate::everything) rows: Physical,
    /// The claims that are pending, with their owners.
    pub(in crate::everything) pending: BTreeMap<String, Key>,
    /// What no row links.
    pub(in crate::everything) objects: Vec<String>,
}

/// The rows that stand in the tables.
pub(in crate::everything) fn physical(
    rows: BTreeMap<Place, Properties>,
    mut objects: BTreeMap<String, Vec<u8>>,
) -> Found {
    let (mut physical, mut parts, mut pending) = (Physical::new(), Vec::new(), BTreeMap::new());
    for (place, properties) in rows {
        let mut fields: Fields =
            properties.iter().map(|(name, value)| (name.as_str().to_owned(), value.to_value())).collect();
        assert!(fields.remove("_seq").is_some(), "{place:?} has no sequence number");
        fields.remove("_ops");
        fields.retain(|name, value| !name.ends_with("__seq") || is_of_live(value));
        if fields.get("_claim") == Some(&Value::from("pending")) && place.0 == "Emails" {
            pending.insert(place.1, (text(&fields, "_pk"), text(&fields, "_rk")));
        } else if fields.get("EntityType") == Some(&Value::from("Doc.~part@1")) {
            parts.push((place, fields));
        } else {
            physical.insert(place, fields);
        }
    }
    for ((table, partition, row), mut fields) in parts {
        let head = (table, partition, text(&fields, "_rk"));
        let fits = row.strip_prefix(&head.2).is_some_and(|tail| tail.starts_with(" ~~"));
        let Some(head) = physical.get_mut(&head).filter(|_| fits) else { panic!("{row} is nobody's part: {fields:?}") };
        fields.retain(|name, _| name != "EntityType" && name != "_rk");
        let found = head.entry("found".into()).or_insert(Value::Int32(0));
        *found = Value::Int32(if let Value::Int32(found) = found { *found + 1 } else { 1 });
        head.extend(fields);
    }
    physical.values_mut().for_each(join);
    for names in [["Scan", "Scan_length", "Scan_sum"], ["_keys_in", "_keys_length", "_keys_sum"]] {
        physical.iter_mut().for_each(|(place, fields)| fetch(place, fields, names, &mut objects));
    }
    Found { rows: physical, pending, objects: objects.into_keys().collect() }
}

/// Whether a copy's number is of a source that lives; such a number is made `true`.
fn is_of_live(number: &mut Value) -> bool {
    let Value::Int64(found) = *number else { panic!("the number of a copy is {number:?}") };
    *number = true.into();
    found > 0
}

/// Puts a blob in the place of its link.
fn fetch(at: &Place, fields: &mut Fields, [link, length, sum]: [&str; 3], objects: &mut BTreeMap<String, Vec<u8>>) {
    let Some(Value::String(name)) = fields.get(link).cloned() else { return };
    let content = objects.remove(&*name).unwrap_or_else(|| panic!("{name} is not there, or linked twice"));
    let length = fields.remove(length);
    assert_eq!(length, Some(Value::Int64(content.len() as i64)), "{fields:?}");
    assert!(fields.remove(sum).is_some(), "{fields:?}");
    let (place, random) = name.split_at(name.rfind('/').map_or(0, |end| end + 1));
    assert!(random.len() == 32 && random.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    let moves = || (1..).map(|number| format!("{name}.moved{number}"));
    let moves: Vec<_> = moves().map_while(|record| objects.remove(&record)).collect();
    let own = serde_json::json!({ "PartitionKey": at.1, "RowKey": at.2 }).to_string().into_bytes();
    let place = match moves.contains(&own) {
        true => format!("everything/_doc/{}/{}/", in_name(&at.1), in_name(&at.2)),
        false => place.to_owned(),
    };
    fields.insert(link.into(), linked(&place, &content));
}

fn text(fields: &Fields, name: &str) -> String {
    match fields.get(name) {
        Some(Value::String(text)) => text.to_string(),
        other => panic!("{name} is {other:?}: {fields:?}"),
    }
}

/// That the parts are as many as the head says, and the chunks of the body as one.
fn join(fields: &mut Fields) {
    let found = fields.remove("found");
    assert_eq!(fields.remove("_parts"), found, "parts: {fields:?}");
    assert_eq!(fields.remove("_sum").is_some(), found.is_some(), "the sum of digests: {fields:?}");
    fields.remove("_gen");
    let Some(Value::Int32(chunks)) = fields.remove("Body_n") else { return };
    let mut body = String::new();
    for chunk in 0..chunks {
        let chunk = fields.remove(&format!("Body_{chunk:02}"));
        let Some(Value::String(chunk)) = chunk else { panic!("a chunk is missing: {fields:?}") };
        assert!(chunk.encode_utf16().count() <= 32_768);
        body.push_str(&chunk);
    }
    fields.insert("Body".into(), body.into());
}

/// Where what is and what should be differ. In one commit over several partitions, who copies what is not there leaves a
/// tombstone at its place.
pub(in crate::everything) fn differences(is: &Physical, should: &Physical, is_atomic: bool) -> Vec<String> {
    let is_awaited = |place: &Place| {
        let dead = ["Team.~dead@1", "Sponsor.~dead@1"].map(|kind| Fields::from([("EntityType".into(), kind.into())]));
        is_atomic && !should.contains_key(place) && is.get(place).is_some_and(|fields| dead.contains(fields))
    };
    let places = is.keys().chain(should.keys().filter(|place| !is.contains_key(*place)));
    let differing = places.filter(|place| is.get(*place) != should.get(*place) && !is_awaited(place));
    differing
        .map(|place| format!("{place:?}\n  is     {:?}\n  should {:?}", is.get(place), should.get(place)))
        .collect()
}
