//! The bytes of a row: drawn in `FORMAT-embedded.md`.
//!
//! Pure: nothing is read from or written to a file here, and no limit is checked.

use uuid::Uuid;

use super::{
    dictionary::{Dictionary, NameId},
    engine::Space,
    seal::{Digest, SEAL_BYTES, damaged},
    wire::{from_zigzag, put_bytes, put_varint, take_array, take_bytes, take_fixed, take_varint, zigzag},
};
use crate::{DateTime, ETag, Properties, PropertyName, Row, RowKey, StoreError, Value, ValueRef};

/// The first byte of each row's value; another layout takes another.
const ROW_VERSION: u8 = 1;
const STAMP_BYTES: usize = 8;
/// Version, checksum, stamp.
const HEAD_BYTES: usize = 1 + SEAL_BYTES + STAMP_BYTES;

/// The types of values, as the low four bits of a property's head.
mod tag {
    pub(super) const BINARY: u64 = 0;
    pub(super) const FALSE: u64 = 1;
    pub(super) const TRUE: u64 = 2;
    pub(super) const DATE_TIME: u64 = 3;
    pub(super) const DOUBLE: u64 = 4;
    pub(super) const GUID: u64 = 5;
    pub(super) const INT32: u64 = 6;
    pub(super) const INT64: u64 = 7;
    pub(super) const STRING: u64 = 8;
    pub(super) const BITS: u32 = 4;
}

/// A row's value, complete but for its stamp and checksum: those the writer thread adds.
#[derive(Debug, Clone)]
pub(super) struct EncodedRow {
    value: Vec<u8>,
    digest: Digest,
}

impl EncodedRow {
    /// The value of a row with these properties, under the key with these bytes.
    pub(super) fn new(key: &[u8], properties: &Properties, names: &Dictionary) -> Self {
        let ids = names.ids(properties.iter().map(|(name, _)| name));
        let mut value = vec![0; HEAD_BYTES];
        put_varint(&mut value, properties.len() as u64);
        for ((name, property), id) in properties.iter().zip(ids) {
            put_property(&mut value, name, id, property);
        }
        let digest = Digest::of(key, value.get(HEAD_BYTES..).unwrap_or_default());
        Self { value, digest }
    }

    /// The value for `space`, stamped.
    pub(super) fn stamped(&mut self, space: Space, stamp: u64) -> &[u8] {
        let seal = self.digest.seal(space, stamp);
        let head = [ROW_VERSION].into_iter().chain(seal).chain(stamp.to_le_bytes());
        self.value.iter_mut().zip(head).for_each(|(to, from)| *to = from);
        &self.value
    }

    /// Its size in bytes.
    pub(super) fn len(&self) -> usize {
        self.value.len()
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
        let mut rest = self.body;
        for _ in 0..take_varint(&mut rest)? {
            let head = Head::take(&mut rest)?;
            let is_it = match head.name {
                StoredName::Id(stored) => Some(stored) == id,
                StoredName::Text(stored) => stored == name,
            };
            let payload = Payload::take(head.tag, &mut rest)?;
            if is_it {
                return payload.value(head.tag);
            }
        }
        None
    }

    /// The properties, or the selected ones of them.
    pub(super) fn properties(self, names: &Dictionary, select: Option<&Selection>) -> Result<Properties, StoreError> {
        self.decoded(names, select).ok_or_else(|| damaged("a row cannot be decoded"))
    }

    fn decoded(self, names: &Dictionary, select: Option<&Selection>) -> Option<Properties> {
        let mut rest = self.body;
        let count = usize::try_from(take_varint(&mut rest)?).ok()?;
        // A property takes a byte at least: a count that lies must not reserve memory.
        let mut pairs = Vec::with_capacity(count.min(rest.len()));
        for _ in 0..count {
            let head = Head::take(&mut rest)?;
            if select.is_none_or(|select| select.has(&head.name)) {
                pairs.push((head.name.resolve(names)?, take_value(head.tag, &mut rest)?));
            } else {
                Payload::take(head.tag, &mut rest)?;
            }
        }
        rest.is_empty().then(|| Properties::from_sorted(pairs))
    }

    /// The whole row.
    pub(super) fn row(self, key: RowKey, names: &Dictionary, select: Option<&Selection>) -> Result<Row, StoreError> {
        let properties = self.properties(names, select)?;
        Ok(Row { key, etag: self.etag(), timestamp: self.timestamp(), properties })
    }
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

/// What stands before a property's payload.
struct Head<'a> {
    name: StoredName<'a>,
    tag: u64,
}

enum StoredName<'a> {
    Id(NameId),
    Text(&'a str),
}

impl<'a> Head<'a> {
    #[inline(always)]
    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let head = take_varint(rest)?;
        let name = match (head >> tag::BITS).checked_sub(1) {
            Some(id) => StoredName::Id(NameId(u32::try_from(id).ok()?)),
            None => StoredName::Text(std::str::from_utf8(take_bytes(rest)?).ok()?),
        };
        Some(Self { name, tag: head & ((1 << tag::BITS) - 1) })
    }
}

impl StoredName<'_> {
    #[inline(always)]
    fn resolve(&self, names: &Dictionary) -> Option<PropertyName> {
        match self {
            Self::Id(id) => names.name(*id).cloned(),
            Self::Text(text) => Some(PropertyName::from(*text)),
        }
    }
}

/// A property's value, not yet looked at.
enum Payload<'a> {
    Bits(u64),
    Bytes(&'a [u8]),
}

impl<'a> Payload<'a> {
    fn take(tag: u64, rest: &mut &'a [u8]) -> Option<Self> {
        Some(match tag {
            tag::FALSE | tag::TRUE => Self::Bits(0),
            tag::INT32 | tag::INT64 => Self::Bits(take_varint(rest)?),
            tag::DATE_TIME | tag::DOUBLE => Self::Bits(take_fixed(rest)?),
            tag::GUID => Self::Bytes(take_array::<16>(rest)?),
            tag::BINARY | tag::STRING => Self::Bytes(take_bytes(rest)?),
            _ => return None,
        })
    }

    fn value(self, tag: u64) -> Option<ValueRef<'a>> {
        Some(match (tag, self) {
            (tag::BINARY, Self::Bytes(bytes)) => ValueRef::Binary(bytes),
            (tag::FALSE, _) => ValueRef::Boolean(false),
            (tag::TRUE, _) => ValueRef::Boolean(true),
            (tag::DATE_TIME, Self::Bits(bits)) => ValueRef::DateTime(DateTime::from_ticks(bits.cast_signed())),
            (tag::DOUBLE, Self::Bits(bits)) => ValueRef::Double(f64::from_bits(bits)),
            (tag::GUID, Self::Bytes(bytes)) => ValueRef::Guid(Uuid::from_slice(bytes).ok()?),
            (tag::INT32, Self::Bits(bits)) => ValueRef::Int32(i32::try_from(from_zigzag(bits)).ok()?),
            (tag::INT64, Self::Bits(bits)) => ValueRef::Int64(from_zigzag(bits)),
            (tag::STRING, Self::Bytes(bytes)) => ValueRef::String(std::str::from_utf8(bytes).ok()?),
            _ => return None,
        })
    }
}

/// A property's value. The inner loop of every read: going through [`Payload::value`] takes half as long again.
#[inline(always)]
fn take_value(tag: u64, rest: &mut &[u8]) -> Option<Value> {
    Some(match tag {
        tag::BINARY => Value::Binary(take_bytes(rest)?.to_vec()),
        tag::FALSE => Value::Boolean(false),
        tag::TRUE => Value::Boolean(true),
        tag::DATE_TIME => Value::DateTime(DateTime::from_ticks(take_fixed(rest)?.cast_signed())),
        tag::DOUBLE => Value::Double(f64::from_bits(take_fixed(rest)?)),
        tag::GUID => Value::Guid(Uuid::from_bytes(*take_array(rest)?)),
        tag::INT32 => Value::Int32(i32::try_from(from_zigzag(take_varint(rest)?)).ok()?),
        tag::INT64 => Value::Int64(from_zigzag(take_varint(rest)?)),
        tag::STRING => Value::String(std::str::from_utf8(take_bytes(rest)?).ok()?.to_owned()),
        _ => return None,
    })
}

fn put_property(out: &mut Vec<u8>, name: &PropertyName, id: Option<NameId>, value: ValueRef<'_>) {
    let tag = match value {
        ValueRef::Binary(_) => tag::BINARY,
        ValueRef::Boolean(false) => tag::FALSE,
        ValueRef::Boolean(true) => tag::TRUE,
        ValueRef::DateTime(_) => tag::DATE_TIME,
        ValueRef::Double(_) => tag::DOUBLE,
        ValueRef::Guid(_) => tag::GUID,
        ValueRef::Int32(_) => tag::INT32,
        ValueRef::Int64(_) => tag::INT64,
        ValueRef::String(_) => tag::STRING,
    };
    match id {
        Some(NameId(id)) => put_varint(out, (u64::from(id) + 1) << tag::BITS | tag),
        None => {
            put_varint(out, tag);
            put_bytes(out, name.as_str().as_bytes());
        }
    }
    match value {
        ValueRef::Binary(bytes) => put_bytes(out, bytes),
        ValueRef::Boolean(_) => {}
        ValueRef::DateTime(at) => out.extend_from_slice(&at.ticks().to_le_bytes()),
        ValueRef::Double(double) => out.extend_from_slice(&double.to_bits().to_le_bytes()),
        ValueRef::Guid(guid) => out.extend_from_slice(guid.as_bytes()),
        ValueRef::Int32(int) => put_varint(out, zigzag(int.into())),
        ValueRef::Int64(int) => put_varint(out, zigzag(int)),
        ValueRef::String(text) => put_bytes(out, text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::engine::TableId;
    use proptest::prelude::*;

    const SPACE: Space = Space::Rows(TableId(3));

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
            let names = Dictionary::new([]);
            let mut encoded = EncodedRow::new(b"key", &properties, &names);
            let value = encoded.stamped(SPACE, stamp).to_vec();
            let stored = StoredRow::checked(SPACE, b"key", &value).unwrap();
            prop_assert_eq!(stored.etag(), ETag::from_stamp(stamp));
            prop_assert_eq!(&stored.properties(&names, None).unwrap(), &properties);
            for (name, expected) in properties.iter() {
                prop_assert_eq!(stored.get(name.as_str(), names.id(name.as_str())), Some(expected));
            }
            prop_assert_eq!(stored.get("absent!", None), None);
        }

        #[test]
        fn a_flipped_bit_of_a_row_is_noticed(
            properties in any_properties(),
            at in any::<prop::sample::Index>(),
            bit in 0..8u32,
        ) {
            let names = Dictionary::new([]);
            let mut value = EncodedRow::new(b"key", &properties, &names).stamped(SPACE, 9).to_vec();
            let at = at.index(value.len());
            value[at] ^= 1 << bit;
            prop_assert!(StoredRow::checked(SPACE, b"key", &value).is_err());
        }

        #[test]
        fn bytes_that_are_no_row_are_refused_without_a_panic(body in prop::collection::vec(any::<u8>(), 0..100)) {
            let stored = StoredRow { stamp: 1, body: &body };
            let names = Dictionary::new([PropertyName::from("Name")]);
            let _ = stored.get("Name", Some(NameId(0)));
            if let Ok(properties) = stored.properties(&names, None) {
                prop_assert!(properties.len() <= body.len());
            }
        }
    }

    #[test]
    fn names_beyond_the_dictionary_stand_in_the_row() {
        let names = Dictionary::new((0..super::super::dictionary::MAX_NAMES).map(|n| format!("P{n}").into()));
        let properties = Properties::from_iter([("Extra", 1), ("P7", 2)]);
        let value = EncodedRow::new(b"key", &properties, &names).stamped(SPACE, 9).to_vec();
        let stored = StoredRow::checked(SPACE, b"key", &value).unwrap();
        assert_eq!(stored.properties(&names, None).unwrap(), properties);
        assert_eq!(stored.get("Extra", None), Some(ValueRef::Int32(1)));
        let select = Selection::new(&["Extra".into()], &names);
        assert_eq!(stored.properties(&names, Some(&select)).unwrap(), Properties::from_iter([("Extra", 1)]));
    }

    #[test]
    fn the_format_is_what_it_was() {
        let names = Dictionary::new([]);
        let properties = Properties::from_iter([("A", Value::Int32(-1)), ("B", Value::from("hi"))]);
        let value = EncodedRow::new(b"key", &properties, &names).stamped(SPACE, 0x0102).to_vec();
        assert_eq!(value[0], 1);
        assert_eq!(value[5..], [2, 1, 0, 0, 0, 0, 0, 0, 2, 0x16, 1, 0x28, 2, b'h', b'i']);
    }
}
