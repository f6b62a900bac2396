//! A row as one line of JSON, in Azure's own form with type annotations, and back.
//!
//! Loses nothing: every Edm type comes back as it was, also `NaN`, of which the form has one.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::{Map, Value as Json, json};
use tablemodel_store::{DateTime, ETag, EdmType, Properties, Row, RowKey, Uuid, Value, ValueRef};

const TABLE: &str = "odata.table";
const PARTITION: &str = "PartitionKey";
const ROW: &str = "RowKey";
const TIMESTAMP: &str = "Timestamp";
const TYPE_SUFFIX: &str = "@odata.type";
/// What some editors and shells put before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// One line, without its end.
pub(crate) fn to_line(table: &str, row: &Row) -> String {
    let mut object = Map::new();
    object.insert(TABLE.to_owned(), json!(table));
    object.insert(PARTITION.to_owned(), json!(row.key.partition));
    object.insert(ROW.to_owned(), json!(row.key.row));
    object.insert(TIMESTAMP.to_owned(), json!(row.timestamp.to_string()));
    for (name, value) in row.properties.iter() {
        let (json, annotation) = to_json(value);
        if let Some(edm) = annotation {
            object.insert(format!("{name}{TYPE_SUFFIX}"), json!(edm.name()));
        }
        object.insert(name.to_string(), json);
    }
    Json::Object(object).to_string()
}

fn to_json(value: ValueRef<'_>) -> (Json, Option<EdmType>) {
    let edm = value.edm();
    match value {
        ValueRef::String(text) => (json!(text), None),
        ValueRef::Boolean(value) => (json!(value), None),
        ValueRef::Int32(number) => (json!(number), None),
        ValueRef::Int64(number) => (json!(number.to_string()), Some(edm)),
        ValueRef::Double(number) => (double(number), Some(edm)),
        ValueRef::DateTime(at) => (json!(at.to_string()), Some(edm)),
        ValueRef::Guid(id) => (json!(id.to_string()), Some(edm)),
        ValueRef::Binary(bytes) => (json!(STANDARD.encode(bytes)), Some(edm)),
    }
}

fn double(number: f64) -> Json {
    if number.is_nan() {
        json!("NaN")
    } else if number.is_infinite() {
        json!(if number > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        json!(number)
    }
}

/// The table and the row of a line; what is wrong with it, in words.
pub(crate) fn from_line(line: &str) -> Result<(String, Row), String> {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let Members(mut object) = serde_json::from_str(line).map_err(|error| unread(&error))?;
    let mut text = |name: &str| match object.remove(name) {
        Some(Json::String(text)) => Ok(text),
        _ => Err(format!("`{name}` is missing or not text")),
    };
    let (table, partition, row) = (text(TABLE)?, text(PARTITION)?, text(ROW)?);
    object.remove(TIMESTAMP);
    object.remove(&format!("{TIMESTAMP}{TYPE_SUFFIX}")); // Azure gives its type where it is asked for all of them
    let mut properties = Properties::with_capacity(object.len());
    for (name, json) in &object {
        if let Some(annotated) = name.strip_suffix(TYPE_SUFFIX) {
            if !object.contains_key(annotated) {
                return Err(format!("`{annotated}` has a type and no value"));
            }
            continue;
        }
        let annotation = match object.get(&format!("{name}{TYPE_SUFFIX}")) {
            Some(Json::String(edm)) => {
                Some(EdmType::from_name(edm).ok_or_else(|| format!("`{name}` is of the unknown type `{edm}`"))?)
            }
            Some(_) => return Err(format!("the type of `{name}` is not text")),
            None => None,
        };
        let value = from_json(json, annotation).ok_or_else(|| {
            let edm = annotation
                .map_or_else(|| "text, truth value, 32-bit integer or fraction".to_owned(), |edm| edm.to_string());
            format!("`{name}` is not of its type: {edm}")
        })?;
        properties.insert(name.as_str(), value);
    }
    let key = RowKey { partition, row };
    Ok((table, Row { key, etag: ETag::from_stamp(0), timestamp: DateTime::MIN, properties }))
}

/// Without the number of the line, which is 1 of each.
fn unread(error: &serde_json::Error) -> String {
    format!("not a JSON object: {}", error.to_string().replace(" at line 1 column ", " at column "))
}

fn from_json(json: &Json, annotation: Option<EdmType>) -> Option<Value> {
    Some(match (annotation, json) {
        (None | Some(EdmType::String), Json::String(text)) => Value::String(text.clone()),
        (None | Some(EdmType::Boolean), Json::Bool(value)) => Value::Boolean(*value),
        (None | Some(EdmType::Int32), Json::Number(number)) if number.is_i64() => {
            Value::Int32(number.as_i64()?.try_into().ok()?)
        }
        // An integer beyond every type would lose digits as a Double.
        (None, Json::Number(number)) if number.is_u64() || is_vast(number) => return None,
        (None | Some(EdmType::Double), Json::Number(number)) => Value::Double(number.as_f64()?),
        (Some(EdmType::Double), Json::String(text)) => Value::Double(special(text)?),
        (Some(EdmType::Int64), Json::String(text)) => Value::Int64(text.parse().ok()?),
        (Some(EdmType::DateTime), Json::String(text)) => Value::DateTime(text.parse().ok()?),
        (Some(EdmType::Guid), Json::String(text)) => Value::Guid(Uuid::parse_str(text).ok()?),
        (Some(EdmType::Binary), Json::String(text)) => Value::Binary(STANDARD.decode(text).ok()?),
        _ => return None,
    })
}

/// Whether it may be an integer that no type of the reader holds, and lost digits as it was read.
fn is_vast(number: &serde_json::Number) -> bool {
    const FIRST: f64 = 9_223_372_036_854_775_808.0;
    number.is_f64() && number.as_f64().is_some_and(|number| number.abs() >= FIRST)
}

/// The members of an object, none of which comes twice.
struct Members(Map<String, Json>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Members, A::Error> {
        let mut members = Map::new();
        while let Some((name, value)) = from.next_entry::<String, Json>()? {
            if members.contains_key(&name) {
                return Err(A::Error::custom(format_args!("`{name}` comes twice")));
            }
            members.insert(name, value);
        }
        Ok(Members(members))
    }
}

fn special(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}
