//! Ranks: values as pieces of a key, in whose order the least value is the first, or the greatest.
//!
//! Pure values; nothing of rows here. No rank holds a `!` or a `|`, and each begins with a digit.

use std::fmt::Write;

use tablemodel_store::{DateTime, EdmType, Value, ValueRef};

/// Digits of a number's rank.
const DIGITS: usize = 20;
const SIGN: u64 = 1 << 63;
/// What the rank of a text begins with: that of the empty one is not empty.
const TEXT: char = '0';
/// What the rank of a text ends with, where the greatest comes first: above all that a longer one goes on with.
const END: char = 'z';
/// The codec of `u64`, which is stored as a text of digits.
const UNSIGNED: &str = "u64";

/// The place of a value among those of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rank {
    /// As it stands in a key.
    pub(crate) code: String,
    /// Whether the greatest value comes first.
    greatest: bool,
    is_unsigned: bool,
}

impl Rank {
    /// The rank of a value of this codec; none of what has no order.
    pub(crate) fn of(value: ValueRef<'_>, codec: &str, greatest: bool) -> Option<Self> {
        let is_unsigned = codec == UNSIGNED;
        let number = match value {
            ValueRef::String(text) if !is_unsigned => {
                return Some(Self { code: text_code(text, greatest), greatest, is_unsigned });
            }
            ValueRef::String(digits) => digits.parse().ok()?,
            ValueRef::Int32(value) if is_unsigned => u64::try_from(value).ok()?,
            ValueRef::Int64(value) if is_unsigned => u64::try_from(value).ok()?,
            ValueRef::Int32(value) => i64::from(value).cast_unsigned() ^ SIGN,
            ValueRef::Int64(value) => value.cast_unsigned() ^ SIGN,
            ValueRef::DateTime(at) => at.ticks().cast_unsigned() ^ SIGN,
            ValueRef::Double(value) if value.is_nan() => return None,
            ValueRef::Double(value) => match (value + 0.0).to_bits() {
                bits if bits & SIGN == 0 => bits | SIGN,
                bits => !bits,
            },
            _ => return None,
        };
        let number = if greatest { !number } else { number };
        Some(Self { code: format!("{number:0DIGITS$}"), greatest, is_unsigned })
    }

    /// The rank of a value among those that this is a rank of.
    pub(crate) fn of_same(&self, value: ValueRef<'_>) -> Option<Self> {
        Self::of(value, if self.is_unsigned { UNSIGNED } else { "" }, self.greatest)
    }

    /// The rank that stands in a key as `code`, of values that this one is of too.
    pub(crate) fn with_code(&self, code: String) -> Self {
        Self { code, ..*self }
    }

    /// The value of this type that has the rank.
    pub(crate) fn value(&self, edm: EdmType) -> Option<Value> {
        if edm == EdmType::String && !self.is_unsigned {
            return text_of(&self.code, self.greatest).map(Value::String);
        }
        let number: u64 = self.code.parse().ok()?;
        let code = if self.greatest { !number } else { number };
        let number = (code ^ SIGN).cast_signed();
        Some(match edm {
            EdmType::Int32 => Value::Int32(i32::try_from(number).ok()?),
            EdmType::Int64 => Value::Int64(number),
            EdmType::DateTime => Value::DateTime(DateTime::from_ticks(number)),
            EdmType::Double => Value::Double(f64::from_bits(if code & SIGN == 0 { !code } else { code ^ SIGN })),
            EdmType::String => Value::String(format!("{code:0DIGITS$}")),
            _ => return None,
        })
    }

    /// The rank at the front of a piece of a key, if an owner follows it.
    pub(crate) fn code_of(text: &str) -> Option<&str> {
        let (code, _) = text.split_once('!')?;
        Some(code).filter(|code| is_code(code))
    }
}

/// Whether this is how a rank stands in a key.
pub(super) fn is_code(code: &str) -> bool {
    let digits = code.strip_suffix(END).unwrap_or(code);
    !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The bytes of a text in hexadecimal, where the order of bytes is that of UTF-16 code units: each unit by itself, as UTF-8
/// writes a character. Where the greatest comes first, 255 less each, and an end that is above every digit.
fn text_code(text: &str, greatest: bool) -> String {
    let mut code = String::with_capacity(2 * text.len() + 2);
    code.push(TEXT);
    for unit in text.encode_utf16() {
        let low = |bits: u32| 0x80 | (unit >> bits & 0x3F) as u8;
        let bytes: &[u8] = match unit {
            ..0x80 => &[unit as u8],
            0x80..0x800 => &[0xC0 | (unit >> 6) as u8, low(0)],
            0x800.. => &[0xE0 | (unit >> 12) as u8, low(6), low(0)],
        };
        for byte in bytes {
            let byte = if greatest { !byte } else { *byte };
            let _ = write!(code, "{byte:02x}"); // a string takes all
        }
    }
    code.extend(greatest.then_some(END));
    code
}

/// The text that has this code.
fn text_of(code: &str, greatest: bool) -> Option<String> {
    let code = code.strip_prefix(TEXT)?;
    let code = if greatest { code.strip_suffix(END)? } else { code };
    let mut bytes = Vec::with_capacity(code.len() / 2);
    for place in (0..code.len()).step_by(2) {
        let byte = u8::from_str_radix(code.get(place..place + 2)?, 16).ok()?;
        bytes.push(if greatest { !byte } else { byte });
    }
    let mut bytes = bytes.into_iter().map(u16::from);
    let mut units = Vec::with_capacity(bytes.len());
    while let Some(first) = bytes.next() {
        let mut more = || bytes.next().map(|byte| byte & 0x3F);
        units.push(match first {
            ..0x80 => first,
            0x80..0xE0 => (first & 0x1F) << 6 | more()?,
            0xE0.. => (first & 0xF) << 12 | more()? << 6 | more()?,
        });
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The codec of such values.
    fn codec(value: &Value) -> &'static str {
        match value {
            Value::String(text) if text.len() == 20 && text.parse::<u64>().is_ok() => "u64",
            Value::String(_) => "string",
            _ => "",
        }
    }

    fn rank(value: &Value, greatest: bool) -> Rank {
        Rank::of(value.as_ref(), codec(value), greatest).unwrap()
    }

    fn values() -> impl Strategy<Value = (Value, Value)> {
        let text = || prop_oneof!["[a-c|!~]{0,3}", any::<String>(), "[\u{E000}-\u{10FFFF}a]{0,2}"];
        let floats = || {
            prop_oneof![any::<f64>(), Just(0.0), Just(-0.0), Just(f64::INFINITY), Just(f64::NEG_INFINITY)]
                .prop_filter("a number", |float| !float.is_nan())
        };
        prop_oneof![
            any::<(i64, i64)>().prop_map(|(a, b)| (Value::Int64(a), Value::Int64(b))),
            any::<(i32, i32)>().prop_map(|(a, b)| (Value::Int32(a), Value::Int32(b))),
            (floats(), floats()).prop_map(|(a, b)| (Value::Double(a), Value::Double(b))),
            (text(), text()).prop_map(|(a, b)| (Value::String(a), Value::String(b))),
            any::<(u64, u64)>()
                .prop_map(|(a, b)| (Value::String(format!("{a:020}")), Value::String(format!("{b:020}")))),
            any::<(u32, u32)>().prop_map(|(a, b)| {
                let at = |ticks: u32| Value::DateTime(DateTime::from_ticks(i64::from(ticks) << 20));
                (at(a), at(b))
            }),
        ]
    }

    fn order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
        match (a, b) {
            (Value::Int64(a), Value::Int64(b)) => Some(a.cmp(b)),
            (Value::Int32(a), Value::Int32(b)) => Some(a.cmp(b)),
            (Value::DateTime(a), Value::DateTime(b)) => Some(a.cmp(b)),
            (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
            (Value::String(a), Value::String(b)) => Some(tablemodel_store::key::compare(a, b)),
            _ => None,
        }
    }

    proptest! {
        #[test]
        fn ranks_are_in_the_order_of_values_or_the_reverse_whatever_follows(
            (a, b) in values(),
            owners in any::<(bool, bool)>(),
        ) {
            let in_key = |value: &Value, greatest, owner| {
                format!("{}!{}", rank(value, greatest).code, if owner { "z" } else { "0" })
            };
            let wanted = order(&a, &b).filter(|order| order.is_ne());
            if let Some(wanted) = wanted {
                prop_assert_eq!(in_key(&a, false, owners.0).cmp(&in_key(&b, false, owners.1)), wanted);
                prop_assert_eq!(in_key(&b, true, owners.0).cmp(&in_key(&a, true, owners.1)), wanted);
            }
            prop_assert_eq!(wanted.is_none(), rank(&a, false) == rank(&b, false));
            prop_assert_eq!(wanted.is_none(), rank(&a, true) == rank(&b, true));
        }

        #[test]
        fn a_value_is_read_back((a, _) in values(), greatest in any::<bool>()) {
            let rank = rank(&a, greatest);
            let plain = if a == Value::Double(-0.0) { Value::Double(0.0) } else { a.clone() };
            prop_assert_eq!(rank.value(a.edm()), Some(plain));
            prop_assert_eq!(rank.of_same(a.as_ref()), Some(rank.clone()));
            let text = format!("{}!x!y", rank.code);
            prop_assert_eq!(Rank::code_of(&text), Some(&*rank.code));
            prop_assert!(rank.code.starts_with(|c: char| c.is_ascii_digit()), "within the range that is read");
        }
    }

    #[test]
    fn what_has_no_order_has_no_rank() {
        assert_eq!(Rank::of(ValueRef::Double(f64::NAN), "", false), None);
        assert_eq!(Rank::of(ValueRef::Boolean(true), "bool", false), None);
        assert_eq!(Rank::of(ValueRef::Int64(-1), "u64", false), None);
        for other in ["123", "+0000000000000000001!x", "!x", "0|1!x", "Payroll!x"] {
            assert_eq!(Rank::code_of(other), None, "{other}");
        }
    }

    /// What another program wrote as a number is the same `u64`.
    #[test]
    fn a_u64_has_one_rank_however_it_is_stored() {
        let text = Rank::of(ValueRef::String("00000000000000000007"), "u64", true);
        for same in [ValueRef::Int32(7), ValueRef::Int64(7), ValueRef::String("7")] {
            assert_eq!(Rank::of(same, "u64", true), text);
        }
    }
}
