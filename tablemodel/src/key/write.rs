//! One component of a key, written from its stored value.
//! What stands before and after it is the template's business.

use tablemodel_store::{DateTime, ValueRef};

use super::{
    Codec, KeyFault, KeyType, Part, TICK_DIGITS,
    calendar::{self, Date},
    digest::Framed,
    digits::{self, TooWide},
    fold::fold,
    shape, text,
};
use crate::property::integer::{self, I128_BIAS, NotAnInteger};

/// Characters of a ULID's text.
const ULID_CHARS: usize = 26;

impl Part {
    /// Appends the encoded form of `value`, which `separator` follows (`None`: nothing that must be kept apart).
    pub(super) fn write(&self, out: &mut String, value: ValueRef<'_>, separator: Option<u8>) -> Result<(), KeyFault> {
        match self.codec {
            Codec::Plain => self.write_plain(out, value, separator)?,
            Codec::Width(width) => push_number(out, self.not_negative(value)?, width)?,
            Codec::Desc => {
                let Ordinal { number, greatest, width } = self.ordinal(value)?;
                push_number(out, greatest - number, width)?;
            }
            Codec::Sortable => digits::push_hex(out, u128::from(sortable(self.float(value)?)?), 16),
            Codec::Hour | Codec::Day | Codec::Month => self.write_bucket_of_time(out, value)?,
            Codec::Lower => text::push(out, &fold(self.text(value)?), separator),
            Codec::Shard(buckets) => write_shard(out, self.framed(value)?.shard(buckets), buckets)?,
            Codec::Hash => digits::push_hex(out, self.framed(value)?.hash(), 32),
            Codec::Raw => push_raw(out, self.text(value)?, separator)?,
        }
        Ok(())
    }

    fn write_plain(&self, out: &mut String, value: ValueRef<'_>, separator: Option<u8>) -> Result<(), KeyFault> {
        match self.key_type {
            KeyType::Text | KeyType::Enum { .. } => text::push(out, self.text(value)?, separator),
            KeyType::Unsigned(_) | KeyType::Signed(_) | KeyType::Time => {
                let Ordinal { number, width, .. } = self.ordinal(value)?;
                push_number(out, number, width)?;
            }
            KeyType::Float => return Err(KeyFault::Unfit),
            KeyType::Bool => out.push_str(if self.truth(value)? { "true" } else { "false" }),
            KeyType::Uuid => {
                let mut buffer = [0; uuid::fmt::Hyphenated::LENGTH];
                out.push_str(self.uuid(value)?.hyphenated().encode_lower(&mut buffer));
            }
            KeyType::Ulid => push_ulid(out, self.text(value)?)?,
            KeyType::Date => self.date(value)?.push(out),
            KeyType::Binary => {
                for byte in self.bytes(value)? {
                    digits::push_hex(out, u128::from(*byte), 2);
                }
            }
        }
        Ok(())
    }

    fn write_bucket_of_time(&self, out: &mut String, value: ValueRef<'_>) -> Result<(), KeyFault> {
        let (date, hour) = match self.key_type {
            KeyType::Date => (self.date(value)?, 0),
            _ => calendar::date_and_hour(self.time(value)?),
        };
        match self.codec {
            Codec::Month => date.push_month(out),
            Codec::Hour => {
                date.push(out);
                out.push('T');
                calendar::push(out, u32::from(hour), 2);
            }
            _ => date.push(out),
        }
        Ok(())
    }

    /// Whether the value is the first one of its bucket of time, so that none before it has this bucket.
    pub(super) fn begins_bucket(&self, value: ValueRef<'_>) -> bool {
        if let (KeyType::Date, Ok(date)) = (self.key_type, self.date(value)) {
            return date.day == 1; // dates have no buckets but months
        }
        let Ok(at) = self.time(value) else { return false };
        let (date, hour) = calendar::date_and_hour(at);
        let begins_hour = calendar::begins_hour(at);
        match self.codec {
            Codec::Hour => begins_hour,
            Codec::Day => begins_hour && hour == 0,
            Codec::Month => begins_hour && hour == 0 && date.day == 1,
            _ => false,
        }
    }

    /// The value's place in the order of its type.
    fn ordinal(&self, value: ValueRef<'_>) -> Result<Ordinal, KeyFault> {
        let (number, bits) = match self.key_type {
            KeyType::Unsigned(bits) => {
                (integer::unsigned(value, bits).map_err(|fault| self.refuse(fault, value))?, bits)
            }
            KeyType::Signed(bits) => {
                let number = integer::signed(value, bits).map_err(|fault| self.refuse(fault, value))?;
                let biased = (number as u128 ^ I128_BIAS) - (I128_BIAS - (digits::max_of(bits) >> 1) - 1);
                (biased, bits)
            }
            KeyType::Time => {
                let [number, greatest] = [self.time(value)?, DateTime::MAX].map(|at| at.ticks().unsigned_abs().into());
                return Ok(Ordinal { number, greatest, width: TICK_DIGITS });
            }
            _ => return Err(KeyFault::Unfit),
        };
        Ok(Ordinal { number, greatest: digits::max_of(bits), width: digits::digits_of(bits) })
    }

    fn not_negative(&self, value: ValueRef<'_>) -> Result<u128, KeyFault> {
        match self.key_type {
            KeyType::Unsigned(bits) => integer::unsigned(value, bits).map_err(|fault| self.refuse(fault, value)),
            KeyType::Signed(bits) => {
                let number = integer::signed(value, bits).map_err(|fault| self.refuse(fault, value))?;
                u128::try_from(number).map_err(|_| KeyFault::Negative)
            }
            _ => Err(KeyFault::Unfit),
        }
    }

    fn framed(&self, value: ValueRef<'_>) -> Result<Framed, KeyFault> {
        Ok(match self.key_type {
            KeyType::Text | KeyType::Enum { .. } => Framed::new(self.text(value)?.as_bytes()),
            KeyType::Unsigned(bits) => {
                let number = integer::unsigned(value, bits).map_err(|fault| self.refuse(fault, value))?;
                Framed::new(&number.to_le_bytes())
            }
            KeyType::Signed(bits) => {
                let number = integer::signed(value, bits).map_err(|fault| self.refuse(fault, value))?;
                Framed::new(&number.to_le_bytes())
            }
            KeyType::Float => Framed::new(&without_sign_of_zero(self.float(value)?)?.to_le_bytes()),
            KeyType::Bool => Framed::new(&[u8::from(self.truth(value)?)]),
            KeyType::Uuid => Framed::new(self.uuid(value)?.as_bytes()),
            KeyType::Ulid => {
                let mut canonical = String::with_capacity(ULID_CHARS);
                push_ulid(&mut canonical, self.text(value)?)?;
                Framed::new(canonical.as_bytes())
            }
            KeyType::Date => {
                self.date(value)?;
                Framed::new(self.text(value)?.as_bytes())
            }
            KeyType::Time => Framed::new(&self.time(value)?.ticks().to_le_bytes()),
            KeyType::Binary => Framed::new(self.bytes(value)?),
        })
    }

    fn text<'v>(&self, value: ValueRef<'v>) -> Result<&'v str, KeyFault> {
        match value {
            ValueRef::String(text) => Ok(text),
            _ => Err(self.wrong_type(value)),
        }
    }

    fn bytes<'v>(&self, value: ValueRef<'v>) -> Result<&'v [u8], KeyFault> {
        match value {
            ValueRef::Binary(bytes) => Ok(bytes),
            _ => Err(self.wrong_type(value)),
        }
    }

    fn truth(&self, value: ValueRef<'_>) -> Result<bool, KeyFault> {
        match value {
            ValueRef::Boolean(truth) => Ok(truth),
            _ => Err(self.wrong_type(value)),
        }
    }

    fn float(&self, value: ValueRef<'_>) -> Result<f64, KeyFault> {
        crate::property::float::read(value).ok_or(self.wrong_type(value))
    }

    fn uuid(&self, value: ValueRef<'_>) -> Result<uuid::Uuid, KeyFault> {
        match value {
            ValueRef::Guid(uuid) => Ok(uuid),
            ValueRef::String(text) => uuid::Uuid::parse_str(text).map_err(|_| KeyFault::MalformedValue),
            _ => Err(self.wrong_type(value)),
        }
    }

    fn date(&self, value: ValueRef<'_>) -> Result<Date, KeyFault> {
        Date::parse(self.text(value)?).ok_or(KeyFault::MalformedValue)
    }

    fn time(&self, value: ValueRef<'_>) -> Result<DateTime, KeyFault> {
        match value {
            ValueRef::DateTime(at) if at.is_storable() => Ok(at),
            ValueRef::DateTime(_) => Err(KeyFault::OutOfRange),
            _ => Err(self.wrong_type(value)),
        }
    }

    fn wrong_type(&self, value: ValueRef<'_>) -> KeyFault {
        KeyFault::WrongType { expected: self.key_type.edm(), found: value.edm() }
    }

    fn refuse(&self, fault: NotAnInteger, value: ValueRef<'_>) -> KeyFault {
        match fault {
            NotAnInteger::WrongType => self.wrong_type(value),
            NotAnInteger::OutOfRange => KeyFault::OutOfRange,
            NotAnInteger::Malformed => KeyFault::MalformedValue,
        }
    }
}

/// A place in an order that begins at 0.
struct Ordinal {
    number: u128,
    greatest: u128,
    width: u8,
}

/// Appends a bucket in as many digits as the greatest one has.
pub(super) fn write_shard(out: &mut String, shard: u16, buckets: u16) -> Result<(), KeyFault> {
    if shard >= buckets.max(1) {
        return Err(KeyFault::OutOfRange);
    }
    push_number(out, u128::from(shard), shape::shard_digits(buckets))
}

fn push_number(out: &mut String, number: u128, width: u8) -> Result<(), KeyFault> {
    digits::push_decimal(out, number, width).map_err(|TooWide| KeyFault::Overflow { width })
}

/// Bits whose order as an unsigned number is the order of the floats.
fn sortable(float: f64) -> Result<u64, KeyFault> {
    let bits = without_sign_of_zero(float)?.to_bits();
    Ok(if float < 0.0 { !bits } else { bits | 1 << 63 })
}

/// Whether [`sortable`] makes these bits of some float.
pub(super) fn is_sortable(bits: u64) -> bool {
    let float = f64::from_bits(if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits });
    sortable(float) == Ok(bits)
}

fn without_sign_of_zero(float: f64) -> Result<f64, KeyFault> {
    if float.is_nan() { Err(KeyFault::NotANumber) } else { Ok(float + 0.0) }
}

/// Appends a ULID in upper case, as it sorts.
fn push_ulid(out: &mut String, text: &str) -> Result<(), KeyFault> {
    let is_ulid = text.len() == ULID_CHARS
        && text.bytes().next().is_some_and(|first| first <= b'7')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() && !b"ILOU".contains(&byte.to_ascii_uppercase()));
    if !is_ulid {
        return Err(KeyFault::MalformedValue);
    }
    out.extend(text.chars().map(|c| c.to_ascii_uppercase()));
    Ok(())
}

fn push_raw(out: &mut String, text: &str, separator: Option<u8>) -> Result<(), KeyFault> {
    for c in text.chars() {
        if c.is_control() || matches!(c, '/' | '\\' | '#' | '?' | '%') {
            return Err(KeyFault::IllegalCharacter(c));
        }
        if separator.is_some_and(|byte| char::from(byte) == c) {
            return Err(KeyFault::HoldsSeparator(c));
        }
    }
    out.push_str(text);
    Ok(())
}
