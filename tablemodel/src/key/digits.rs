//! Numbers as fixed-width digits.
//! No type of number and no bias is known here.

use super::codec::MAX_DIGITS;

/// As many as a number in a key can have.
const ZEROS: &str = "000000000000000000000000000000000000000";
const _: () = assert!(ZEROS.len() == MAX_DIGITS as usize, "a number is padded to the most digits");

/// The number needs more digits than there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooWide;

/// Appends `value` in exactly `width` decimal digits (at most [`MAX_DIGITS`]).
pub(crate) fn push_decimal(out: &mut String, value: u128, width: u8) -> Result<(), TooWide> {
    let (mut short, mut long) = (itoa::Buffer::new(), itoa::Buffer::new());
    let digits = match u64::try_from(value) {
        Ok(value) => short.format(value),
        Err(_) => long.format(value),
    };
    let width = usize::from(width);
    let padding = ZEROS.get(..width).and_then(|zeros| zeros.get(digits.len()..)).ok_or(TooWide)?;
    out.push_str(padding);
    out.push_str(digits);
    Ok(())
}

/// As [`decimal`], of 1 to 19 digits: no number of them overflows.
#[inline]
pub(super) fn few(text: &[u8]) -> Option<u64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    if text.is_empty() || text.len() >= 20 {
        return None;
    }
    text.iter().try_fold(0, |number, byte| Some(number * 10 + digit(*byte)?))
}

/// Reads what [`push_decimal`] wrote: digits alone, no sign.
pub(crate) fn decimal(text: &str) -> Option<u128> {
    match text.len() {
        ..20 => few(text.as_bytes()).map(u128::from),
        _ => text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten(),
    }
}

/// Appends the `width` low hexadecimal digits of `value`, in lower case.
pub(super) fn push_hex(out: &mut String, value: u128, width: u8) {
    for place in (0..width).rev() {
        let nibble = (value >> (u32::from(place) * 4)) as u32 & 0xF;
        out.extend(char::from_digit(nibble, 16));
    }
}

/// Reads what [`push_hex`] wrote; upper case is not taken.
pub(super) fn hex(text: &str) -> Option<u128> {
    is_hex(text).then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// Whether the text is made of digits and the letters `a` to `f` alone.
pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The decimal digits of the greatest unsigned number of so many bits.
#[inline]
pub(super) const fn digits_of(bits: u8) -> u8 {
    match bits {
        // Of integers that are stored as such: read with every key, and the logarithm is slow.
        8 => 3,
        16 => 5,
        32 => 10,
        64 => 20,
        _ => max_of(bits).ilog10() as u8 + 1,
    }
}

/// The greatest unsigned number of so many bits, from 1 to 128.
pub(crate) const fn max_of(bits: u8) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_integer_type_has_its_decimal_width() {
        let widths = [8, 16, 32, 64, 128].map(digits_of);
        assert_eq!(widths, [3, 5, 10, 20, 39]);
        for bits in 1..=128 {
            assert_eq!(usize::from(digits_of(bits)), max_of(bits).to_string().len(), "{bits} bits");
        }
    }

    #[test]
    fn a_number_is_padded_or_refused() {
        let mut out = String::from("x");
        assert_eq!(push_decimal(&mut out, 223, 6), Ok(()));
        assert_eq!(push_decimal(&mut out, u128::MAX, 39), Ok(()));
        assert_eq!(out, "x000223340282366920938463463374607431768211455");
        assert_eq!(push_decimal(&mut out, 1_000, 3), Err(TooWide));
        assert_eq!(push_decimal(&mut out, u128::MAX, 38), Err(TooWide));
        assert_eq!(push_decimal(&mut out, 0, 40), Err(TooWide));
    }

    #[test]
    fn only_plain_digits_are_read() {
        assert_eq!(decimal("000223"), Some(223));
        for text in ["", "+1", "-1", " 1", "1 ", "٣", "340282366920938463463374607431768211456"] {
            assert_eq!(decimal(text), None, "{text:?}");
        }
        assert_eq!(hex("00ff"), Some(255));
        assert_eq!(hex("00FF"), None);
        assert_eq!(hex("+f"), None);
    }
}
