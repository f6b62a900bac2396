//! Cursors: where a page of a query stopped, as opaque text that fits a URL.
//!
//! A cursor names a key, not a position: it survives deletes, inserts and restarts.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tablemodel_store::{KeyRange, RowKey};
use twox_hash::XxHash3_64;

use crate::{
    error::{Error, ErrorKind, Result},
    path::plan::ReadPlan,
    plan::part,
    schema::EntitySchema,
};

/// The first byte of a cursor: the version of its form.
const VERSION: u8 = 1;

/// Where a page stopped: opaque, URL-safe text, good for the query that gave it. In serde's formats it is that text. No secret: whoever
/// decodes it finds the row key, and of a scan of a table the partition key too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(String);

impl Cursor {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// After the row at `key`, for this query.
    ///
    /// Base64url without padding of: version (1 byte), fingerprint of the query (8, big-endian), place of the row's range
    /// in it (2, big-endian), row key; of a range of a table the partition key and U+0000, which no key holds, before that.
    pub(crate) fn after(query: &Paged, key: &RowKey) -> Self {
        let place = query.ranges.iter().position(|range| range.contains(key)).unwrap_or_default();
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&query.mark.to_be_bytes());
        bytes.extend_from_slice(&(place as u16).to_be_bytes());
        if let Some(KeyRange::Table { .. }) = query.ranges.get(place) {
            bytes.extend_from_slice(key.partition.as_bytes());
            bytes.push(0);
        }
        bytes.extend_from_slice(key.row.as_bytes());
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    fn decode(&self) -> Option<(u64, usize, String)> {
        let bytes = URL_SAFE_NO_PAD.decode(&self.0).ok()?;
        let (&VERSION, rest) = bytes.split_first()? else { return None };
        let (mark, rest) = rest.split_first_chunk()?;
        let (place, row) = rest.split_first_chunk()?;
        let row = String::from_utf8(row.to_vec()).ok()?;
        Some((u64::from_be_bytes(*mark), u16::from_be_bytes(*place).into(), row))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Cursor {
    type Err = std::convert::Infallible;

    /// Any text is taken; whether it is a cursor of the query is checked when it is used.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl From<&str> for Cursor {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl serde::Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Cursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        serde::Deserialize::deserialize(deserializer).map(Self)
    }
}

/// One page of a query.
#[derive(Debug, Clone)]
pub struct PathPage<T> {
    /// The entities, in key order.
    pub items: Vec<T>,
    /// Where the next page begins; `None` at the end.
    pub cursor: Option<Cursor>,
}

/// A query as its cursors know it: what it asks for, as a fingerprint, and its ranges.
#[derive(Debug)]
pub(crate) struct Paged {
    /// Of whom errors tell.
    entity_type: &'static str,
    mark: u64,
    ranges: Vec<KeyRange>,
}

impl Paged {
    /// A path: by its entity, the rows that it goes over, and its ranges.
    pub(crate) fn path(plan: &ReadPlan) -> Self {
        let kind = kind(plan);
        Self::new(plan.schema, &[plan.table(), plan.schema.entity_type, kind], plan.ranges.clone())
    }

    /// A scan: the same, and the text of its condition.
    pub(crate) fn scan(plan: &ReadPlan, condition: &str) -> Self {
        let texts = [plan.table(), plan.schema.entity_type, kind(plan), "scan", condition];
        Self::new(plan.schema, &texts, plan.ranges.clone())
    }

    /// Rows of every type in a range of this entity's table.
    pub(crate) fn rows(schema: &'static EntitySchema, range: KeyRange) -> Self {
        Self::new(schema, &[schema.table, "", "rows"], vec![range])
    }

    fn new(schema: &'static EntitySchema, texts: &[&str], ranges: Vec<KeyRange>) -> Self {
        let mut bytes = Vec::new();
        for part in texts.iter().map(|text| text.as_bytes().to_vec()).chain(ranges.iter().map(mark)) {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend(part);
        }
        Self { entity_type: schema.entity_type, mark: XxHash3_64::oneshot(&bytes), ranges }
    }

    /// The row after which a page of `n` begins, and the place of its range in the query; none without a cursor.
    ///
    /// `Invalid` for a page of 0, for a cursor of another query, and for text that is no cursor.
    pub(crate) fn begin(&self, n: usize, cursor: Option<&Cursor>) -> Result<Option<(usize, RowKey)>> {
        if n == 0 {
            return Err(self.invalid("a page of 0 entities would look like the end; ask for at least 1"));
        }
        cursor.map(|cursor| self.position(cursor)).transpose()
    }

    fn position(&self, cursor: &Cursor) -> Result<(usize, RowKey)> {
        let (mark, place, text) = cursor.decode().ok_or_else(|| {
            self.invalid("this is not a cursor; begin without one, or pass on the text of one unchanged")
        })?;
        let key = self.ranges.get(place).and_then(|range| key_in(range, &text));
        match key.filter(|_| mark == self.mark) {
            Some(key) => Ok((place, key)),
            None => Err(self.invalid("the cursor is of another query; use it with the query and values that gave it")),
        }
    }

    fn invalid(&self, detail: &'static str) -> Error {
        Error::new(ErrorKind::Invalid, detail).of(self.entity_type)
    }
}

/// What a cursor says of a row, as its key; none where that lies outside.
fn key_in(range: &KeyRange, text: &str) -> Option<RowKey> {
    let (partition, row) = match range {
        KeyRange::Partition { partition, .. } => (partition.as_str(), text),
        KeyRange::Table { .. } => text.split_once('\0')?,
    };
    Some(RowKey::new(partition, row)).filter(|key| range.contains(key))
}

/// What the rows say that they are. Not in which version: a program of another one goes on with the same query.
fn kind(plan: &ReadPlan) -> &'static str {
    let kind = plan.row_type();
    kind.rsplit_once('@').map_or(kind, |(kind, _)| kind)
}

/// Of one range: the same whether its entities may be several rows or not.
fn mark(range: &KeyRange) -> Vec<u8> {
    match range {
        KeyRange::Partition { partition, rows } => KeyRange::rows(partition.as_str(), part::without_parts(rows)).mark(),
        other => other.mark(),
    }
}
