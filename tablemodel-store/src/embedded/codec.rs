//! The bytes of a row: drawn in `FORMAT.md`.
//!
//! Pure: nothing is read from or written to a file here, and no limit is checked.

use std::{ops::Range, sync::Arc};

use super::{
    dictionary::{Dictionary, NameId, Numbers},
    engine::Space,
    packed::Packed,
    property::{BodyWriter, StoredName, StoredProperties},
    seal::{Digest, SEAL_BYTES, damaged_row},
};
use crate::{DateTime, ETag, Properties, PropertyName, RowState, StoreError, StoreErrorKind, ValueRef};

/// The first byte of each row's value; another layout takes another.
const ROW_VERSION: u8 = 3;
const STAMP_BYTES: usize = 8;
/// Version, checksum, stamp.
const HEAD_BYTES: usize = 1 + SEAL_BYTES + STAMP_BYTES;

/// A row's value at its place in a buffer, complete but for its stamp and checksum: those the writer thread adds.
#[derive(Debug, Clone)]
pub(super) struct EncodedRow {
    place: Range<usize>,
    digest: Digest,
}

impl EncodedRow {
    /// Appends to `buffer` the value of a row with these properties, under the key that lies at `key` in it.
    pub(super) fn append<'p>(
        buffer: &mut Vec<u8>,
        key: &Range<usize>,
        properties: &'p Properties,
        writer: &mut BodyWriter,
        numbers: &mut Numbers<'_, 'p>,
    ) -> Self {
        let start = buffer.len();
        let body = start + HEAD_BYTES;
        buffer.resize(body, 0);
        writer.append(buffer, properties, numbers);
        let bytes = |range: Range<usize>| buffer.get(range).unwrap_or_default();
        let digest = Digest::of(bytes(key.clone()), bytes(body..buffer.len()));
        Self { place: start..buffer.len(), digest }
    }

    /// Stamps the value, which is for `space`.
    pub(super) fn stamp(&self, buffer: &mut [u8], space: Space, stamp: u64) {
        let value = buffer.get_mut(self.place.clone()).unwrap_or_default();
        if let Some((version, rest)) = value.split_first_mut()
            && let Some((seal, rest)) = rest.split_first_chunk_mut()
            && let Some(stamped) = rest.first_chunk_mut()
        {
            *version = ROW_VERSION;
            *seal = self.digest.seal(space, stamp);
            *stamped = stamp.to_le_bytes();
        }
    }

    /// The value, once it is stamped.
    pub(super) fn value<'b>(&self, buffer: &'b [u8]) -> &'b [u8] {
        buffer.get(self.place.clone()).unwrap_or_default()
    }
}

/// A row's value as it lies in the file: checked, not yet decoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredRow<'a> {
    stamp: u64,
    body: &'a [u8],
}

impl<'a> StoredRow<'a> {
    /// Checks the value found at `key` in `space`. Errors: `Corrupt`; `Unsupported`, if it is of a later version.
    #[inline]
    pub(super) fn checked(space: Space, key: &[u8], value: &'a [u8]) -> Result<Self, StoreError> {
        match Self::cut(value) {
            Some((ROW_VERSION, seal, stamp, body)) if *seal == Digest::of(key, body).seal(space, stamp) => {
                Ok(Self { stamp, body })
            }
            _ => Err(Self::refused(space, key, value)),
        }
    }

    /// Why the value is none that can be read. In rows of all versions the version is part of the checksum: a flipped bit is not taken
    /// for another version.
    #[cold]
    fn refused(space: Space, key: &[u8], value: &[u8]) -> StoreError {
        match Self::cut(value) {
            Some((version, seal, stamp, body))
                if version > ROW_VERSION
                    && *seal == Digest::of(key, body).seal(space, stamp ^ u64::from(version - ROW_VERSION) << 56) =>
            {
                let detail =
                    format!("a row has version {version}, and this program reads {ROW_VERSION}; use a newer one");
                StoreError::new(StoreErrorKind::Unsupported, detail)
            }
            _ => damaged_row("a row does not match its checksum"),
        }
    }

    /// A value whose checksum was found right before. Errors: `Corrupt`, if it is none.
    #[inline]
    pub(super) fn again(value: &'a [u8]) -> Result<Self, StoreError> {
        let (_, _, stamp, body) =
            Self::cut(value).filter(|(version, ..)| *version == ROW_VERSION).ok_or_else(unreadable)?;
        Ok(Self { stamp, body })
    }

    /// The version, the checksum, the stamp and the body of a value.
    #[inline]
    fn cut(value: &[u8]) -> Option<(u8, &[u8; SEAL_BYTES], u64, &[u8])> {
        let (version, rest) = value.split_first()?;
        let (seal, rest) = rest.split_first_chunk::<SEAL_BYTES>()?;
        let (stamp, body) = rest.split_first_chunk::<STAMP_BYTES>()?;
        Some((*version, seal, u64::from_le_bytes(*stamp), body))
    }

    /// Its properties, as they lie in the file.
    pub(super) fn body(self) -> &'a [u8] {
        self.body
    }

    /// The row's ETag.
    pub(super) fn etag(self) -> ETag {
        ETag::from_stamp(self.stamp)
    }

    /// The row, to be read. Errors: `Corrupt`, where its texts are none, or nobody knows its shape.
    #[inline(always)]
    pub(super) fn open(self, names: &'a Dictionary) -> Result<OpenRow<'a>, StoreError> {
        let properties = StoredProperties::of(self.body, names).ok_or_else(unreadable)?;
        Ok(OpenRow { row: self, properties })
    }
}

/// A stored row whose texts are texts; its properties have not been looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenRow<'a> {
    row: StoredRow<'a>,
    properties: StoredProperties<'a>,
}

impl<'a> OpenRow<'a> {
    /// The value found at `key` in `space`. Errors: `Corrupt`.
    #[inline(always)]
    pub(super) fn checked(
        space: Space,
        key: &[u8],
        value: &'a [u8],
        names: &'a Dictionary,
    ) -> Result<Self, StoreError> {
        StoredRow::checked(space, key, value)?.open(names)
    }

    /// Its properties, as they lie in the file.
    #[inline]
    pub(super) fn stored(&self) -> StoredProperties<'a> {
        self.properties
    }

    /// The same, in bytes.
    #[inline]
    pub(super) fn body(&self) -> &'a [u8] {
        self.row.body
    }

    /// The row's ETag.
    pub(super) fn etag(&self) -> ETag {
        self.row.etag()
    }

    /// When the row was written.
    pub(super) fn timestamp(&self) -> DateTime {
        DateTime::from_ticks(self.row.stamp.cast_signed())
    }

    /// The value of the property with this name, whose number is `id` if it has one. Errors: `Corrupt`, if it cannot be
    /// told; what lies behind the property is not looked at.
    pub(super) fn get(&self, name: &str, id: Option<NameId>) -> Result<Option<ValueRef<'a>>, StoreError> {
        let is_it = |stored: &StoredName<'_>| match stored {
            StoredName::Id(stored) => Some(*stored) == id,
            StoredName::Text(stored) => *stored == name,
        };
        self.stored().find(is_it).ok_or_else(unreadable)
    }

    /// The properties, or the selected ones of them. Errors: `Corrupt`. The checksum has said that the row is as it was
    /// written; whatever wrote it, nothing malformed is ever read as a property that is absent.
    pub(super) fn properties(
        &self,
        names: &Arc<Dictionary>,
        select: Option<&Selection>,
    ) -> Result<Properties, StoreError> {
        let properties = match select {
            None if !names.is_full() => Packed::parse(self.stored(), names).map(Properties::packed),
            _ => self.decoded(names, select),
        };
        properties.ok_or_else(unreadable)
    }

    fn decoded(&self, names: &Dictionary, select: Option<&Selection>) -> Option<Properties> {
        let mut stored = self.stored();
        let mut properties = Properties::with_capacity(select.map_or(stored.len(), Selection::len));
        let mut last = None;
        while stored.len() > 0 {
            let (name, tag) = stored.take_name()?;
            let text = name.text(names)?;
            if last.replace(text).is_some_and(|last| last >= text) {
                return None;
            }
            match select.is_none_or(|select| select.has(&name)) {
                true => properties.set(name.resolve(names)?, stored.take_value(tag)?),
                false => stored.skip_value(tag)?,
            }
        }
        stored.is_at_end().then_some(properties)
    }

    /// The row without its key.
    pub(super) fn state(&self, names: &Arc<Dictionary>, select: Option<&Selection>) -> Result<RowState, StoreError> {
        let properties = self.properties(names, select)?;
        Ok(RowState { etag: self.etag(), timestamp: self.timestamp(), properties })
    }
}

fn unreadable() -> StoreError {
    damaged_row("a row cannot be decoded")
}

/// The properties that a query selects, by number where they have one.
#[derive(Debug)]
pub(super) struct Selection {
    ids: Vec<NameId>,
    names: Vec<PropertyName>,
}

impl Selection {
    /// The selection of these names.
    pub(super) fn new(select: &[PropertyName], names: &Dictionary) -> Self {
        let mut ids: Vec<_> = select.iter().filter_map(|name| names.id(name.as_str())).collect();
        ids.sort_unstable();
        Self { ids, names: select.to_vec() }
    }

    fn len(&self) -> usize {
        self.names.len()
    }

    fn has(&self, name: &StoredName<'_>) -> bool {
        match name {
            StoredName::Id(id) => self.ids.binary_search(id).is_ok(),
            StoredName::Text(text) => self.names.iter().any(|name| name.as_str() == *text),
        }
    }
}

#[cfg(test)]
mod tests;
