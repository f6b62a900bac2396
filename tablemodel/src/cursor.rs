//! Cursors: where a page of a query stopped, as opaque text that fits a URL.
//!
//! A cursor names a key, not a position: it survives deletes, inserts and restarts.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use twox_hash::XxHash3_64;

use crate::{
    error::{Error, ErrorKind, Result},
    path::query::ReadPlan,
};

/// The first byte of a cursor: the version of its form.
const VERSION: u8 = 1;

/// Where a page stopped: opaque, URL-safe text, good for the query that gave it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(String);

impl Cursor {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// After `row`, for this plan.
    pub(crate) fn after(plan: &ReadPlan, row: &str) -> Self {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&fingerprint(plan).to_be_bytes());
        bytes.extend_from_slice(row.as_bytes());
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The row key to go on after.
    pub(crate) fn row(&self, plan: &ReadPlan) -> Result<String> {
        let bytes = URL_SAFE_NO_PAD.decode(&self.0).map_err(|_| invalid("this is not a cursor"))?;
        let Some((&VERSION, rest)) = bytes.split_first() else { return Err(invalid("this is not a cursor")) };
        let Some((mark, row)) = rest.split_at_checked(8) else { return Err(invalid("this is not a cursor")) };
        if mark != fingerprint(plan).to_be_bytes() {
            return Err(invalid("the cursor is of another query; use it with the path and values that gave it"));
        }
        String::from_utf8(row.to_vec()).map_err(|_| invalid("this is not a cursor"))
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
    let path = (plan.schema.table, plan.schema.entity_type, plan.row_type(), &plan.ranges);
    XxHash3_64::oneshot(format!("{path:?}").as_bytes())
}

fn invalid(detail: &str) -> Error {
    Error::new(ErrorKind::Invalid, detail)
}
