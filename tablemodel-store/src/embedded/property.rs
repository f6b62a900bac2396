//! The bytes of one property: drawn in `FORMAT.md`.
//!
//! Pure: nothing is read from or written to a file here, and no limit is checked.

use uuid::Uuid;

use super::{
    dictionary::{Dictionary, NameId},
    wire::{from_zigzag, put_bytes, put_varint, take_array, take_bytes, take_fixed, take_varint, zigzag},
};
use crate::{DateTime, PropertyName, ValueRef};

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

/// The properties of a row's body, in order of name. Stops early at what cannot be read: then it is not at the end.
#[derive(Debug, Clone)]
pub(super) struct StoredProperties<'a> {
    left: usize,
    rest: &'a [u8],
}

impl<'a> StoredProperties<'a> {
    /// Those of `body`: their count, then one after the other.
    pub(super) fn of(body: &'a [u8]) -> Option<Self> {
        let mut rest = body;
        let left = usize::try_from(take_varint(&mut rest)?).ok()?;
        // A property takes a byte at least: a count that lies must not reserve memory.
        (left <= rest.len()).then_some(Self { left, rest })
    }

    /// How many are left.
    pub(super) fn len(&self) -> usize {
        self.left
    }

    /// Whether all were read, and nothing follows them.
    pub(super) fn is_at_end(&self) -> bool {
        self.left == 0 && self.rest.is_empty()
    }
}

impl<'a> Iterator for StoredProperties<'a> {
    type Item = StoredProperty<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.left.checked_sub(1)?;
        let property = take_property(&mut self.rest)?;
        self.left = left;
        Some(property)
    }
}

/// A property as it lies in the file.
#[derive(Debug)]
pub(super) struct StoredProperty<'a> {
    pub(super) name: StoredName<'a>,
    tag: u64,
    payload: Payload<'a>,
}

/// What a property says its name is.
#[derive(Debug)]
pub(super) enum StoredName<'a> {
    Id(NameId),
    Text(&'a str),
}

#[derive(Debug)]
enum Payload<'a> {
    Bits(u64),
    Bytes(&'a [u8]),
}

impl StoredName<'_> {
    /// The name itself.
    pub(super) fn resolve(&self, names: &Dictionary) -> Option<PropertyName> {
        match self {
            Self::Id(id) => names.name(*id).cloned(),
            Self::Text(text) => Some(PropertyName::from(*text)),
        }
    }
}

impl<'a> StoredProperty<'a> {
    /// Whether it has a value; cheaper than to make it.
    pub(super) fn has_value(&self) -> bool {
        match (self.tag, &self.payload) {
            (tag::STRING, Payload::Bytes(bytes)) => bytes.is_ascii() || self.value().is_some(),
            (tag::INT32, _) => self.value().is_some(),
            _ => true, // `take_property` took the tag, and its payload
        }
    }

    /// Its value, if it is one.
    pub(super) fn value(&self) -> Option<ValueRef<'a>> {
        Some(match (self.tag, &self.payload) {
            (tag::BINARY, Payload::Bytes(bytes)) => ValueRef::Binary(bytes),
            (tag::FALSE, _) => ValueRef::Boolean(false),
            (tag::TRUE, _) => ValueRef::Boolean(true),
            (tag::DATE_TIME, Payload::Bits(bits)) => ValueRef::DateTime(DateTime::from_ticks(bits.cast_signed())),
            (tag::DOUBLE, Payload::Bits(bits)) => ValueRef::Double(f64::from_bits(*bits)),
            (tag::GUID, Payload::Bytes(bytes)) => ValueRef::Guid(Uuid::from_slice(bytes).ok()?),
            (tag::INT32, Payload::Bits(bits)) => ValueRef::Int32(i32::try_from(from_zigzag(*bits)).ok()?),
            (tag::INT64, Payload::Bits(bits)) => ValueRef::Int64(from_zigzag(*bits)),
            (tag::STRING, Payload::Bytes(bytes)) => ValueRef::String(std::str::from_utf8(bytes).ok()?),
            _ => return None,
        })
    }
}

fn take_property<'a>(rest: &mut &'a [u8]) -> Option<StoredProperty<'a>> {
    let head = take_varint(rest)?;
    let name = match (head >> tag::BITS).checked_sub(1) {
        Some(id) => StoredName::Id(NameId(u32::try_from(id).ok()?)),
        None => StoredName::Text(std::str::from_utf8(take_bytes(rest)?).ok()?),
    };
    let tag = head & ((1 << tag::BITS) - 1);
    let payload = match tag {
        tag::FALSE | tag::TRUE => Payload::Bits(0),
        tag::INT32 | tag::INT64 => Payload::Bits(take_varint(rest)?),
        tag::DATE_TIME | tag::DOUBLE => Payload::Bits(take_fixed(rest)?),
        tag::GUID => Payload::Bytes(take_array::<16>(rest)?),
        tag::BINARY | tag::STRING => Payload::Bytes(take_bytes(rest)?),
        _ => return None,
    };
    Some(StoredProperty { name, tag, payload })
}

/// Appends a property, by the number of its name if that has one.
pub(super) fn put_property(out: &mut Vec<u8>, name: &PropertyName, id: Option<NameId>, value: ValueRef<'_>) {
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
