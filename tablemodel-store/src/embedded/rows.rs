//! Rows that were looked up by key, kept to be found again without the engine.
//!
//! Knows no snapshot. What is kept is what the newest commit left: the rows that a commit changes are taken out before the engine has
//! it, and who puts a row in says how many changes had ended when he was about to take his snapshot; he is refused where a later one
//! has touched the set of the row.

mod directory;
mod row;
mod set;

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
};

use twox_hash::XxHash3_64;

pub(super) use self::row::ReadRow;
use self::{
    directory::{CHUNK_BYTES, Directory},
    set::{Look, WORDS},
};
use super::engine::Space;

/// Where a key belongs, and by what it is known there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u64);

impl Mark {
    /// The mark of `key` in `space`.
    pub(super) fn of(space: Space, key: &[u8]) -> Self {
        // Tables with the same keys do not share sets.
        Self(XxHash3_64::oneshot(key) ^ space.bits())
    }

    /// Whether its first bits are these: those after the highest one.
    #[inline]
    fn begins_with(self, beginning: u32) -> bool {
        let Some(bits) = beginning.checked_ilog2() else { return false };
        (1 << bits | self.first_bits(bits)) == beginning
    }

    /// So many of its first bits.
    #[inline]
    const fn first_bits(self, bits: u32) -> u32 {
        ((self.0 >> 32) >> (32 - bits)) as u32
    }

    /// By what it is told from most others.
    const fn tag(self) -> u8 {
        self.0 as u8
    }
}

/// The rows looked up last, in so many bytes of memory.
#[derive(Debug)]
pub(super) struct Rows {
    /// Made when the first row is kept, or a change is noticed.
    sets: OnceLock<Directory>,
    /// Chunks of sets, at most.
    chunks: usize,
    begun: AtomicU64,
    ended: AtomicU64,
    is_used: AtomicBool,
    /// Changes that were begun while nothing was kept yet: what they changed was not taken out.
    unnoticed: OnceLock<u64>,
}

/// How many changes have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended(u64);

/// A change that was begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    number: u64,
    /// Whether its rows are to be taken out: else none is kept.
    pub(super) is_noticed: bool,
}

impl Change {
    /// What has ended when this one has.
    pub(super) const fn ended(self) -> Ended {
        Ended(self.number)
    }
}

impl Rows {
    /// Memory beyond this is not used.
    pub(super) const MOST_BYTES: usize = 1 << 30;

    /// None yet, in at most `bytes`, which are taken as they are needed.
    pub(super) fn new(bytes: usize) -> Self {
        let (begun, ended) = (AtomicU64::new(0), AtomicU64::new(0));
        let chunks = bytes.min(Self::MOST_BYTES) / CHUNK_BYTES;
        Self {
            sets: OnceLock::new(),
            chunks,
            begun,
            ended,
            is_used: AtomicBool::new(false),
            unnoticed: OnceLock::new(),
        }
    }

    /// How many changes have ended. To be asked before the snapshot is taken that rows are read from.
    pub(super) fn ended(&self) -> Ended {
        Ended(self.ended.load(SeqCst))
    }

    /// The row at `key`, in the space that gives it this mark, if it is kept.
    #[inline]
    pub(super) fn get(&self, mark: Mark, key: &[u8]) -> Option<ReadRow> {
        let sets = self.sets.get()?;
        loop {
            match sets.set(mark)?.get(mark, key) {
                Look::Found(row) => return Some(row),
                Look::Absent => return None,
                Look::Elsewhere => {}
            }
        }
    }

    /// Keeps a row that was read when so many changes had ended, unless a later one may have changed it.
    pub(super) fn put(&self, row: &ReadRow, read: Ended) {
        if self.chunks == 0 || row.words().len() > WORDS || *self.unnoticed.get_or_init(|| self.used()) > read.0 {
            return;
        }
        let sets = self.sets();
        sets.change(row.mark(), |held| {
            if held.changed() <= read.0 {
                held.remove(row.mark());
                if !held.has_room(row) && sets.divide(held) {
                    return false; // the row's set is perhaps the other one now
                }
                held.put(row);
            }
            true
        });
    }

    fn sets(&self) -> &Directory {
        self.sets.get_or_init(|| Directory::new(self.chunks))
    }

    /// From now on rows are kept; how many changes may not have noticed.
    fn used(&self) -> u64 {
        self.is_used.store(true, SeqCst);
        self.begun.load(SeqCst)
    }

    /// Begins a change. There is one at a time; the one before may not have ended.
    pub(super) fn begin(&self) -> Change {
        let number = self.begun.fetch_add(1, SeqCst) + 1;
        Change { number, is_noticed: self.is_used.load(SeqCst) }
    }

    /// Takes out the rows that the change changes: to be called before any reader can see it, unless it is not noticed.
    pub(super) fn take_out(&self, change: Change, marks: impl IntoIterator<Item = Mark>) {
        for mark in marks.into_iter().take_while(|_| self.chunks > 0) {
            // Made even where nothing is kept: who is about to keep the first row must learn of the change.
            self.sets().change(mark, |held| {
                held.forget(mark, change.number);
                true
            });
        }
    }

    /// Ends the changes that were begun: to be called when every reader sees them.
    pub(super) fn end(&self) {
        self.ended.store(self.begun.load(SeqCst), SeqCst);
    }

    /// Ends the changes up to this one, beside a later one that was begun.
    pub(super) fn end_up_to(&self, change: Change) {
        self.ended.store(change.number, SeqCst);
    }
}

#[cfg(test)]
mod tests;
