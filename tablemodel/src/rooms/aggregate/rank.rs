//! Ranks: numbers and points in time as integers of 64 bits, in whose order the least value is the first, or the greatest.
//!
//! Pure numbers; nothing of rows here.

use tablemodel_store::{DateTime, EdmType, Value, ValueRef};

/// Digits of a rank in a key.
const DIGITS: usize = 20;
const SIGN: u64 = 1 << 63;

/// The place of a value among those of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rank {
    pub(crate) code: u64,
    /// Whether the greatest value comes first.
    greatest: bool,
}

impl Rank {
    /// The rank of a value; none of what has no order.
    pub(crate) fn of(value: ValueRef<'_>, greatest: bool) -> Option<Self> {
        let code = match value {
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
        Some(Self { code: if greatest { !code } else { code }, greatest })
    }

    /// The rank of a value among those that this is a rank of.
    pub(crate) fn of_same(self, value: ValueRef<'_>) -> Option<Self> {
        Self::of(value, self.greatest)
    }

    /// The rank that stands in a key as `code`, of values that this one is of too.
    pub(crate) fn with_code(self, code: u64) -> Self {
        Self { code, ..self }
    }

    /// The value of this type that has the rank.
    pub(crate) fn value(self, edm: EdmType) -> Option<Value> {
        let code = if self.greatest { !self.code } else { self.code };
        let number = (code ^ SIGN).cast_signed();
        Some(match edm {
            EdmType::Int32 => Value::Int32(i32::try_from(number).ok()?),
            EdmType::Int64 => Value::Int64(number),
            EdmType::DateTime => Value::DateTime(DateTime::from_ticks(number)),
            EdmType::Double => Value::Double(f64::from_bits(if code & SIGN == 0 { !code } else { code ^ SIGN })),
            _ => return None,
        })
    }

    /// As it stands in a key.
    pub(crate) fn digits(self) -> String {
        format!("{:0DIGITS$}", self.code)
    }

    /// The rank at the front of a piece of a key, and what follows it.
    pub(crate) fn code_of(text: &str) -> Option<(u64, &str)> {
        let (digits, rest) = text.split_at_checked(DIGITS)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        Some((digits.parse().ok().filter(|_| is_number)?, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = (Value, Value)> {
        let floats = || {
            prop_oneof![any::<f64>(), Just(0.0), Just(-0.0), Just(f64::INFINITY), Just(f64::NEG_INFINITY)]
                .prop_filter("a number", |float| !float.is_nan())
        };
        prop_oneof![
            any::<(i64, i64)>().prop_map(|(a, b)| (Value::Int64(a), Value::Int64(b))),
            any::<(i32, i32)>().prop_map(|(a, b)| (Value::Int32(a), Value::Int32(b))),
            (floats(), floats()).prop_map(|(a, b)| (Value::Double(a), Value::Double(b))),
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
            _ => None,
        }
    }

    proptest! {
        #[test]
        fn ranks_and_their_digits_are_in_the_order_of_values_or_the_reverse((a, b) in values()) {
            let [least, other] = [&a, &b].map(|value| Rank::of(value.as_ref(), false).unwrap());
            let [greatest, another] = [&a, &b].map(|value| Rank::of(value.as_ref(), true).unwrap());
            prop_assert_eq!(Some(least.code.cmp(&other.code)), order(&a, &b));
            prop_assert_eq!(Some(least.digits().cmp(&other.digits())), order(&a, &b));
            prop_assert_eq!(Some(another.digits().cmp(&greatest.digits())), order(&a, &b));
        }

        #[test]
        fn a_value_is_read_back((a, _) in values(), greatest in any::<bool>()) {
            let rank = Rank::of(a.as_ref(), greatest).unwrap();
            let plain = if a == Value::Double(-0.0) { Value::Double(0.0) } else { a.clone() };
            prop_assert_eq!(rank.value(a.edm()), Some(plain));
            let text = format!("{}!x", rank.digits());
            prop_assert_eq!(Rank::code_of(&text), Some((rank.code, "!x")));
        }
    }

    #[test]
    fn what_has_no_order_has_no_rank() {
        assert_eq!(Rank::of(ValueRef::Double(f64::NAN), false), None);
        assert_eq!(Rank::of(ValueRef::String("1"), false), None);
        assert_eq!(Rank::code_of("123"), None);
        assert_eq!(Rank::code_of("+0000000000000000001"), None);
    }
}
