//! Hashes of values, which are part of the stored format.
//! No template is known here.
//! What is hashed stands in `docs/keys.md`.

use twox_hash::{XxHash3_64, XxHash3_128};

/// The bytes of a value with their length before them.
pub(super) struct Framed(Vec<u8>);

impl Framed {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut framed = Vec::with_capacity(8 + bytes.len());
        framed.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        framed.extend_from_slice(bytes);
        Self(framed)
    }

    /// The bucket, below `buckets`.
    pub(super) fn shard(&self, buckets: u16) -> u16 {
        (XxHash3_64::oneshot(&self.0) % u64::from(buckets.max(1))) as u16
    }

    /// All 128 bits.
    pub(super) fn hash(&self) -> u128 {
        XxHash3_128::oneshot(&self.0)
    }
}
