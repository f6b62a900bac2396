//! The pieces that rows are made of in bytes: lengths, numbers, runs of bytes.
//!
//! Knows nothing of rows. Reading takes from the front of a slice; `None` where the bytes end or make no sense.

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[inline(always)]
pub(super) fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = take_length(rest)?;
    let (bytes, tail) = rest.split_at_checked(len)?;
    *rest = tail;
    Some(bytes)
}

/// A length or a count.
#[inline(always)]
pub(super) fn take_length(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_varint(rest)?).ok()
}

/// One byte, 0 or 1.
#[inline(always)]
pub(super) fn take_bool(rest: &mut &[u8]) -> Option<bool> {
    match take_array(rest)? {
        [truth @ 0..=1] => Some(*truth == 1),
        [_] => None,
    }
}

#[inline(always)]
pub(super) fn take_array<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (bytes, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(bytes)
}

#[inline(always)]
pub(super) fn take_fixed(rest: &mut &[u8]) -> Option<u64> {
    take_array(rest).map(|bytes| u64::from_le_bytes(*bytes))
}

/// LEB128: seven bits a byte, lowest first, the top bit set on all but the last.
#[inline]
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline(always)]
pub(super) fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let (first, after) = rest.split_first()?;
    if *first < 0x80 {
        *rest = after;
        return Some(u64::from(*first));
    }
    match after.split_first() {
        Some((second @ 0..0x80, after)) => {
            *rest = after;
            Some(u64::from(*first & 0x7F) | u64::from(*second) << 7)
        }
        _ => {
            let (value, after) = long_varint(rest)?;
            *rest = after;
            Some(value)
        }
    }
}

/// Passes over a varint.
#[inline(always)]
pub(super) fn skip_varint(rest: &mut &[u8]) -> Option<()> {
    if let Some((_, bytes)) = short_varint(rest) {
        *rest = rest.get(bytes..)?;
        return Some(());
    }
    *rest = long_varint(rest)?.1;
    Some(())
}

/// The varint at the front, at its place in a word, and how many bytes it has; none unless it ends within eight bytes
/// and eight are there to be looked at.
#[inline(always)]
fn short_varint(rest: &[u8]) -> Option<(u64, usize)> {
    const TOP_BITS: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let ends = !word & TOP_BITS;
    if ends == 0 {
        return None;
    }
    // Below the lowest end and with it.
    Some((word & (ends ^ (ends - 1)), ends.trailing_zeros() as usize / 8 + 1))
}

/// The lower seven bits of each byte of a word, beside each other.
#[inline(always)]
fn sevens(word: u64) -> u64 {
    // They are moved together in pairs, then the pairs, then the fours.
    let pairs = word & 0x007F_007F_007F_007F | (word & 0x7F00_7F00_7F00_7F00) >> 1;
    let fours = pairs & 0x0000_3FFF_0000_3FFF | (pairs & 0x3FFF_0000_3FFF_0000) >> 2;
    fours & 0x0000_0000_0FFF_FFFF | (fours & 0x0FFF_FFFF_0000_0000) >> 4
}

/// A varint and what follows it: by value, so that who reads on keeps its place in registers.
fn long_varint(rest: &[u8]) -> Option<(u64, &[u8])> {
    if let Some((word, bytes)) = short_varint(rest) {
        return Some((sevens(word), rest.get(bytes..)?));
    }
    // Nine bytes, which ticks of the clock take.
    if let Some((word, [ninth @ 0..0x80, tail @ ..])) = rest.split_first_chunk() {
        return Some((sevens(u64::from_le_bytes(*word)) | u64::from(*ninth) << 56, tail));
    }
    let (mut value, mut shift, mut left) = (0, 0, rest);
    while let [byte, tail @ ..] = left
        && shift < u64::BITS
    {
        value |= u64::from(byte & 0x7F) << shift;
        if *byte < 0x80 {
            return Some((value, tail));
        }
        (shift, left) = (shift + 7, tail);
    }
    None
}

pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

pub(super) fn from_zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_keep_their_value(value in any::<i64>()) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, zigzag(value));
            let mut rest = &bytes[..];
            prop_assert_eq!(take_varint(&mut rest).map(from_zigzag), Some(value));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn a_number_ends_where_it_ends_whatever_follows(bits in 0..64_u32, value in any::<u64>(), after in prop::collection::vec(any::<u8>(), 0..12)) {
            let value = value >> bits;
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            bytes.extend_from_slice(&after);
            let (mut taken, mut skipped) = (&bytes[..], &bytes[..]);
            prop_assert_eq!(take_varint(&mut taken), Some(value));
            prop_assert_eq!(skip_varint(&mut skipped), Some(()));
            prop_assert_eq!((taken, skipped), (&after[..], &after[..]));
        }

        #[test]
        fn runs_of_bytes_come_back_and_cut_ones_are_refused(run in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = Vec::new();
            put_bytes(&mut bytes, &run);
            prop_assert_eq!(take_bytes(&mut &bytes[..]), Some(&run[..]));
            prop_assert_eq!(take_bytes(&mut &bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn a_number_of_more_than_ten_bytes_is_refused() {
        assert_eq!(take_varint(&mut &[0x80; 11][..]), None);
        assert_eq!(skip_varint(&mut &[0x80; 11][..]), None);
        assert_eq!(take_varint(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1][..]), Some(u64::MAX));
    }
}
