//! Rows in one piece, as they remain when the store has been read: each shared with the store, or in memory with those beside it.
//!
//! A piece of memory is filled and read here, and never changed.

use std::{
    cell::RefCell,
    sync::{Arc, Mutex, PoisonError},
};

use super::{dictionary::Dictionary, keys::row_key, packed::Packed, property::StoredProperties, rows::ReadRow};
use crate::{DateTime, ETag, Properties, Row, RowKey};

/// A row that was found to be whole, in one piece: its key, then its properties, as they are stored.
#[derive(Clone)]
pub(crate) struct Kept {
    bytes: Bytes,
    stamp: u64,
}

#[derive(Clone)]
enum Bytes {
    LookedUp(ReadRow, Arc<Dictionary>),
    InPiece { piece: Arc<Piece>, start: u32, key_bytes: u32, body_bytes: u32 },
}

/// Memory of some rows, which is freed with the last of them.
struct Piece {
    /// Only appended to.
    bytes: Mutex<Vec<u8>>,
    names: Arc<Dictionary>,
}

/// Bytes of the first piece of a page: most pages are of a few rows.
const FIRST_PIECE: usize = 1024;
/// Bytes of the others: who keeps one row of a page does not hold much more.
const PIECE: usize = 4 * 1024;

/// Where the rows of one page are kept: many in one piece of memory, which costs less than one for each of them.
pub(super) struct Shelf(RefCell<Option<Free>>);

/// The piece that is filled, and what is left of it.
struct Free {
    piece: Arc<Piece>,
    bytes: usize,
}

impl Kept {
    /// A row that the store keeps too.
    #[inline]
    pub(super) const fn looked_up(row: ReadRow, stamp: u64, names: Arc<Dictionary>) -> Self {
        Self { bytes: Bytes::LookedUp(row, names), stamp }
    }

    /// The row's ETag.
    pub(crate) fn etag(&self) -> ETag {
        ETag::from_stamp(self.stamp)
    }

    /// The row, taken apart. It was found to be whole, so that nothing is missing from it.
    pub(crate) fn row(&self) -> Row {
        match &self.bytes {
            Bytes::LookedUp(read, names) => self.taken_apart(read.key_and_body(), names),
            Bytes::InPiece { piece, start, key_bytes, body_bytes } => {
                let bytes = piece.bytes.lock().unwrap_or_else(PoisonError::into_inner);
                let row = bytes.get(*start as usize..).unwrap_or_default();
                let (key, rest) = row.split_at_checked(*key_bytes as usize).unwrap_or_default();
                self.taken_apart((key, rest.get(..*body_bytes as usize).unwrap_or_default()), &piece.names)
            }
        }
    }

    fn taken_apart(&self, (key, body): (&[u8], &[u8]), names: &Arc<Dictionary>) -> Row {
        let key = row_key(key).unwrap_or_else(|_| RowKey::new("", ""));
        let packed = StoredProperties::of(body, names).and_then(|stored| Packed::parse(stored, names));
        let properties = packed.map_or_else(Properties::new, Properties::packed);
        Row { key, etag: self.etag(), timestamp: DateTime::from_ticks(self.stamp.cast_signed()), properties }
    }
}

impl Shelf {
    /// One without rows.
    pub(super) const fn new() -> Self {
        Self(RefCell::new(None))
    }

    /// Keeps a row that was found to be whole, whose key is one; `None` where it is larger than any row.
    #[inline]
    pub(super) fn keep(&self, key: &[u8], body: &[u8], stamp: u64, names: &Arc<Dictionary>) -> Option<Kept> {
        let bytes = key.len() + body.len();
        let mut free = self.0.borrow_mut();
        let free = match &mut *free {
            Some(free) if free.bytes >= bytes => free,
            free => free.insert(Free::after(free.is_none(), bytes, names)),
        };
        free.bytes -= bytes;
        let piece = Arc::clone(&free.piece);
        let start = piece.append(key, body);
        let (key_bytes, body_bytes) = (u32::try_from(key.len()).ok()?, u32::try_from(body.len()).ok()?);
        Some(Kept { bytes: Bytes::InPiece { piece, start: u32::try_from(start).ok()?, key_bytes, body_bytes }, stamp })
    }
}

impl Free {
    /// A piece for so many bytes, and for rows after them.
    fn after(is_first: bool, bytes: usize, names: &Arc<Dictionary>) -> Self {
        let bytes = bytes.max(if is_first { FIRST_PIECE } else { PIECE });
        let piece = Piece { bytes: Mutex::new(Vec::with_capacity(bytes)), names: Arc::clone(names) };
        Self { piece: Arc::new(piece), bytes }
    }
}

impl Piece {
    /// Where the row begins that was added.
    fn append(&self, key: &[u8], body: &[u8]) -> usize {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let start = bytes.len();
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(body);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        PropertyName,
        embedded::{keys::key_bytes, property::BodyWriter},
    };
    use proptest::prelude::*;

    fn body(properties: &Properties, names: &Dictionary) -> Vec<u8> {
        let mut body = Vec::new();
        BodyWriter::new().append(&mut body, properties, &mut names.numbers());
        body
    }

    proptest! {
        /// However large they are, and in whichever order they are let go: each is what it was, and holds little of the others.
        #[test]
        fn rows_on_a_shelf_stay_what_they_were(
            sizes in prop::collection::vec(prop_oneof![0..40_usize, 200..400_usize, 3_000..6_000_usize], 1..60),
            order in any::<prop::sample::Index>(),
        ) {
            let (names, shelf) = (Arc::new(Dictionary::new(["A"].map(PropertyName::from))), Shelf::new());
            let rows = sizes.iter().enumerate().map(|(at, size)| {
                let key = RowKey::new("p", format!("r{at}"));
                let properties = Properties::from_iter([("A", "x".repeat(*size))]);
                (key_bytes(&key.partition, &key.row), body(&properties, &names), key, properties)
            });
            let rows: Vec<_> = rows.collect();
            let mut kept: Vec<_> = rows.iter().zip(1..).map(|((key, body, ..), stamp)| shelf.keep(key, body, stamp, &names).unwrap()).collect();
            for (kept, (key, body, ..)) in kept.iter().zip(&rows) {
                let Bytes::InPiece { piece, .. } = &kept.bytes else { panic!("it was not looked up") };
                let bytes = piece.bytes.lock().unwrap();
                prop_assert!(bytes.len() <= PIECE.max(key.len() + body.len()));
                prop_assert!(bytes.capacity() <= PIECE.max(bytes.len()));
            }
            drop(shelf);
            let last = kept.split_off(order.index(kept.len()));
            for (kept, (at, (_, _, key, properties))) in last.iter().zip(rows.iter().enumerate().skip(kept.len())) {
                let (row, stamp) = (kept.row(), at as u64 + 1);
                prop_assert_eq!((&row.key, &row.properties), (key, properties));
                prop_assert_eq!((row.etag, kept.etag()), (ETag::from_stamp(stamp), ETag::from_stamp(stamp)));
            }
        }
    }
}
