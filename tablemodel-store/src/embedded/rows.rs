//! Rows that were looked up by key, kept to be found again without the engine.
//!
//! Knows no snapshot. What is kept is what the newest commit left: the rows that a commit changes are taken out before the engine has
//! it, and who puts a row in says how many changes had ended when he was about to take his snapshot; he is refused where a later one
//! has touched the set of the row.

mod set;

use std::{
    iter::repeat_n,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
};

use twox_hash::XxHash3_64;

use self::set::{ROW_BYTES, Set};
use super::{codec::StoredRow, engine::Space};
use crate::StoreError;

/// Memory of one set, with all that it holds; a row that does not fit in is not kept.
const SET_BYTES: usize = 2 * 1024;
/// Memory of a lock, at most: where the system's own are taken (macOS among others), it is twice that of Linux.
const LOCK_BYTES: usize = 16;
const _: () = assert!(size_of::<Set>() + LOCK_BYTES <= SET_BYTES, "a set has room for what it holds");
const _: () = assert!(size_of::<Mutex<Set>>() <= SET_BYTES, "its lock as well");
/// Sets that are made together, when the first of them is needed.
const CHUNK: usize = 64;

/// A row as it was read: the number of its space, its key, then its value, whose checksum was right.
#[derive(Debug, Clone)]
pub(super) struct ReadRow {
    bytes: Arc<[u8]>,
    /// Where the value begins.
    value: u32,
}

/// Bytes of the number of a space.
const SPACE_BYTES: usize = 8;

impl ReadRow {
    /// The row with this value at `key` in `space`. Errors: `Corrupt`, where its checksum is wrong.
    pub(super) fn checked(space: Space, key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        StoredRow::checked(space, key, value)?;
        Ok(Self::new(space, key, value))
    }

    fn new(space: Space, key: &[u8], value: &[u8]) -> Self {
        let begin = SPACE_BYTES + key.len();
        let mut bytes: Arc<[u8]> = repeat_n(0, begin + value.len()).collect();
        if let Some((head, to)) = Arc::get_mut(&mut bytes).and_then(|bytes| bytes.split_at_mut_checked(begin))
            && let Some((number, to_key)) = head.split_first_chunk_mut()
        {
            *number = space.number().to_le_bytes();
            to_key.copy_from_slice(key);
            to.copy_from_slice(value);
        }
        // A longer key cannot be written.
        Self { bytes, value: u32::try_from(begin).unwrap_or(u32::MAX) }
    }

    /// Its key, and its value.
    #[inline]
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        let (head, value) = self.bytes.split_at_checked(self.value as usize).unwrap_or_default();
        (head.get(SPACE_BYTES..).unwrap_or_default(), value)
    }

    /// Its key, and its properties.
    pub(super) fn key_and_body(&self) -> (&[u8], &[u8]) {
        let (key, value) = self.parts();
        (key, StoredRow::again(value).map_or(&[], StoredRow::body))
    }

    /// Whether these are the bytes of a row at `key` in `space`, whose value begins there.
    #[inline]
    fn is_of(bytes: &[u8], value: usize, space: Space, key: &[u8]) -> bool {
        bytes.starts_with(&space.number().to_le_bytes()) && bytes.get(SPACE_BYTES..value) == Some(key)
    }
}

/// Where a key belongs, and by what it is known there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u64);

impl Mark {
    /// The mark of `key` in `space`.
    pub(super) fn of(space: Space, key: &[u8]) -> Self {
        // Tables with the same keys do not share sets.
        Self(XxHash3_64::oneshot(key) ^ space.bits())
    }
}

/// Some sets: those of marks that are near each other.
type Sets = Box<[Mutex<Set>]>;

/// The rows looked up last, in so many bytes of memory.
#[derive(Debug)]
pub(super) struct Rows {
    chunks: Box<[OnceLock<Sets>]>,
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
        let chunks = bytes.min(Self::MOST_BYTES) / (CHUNK * SET_BYTES);
        let chunks = (0..chunks).map(|_| OnceLock::new()).collect();
        let (begun, ended) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { chunks, begun, ended, is_used: AtomicBool::new(false), unnoticed: OnceLock::new() }
    }

    /// How many changes have ended. To be asked before the snapshot is taken that rows are read from.
    pub(super) fn ended(&self) -> Ended {
        Ended(self.ended.load(SeqCst))
    }

    /// The row at `key` in `space`, if it is kept.
    #[inline]
    pub(super) fn get(&self, mark: Mark, space: Space, key: &[u8]) -> Option<ReadRow> {
        self.set(mark, OnceLock::get)?.get(mark, space, key)
    }

    /// Keeps a row that was read when so many changes had ended, unless a later one may have changed it.
    pub(super) fn put(&self, mark: Mark, row: &ReadRow, read: Ended) {
        if self.chunks.is_empty() || row.bytes.len() > ROW_BYTES || *self.unnoticed.get_or_init(|| self.used()) > read.0
        {
            return;
        }
        if let Some(mut set) = self.set(mark, made)
            && set.changed <= read.0
        {
            set.put(mark, row);
        }
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
        for mark in marks {
            if let Some(mut set) = self.set(mark, made) {
                set.changed = change.number;
                set.remove(mark);
            }
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

    #[inline]
    fn set(&self, mark: Mark, sets: impl FnOnce(&OnceLock<Sets>) -> Option<&Sets>) -> Option<MutexGuard<'_, Set>> {
        let (chunk, set) = (mark.0 >> 32, mark.0 as usize % CHUNK);
        let chunk = (chunk * self.chunks.len() as u64) >> 32;
        let set = sets(self.chunks.get(chunk as usize)?)?.get(set)?;
        // No method of a set ends half done.
        Some(set.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn made(sets: &OnceLock<Sets>) -> Option<&Sets> {
    Some(sets.get_or_init(|| (0..CHUNK).map(|_| Mutex::default()).collect()))
}

#[cfg(test)]
mod tests;
