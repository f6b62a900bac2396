//! The sets of rows, and which marks belong to which: as many as the rows need, in memory that is taken as it is needed.
//!
//! Knows no change.

use std::{
    ops::Range,
    sync::{
        OnceLock,
        atomic::{
            AtomicU32,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

use super::{
    Mark,
    set::{Body, Head, Held, SET_BYTES, Set},
};

/// Sets that are made together, when the first of them is needed; and so many there are from the beginning. Their rows are so much
/// memory that an allocator takes it from the system, and not from the midst of what is small.
pub(super) const CHUNK: usize = 1 << FIRST_BITS;
/// First bits of a mark by which a set is found as long as none was divided.
const FIRST_BITS: u32 = 7;
/// More bits than are needed to tell all sets apart: sets that have many rows are divided, and those that have few are not.
const MORE_BITS: u32 = 1;
/// Entries of the directory for each set, at most.
pub(super) const MOST_ENTRIES: usize = 2 << MORE_BITS;
/// Memory of the sets that are made together, and of what says where they are.
pub(super) const CHUNK_BYTES: usize = CHUNK * (SET_BYTES + MOST_ENTRIES * size_of::<AtomicU32>());

/// All sets.
///
/// A set that has no room is divided, as long as there may be more: rows are as near each other as they can be, so that a
/// processor finds them again in its caches.
#[derive(Debug)]
pub(super) struct Directory {
    /// The number of the set for each beginning of a mark.
    numbers: Box<[AtomicU32]>,
    /// First bits of a mark that stand for its entry.
    bits: u32,
    chunks: Box<[OnceLock<Chunk>]>,
    /// Sets in use.
    used: AtomicU32,
}

/// The entries of the marks that begin so, where so many bits stand for an entry.
fn entries(beginning: u32, bits: u32) -> Range<usize> {
    let others = bits - beginning.ilog2();
    let entry = |beginning: u32| ((beginning << others) as usize) - (1 << bits);
    entry(beginning)..entry(beginning) + (1 << others)
}

/// Some sets. Heads are beside heads.
#[derive(Debug)]
struct Chunk {
    heads: Box<[Head]>,
    bodies: Box<[Body]>,
}

impl Chunk {
    fn new(head: impl Fn(u32) -> Head) -> Self {
        Self { heads: (0..CHUNK as u32).map(head).collect(), bodies: (0..CHUNK).map(|_| Body::default()).collect() }
    }

    #[inline]
    fn set(&self, number: u32) -> Option<Set<'_>> {
        let at = number as usize % CHUNK;
        Some(Set { head: self.heads.get(at)?, body: self.bodies.get(at)? })
    }
}

impl Directory {
    /// As many sets as one chunk has; later up to those of so many chunks, of which there must be one.
    pub(super) fn new(chunks: usize) -> Self {
        let bits = (chunks * CHUNK).next_power_of_two().ilog2() + MORE_BITS;
        let numbers = (0..1_u32 << bits).map(|at| AtomicU32::new(at >> (bits - FIRST_BITS))).collect();
        let chunks: Box<[OnceLock<_>]> = (0..chunks).map(|_| OnceLock::new()).collect();
        if let Some(first) = chunks.first() {
            first.get_or_init(|| Chunk::new(|at| Head::of(1 << FIRST_BITS | at)));
        }
        Self { numbers, bits, chunks, used: AtomicU32::new(CHUNK as u32) }
    }

    /// The set of a mark, or what it was a moment ago.
    #[inline]
    pub(super) fn set(&self, mark: Mark) -> Option<Set<'_>> {
        let number = self.numbers.get(mark.first_bits(self.bits) as usize)?.load(Acquire);
        self.chunks.get(number as usize / CHUNK)?.get()?.set(number)
    }

    /// Changes the set of a mark, once more until the change says that it is done.
    pub(super) fn change(&self, mark: Mark, mut change: impl FnMut(&mut Held<'_>) -> bool) {
        while self.set(mark).is_some_and(|set| set.change(mark, &mut change) != Some(true)) {}
    }

    /// Divides a set. Whether there was another one to be had.
    pub(super) fn divide(&self, held: &mut Held<'_>) -> bool {
        if held.beginning().ilog2() >= self.bits {
            return false; // marks that are alike in so many bits stay together
        }
        let Some((number, other)) = self.another() else { return false };
        held.divide(other, |beginning| {
            let entries = self.numbers.get(entries(beginning, self.bits)).unwrap_or_default();
            entries.iter().for_each(|entry| entry.store(number, Release));
        });
        true
    }

    /// A set that is not in use.
    fn another(&self) -> Option<(u32, Set<'_>)> {
        let most = self.chunks.len() * CHUNK;
        let next = |used: u32| ((used as usize) < most).then_some(used + 1);
        let number = self.used.fetch_update(Relaxed, Relaxed, next).ok()?;
        let chunk = self.chunks.get(number as usize / CHUNK)?;
        Some((number, chunk.get_or_init(|| Chunk::new(|_| Head::default())).set(number)?))
    }

    /// Sets in use.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used.load(Relaxed) as usize
    }

    /// Bytes that are taken.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        let sets = self
            .chunks
            .iter()
            .filter_map(OnceLock::get)
            .map(|sets| size_of_val(&*sets.heads) + size_of_val(&*sets.bodies));
        sets.sum::<usize>() + size_of_val(&*self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_of_marks_are_those_of_both_halves_of_them() {
        for bits in [8, 10, 20] {
            assert_eq!(entries(1, bits), 0..1 << bits);
            for beginning in [0b1, 0b10, 0b1011, 0b1000_0000, 0b1111_1111] {
                let [first, second] = [0, 1].map(|bit| entries(beginning << 1 | bit, bits));
                assert_eq!(first.start..second.end, entries(beginning, bits));
                assert_eq!(first.end, second.start);
                assert_eq!(first.len(), second.len());
            }
            let last = entries(1 << bits | 5, bits);
            assert_eq!(last, 5..6);
            assert_eq!(Mark(5 << (64 - bits)).first_bits(bits), 5);
        }
    }
}
