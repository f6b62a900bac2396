//! A hash for maps of a hundred entries at most, for which the standard library's takes most of the time.
//!
//! Not for maps that grow with what users send: who chooses the keys can make them collide.

use std::hash::{BuildHasherDefault, Hasher};

/// Makes the hashes of a short map.
pub(crate) type ShortHash = BuildHasherDefault<ShortHasher>;

/// Multiplies and rotates, eight bytes at a time.
#[derive(Debug, Default)]
pub(crate) struct ShortHasher(u64);

impl ShortHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for ShortHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        let tail = rest.iter().fold(rest.len() as u64, |tail, byte| tail << 8 | u64::from(*byte));
        self.add(tail);
    }

    fn write_u8(&mut self, _end: u8) {}

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn finish(&self) -> u64 {
        // The map takes its place from the low bits and its tag from the high ones.
        self.0 ^ self.0 >> 32
    }
}
