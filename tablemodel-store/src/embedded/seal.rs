//! Checksums of stored values: each value of the file carries one over itself, its key and its place.
//!
//! redb checks its pages only when it repairs a file; what is read is checked here. Knows nothing of what it seals.

use twox_hash::XxHash3_64;

use super::engine::Space;
use crate::{StoreError, StoreErrorKind};

/// Bytes of a checksum.
pub(super) const SEAL_BYTES: usize = 4;

/// The part of a checksum that needs neither the space nor the stamp, so that it can be made ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest(u64);

impl Digest {
    /// The digest of a value's body under its key.
    pub(super) fn of(key: &[u8], body: &[u8]) -> Self {
        Self(XxHash3_64::oneshot(body) ^ XxHash3_64::oneshot(key).rotate_left(1))
    }

    /// The checksum of that body in `space`, with the stamp `stamp` (0 where a value has none).
    pub(super) fn seal(self, space: Space, stamp: u64) -> [u8; SEAL_BYTES] {
        // An odd multiplier (a fraction of the square root of 2): a bijection of 64 bits.
        let mixed = self.0 ^ space.bits() ^ stamp.wrapping_mul(0x6A09_E667_F3BC_C909);
        let [a, b, c, d, e, f, g, h] = mixed.to_le_bytes();
        [a ^ e, b ^ f, c ^ g, d ^ h]
    }
}

/// A record of a system space: its body behind its checksum.
pub(super) fn sealed(space: Space, key: &[u8], body: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(SEAL_BYTES + body.len());
    value.extend_from_slice(&Digest::of(key, body).seal(space, 0));
    value.extend_from_slice(body);
    value
}

/// The body of a record of a system space.
pub(super) fn unsealed<'a>(space: Space, key: &[u8], value: &'a [u8]) -> Result<&'a [u8], StoreError> {
    match value.split_first_chunk::<SEAL_BYTES>() {
        Some((seal, body)) if *seal == Digest::of(key, body).seal(space, 0) => Ok(body),
        _ => Err(damaged(&format!("a record of {space:?} does not match its checksum"))),
    }
}

/// The error for a stored row that cannot be what was written. That row alone: it may be written over.
pub(super) fn damaged_row(what: &str) -> StoreError {
    let detail = format!(
        "the file of the store is damaged: {what}; restore a backup, or write that row over (insert or replace)"
    );
    StoreError::new(StoreErrorKind::Corrupt, detail)
}

/// The error for a stored value that cannot be what was written.
pub(super) fn damaged(what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, format!("the file of the store is damaged: {what}; restore a backup"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::engine::TableId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_flipped_bit_of_a_record_is_noticed(
            key in prop::collection::vec(any::<u8>(), 0..40),
            body in prop::collection::vec(any::<u8>(), 0..300),
            at in any::<prop::sample::Index>(),
            bit in 0..8u32,
        ) {
            let space = Space::Rows(TableId(7));
            let mut value = sealed(space, &key, &body);
            prop_assert_eq!(unsealed(space, &key, &value).unwrap(), &body[..]);
            let at = at.index(value.len());
            value[at] ^= 1 << bit;
            prop_assert!(unsealed(space, &key, &value).is_err());
        }
    }

    #[test]
    fn a_value_under_another_key_space_or_stamp_is_noticed() {
        let space = Space::Rows(TableId(7));
        let digest = Digest::of(b"key", b"body");
        let seal = digest.seal(space, 5);
        assert_ne!(seal, Digest::of(b"kez", b"body").seal(space, 5));
        assert_ne!(seal, digest.seal(Space::Rows(TableId(8)), 5));
        assert_ne!(seal, digest.seal(space, 6));
    }
}
