//! ETags: opaque marks of one state of one row.

use std::{fmt, sync::Arc};

use crate::DateTime;

/// Names one state of one row; a write with `If-Match` succeeds only while the row is in that state.
///
/// Opaque and unordered. Stores of this crate never repeat one, not even for a row deleted and
/// inserted again, nor across restarts. Not to be kept across a restore or a copy to another store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(Mark);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Mark {
    Stamp(u64),
    Text(Arc<str>),
}

impl ETag {
    /// The ETag of a store whose marks are a monotonic 64-bit stamp of 100 ns ticks (this crate's stores).
    pub const fn from_stamp(stamp: u64) -> Self {
        Self(Mark::Stamp(stamp))
    }

    /// An ETag as a service sent it, such as `W/"datetime'2017-08-30T13%3A20%3A32.6680946Z'"`.
    ///
    /// Text that a stamp would print as becomes that stamp again, of the times that a row may have (the years 1601 to 9999).
    pub fn parse(text: &str) -> Self {
        match stamp_of(text) {
            Some(stamp) => Self(Mark::Stamp(stamp)),
            None => Self(Mark::Text(text.into())),
        }
    }

    /// The stamp, for an ETag made by [`ETag::from_stamp`].
    pub const fn stamp(&self) -> Option<u64> {
        match self.0 {
            Mark::Stamp(stamp) => Some(stamp),
            Mark::Text(_) => None,
        }
    }
}

/// In the form that Azure uses: `W/"datetime'…'"` with `:` percent-encoded.
impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Mark::Text(text) => f.write_str(text),
            Mark::Stamp(stamp) => {
                let at = DateTime::from_ticks(i64::try_from(*stamp).unwrap_or(i64::MAX));
                write!(f, "W/\"datetime'{}'\"", at.to_string().replace(':', "%3A"))
            }
        }
    }
}

fn stamp_of(text: &str) -> Option<u64> {
    let inner = text.strip_prefix("W/\"datetime'")?.strip_suffix("'\"")?;
    let at: DateTime = inner.replace("%3A", ":").parse().ok()?;
    let stamp = u64::try_from(at.ticks()).ok()?;
    (ETag::from_stamp(stamp).to_string() == text).then_some(stamp)
}
