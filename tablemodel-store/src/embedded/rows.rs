//! Rows that were looked up by key, kept to be found again without the engine.
//!
//! Knows no snapshot. What is kept is what the newest commit left. Before rows are changed they are taken out, and until
//! readers may see the change nothing is kept; who keeps a row says as of when he read it, and it is kept only if no change has
//! begun since.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use twox_hash::XxHash3_64;

use super::{codec::StoredRow, engine::Space};
use crate::StoreError;

/// Memory of one set, with all that it holds; a row that does not fit in is not kept.
const SET_BYTES: usize = 2 * 1024;
/// Rows that a set has places for: they lie side by side, so that looking through them meets little memory.
const PLACES: usize = 6;
/// What a kept row takes beside its place and its bytes: the counts before those, and what the allocator adds.
const OVERHEAD_BYTES: usize = 32;

/// Memory of the rows of one set.
const ROW_BYTES: usize = SET_BYTES - size_of::<Mutex<Set>>();

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
        let bytes = [&space.number().to_le_bytes(), key, value].concat().into();
        // A longer key cannot be written.
        Self { bytes, value: u32::try_from(SPACE_BYTES + key.len()).unwrap_or(u32::MAX) }
    }

    /// Its key, and its value.
    #[inline]
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        let (head, value) = self.bytes.split_at_checked(self.value as usize).unwrap_or_default();
        (head.get(SPACE_BYTES..).unwrap_or_default(), value)
    }

    #[inline]
    fn is_at(&self, space: Space, key: &[u8]) -> bool {
        self.bytes.starts_with(&space.number().to_le_bytes()) && self.parts().0 == key
    }

    /// Its key, and its properties.
    pub(super) fn key_and_body(&self) -> (&[u8], &[u8]) {
        let (key, value) = self.parts();
        (key, StoredRow::again(value).map_or(&[], StoredRow::body))
    }
}

/// Where a key belongs, and by what it is known there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u64);

impl Mark {
    /// The mark of `key` in `space`.
    pub(super) fn of(space: Space, key: &[u8]) -> Self {
        // An odd multiplier (a fraction of the golden ratio): tables with the same keys do not share sets.
        Self(XxHash3_64::oneshot(key) ^ space.number().wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

/// The rows looked up last, in about so many bytes of memory.
#[derive(Debug)]
pub(super) struct Rows {
    sets: OnceLock<Box<[Mutex<Set>]>>,
    most_sets: usize,
    /// Changes begun, and changes ended: odd while one is on its way.
    turns: AtomicU64,
}

/// A state of the store, as of which rows were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AsOf(u64);

impl AsOf {
    /// Whether no change was on its way.
    const fn is_settled(self) -> bool {
        self.0.is_multiple_of(2)
    }
}

impl Rows {
    /// None yet, in at most `bytes`.
    pub(super) const fn new(bytes: usize) -> Self {
        Self { sets: OnceLock::new(), most_sets: bytes / SET_BYTES, turns: AtomicU64::new(0) }
    }

    /// The state of now. To be asked before the snapshot is taken that rows are read from.
    pub(super) fn as_of(&self) -> AsOf {
        AsOf(self.turns.load(SeqCst))
    }

    /// The row at `key` in `space`, if it is kept.
    #[inline]
    pub(super) fn get(&self, mark: Mark, space: Space, key: &[u8]) -> Option<ReadRow> {
        self.set(self.sets.get()?, mark)?.get(mark, space, key)
    }

    /// Keeps a row that was read as of then, unless a change was on its way or has begun since.
    pub(super) fn put(&self, mark: Mark, row: &ReadRow, read: AsOf) {
        let kept = Kept { mark, row: row.clone(), was_found: false };
        if kept.bytes() > ROW_BYTES || !read.is_settled() {
            return;
        }
        let sets = self.sets.get_or_init(|| (0..self.most_sets).map(|_| Mutex::default()).collect());
        // Under the lock of the set, which who changes the row asks for once the change has begun.
        if let Some(mut set) = self.set(sets, mark)
            && self.as_of() == read
        {
            set.put(kept);
        }
    }

    /// Begins a change of the rows with these marks: to be called before any reader can see it. There is one at a time.
    pub(super) fn begin(&self, marks: impl IntoIterator<Item = Mark>) {
        if self.as_of().is_settled() {
            self.turns.fetch_add(1, SeqCst);
        }
        let Some(sets) = self.sets.get() else { return };
        for mark in marks {
            if let Some(mut set) = self.set(sets, mark) {
                set.remove(mark);
            }
        }
    }

    /// Ends the change, if there is one: to be called when every reader sees it.
    pub(super) fn end(&self) {
        if !self.as_of().is_settled() {
            self.turns.fetch_add(1, SeqCst);
        }
    }

    #[inline]
    fn set<'s>(&self, sets: &'s [Mutex<Set>], mark: Mark) -> Option<MutexGuard<'s, Set>> {
        let at = usize::try_from(mark.0 % u64::try_from(sets.len()).ok().filter(|sets| *sets > 0)?).ok()?;
        // No method of a set ends half done.
        Some(sets.get(at)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The rows of some marks.
#[derive(Debug, Default)]
struct Set {
    places: [Option<Kept>; PLACES],
    /// The place that is looked at next when there is no room.
    hand: usize,
    /// Memory of the rows.
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    mark: Mark,
    row: ReadRow,
    /// Since the hand passed it.
    was_found: bool,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.row.bytes.len() + OVERHEAD_BYTES
    }
}

impl Set {
    #[inline]
    fn get(&mut self, mark: Mark, space: Space, key: &[u8]) -> Option<ReadRow> {
        let mut kept = self.places.iter_mut().flatten();
        let kept = kept.find(|kept| kept.mark == mark && kept.row.is_at(space, key))?;
        kept.was_found = true;
        Some(kept.row.clone())
    }

    fn put(&mut self, kept: Kept) {
        self.remove(kept.mark);
        while self.bytes + kept.bytes() > ROW_BYTES || self.places.iter().all(Option::is_some) {
            self.pass();
        }
        self.bytes += kept.bytes();
        if let Some(free) = self.places.iter_mut().find(|place| place.is_none()) {
            *free = Some(kept);
        }
    }

    /// The hand goes on: a row that was found since it passed stays once more, another goes.
    fn pass(&mut self) {
        self.hand = (self.hand + 1) % PLACES;
        match self.places.get_mut(self.hand) {
            Some(Some(kept)) if kept.was_found => kept.was_found = false,
            Some(place) => self.bytes -= place.take().map_or(0, |kept| kept.bytes()),
            None => {}
        }
    }

    fn remove(&mut self, mark: Mark) {
        for place in &mut self.places {
            let gone = place.take_if(|kept| kept.mark == mark);
            self.bytes -= gone.map_or(0, |kept| kept.bytes());
        }
    }
}

#[cfg(test)]
mod tests;
