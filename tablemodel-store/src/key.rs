//! Keys of rows, their order, and ranges of them.
//!
//! Every store compares keys by UTF-16 code units, as Azure does (.NET ordinal order); UTF-8 byte order
//! differs from it for characters beyond U+FFFF. [`order_bytes`] is the one place that knows this.

use std::{borrow::Cow, cmp::Ordering, fmt, ops::Bound};

/// The address of a row inside a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowKey {
    /// The partition key.
    pub partition: String,
    /// The row key.
    pub row: String,
}

impl RowKey {
    /// The key of row `row` in partition `partition`.
    pub fn new(partition: impl Into<String>, row: impl Into<String>) -> Self {
        Self { partition: partition.into(), row: row.into() }
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.partition, self.row)
    }
}

impl PartialOrd for RowKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By partition key, then row key, each by UTF-16 code units.
impl Ord for RowKey {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.partition, &other.partition).then_with(|| compare(&self.row, &other.row))
    }
}

/// Compares two keys by UTF-16 code units.
///
/// ```
/// use tablemodel_store::key::compare;
/// assert!(compare("\u{10437}", "\u{FFEE}").is_lt()); // UTF-8 bytes would say greater
/// ```
pub fn compare(a: &str, b: &str) -> Ordering {
    // The usual case, and the cheapest to see.
    if a.is_ascii() || is_utf8_ordered(a) || is_utf8_ordered(b) {
        a.cmp(b)
    } else {
        a.encode_utf16().cmp(b.encode_utf16())
    }
}

/// Bytes whose plain order is the order of keys: UTF-8, with characters beyond U+FFFF written as
/// their two surrogates (CESU-8).
pub fn order_bytes(key: &str) -> Cow<'_, [u8]> {
    if is_order_bytes(key.as_bytes()) {
        return Cow::Borrowed(key.as_bytes());
    }
    let mut bytes = Vec::with_capacity(key.len() + key.len() / 2);
    let mut buffer = [0u16; 2];
    for c in key.chars() {
        if (c as u32) < 0x1_0000 {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            for unit in c.encode_utf16(&mut buffer) {
                bytes.extend_from_slice(&three_bytes(*unit));
            }
        }
    }
    Cow::Owned(bytes)
}

/// Whether the bytes of a text are its [`order_bytes`]: it has no character beyond U+FFFF.
#[inline]
pub(crate) fn is_order_bytes(text: &[u8]) -> bool {
    // The usual case, and the cheapest to see.
    text.is_ascii() || !text.iter().any(|byte| *byte >= 0xF0)
}

/// The text whose [`order_bytes`] these are; `None` if they are not the bytes of any text.
pub fn from_order_bytes(bytes: &[u8]) -> Option<String> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return is_order_bytes(bytes).then(|| text.to_owned());
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, _)) = rest.split_first() {
        let width = match first {
            0..=0x7F => 1,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            _ => return None,
        };
        let (head, tail) = rest.split_at_checked(width)?;
        units.push(unit(head)?);
        rest = tail;
    }
    // A longer form of the same text has another place in the order.
    String::from_utf16(&units).ok().filter(|text| *order_bytes(text) == *bytes)
}

fn three_bytes(unit: u16) -> [u8; 3] {
    [0xE0 | (unit >> 12) as u8, 0x80 | ((unit >> 6) & 0x3F) as u8, 0x80 | (unit & 0x3F) as u8]
}

fn unit(bytes: &[u8]) -> Option<u16> {
    let tail = |byte: u8| (byte & 0xC0 == 0x80).then_some(u16::from(byte & 0x3F));
    match *bytes {
        [a] => Some(u16::from(a)),
        [a, b] => Some(u16::from(a & 0x1F) << 6 | tail(b)?),
        [a, b, c] => Some(u16::from(a & 0x0F) << 12 | tail(b)? << 6 | tail(c)?),
        _ => None,
    }
}

/// No character from U+E000 on: its UTF-8 order against any text is its UTF-16 order.
fn is_utf8_ordered(key: &str) -> bool {
    key.bytes().all(|byte| byte < 0xEE)
}

/// A range of row keys inside one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRange {
    /// The lower end.
    pub lower: Bound<String>,
    /// The upper end.
    pub upper: Bound<String>,
}

impl RowRange {
    /// Every row of the partition.
    pub const fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// The one row with this key.
    pub fn exactly(row: impl Into<String>) -> Self {
        let row = row.into();
        Self { lower: Bound::Included(row.clone()), upper: Bound::Included(row) }
    }

    /// Whether `row` lies inside.
    pub fn contains(&self, row: &str) -> bool {
        let above = match &self.lower {
            Bound::Included(lower) => compare(row, lower).is_ge(),
            Bound::Excluded(lower) => compare(row, lower).is_gt(),
            Bound::Unbounded => true,
        };
        above
            && match &self.upper {
                Bound::Included(upper) => compare(row, upper).is_le(),
                Bound::Excluded(upper) => compare(row, upper).is_lt(),
                Bound::Unbounded => true,
            }
    }
}

/// A range of keys of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRange {
    /// Rows of one partition: a range query, or a partition scan.
    Partition {
        /// The partition key.
        partition: String,
        /// Which of its rows.
        rows: RowRange,
    },
    /// Rows of many partitions, in key order: a table scan, or a slice of one.
    Table {
        /// Only rows strictly after this key.
        after: Option<RowKey>,
        /// Only rows of partitions strictly before this one.
        before_partition: Option<String>,
    },
}

impl KeyRange {
    /// The range as bytes that no other range has, and that stay the same: for fingerprints of queries.
    #[doc(hidden)]
    pub fn mark(&self) -> Vec<u8> {
        let mut mark = crate::mark::Mark::default();
        mark.range(self);
        mark.0
    }

    /// The whole table.
    pub const fn table() -> Self {
        Self::Table { after: None, before_partition: None }
    }

    /// One whole partition.
    pub fn partition(partition: impl Into<String>) -> Self {
        Self::Partition { partition: partition.into(), rows: RowRange::all() }
    }

    /// Some rows of one partition.
    pub fn rows(partition: impl Into<String>, rows: RowRange) -> Self {
        Self::Partition { partition: partition.into(), rows }
    }

    /// How many comparisons it takes to ask a service for it, which knows ranges as conditions on the two keys.
    pub fn comparisons(&self) -> usize {
        match self {
            Self::Partition { rows, .. } => {
                let bounds = [&rows.lower, &rows.upper].into_iter().filter(|bound| **bound != Bound::Unbounded);
                match (&rows.lower, &rows.upper) {
                    (Bound::Included(lower), Bound::Included(upper)) if lower == upper => 2,
                    _ => 1 + bounds.count(),
                }
            }
            // Of a later partition, or of this one and behind the row.
            Self::Table { after, before_partition } => {
                after.as_ref().map_or(0, |_| 3) + before_partition.as_ref().map_or(0, |_| 1)
            }
        }
    }

    /// Whether the row at `key` lies inside.
    pub fn contains(&self, key: &RowKey) -> bool {
        match self {
            Self::Partition { partition, rows } => key.partition == *partition && rows.contains(&key.row),
            Self::Table { after, before_partition } => {
                after.as_ref().is_none_or(|after| key > after)
                    && before_partition.as_ref().is_none_or(|end| compare(&key.partition, end).is_lt())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn order_bytes_sort_as_utf16_units_do(a in any::<String>(), b in any::<String>()) {
            let expected = a.encode_utf16().cmp(b.encode_utf16());
            prop_assert_eq!(order_bytes(&a).cmp(&order_bytes(&b)), expected);
            prop_assert_eq!(compare(&a, &b), expected);
        }

        #[test]
        fn order_bytes_give_the_text_back(text in any::<String>()) {
            prop_assert_eq!(from_order_bytes(&order_bytes(&text)), Some(text));
        }
    }

    #[test]
    fn bytes_of_no_text_are_refused() {
        let surrogates = three_bytes(0xD83D).into_iter().chain(three_bytes(0xDE00)).collect::<Vec<_>>();
        assert_eq!(from_order_bytes(&surrogates).as_deref(), Some("😀"));
        // Those of one, in a form that has another place in the order.
        let (longer, utf8) = (&[&[0xC1, 0xA1][..], &surrogates].concat()[..], "😀".as_bytes());
        for bytes in [&[0x80][..], &[0xED, 0xA0, 0x80], &[0xE2, 0x82], &[0xF5], &[0xC3, 0x28], longer, utf8] {
            assert_eq!(from_order_bytes(bytes), None, "{bytes:?}");
        }
    }
}
