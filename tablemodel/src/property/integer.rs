//! Integers as properties: 32 bits, 64 bits, or padded text where a store has no integer that wide.
//! The key codecs read stored integers here too, so that a key and a property never disagree.

use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError};
use crate::key::{KeyPart, KeyType, digits};

/// Decimal digits of `u64::MAX`.
const U64_DIGITS: u8 = 20;
/// Decimal digits of `u128::MAX`.
const U128_DIGITS: u8 = 39;
/// What is added to an `i128` so that its text sorts as it does.
pub(crate) const I128_BIAS: u128 = 1 << 127;

/// Why a stored value is not an integer of so many bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAnInteger {
    WrongType,
    OutOfRange,
    Malformed,
}

/// The unsigned integer of so many bits that is stored here: any stored integer in range; from 64 bits on, digits.
pub(crate) fn unsigned(value: ValueRef<'_>, bits: u8) -> Result<u128, NotAnInteger> {
    let number = match value {
        ValueRef::Int32(number) => u128::try_from(number).map_err(|_| NotAnInteger::OutOfRange)?,
        ValueRef::Int64(number) => u128::try_from(number).map_err(|_| NotAnInteger::OutOfRange)?,
        ValueRef::String(text) if bits >= 64 => digits::decimal(text).ok_or(NotAnInteger::Malformed)?,
        _ => return Err(NotAnInteger::WrongType),
    };
    if number <= digits::max_of(bits) { Ok(number) } else { Err(NotAnInteger::OutOfRange) }
}

/// The signed integer of so many bits that is stored here: any stored integer in range; at 128 bits, biased digits.
pub(crate) fn signed(value: ValueRef<'_>, bits: u8) -> Result<i128, NotAnInteger> {
    let number = match value {
        ValueRef::Int32(number) => i128::from(number),
        ValueRef::Int64(number) => i128::from(number),
        ValueRef::String(text) if bits > 64 => unbiased(text).ok_or(NotAnInteger::Malformed)?,
        _ => return Err(NotAnInteger::WrongType),
    };
    let greatest = (digits::max_of(bits) >> 1) as i128;
    if (-greatest - 1..=greatest).contains(&number) { Ok(number) } else { Err(NotAnInteger::OutOfRange) }
}

fn unbiased(text: &str) -> Option<i128> {
    (text.len() == usize::from(U128_DIGITS)).then(|| digits::decimal(text)).flatten().map(|n| (n ^ I128_BIAS) as i128)
}

/// The stored form of an unsigned integer of so many bits.
pub(crate) fn unsigned_value(number: u128, bits: u8) -> Option<Value> {
    Some(match bits {
        0..=16 => Value::Int32(i32::try_from(number).ok()?),
        17..=32 => Value::Int64(i64::try_from(number).ok()?),
        33..=64 => Value::String(padded(number, U64_DIGITS)?),
        65.. => Value::String(padded(number, U128_DIGITS)?),
    })
}

/// The stored form of a signed integer of so many bits.
pub(crate) fn signed_value(number: i128, bits: u8) -> Option<Value> {
    Some(match bits {
        0..=32 => Value::Int32(i32::try_from(number).ok()?),
        33..=64 => Value::Int64(i64::try_from(number).ok()?),
        65.. => Value::String(padded(number as u128 ^ I128_BIAS, U128_DIGITS)?),
    })
}

fn padded(number: u128, width: u8) -> Option<String> {
    let mut text = String::with_capacity(usize::from(width));
    digits::push_decimal(&mut text, number, width).ok()?;
    Some(text)
}

fn refusal(fault: NotAnInteger, target: &'static str, expected: EdmType, found: ValueRef<'_>) -> ValueError {
    match fault {
        NotAnInteger::WrongType => ValueError::WrongType { expected, found: found.edm() },
        NotAnInteger::OutOfRange => ValueError::out_of_range(target, format_args!("{found:?}")),
        NotAnInteger::Malformed => ValueError::malformed("padded decimal digits", format_args!("{found:?}")),
    }
}

macro_rules! integers {
    ($($type:ident: $kind:ident, $wide:ty, $read:ident, $write:ident;)*) => {$(
        impl Property for $type {
            const EDM: EdmType = <$type as KeyPart>::TYPE.edm();
            const CODEC: &'static str = stringify!($type);

            fn to_value(&self) -> Result<Option<Value>, ValueError> {
                let value = $write(<$wide>::from(*self), $type::BITS as u8);
                value.map(Some).ok_or_else(|| ValueError::out_of_range(Self::EDM.name(), self))
            }

            #[inline]
            fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
                #[inline(never)]
                fn other(value: Option<ValueRef<'_>>) -> Result<$type, ValueError> {
                    let value = value.ok_or(ValueError::Missing)?;
                    $read(value, $type::BITS as u8)
                        .and_then(|number| $type::try_from(number).map_err(|_| NotAnInteger::OutOfRange))
                        .map_err(|fault| refusal(fault, stringify!($type), $type::EDM, value))
                }
                // Most types are stored as integers, and most values are in range.
                let usual = match value {
                    Some(ValueRef::Int32(number)) => $type::try_from(number).ok(),
                    Some(ValueRef::Int64(number)) => $type::try_from(number).ok(),
                    _ => None,
                };
                usual.map_or_else(|| other(value), Ok)
            }
        }

        impl KeyPart for $type {
            const TYPE: KeyType = KeyType::$kind($type::BITS as u8);
            type Key = Self;
        }
    )*};
}

integers! {
    u8: Unsigned, u128, unsigned, unsigned_value;
    u16: Unsigned, u128, unsigned, unsigned_value;
    u32: Unsigned, u128, unsigned, unsigned_value;
    u64: Unsigned, u128, unsigned, unsigned_value;
    u128: Unsigned, u128, unsigned, unsigned_value;
    i8: Signed, i128, signed, signed_value;
    i16: Signed, i128, signed, signed_value;
    i32: Signed, i128, signed, signed_value;
    i64: Signed, i128, signed, signed_value;
    i128: Signed, i128, signed, signed_value;
}
