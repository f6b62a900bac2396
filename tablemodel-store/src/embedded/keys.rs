//! The bytes of row keys, and ranges of them.
//!
//! The order of the bytes is the order of keys: the one rule about that is `key::order_bytes`.

use std::ops::{Bound, RangeBounds};

use super::{engine::Range, seal::damaged};
use crate::{
    KeyRange, RowKey, RowRange, StoreError, StoreErrorKind,
    key::{from_order_bytes, is_order_bytes, order_bytes},
};

/// Between partition key and row key. No stored key contains it, and it sorts below all that one may contain.
const SEPARATOR: u8 = 0x00;
/// The byte above the separator, which no stored key contains either.
const ABOVE_SEPARATOR: u8 = 0x01;

/// The longest key that is put together on the stack.
const SHORT_BYTES: usize = 128;

/// The bytes of a row's key.
pub(super) fn key_bytes(partition: &str, row: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(partition.len() + 1 + row.len());
    put_key(&mut bytes, &order_bytes(partition), row);
    bytes
}

/// Appends the bytes of a row's key, in the partition whose key has these bytes.
pub(super) fn put_key(out: &mut Vec<u8>, partition: &[u8], row: &str) {
    out.extend_from_slice(partition);
    out.push(SEPARATOR);
    out.extend_from_slice(&order_bytes(row));
}

/// Room for the bytes of a key that is looked up: in place where it is short, as most are.
pub(super) struct LookupKey {
    short: [u8; SHORT_BYTES],
    long: Vec<u8>,
}

impl LookupKey {
    pub(super) const fn new() -> Self {
        Self { short: [SEPARATOR; SHORT_BYTES], long: Vec::new() }
    }

    /// The bytes of a row's key. To be asked once.
    #[inline]
    pub(super) fn bytes(&mut self, partition: &str, row: &str) -> &[u8] {
        match short_key(&mut self.short, partition, row) {
            Some(bytes) => bytes,
            None => {
                self.long = key_bytes(partition, row);
                &self.long
            }
        }
    }
}

/// The bytes of a row's key, where they fit between separators and are those of its texts.
#[inline]
fn short_key<'k>(to: &'k mut [u8], partition: &str, row: &str) -> Option<&'k [u8]> {
    let (start, end) = (partition.len() + 1, partition.len() + 1 + row.len());
    to.get_mut(..partition.len())?.copy_from_slice(partition.as_bytes());
    to.get_mut(start..end)?.copy_from_slice(row.as_bytes());
    to.get(..end).filter(|bytes| is_order_bytes(bytes))
}

/// The bytes of the partition key, and those of the row key.
#[inline]
pub(super) fn split_key(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == SEPARATOR)?;
    let (partition, row) = bytes.split_at_checked(at)?;
    Some((partition, row.get(1..)?))
}

/// The key that these bytes are.
pub(super) fn row_key(bytes: &[u8]) -> Result<RowKey, StoreError> {
    let parts = || {
        let (partition, row) = split_key(bytes)?;
        Some(RowKey { partition: from_order_bytes(partition)?, row: from_order_bytes(row)? })
    };
    parts().ok_or_else(|| damaged("a key is not one that can be written"))
}

/// That keys come in their order, each once: a damaged inner page may lead to another of the same table, whose rows are all whole.
#[derive(Default)]
pub(super) struct Ascending(Option<Vec<u8>>);

impl Ascending {
    /// Errors: `Corrupt`, unless this one is behind the last one.
    #[inline]
    pub(super) fn next(&mut self, key: &[u8]) -> Result<(), StoreError> {
        let last = match &mut self.0 {
            Some(last) if *key <= **last => return Err(damaged("rows are not in the order of their keys")),
            Some(last) => last,
            none => none.insert(Vec::with_capacity(2 * key.len())),
        };
        last.clear();
        last.extend_from_slice(key);
        Ok(())
    }
}

/// The error, met at the row with this key, with the row named: where there is one bad row it must be known which.
#[cold]
pub(super) fn at_row(error: StoreError, table: &str, key: &[u8]) -> StoreError {
    match (error.kind(), row_key(key)) {
        (StoreErrorKind::Corrupt | StoreErrorKind::Unsupported, Ok(RowKey { partition, row })) => {
            error.about(format_args!("row ({partition}, {row}) of table `{table}`"))
        }
        _ => error,
    }
}

/// Both ends of a range of key bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeyBounds {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

impl KeyBounds {
    /// The bounds of `range`, strictly after `resume` where that is given; `None` if nothing can lie between them.
    pub(super) fn new(range: &KeyRange, resume: Option<&RowKey>) -> Option<Self> {
        let (lower, upper) = match range {
            // Whatever the rows of such a partition may be, none can have been written.
            KeyRange::Partition { partition, .. } if partition.contains('\0') => return None,
            KeyRange::Partition { partition, rows } => of_rows(partition, rows),
            KeyRange::Table { after, before_partition } => (
                after.as_ref().map_or(Bound::Unbounded, after_key),
                before_partition.as_deref().map_or(Bound::Unbounded, before_partition_key),
            ),
        };
        let lower = resume.map_or(lower, after_key);
        is_ascending(&lower, &upper).then_some(Self { lower, upper })
    }

    /// Whether the key is in it.
    #[inline]
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        RangeBounds::<[u8]>::contains::<[u8]>(&self.range(), key)
    }

    /// The range of a scan.
    pub(super) fn range(&self) -> Range<'_> {
        (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice))
    }
}

fn of_rows(partition: &str, rows: &RowRange) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let key = |row: &String| key_bytes(partition, row);
    let lower = match rows.lower.as_ref().map(key) {
        Bound::Unbounded => Bound::Included(key_bytes(partition, "")),
        bound => bound,
    };
    let upper = match rows.upper.as_ref().map(key) {
        Bound::Unbounded => Bound::Excluded(end_of_partition(partition)),
        bound => bound,
    };
    (lower, upper)
}

/// Above all rows of a partition, below all of the next.
fn end_of_partition(partition: &str) -> Vec<u8> {
    let mut bytes = order_bytes(partition).into_owned();
    bytes.push(ABOVE_SEPARATOR);
    bytes
}

fn after_key(key: &RowKey) -> Bound<Vec<u8>> {
    match key.partition.split_once('\0') {
        // Such a key lies behind all rows of the partition before U+0000, and before those of the next.
        Some((partition, _)) => Bound::Included(end_of_partition(partition)),
        None => Bound::Excluded(key_bytes(&key.partition, &key.row)),
    }
}

fn before_partition_key(partition: &str) -> Bound<Vec<u8>> {
    match partition.split_once('\0') {
        Some((partition, _)) => Bound::Excluded(end_of_partition(partition)),
        None => Bound::Excluded(order_bytes(partition).into_owned()),
    }
}

fn is_ascending(lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> bool {
    match (lower, upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Included(lower), Bound::Included(upper)) => lower <= upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower < upper
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ops::RangeBounds;

    /// Text of a stored key: anything but control characters, often from both sides of U+FFFF.
    fn stored() -> impl Strategy<Value = String> {
        "[ -c\u{E000}-\u{E003}\u{10000}-\u{10003}]{0,3}"
    }

    /// Text of a bound: also with U+0000.
    fn bound_text() -> impl Strategy<Value = String> {
        "[\u{0}a-c\u{E000}\u{10000}]{0,3}"
    }

    fn any_bound() -> impl Strategy<Value = Bound<String>> {
        prop_oneof![
            Just(Bound::Unbounded),
            bound_text().prop_map(Bound::Included),
            bound_text().prop_map(Bound::Excluded)
        ]
    }

    fn any_range() -> impl Strategy<Value = KeyRange> {
        let key = (bound_text(), bound_text()).prop_map(|(partition, row)| RowKey { partition, row });
        prop_oneof![
            (bound_text(), any_bound(), any_bound())
                .prop_map(|(partition, lower, upper)| KeyRange::rows(partition, RowRange { lower, upper })),
            (prop::option::of(key), prop::option::of(bound_text()))
                .prop_map(|(after, before_partition)| KeyRange::Table { after, before_partition }),
        ]
    }

    #[test]
    fn keys_of_any_length_are_looked_up() {
        for len in [0, 1, SHORT_BYTES - 3, SHORT_BYTES - 2, SHORT_BYTES - 1, SHORT_BYTES, 2 * SHORT_BYTES] {
            let text = "k".repeat(len);
            assert_eq!(LookupKey::new().bytes("p", &text), key_bytes("p", &text), "{len}");
            assert_eq!(LookupKey::new().bytes(&text, "r"), key_bytes(&text, "r"), "{len}");
        }
    }

    proptest! {
        #[test]
        fn key_bytes_come_back_and_sort_as_keys_do(a in (stored(), stored()), b in (stored(), stored())) {
            let (a, b) = (RowKey::new(a.0, a.1), RowKey::new(b.0, b.1));
            let (a_bytes, b_bytes) = (key_bytes(&a.partition, &a.row), key_bytes(&b.partition, &b.row));
            prop_assert_eq!(a_bytes.cmp(&b_bytes), a.cmp(&b));
            let mut room = LookupKey::new();
            prop_assert_eq!(room.bytes(&a.partition, &a.row), &a_bytes);
            prop_assert_eq!(row_key(&a_bytes).unwrap(), a);
        }

        #[test]
        fn bounds_hold_what_the_range_contains(
            range in any_range(),
            partition in "[a-c\u{E000}\u{10000}]{0,3}",
            row in "[a-c\u{E000}\u{10000}]{0,3}",
        ) {
            let key = RowKey { partition, row };
            let bytes = key_bytes(&key.partition, &key.row);
            let inside = KeyBounds::new(&range, None)
                .is_some_and(|bounds| RangeBounds::<[u8]>::contains::<[u8]>(&bounds.range(), &bytes));
            prop_assert_eq!(inside, range.contains(&key));
        }
    }
}
