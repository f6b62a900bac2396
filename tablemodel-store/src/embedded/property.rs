//! The bytes of one property: drawn in `FORMAT.md`.
//!
//! Pure: nothing is read from or written to a file here, and no limit is checked.

use uuid::Uuid;

use super::{
    dictionary::{Dictionary, NameId},
    wire::{from_zigzag, put_bytes, put_varint, skip_varint, take_array, take_bytes, take_fixed, take_varint, zigzag},
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

/// The properties of a row's body, in order of name: the name of each, then its value, which is taken or skipped.
///
/// Stops early at what cannot be read: then it is not at the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredProperties<'a> {
    left: usize,
    rest: &'a [u8],
}

/// What a property says its name is.
#[derive(Debug)]
pub(super) enum StoredName<'a> {
    Id(NameId),
    Text(&'a str),
}

/// The type of the value that follows a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag(u64);

/// A value as it lies in a row: whether a text is one has not been looked at.
#[derive(Debug)]
pub(super) enum Raw<'a> {
    Text(&'a [u8]),
    Value(ValueRef<'a>),
}

impl<'a> StoredProperties<'a> {
    /// Those of `body`: their count, then one after the other.
    #[inline]
    pub(super) fn of(body: &'a [u8]) -> Option<Self> {
        let mut rest = body;
        let left = usize::try_from(take_varint(&mut rest)?).ok()?;
        // A property takes a byte at least: a count that lies must not reserve memory.
        (left <= rest.len()).then_some(Self { left, rest })
    }

    /// The `left` properties behind the first `passed` bytes of `body`.
    #[inline(always)]
    pub(super) fn rest_of(body: &'a [u8], passed: usize, left: usize) -> Option<Self> {
        Some(Self { left, rest: body.get(passed..)? })
    }

    /// The bytes of those that are left, and of what follows them.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.rest.len()
    }

    /// How many are left.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.left
    }

    /// Whether all were read, and nothing follows them.
    pub(super) fn is_at_end(&self) -> bool {
        self.left == 0 && self.rest.is_empty()
    }

    /// The next name. Its value must be taken or skipped before the name after it.
    #[inline(always)]
    pub(super) fn take_name(&mut self) -> Option<(StoredName<'a>, Tag)> {
        let left = self.left.checked_sub(1)?;
        let head = take_varint(&mut self.rest)?;
        let name = match (head >> tag::BITS).checked_sub(1) {
            Some(id) => StoredName::Id(NameId(u32::try_from(id).ok()?)),
            None => StoredName::Text(std::str::from_utf8(take_bytes(&mut self.rest)?).ok()?),
        };
        self.left = left;
        Some((name, Tag(head & ((1 << tag::BITS) - 1))))
    }

    /// As [`take_name`](Self::take_name), of a name that has a number.
    #[inline(always)]
    pub(super) fn take_id(&mut self) -> Option<(NameId, Tag)> {
        let left = self.left.checked_sub(1)?;
        let head = take_varint(&mut self.rest)?;
        let id = (head >> tag::BITS).checked_sub(1)?;
        self.left = left;
        Some((NameId(u32::try_from(id).ok()?), Tag(head & ((1 << tag::BITS) - 1))))
    }

    /// The bytes of the text after the name; `None` if there is no text.
    #[inline(always)]
    pub(super) fn take_text(&mut self, Tag(tag): Tag) -> Option<&'a [u8]> {
        if tag == tag::STRING { take_bytes(&mut self.rest) } else { None }
    }

    /// The value after the name.
    #[inline(always)]
    pub(super) fn take_value(&mut self, tag: Tag) -> Option<ValueRef<'a>> {
        Some(match self.take_raw(tag)? {
            Raw::Text(bytes) => ValueRef::String(std::str::from_utf8(bytes).ok()?),
            Raw::Value(value) => value,
        })
    }

    /// As [`take_value`](Self::take_value), whatever the bytes of a text are.
    #[inline(always)]
    pub(super) fn take_raw(&mut self, Tag(tag): Tag) -> Option<Raw<'a>> {
        let rest = &mut self.rest;
        Some(Raw::Value(match tag {
            tag::STRING => return Some(Raw::Text(take_bytes(rest)?)),
            tag::INT32 => ValueRef::Int32(i32::try_from(from_zigzag(take_varint(rest)?)).ok()?),
            tag::INT64 => ValueRef::Int64(from_zigzag(take_varint(rest)?)),
            tag::FALSE => ValueRef::Boolean(false),
            tag::TRUE => ValueRef::Boolean(true),
            tag::BINARY => ValueRef::Binary(take_bytes(rest)?),
            tag::DATE_TIME => ValueRef::DateTime(DateTime::from_ticks(take_fixed(rest)?.cast_signed())),
            tag::DOUBLE => ValueRef::Double(f64::from_bits(take_fixed(rest)?)),
            tag::GUID => ValueRef::Guid(Uuid::from_bytes(*take_array(rest)?)),
            _ => return None,
        }))
    }

    /// Passes over the value after the name.
    #[inline(always)]
    pub(super) fn skip_value(&mut self, Tag(tag): Tag) -> Option<()> {
        let rest = &mut self.rest;
        match tag {
            tag::STRING | tag::BINARY => drop(take_bytes(rest)?),
            tag::INT32 | tag::INT64 => skip_varint(rest)?,
            tag::FALSE | tag::TRUE => {}
            tag::DATE_TIME | tag::DOUBLE => drop(take_fixed(rest)?),
            tag::GUID => drop(take_array::<16>(rest)?),
            _ => return None,
        }
        Some(())
    }

    /// The value of the first property, from here on, whose name is the one wanted; the outer `None` where it, or one
    /// before it, cannot be read.
    #[inline(always)]
    pub(super) fn find(&mut self, is_it: impl Fn(&StoredName<'a>) -> bool) -> Option<Option<ValueRef<'a>>> {
        while self.left > 0 {
            let (name, tag) = self.take_name()?;
            if is_it(&name) {
                return self.take_value(tag).map(Some);
            }
            self.skip_value(tag)?;
        }
        self.is_at_end().then_some(None)
    }
}

impl<'a> StoredName<'a> {
    /// The text of the name.
    pub(super) fn text(&self, names: &'a Dictionary) -> Option<&'a str> {
        match self {
            Self::Id(id) => names.name(*id).map(PropertyName::as_str),
            Self::Text(text) => Some(text),
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
