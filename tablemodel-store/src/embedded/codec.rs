//! The bytes of a row: drawn in `FORMAT.md`.
//!
//! Pure: nothing is read from or written to a file here, and no limit is checked.

use std::{ops::Range, sync::Arc};

use super::{
    dictionary::{Dictionary, NameId},
    engine::Space,
    packed::Packed,
    property::{StoredName, StoredProperties, put_property},
    seal::{Digest, SEAL_BYTES, damaged},
    wire::put_varint,
};
use crate::{DateTime, ETag, Properties, PropertyName, Row, RowKey, StoreError, ValueRef};

/// The first byte of each row's value; another layout takes another.
const ROW_VERSION: u8 = 1;
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
    /// `number` gives the number of a name, if it has one.
    pub(super) fn append<'p>(
        buffer: &mut Vec<u8>,
        key: &Range<usize>,
        properties: &'p Properties,
        mut number: impl FnMut(&'p PropertyName) -> Option<NameId>,
    ) -> Self {
        let start = buffer.len();
        let body = start + HEAD_BYTES;
        buffer.resize(body, 0);
        put_varint(buffer, properties.len() as u64);
        for (name, property) in properties.iter() {
            put_property(buffer, name, number(name), property);
        }
        let bytes = |range: Range<usize>| buffer.get(range).unwrap_or_default();
        let digest = Digest::of(bytes(key.clone()), bytes(body..buffer.len()));
        Self { place: start..buffer.len(), digest }
    }

    /// Stamps the value, which is for `space`.
    pub(super) fn stamp(&self, buffer: &mut [u8], space: Space, stamp: u64) {
        let seal = self.digest.seal(space, stamp);
        let head = [ROW_VERSION].into_iter().chain(seal).chain(stamp.to_le_bytes());
        let value = buffer.get_mut(self.place.clone()).unwrap_or_default();
        value.iter_mut().zip(head).for_each(|(to, from)| *to = from);
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
    /// Checks the value found at `key` in `space`. Errors: `Corrupt`.
    pub(super) fn checked(space: Space, key: &[u8], value: &'a [u8]) -> Result<Self, StoreError> {
        let parts = || {
            let (version, rest) = value.split_first()?;
            let (seal, rest) = rest.split_first_chunk::<SEAL_BYTES>()?;
            let (stamp, body) = rest.split_first_chunk::<STAMP_BYTES>()?;
            Some((*version, seal, u64::from_le_bytes(*stamp), body))
        };
        match parts() {
            Some((ROW_VERSION, seal, stamp, body)) if *seal == Digest::of(key, body).seal(space, stamp) => {
                Ok(Self { stamp, body })
            }
            _ => Err(damaged("a row does not match its checksum")),
        }
    }

    /// The row's ETag.
    pub(super) fn etag(self) -> ETag {
        ETag::from_stamp(self.stamp)
    }

    /// When the row was written.
    pub(super) fn timestamp(self) -> DateTime {
        DateTime::from_ticks(self.stamp.cast_signed())
    }

    /// The value of the property with this name, whose number is `id` if it has one.
    pub(super) fn get(self, name: &str, id: Option<NameId>) -> Option<ValueRef<'a>> {
        let is_it = |stored: &StoredName<'_>| match stored {
            StoredName::Id(stored) => Some(*stored) == id,
            StoredName::Text(stored) => *stored == name,
        };
        StoredProperties::of(self.body)?.find(is_it)
    }

    /// Whether every property can be read. The checksum has said so, unless this program wrote nonsense.
    pub(super) fn verify(self, names: &Dictionary) -> Result<(), StoreError> {
        let whole = || {
            let mut stored = StoredProperties::of(self.body)?;
            while let Some((name, tag)) = stored.take_name() {
                stored.take_value(tag).filter(|_| name.is_known(names))?;
            }
            stored.is_at_end().then_some(())
        };
        whole().ok_or_else(unreadable)
    }

    /// The properties, or the selected ones of them.
    pub(super) fn properties(
        self,
        names: &Arc<Dictionary>,
        select: Option<&Selection>,
    ) -> Result<Properties, StoreError> {
        let packed = if select.is_none() { Packed::new(self.body, names) } else { None };
        packed.map(Properties::packed).or_else(|| self.decoded(names, select)).ok_or_else(unreadable)
    }

    fn decoded(self, names: &Dictionary, select: Option<&Selection>) -> Option<Properties> {
        let mut stored = StoredProperties::of(self.body)?;
        let mut properties = Properties::with_capacity(stored.len());
        while let Some((name, tag)) = stored.take_name() {
            match select.is_none_or(|select| select.has(&name)) {
                true => properties.set(name.resolve(names)?, stored.take_value(tag)?),
                false => stored.skip_value(tag)?,
            }
        }
        stored.is_at_end().then_some(properties)
    }

    /// The whole row.
    pub(super) fn row(
        self,
        key: RowKey,
        names: &Arc<Dictionary>,
        select: Option<&Selection>,
    ) -> Result<Row, StoreError> {
        let properties = self.properties(names, select)?;
        Ok(Row { key, etag: self.etag(), timestamp: self.timestamp(), properties })
    }
}

fn unreadable() -> StoreError {
    damaged("a row cannot be decoded")
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

    fn has(&self, name: &StoredName<'_>) -> bool {
        match name {
            StoredName::Id(id) => self.ids.binary_search(id).is_ok(),
            StoredName::Text(text) => self.names.iter().any(|name| name.as_str() == *text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, embedded::engine::TableId};
    use proptest::prelude::*;
    use uuid::Uuid;

    const SPACE: Space = Space::Rows(TableId(3));

    /// The value of a row under the key `key`.
    fn stamped(properties: &Properties, names: &Dictionary, stamp: u64) -> Vec<u8> {
        let mut buffer = b"key".to_vec();
        let row = EncodedRow::append(&mut buffer, &(0..3), properties, |name| names.number(name));
        row.stamp(&mut buffer, SPACE, stamp);
        row.value(&buffer).to_vec()
    }

    fn any_value() -> impl Strategy<Value = Value> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200).prop_map(Value::Binary),
            any::<bool>().prop_map(Value::Boolean),
            any::<i64>().prop_map(|ticks| Value::DateTime(DateTime::from_ticks(ticks))),
            any::<u64>().prop_map(|bits| Value::Double(f64::from_bits(bits))),
            any::<u128>().prop_map(|bits| Value::Guid(Uuid::from_u128(bits))),
            any::<i32>().prop_map(Value::Int32),
            any::<i64>().prop_map(Value::Int64),
            any::<String>().prop_map(Value::String),
        ]
    }

    fn any_properties() -> impl Strategy<Value = Properties> {
        let pairs = prop::collection::vec(("[A-Za-z_][A-Za-z0-9_]{0,12}", any_value()), 0..20);
        pairs.prop_map(|pairs| pairs.into_iter().collect())
    }

    proptest! {
        #[test]
        fn a_row_comes_back_as_it_was_written(properties in any_properties(), stamp in 0..i64::MAX as u64) {
            let names = Arc::new(Dictionary::new([]));
            let value = stamped(&properties, &names, stamp);
            let stored = StoredRow::checked(SPACE, b"key", &value).unwrap();
            prop_assert_eq!(stored.etag(), ETag::from_stamp(stamp));
            prop_assert_eq!(&stored.properties(&names, None).unwrap(), &properties);
            for (name, expected) in properties.iter() {
                prop_assert_eq!(stored.get(name.as_str(), names.id(name.as_str())), Some(expected));
            }
            prop_assert_eq!(stored.get("absent!", None), None);
        }

        #[test]
        fn properties_read_from_a_row_change_as_any_others(
            properties in any_properties(),
            set in prop::collection::vec(("[A-C][a-b]?", any_value()), 0..6),
            removed in "[A-C][a-b]?",
            kept in "[A-Z]",
        ) {
            let names = Arc::new(Dictionary::new([]));
            let value = stamped(&properties, &names, 9);
            let stored = StoredRow::checked(SPACE, b"key", &value).unwrap();
            let read = stored.properties(&names, None).unwrap();
            let changed = |mut properties: Properties| {
                let replaced: Vec<_> = set.iter().map(|(name, value)| properties.insert(name.as_str(), value.clone())).collect();
                let taken = properties.remove(&removed);
                properties.retain(|name| name < kept.as_str());
                (replaced, taken, properties)
            };
            prop_assert_eq!(changed(read.clone()), changed(properties.clone()));
            let mut merged = properties.clone();
            merged.merge(&read);
            prop_assert_eq!(&merged, &read);
            prop_assert_eq!(read.clone().into_iter().collect::<Properties>(), properties.clone());
            prop_assert_eq!((read.len(), read.is_empty()), (properties.len(), properties.is_empty()));
        }

        #[test]
        fn a_flipped_bit_of_a_row_is_noticed(
            properties in any_properties(),
            at in any::<prop::sample::Index>(),
            bit in 0..8u32,
        ) {
            let names = Arc::new(Dictionary::new([]));
            let mut value = stamped(&properties, &names, 9);
            let at = at.index(value.len());
            value[at] ^= 1 << bit;
            prop_assert!(StoredRow::checked(SPACE, b"key", &value).is_err());
        }

        #[test]
        fn bytes_that_are_no_row_are_refused_without_a_panic(body in prop::collection::vec(any::<u8>(), 0..100)) {
            let stored = StoredRow { stamp: 1, body: &body };
            let names = Arc::new(Dictionary::new([PropertyName::from("Name")]));
            let _ = stored.get("Name", Some(NameId(0)));
            if let Ok(properties) = stored.properties(&names, None) {
                prop_assert!(properties.len() <= body.len());
            }
        }
    }

    #[test]
    fn names_beyond_the_dictionary_stand_in_the_row() {
        let names = Arc::new(Dictionary::new((0..super::super::dictionary::MAX_NAMES).map(|n| format!("P{n}").into())));
        let properties = Properties::from_iter([("Extra", 1), ("P7", 2)]);
        let value = stamped(&properties, &names, 9);
        let stored = StoredRow::checked(SPACE, b"key", &value).unwrap();
        assert_eq!(stored.properties(&names, None).unwrap(), properties);
        assert_eq!(stored.get("Extra", None), Some(ValueRef::Int32(1)));
        let select = Selection::new(&["Extra".into()], &names);
        assert_eq!(stored.properties(&names, Some(&select)).unwrap(), Properties::from_iter([("Extra", 1)]));
    }

    #[test]
    fn the_format_is_what_it_was() {
        let names = Arc::new(Dictionary::new([]));
        let properties = Properties::from_iter([("A", Value::Int32(-1)), ("B", Value::from("hi"))]);
        let value = stamped(&properties, &names, 0x0102);
        assert_eq!(value[0], 1);
        assert_eq!(value[5..], [2, 1, 0, 0, 0, 0, 0, 0, 2, 0x16, 1, 0x28, 2, b'h', b'i']);
    }
}
