//! Things by number, from 0 on: only appended to, and read without a lock.
//!
//! Knows nothing of what they are, and finds nothing but by number.

use std::sync::{
    OnceLock,
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Release},
    },
};

/// Things that are made room for at a time.
const EACH: usize = 256;

/// At most `CHUNKS` times 256 things.
pub(super) struct Roll<T, const CHUNKS: usize> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; CHUNKS],
    /// How many there are. Never ahead of those that can be looked up.
    count: AtomicU32,
}

impl<T, const CHUNKS: usize> Roll<T, CHUNKS> {
    /// Numbers that it gives out.
    pub(super) const MOST: u32 = CHUNKS as u32 * EACH as u32;

    pub(super) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], count: AtomicU32::new(0) }
    }

    /// The thing with this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        let number = number as usize;
        self.chunks.get(number / EACH)?.get()?.get(number % EACH)?.get()
    }

    /// Adds a thing, and gives its number; `None` if there is none left, or somebody else adds one at the same moment.
    pub(super) fn push(&self, thing: T) -> Option<u32> {
        let number = self.len();
        let chunk = self.chunks.get(number as usize / EACH)?;
        let things = chunk.get_or_init(|| (0..EACH).map(|_| OnceLock::new()).collect());
        things.get(number as usize % EACH)?.set(thing).ok()?;
        self.count.store(number + 1, Release);
        Some(number)
    }

    /// How many there are.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.count.load(Acquire)
    }

    /// Those from number `first` on.
    pub(super) fn since(&self, first: u32) -> impl Iterator<Item = (u32, &T)> {
        (first..self.len()).map_while(|number| Some((number, self.get(number)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_keep_their_numbers_until_none_is_left() {
        let roll = Roll::<u32, 2>::new();
        assert_eq!((roll.len(), roll.get(0)), (0, None));
        let numbers: Vec<_> = (0..600).map(|thing| roll.push(thing * 2)).collect();
        assert_eq!(numbers, (0..600).map(|number| (number < 512).then_some(number)).collect::<Vec<_>>());
        assert_eq!((roll.len(), Roll::<u32, 2>::MOST), (512, 512));
        assert_eq!((roll.get(511), roll.get(512)), (Some(&1022), None));
        assert_eq!(roll.since(510).collect::<Vec<_>>(), [(510, &1020), (511, &1022)]);
        assert_eq!(roll.since(600).count(), 0);
    }
}
