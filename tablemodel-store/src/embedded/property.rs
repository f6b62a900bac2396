//! The bytes of one property: drawn in `FORMAT.md`.
//!
//! Pure: nothing is read from or written to a file here, and no limit is checked.

use uuid::Uuid;

use super::{
    dictionary::{Dictionary, NameId, Numbers},
    shapes::{Common, ShapeId, is_kind},
    wire::{
        from_zigzag, put_bytes, put_varint, skip_varint, take_array, take_bool, take_bytes, take_fixed, take_length,
        take_varint, zigzag,
    },
};
use crate::{DateTime, Properties, PropertyName, ValueRef};

/// The types of values, as the low four bits of a property's head.
pub(super) mod tag {
    pub(super) const BINARY: u64 = 0;
    pub(super) const BOOLEAN: u64 = 1;
    pub(super) const DATE_TIME: u64 = 2;
    pub(super) const DOUBLE: u64 = 3;
    pub(super) const GUID: u64 = 4;
    pub(in crate::embedded) const INT32: u64 = 5;
    pub(super) const INT64: u64 = 6;
    pub(super) const STRING: u64 = 7;
    /// A text that stands with the heads.
    pub(in crate::embedded) const KIND: u64 = 8;
    pub(in crate::embedded) const BITS: u32 = 4;
    pub(in crate::embedded) const MASK: u64 = (1 << BITS) - 1;
}

/// The properties of a row's body, in order of name: the name of each, then its value, which is taken or skipped.
///
/// Stops early at what cannot be read: then it is not at the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredProperties<'a> {
    left: usize,
    /// The names and types of those that are left.
    heads: &'a [u8],
    /// The text of the one that is the row's kind.
    kind: &'a str,
    /// Their values, but for texts.
    values: &'a [u8],
    /// Their texts.
    texts: &'a str,
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

impl<'a> StoredProperties<'a> {
    /// Those of `body`: all texts are validated here, at once, and none is again. By a library, which takes an eighth of the standard one's
    /// time for 240 bytes that are not ASCII.
    #[inline]
    pub(super) fn of(body: &'a [u8], names: &'a Dictionary) -> Option<Self> {
        let mut rest = body;
        let Common { count: left, heads, kind } = match take_varint(&mut rest)?.checked_sub(1) {
            Some(shape) => names.shapes.get(shape)?.common(),
            None => Common::take(&mut rest)?,
        };
        let texts = take_length(&mut rest)?;
        let (values, texts) = rest.split_at_checked(rest.len().checked_sub(texts)?)?;
        let texts = simdutf8::basic::from_utf8(texts).ok()?;
        Some(Self { left, heads, kind, values, texts })
    }

    /// The names and types of those that are left, as they are stored.
    #[inline]
    pub(super) fn heads(&self) -> &'a [u8] {
        self.heads
    }

    /// The kind of row that it is, where it says so.
    #[inline]
    pub(super) fn kind(&self) -> &'a str {
        self.kind
    }

    /// The texts of those that are left, but for the kind.
    #[inline]
    pub(super) fn texts(&self) -> &'a str {
        self.texts
    }

    /// How many are left.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.left
    }

    /// Whether all were read, and nothing follows them.
    pub(super) fn is_at_end(&self) -> bool {
        self.left == 0 && self.heads.is_empty() && self.has_no_values()
    }

    /// Whether all values were taken.
    #[inline]
    pub(super) fn has_no_values(&self) -> bool {
        self.values.is_empty() && self.texts.is_empty()
    }

    /// The next name. Its value must be taken or skipped before the name after it.
    #[inline(always)]
    pub(super) fn take_name(&mut self) -> Option<(StoredName<'a>, Tag)> {
        let left = self.left.checked_sub(1)?;
        let head = take_varint(&mut self.heads)?;
        let name = match (head >> tag::BITS).checked_sub(1) {
            Some(id) => StoredName::Id(NameId::of(id)?),
            None => StoredName::Text(std::str::from_utf8(take_bytes(&mut self.heads)?).ok()?),
        };
        self.left = left;
        Some((name, Tag(head & tag::MASK)))
    }

    /// As [`take_name`](Self::take_name), of a name that has a number.
    #[inline(always)]
    pub(super) fn take_id(&mut self) -> Option<(NameId, Tag)> {
        let left = self.left.checked_sub(1)?;
        let head = take_varint(&mut self.heads)?;
        let id = (head >> tag::BITS).checked_sub(1)?;
        self.left = left;
        Some((NameId::of(id)?, Tag(head & tag::MASK)))
    }

    /// The value after the name.
    #[inline(always)]
    pub(super) fn take_value(&mut self, Tag(tag): Tag) -> Option<ValueRef<'a>> {
        let rest = &mut self.values;
        Some(match tag {
            tag::STRING => ValueRef::String(self.take_text()?),
            tag::KIND => ValueRef::String(self.kind),
            tag::INT32 => ValueRef::Int32(i32::try_from(from_zigzag(take_varint(rest)?)).ok()?),
            tag::INT64 => ValueRef::Int64(from_zigzag(take_varint(rest)?)),
            tag::BOOLEAN => ValueRef::Boolean(take_bool(rest)?),
            tag::BINARY => ValueRef::Binary(take_bytes(rest)?),
            tag::DATE_TIME => ValueRef::DateTime(DateTime::from_ticks(take_fixed(rest)?.cast_signed())),
            tag::DOUBLE => ValueRef::Double(f64::from_bits(take_fixed(rest)?)),
            tag::GUID => ValueRef::Guid(Uuid::from_bytes(*take_array(rest)?)),
            _ => return None,
        })
    }

    /// The next text; `None` also where its length would cut a character.
    #[inline(always)]
    fn take_text(&mut self) -> Option<&'a str> {
        let (text, texts) = self.texts.split_at_checked(take_length(&mut self.values)?)?;
        self.texts = texts;
        Some(text)
    }

    /// Passes over the value after the name.
    #[inline(always)]
    pub(super) fn skip_value(&mut self, Tag(tag): Tag) -> Option<()> {
        let rest = &mut self.values;
        match tag {
            tag::STRING => drop(self.take_text()?),
            tag::KIND => {}
            tag::BINARY => drop(take_bytes(rest)?),
            tag::INT32 | tag::INT64 => skip_varint(rest)?,
            tag::BOOLEAN => drop(take_bool(rest)?),
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

impl Tag {
    /// Whether the value is the row's kind, which is not among its texts.
    #[inline]
    pub(super) fn is_kind(self) -> bool {
        self.0 == tag::KIND
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

/// Properties on their way into a row's body. Kept for the next row, so that its memory is.
#[derive(Debug)]
pub(super) struct BodyWriter {
    /// What it shares with the rows of its shape.
    said: Vec<u8>,
    values: Vec<u8>,
    texts: Vec<u8>,
}

impl BodyWriter {
    /// With room for most rows.
    pub(super) fn new() -> Self {
        Self { said: Vec::with_capacity(128), values: Vec::with_capacity(128), texts: Vec::with_capacity(512) }
    }

    /// Appends the body of a row with these properties.
    pub(super) fn append<'p>(&mut self, out: &mut Vec<u8>, properties: &'p Properties, numbers: &mut Numbers<'_, 'p>) {
        self.put(properties, numbers);
        match numbers.shape(&self.said) {
            Some(ShapeId(id)) => put_varint(out, u64::from(id) + 1),
            None => {
                out.push(0);
                out.extend_from_slice(&self.said);
            }
        }
        put_varint(out, self.texts.len() as u64);
        out.extend_from_slice(&self.values);
        out.extend_from_slice(&self.texts);
    }

    fn put<'p>(&mut self, properties: &'p Properties, numbers: &mut Numbers<'_, 'p>) {
        self.said.clear();
        self.values.clear();
        self.texts.clear();
        let mut kind = "";
        self.said.push(0); // here the length of the heads is to stand
        put_varint(&mut self.said, properties.len() as u64);
        properties.iter().for_each(|(name, value)| {
            let tag = match value {
                ValueRef::String(text) if is_kind(name.as_str(), text) => {
                    kind = text;
                    tag::KIND
                }
                _ => self.put_value(value),
            };
            put_head(&mut self.said, name, numbers.of(name), tag);
        });
        put_length_before(&mut self.said, 0);
        put_bytes(&mut self.said, kind.as_bytes());
    }

    /// Adds a value; gives its type.
    #[inline(always)]
    fn put_value(&mut self, value: ValueRef<'_>) -> u64 {
        let out = &mut self.values;
        match value {
            ValueRef::Binary(bytes) => {
                put_bytes(out, bytes);
                tag::BINARY
            }
            ValueRef::Boolean(truth) => {
                out.push(truth.into());
                tag::BOOLEAN
            }
            ValueRef::DateTime(at) => {
                out.extend_from_slice(&at.ticks().to_le_bytes());
                tag::DATE_TIME
            }
            ValueRef::Double(double) => {
                out.extend_from_slice(&double.to_bits().to_le_bytes());
                tag::DOUBLE
            }
            ValueRef::Guid(guid) => {
                out.extend_from_slice(guid.as_bytes());
                tag::GUID
            }
            ValueRef::Int32(int) => {
                put_varint(out, zigzag(int.into()));
                tag::INT32
            }
            ValueRef::Int64(int) => {
                put_varint(out, zigzag(int));
                tag::INT64
            }
            ValueRef::String(text) => {
                put_varint(out, text.len() as u64);
                self.texts.extend_from_slice(text.as_bytes());
                tag::STRING
            }
        }
    }
}

/// Puts the length of what follows the byte at `start` in the place of that byte: mostly it is one byte itself.
fn put_length_before(out: &mut Vec<u8>, start: usize) {
    let length = out.len() - start - 1;
    match (out.get_mut(start), u8::try_from(length)) {
        (Some(byte), Ok(length @ 0..0x80)) => *byte = length,
        _ => {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, length as u64);
            out.splice(start..=start, bytes);
        }
    }
}

/// Appends a name, by its number if it has one, and a type.
#[inline(always)]
fn put_head(out: &mut Vec<u8>, name: &PropertyName, id: Option<NameId>, tag: u64) {
    match id {
        Some(NameId(id)) => put_varint(out, (u64::from(id) + 1) << tag::BITS | tag),
        None => {
            put_varint(out, tag);
            put_bytes(out, name.as_str().as_bytes());
        }
    }
}
