//! One component of a key, read back into its stored value.
//! Where it begins and ends is the template's business.

use tablemodel_store::{DateTime, EdmType, Value, ValueRef};

use super::{Codec, KeyFault, KeyType, Part, calendar::Date, digits, fold::fold, shape::Shape, text, write};
use crate::property::integer;

/// A value read from a key: a text that stands there as it is is not copied.
#[derive(Debug, Clone)]
pub(crate) enum KeyValue<'k> {
    Seen(ValueRef<'k>),
    /// A text or bytes that were made, be they what stands there or not.
    Made(Value),
}

impl<'k> KeyValue<'k> {
    const fn text(text: &'k str) -> Self {
        Self::Seen(ValueRef::String(text))
    }

    fn of(value: Value) -> Self {
        match value {
            Value::Boolean(truth) => Self::Seen(ValueRef::Boolean(truth)),
            Value::DateTime(at) => Self::Seen(ValueRef::DateTime(at)),
            Value::Double(double) => Self::Seen(ValueRef::Double(double)),
            Value::Guid(guid) => Self::Seen(ValueRef::Guid(guid)),
            Value::Int32(int) => Self::Seen(ValueRef::Int32(int)),
            Value::Int64(int) => Self::Seen(ValueRef::Int64(int)),
            Value::String(_) | Value::Binary(_) => Self::Made(value),
        }
    }

    #[inline]
    pub(crate) fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Seen(value) => *value,
            Self::Made(value) => value.as_ref(),
        }
    }

    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Seen(value) => value.to_value(),
            Self::Made(value) => value,
        }
    }
}

impl Part {
    /// Cuts this component off the front of `key`: what it wrote, and what is left.
    pub(super) fn cut<'k>(&self, key: &'k str, separator: Option<u8>) -> Option<(&'k str, &'k str)> {
        if let Codec::Width(width) = self.codec {
            return key.split_at_checked(width.into()); // as its shape says, sooner
        }
        let width = match (self.shape(), separator) {
            (Shape::Fixed { width, .. }, _) => usize::from(width),
            (Shape::Marked { marks, .. }, _) => marks.len(),
            (Shape::Truth, _) => {
                if key.starts_with("true") {
                    4
                } else {
                    5
                }
            }
            (Shape::Delimited { .. }, None) => key.len(),
            (Shape::Delimited { .. }, Some(byte)) => key.find(char::from(byte))?,
        };
        key.split_at_checked(width)
    }

    /// The value whose encoded form this is, or `None` where the codec is lossy. Under the others a code that
    /// [`write`](Part::write) would not make may give any value: whoever reads writes again and compares.
    pub(super) fn read<'k>(&self, code: &'k str, separator: Option<u8>) -> Result<Option<KeyValue<'k>>, KeyFault> {
        let value = match self.codec {
            Codec::Plain => return self.read_plain(code, separator).map(Some).ok_or(KeyFault::NotThisTemplate),
            Codec::Width(_) => digits::decimal(code).and_then(|number| match self.key_type {
                KeyType::Signed(bits) => integer::signed_value(i128::try_from(number).ok()?, bits),
                KeyType::Unsigned(bits) => integer::unsigned_value(number, bits),
                _ => None,
            }),
            Codec::Desc => {
                digits::decimal(code).and_then(|number| self.value_at(self.greatest()?.checked_sub(number)?))
            }
            Codec::Raw => return Ok(Some(KeyValue::text(code))),
            _ => return if self.is_lossy_form(code, separator) { Ok(None) } else { Err(KeyFault::NotThisTemplate) },
        };
        value.map(|value| Some(KeyValue::of(value))).ok_or(KeyFault::NotThisTemplate)
    }

    /// Whether it is a padded number of which none of so many digits is out of range, so that no other code is read as it.
    pub(super) const fn is_padded(&self) -> bool {
        match (self.codec, self.key_type) {
            (Codec::Width(width), KeyType::Unsigned(bits @ ..=32)) => width < digits::digits_of(bits),
            _ => false,
        }
    }

    /// Cuts such a number off the front of a key: its value, and what is left.
    #[inline]
    pub(super) fn cut_padded<'b>(&self, key: &'b [u8]) -> Option<(KeyValue<'static>, &'b [u8])> {
        let Codec::Width(width) = self.codec else { return None };
        let (code, rest) = key.split_at_checked(width.into())?;
        let number = digits::few(code)?;
        let value = match self.key_type.edm() {
            EdmType::Int32 => ValueRef::Int32(i32::try_from(number).ok()?),
            EdmType::Int64 => ValueRef::Int64(i64::try_from(number).ok()?),
            _ => return None,
        };
        Some((KeyValue::Seen(value), rest))
    }

    /// Whether no other code is read as this value, so that it need not be written again to be compared.
    pub(super) fn is_only_form(&self, value: &KeyValue<'_>) -> bool {
        match (self.codec, self.key_type, value) {
            (Codec::Plain, KeyType::Text, KeyValue::Seen(_)) => true,
            // So few digits that no number of them is out of range.
            (Codec::Width(width), KeyType::Unsigned(bits), _) => width < digits::digits_of(bits),
            _ => false,
        }
    }

    fn read_plain<'k>(&self, code: &'k str, separator: Option<u8>) -> Option<KeyValue<'k>> {
        let value = match self.key_type {
            KeyType::Text if text::is_verbatim(code, separator) => return Some(KeyValue::text(code)),
            KeyType::Ulid | KeyType::Date => return Some(KeyValue::text(code)),
            KeyType::Text | KeyType::Enum { .. } => text::decode(code).map(Value::String),
            KeyType::Unsigned(_) | KeyType::Signed(_) | KeyType::Time => self.value_at(digits::decimal(code)?),
            KeyType::Float => None,
            KeyType::Bool => Some(Value::Boolean(code == "true")),
            KeyType::Uuid => uuid::Uuid::try_parse(code).ok().map(Value::Guid),
            KeyType::Binary => {
                let pairs = (0..code.len().div_ceil(2)).map(|at| digits::hex(code.get(2 * at..2 * at + 2)?));
                pairs.map(|byte| byte.map(|byte| byte as u8)).collect::<Option<_>>().map(Value::Binary)
            }
        };
        value.map(KeyValue::of)
    }

    /// The value at this place in the order of its type.
    fn value_at(&self, ordinal: u128) -> Option<Value> {
        if ordinal > self.greatest()? {
            return None;
        }
        match self.key_type {
            KeyType::Unsigned(bits) => integer::unsigned_value(ordinal, bits),
            KeyType::Signed(bits) => {
                let zero = (digits::max_of(bits) >> 1) + 1;
                integer::signed_value(ordinal.wrapping_sub(zero) as i128, bits)
            }
            KeyType::Time => {
                let at = DateTime::from_ticks(i64::try_from(ordinal).ok()?);
                at.is_storable().then_some(Value::DateTime(at))
            }
            _ => None,
        }
    }

    fn greatest(&self) -> Option<u128> {
        match self.key_type {
            KeyType::Unsigned(bits) | KeyType::Signed(bits) => Some(digits::max_of(bits)),
            KeyType::Time => u128::try_from(DateTime::MAX.ticks()).ok(),
            _ => None,
        }
    }

    /// Whether some value has this form under a lossy codec.
    fn is_lossy_form(&self, code: &str, separator: Option<u8>) -> bool {
        let hour = |text: &str| digits::decimal(text).is_some_and(|hour| hour < 24);
        match self.codec {
            Codec::Sortable => {
                digits::hex(code).and_then(|bits| u64::try_from(bits).ok()).is_some_and(write::is_sortable)
            }
            Codec::Hash => digits::is_hex(code),
            Codec::Hour => code.split_once('T').is_some_and(|(date, at)| Date::parse(date).is_some() && hour(at)),
            Codec::Day => Date::parse(code).is_some(),
            Codec::Month => Date::parse(&format!("{code}-01")).is_some(),
            Codec::Lower => {
                text::decode(code).is_some_and(|text| text == fold(&text) && text::is_code_of(code, &text, separator))
            }
            Codec::Shard(buckets) => digits::decimal(code).is_some_and(|shard| shard < u128::from(buckets.max(1))),
            Codec::Plain | Codec::Width(_) | Codec::Desc | Codec::Raw => false,
        }
    }
}
