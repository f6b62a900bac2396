//! Seeded randomness: the same seed gives the same numbers. Not for secrets.

/// SplitMix64, <https://prng.di.unimi.it/splitmix64.c>.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        (self.next() % u64::from(end.max(1))) as u32
    }

    /// One of these; the default of none.
    pub(super) fn one_of<T: Copy + Default>(&mut self, of: &[T]) -> T {
        of.get(self.below(of.len() as u32) as usize).copied().unwrap_or_default()
    }
}
