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
};

/// The first byte of a cursor: the version of its form.
const VERSION: u8 = 1;

/// Where a page stopped: opaque, URL-safe text, good for the query that gave it. In serde's formats it is that text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(String);

impl Cursor {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// After the row at `key`, for this plan.
    ///
    /// Base64url without padding of: version (1 byte), fingerprint of the plan (8, big-endian), place of the row's range
    /// in the plan (2, big-endian), row key.
    pub(crate) fn after(plan: &ReadPlan, key: &RowKey) -> Self {
        let place = plan.ranges.iter().position(|range| range.contains(key)).unwrap_or_default() as u16;
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&fingerprint(plan).to_be_bytes());
        bytes.extend_from_slice(&place.to_be_bytes());
        bytes.extend_from_slice(key.row.as_bytes());
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The row to go on after: the place of its range in the plan, and its row key.
    ///
    /// `Invalid` for a cursor of another plan, and for text that is no cursor.
    pub(crate) fn position(&self, plan: &ReadPlan) -> Result<(usize, String)> {
        let invalid = |detail: &str| Error::new(ErrorKind::Invalid, detail).of(plan.schema.entity_type);
        let (mark, place, row) = self
            .decode()
            .ok_or_else(|| invalid("this is not a cursor; begin without one, or pass on the text of one unchanged"))?;
        let range = plan.ranges.get(place);
        let holds = |range: &KeyRange| matches!(range, KeyRange::Partition { rows, .. } if rows.contains(&row));
        if mark != fingerprint(plan) || !range.is_some_and(holds) {
            return Err(invalid("the cursor is of another query; use it with the path and values that gave it"));
        }
        Ok((place, row))
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

/// Of what the query asks for: the entity, the path, and its ranges.
fn fingerprint(plan: &ReadPlan) -> u64 {
    // Not its version: a program of another one goes on with the same query.
    let kind = plan.row_type();
    let kind = kind.rsplit_once('@').map_or(kind, |(kind, _)| kind);
    let path = [plan.table(), plan.schema.entity_type, kind];
    let mut bytes = Vec::new();
    for part in path.iter().map(|text| text.as_bytes().to_vec()).chain(plan.ranges.iter().map(mark)) {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
    XxHash3_64::oneshot(&bytes)
}

/// Of one range: the same whether its entities may be several rows or not.
fn mark(range: &KeyRange) -> Vec<u8> {
    match range {
        KeyRange::Partition { partition, rows } => KeyRange::rows(partition.as_str(), part::without_parts(rows)).mark(),
        other => other.mark(),
    }
}
