//! The bytes of one property: drawn in `FORMAT.md`.
//!
//! Pure: nothing is read from or written to a file here, and no limit is checked.

use uuid::Uuid;

use super::{
    dictionary::{Dictionary, NameId},
    wire::{
        from_zigzag, put_bytes, put_varint, take_array, take_bytes, take_fixed, take_varint, take_varint_bytes, zigzag,
    },
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

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let left = self.left.checked_sub(1)?;
        let property = StoredProperty::take(&mut self.rest)?;
        self.left = left;
        Some(property)
    }
}

/// A property as it lies in the file.
#[derive(Debug)]
pub(super) struct StoredProperty<'a> {
    pub(super) name: StoredName<'a>,
    tag: u64,
    /// The bytes of the value, without their length.
    payload: &'a [u8],
}

/// What a property says its name is.
#[derive(Debug)]
pub(super) enum StoredName<'a> {
    Id(NameId),
    Text(&'a str),
}

impl StoredName<'_> {
    /// Whether it stands for a name.
    pub(super) fn is_known(&self, names: &Dictionary) -> bool {
        match self {
            Self::Id(id) => names.name(*id).is_some(),
            Self::Text(_) => true,
        }
    }

    /// The name itself.
    pub(super) fn resolve(&self, names: &Dictionary) -> Option<PropertyName> {
        match self {
            Self::Id(id) => names.name(*id).cloned(),
            Self::Text(text) => Some(PropertyName::from(*text)),
        }
    }
}

impl<'a> StoredProperty<'a> {
    #[inline(always)]
    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let head = take_varint(rest)?;
        let name = match (head >> tag::BITS).checked_sub(1) {
            Some(id) => StoredName::Id(NameId(u32::try_from(id).ok()?)),
            None => StoredName::Text(std::str::from_utf8(take_bytes(rest)?).ok()?),
        };
        let tag = head & ((1 << tag::BITS) - 1);
        let payload = match tag {
            tag::FALSE | tag::TRUE => &[],
            tag::INT32 | tag::INT64 => take_varint_bytes(rest)?,
            tag::DATE_TIME | tag::DOUBLE => take_array::<8>(rest)?,
            tag::GUID => take_array::<16>(rest)?,
            tag::BINARY | tag::STRING => take_bytes(rest)?,
            _ => return None,
        };
        Some(Self { name, tag, payload })
    }

    /// Its value, if it is one.
    #[inline(always)]
    pub(super) fn value(&self) -> Option<ValueRef<'a>> {
        let mut payload = self.payload;
        Some(match self.tag {
            tag::BINARY => ValueRef::Binary(payload),
            tag::FALSE => ValueRef::Boolean(false),
            tag::TRUE => ValueRef::Boolean(true),
            tag::DATE_TIME => ValueRef::DateTime(DateTime::from_ticks(take_fixed(&mut payload)?.cast_signed())),
            tag::DOUBLE => ValueRef::Double(f64::from_bits(take_fixed(&mut payload)?)),
            tag::GUID => ValueRef::Guid(Uuid::from_slice(payload).ok()?),
            tag::INT32 => ValueRef::Int32(i32::try_from(from_zigzag(take_varint(&mut payload)?)).ok()?),
            tag::INT64 => ValueRef::Int64(from_zigzag(take_varint(&mut payload)?)),
            tag::STRING => ValueRef::String(std::str::from_utf8(payload).ok()?),
            _ => return None,
        })
    }
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
