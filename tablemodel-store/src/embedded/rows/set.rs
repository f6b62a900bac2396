//! Some rows side by side in one piece of memory, which is all they take: no allocation for each, no holes between those of others.
//!
//! Who reads takes no lock: a row is copied, and then it is asked whether the set was changed meanwhile. Knows no snapshot.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{
        AtomicU16, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
};

use super::{Mark, ReadRow, directory::MOST_ENTRIES, row::WORD_BYTES};

/// Memory of one set, with all that it holds: 2 KiB with its share of the directory.
pub(super) const SET_BYTES: usize = 2 * 1024 - MOST_ENTRIES * size_of::<AtomicU32>();
/// Memory of a lock with what it guards, at most, in place: where the system's own are taken (macOS among others), it is larger than on Linux.
const LOCK_BYTES: usize = 32;
/// Words of the rows of one set; a row that does not fit in is not kept.
pub(super) const WORDS: usize = (SET_BYTES - size_of::<Head>() - LOCK_BYTES) / WORD_BYTES;
const _: () = assert!(size_of::<Head>() + size_of::<Body>() <= SET_BYTES, "a set is no larger than it is said to be");
/// Rows that a set has places for.
const PLACES: usize = 15;

/// Tags in a word.
const TAGS: usize = 8;

/// The rows of some marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Set<'s> {
    pub(super) head: &'s Head,
    pub(super) body: &'s Body,
}

/// Where the rows of a set are: as much as a processor gets from memory at once.
///
/// It is apart from the rows: of many sets, all heads are in a processor's cache, and a look-up waits for memory once.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Head {
    /// Odd while the set is changed.
    version: AtomicU64,
    /// A one, and then the bits that all marks begin with whose rows belong here; 0 in a set that is not in use.
    beginning: AtomicU32,
    /// A bit for each place whose row was found since the hand passed it. A hint: it may be lost.
    found: AtomicU16,
    /// Places in use.
    len: AtomicU16,
    /// Bits of the mark of the row in each place: a byte for each, the first one lowest.
    tags: [AtomicU64; PLACES.div_ceil(TAGS)],
    /// The word where it begins: there the one before ends.
    starts: [AtomicU16; PLACES + 1],
}

/// The rows of a set, one after the other.
#[derive(Debug)]
pub(super) struct Body {
    words: [AtomicU64; WORDS],
    writing: Mutex<Writing>,
}

/// What only those ask who hold the lock.
#[derive(Debug, Default)]
struct Writing {
    /// The last change of a row with one of the marks.
    changed: u64,
    /// The row that is looked at next when there is no room.
    hand: u16,
}

/// What a look-up comes to.
#[derive(Debug)]
pub(super) enum Look {
    Found(ReadRow),
    Absent,
    /// The set was divided: rows of this mark are in another one.
    Elsewhere,
}

impl Head {
    /// One of an empty set, for marks that begin so.
    pub(super) fn of(beginning: u32) -> Self {
        Self { beginning: AtomicU32::new(beginning), ..Self::default() }
    }

    /// What was read, unless the set was changed meanwhile.
    #[inline]
    fn unchanged<T>(&self, read: impl FnOnce() -> T) -> Option<T> {
        let version = self.version.load(Acquire);
        if version % 2 == 1 {
            return None;
        }
        let read = read();
        // Whoever has read a word of a later change sees its version, too.
        fence(Acquire);
        (self.version.load(Relaxed) == version).then_some(read)
    }

    /// A bit for each place whose row may have this mark.
    #[inline]
    fn alike(&self, mark: Mark) -> u16 {
        let used = (1 << self.len.load(Relaxed)) - 1;
        let words = self.tags.iter().rev().map(|word| equal_bytes(word.load(Relaxed), mark.tag()));
        words.fold(0, |alike, of_word| alike << TAGS | u16::from(of_word)) & used
    }

    fn tag(&self, at: usize) -> u8 {
        self.tags.get(at / TAGS).map_or(0, |word| (word.load(Relaxed) >> (at % TAGS * 8)) as u8)
    }

    /// Only by who holds the lock.
    fn set_tag(&self, at: usize, tag: u8) {
        if let Some(word) = self.tags.get(at / TAGS) {
            let shift = at % TAGS * 8;
            word.store(word.load(Relaxed) & !(0xFF << shift) | u64::from(tag) << shift, Relaxed);
        }
    }

    #[inline]
    fn start(&self, at: usize) -> usize {
        self.starts.get(at).map_or(0, |start| start.load(Relaxed).into())
    }

    fn len(&self) -> usize {
        self.len.load(Relaxed).into()
    }

    /// Notes that the row in this place was found.
    #[inline]
    fn find(&self, at: usize) {
        let (found, bit) = (self.found.load(Relaxed), 1 << at);
        // A write would take the memory from others who read.
        if found & bit == 0 {
            self.found.store(found | bit, Relaxed);
        }
    }

    fn unfind(&self, at: usize) {
        self.found.store(self.found.load(Relaxed) & !(1 << at), Relaxed);
    }
}

/// A bit for each byte of the word that is this one, the lowest first.
#[inline]
const fn equal_bytes(word: u64, byte: u8) -> u8 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOW_BITS: u64 = 0x7F * ONES;
    let differing = word ^ (byte as u64 * ONES);
    let equal = !(((differing & LOW_BITS) + LOW_BITS) | differing | LOW_BITS);
    // The top bit of each byte, beside each other at the top: no two of the sums' terms meet.
    (equal.wrapping_mul(0x0002_0408_1020_4081) >> 56) as u8
}

impl Default for Body {
    fn default() -> Self {
        Self { words: [const { AtomicU64::new(0) }; WORDS], writing: Mutex::default() }
    }
}

impl<'s> Set<'s> {
    /// The row at `key`, if it is here.
    #[inline]
    pub(super) fn get(self, mark: Mark, key: &[u8]) -> Look {
        self.head.unchanged(|| self.look(mark, key)).unwrap_or_else(|| self.held(|_| self.look(mark, key)))
    }

    #[inline]
    fn look(self, mark: Mark, key: &[u8]) -> Look {
        if !mark.begins_with(self.head.beginning.load(Relaxed)) {
            return Look::Elsewhere;
        }
        let mut alike = self.head.alike(mark);
        while alike > 0 {
            let at = alike.trailing_zeros() as usize;
            if let Some(row) = self.row(at).filter(|row| row.is_of(mark, key)) {
                self.head.find(at);
                return Look::Found(row);
            }
            alike &= alike - 1;
        }
        Look::Absent
    }

    /// A copy of the row in this place.
    #[inline]
    fn row(self, at: usize) -> Option<ReadRow> {
        let words = self.body.words.get(self.head.start(at)..self.head.start(at + 1))?;
        Some(ReadRow::of_words(words, |word| word.load(Relaxed).to_ne_bytes()))
    }

    /// Does something with the set that nobody else changes meanwhile, if the rows of the mark belong here.
    pub(super) fn change<T>(self, mark: Mark, change: impl FnOnce(&mut Held<'_>) -> T) -> Option<T> {
        self.held(|held| mark.begins_with(held.beginning()).then(|| change(held)))
    }

    fn held<T>(self, change: impl FnOnce(&mut Held<'_>) -> T) -> T {
        // No method of a set ends half done.
        let writing = self.body.writing.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut Held { set: self, writing })
    }
}

/// A set whose lock is held.
pub(super) struct Held<'s> {
    set: Set<'s>,
    writing: MutexGuard<'s, Writing>,
}

impl Held<'_> {
    /// The last change of a row with one of the marks.
    pub(super) fn changed(&self) -> u64 {
        self.writing.changed
    }

    /// A one, and then the bits that the marks begin with.
    pub(super) fn beginning(&self) -> u32 {
        self.set.head.beginning.load(Relaxed)
    }

    /// Takes out what has this mark, which the change with this number changes.
    pub(super) fn forget(&mut self, mark: Mark, change: u64) {
        self.writing.changed = change;
        self.remove(mark);
    }

    /// Takes out what has this mark.
    pub(super) fn remove(&mut self, mark: Mark) {
        while let Some(at) = self.find(mark) {
            self.write(|held| held.take_out(at));
        }
    }

    fn find(&self, mark: Mark) -> Option<usize> {
        let alike = self.set.head.alike(mark);
        let mut places = (0..PLACES).filter(|at| alike & 1 << at > 0);
        places.find(|at| self.set.row(*at).is_some_and(|row| row.mark() == mark))
    }

    /// Whether a row fits in beside the others.
    pub(super) fn has_room(&self, row: &ReadRow) -> bool {
        self.used() + row.words().len() <= WORDS && self.len() < PLACES
    }

    /// Puts a row in that a set has room for, and whose mark has none here; others go, as far as they are in the way.
    pub(super) fn put(&mut self, row: &ReadRow) {
        self.write(|held| {
            while !held.has_room(row) && held.len() > 0 {
                held.pass();
            }
            held.append(row);
        });
    }

    fn append(&mut self, row: &ReadRow) {
        let (start, at, words, head) = (self.used(), self.len(), row.words(), self.set.head);
        if let Some(next) = head.starts.get(at + 1)
            && let Some(to) = self.set.body.words.get(start..start + words.len())
        {
            to.iter().zip(words).for_each(|(to, word)| to.store(u64::from_ne_bytes(*word), Relaxed));
            head.set_tag(at, row.mark().tag());
            next.store((start + words.len()) as u16, Relaxed);
            head.unfind(at);
            head.len.store(at as u16 + 1, Relaxed);
        }
    }

    /// Gives half of the marks to a set that is not in use, and the rows that have them; `publish` makes the other set be found.
    pub(super) fn divide(&mut self, other: Set<'_>, publish: impl FnOnce(u32)) {
        let beginning = self.beginning() << 1;
        self.write(|held| {
            let rows = (0..held.len()).filter_map(|at| held.set.row(at));
            let (theirs, ours): (Vec<_>, Vec<_>) = rows.partition(|row| row.mark().begins_with(beginning | 1));
            held.fill(beginning, &ours);
            other.held(|other| {
                other.writing.changed = held.changed();
                other.write(|other| other.fill(beginning | 1, &theirs));
                // Before anybody can see that these marks are here no more; and before anybody divides the other once more, for
                // which he would have to hold its lock.
                publish(beginning | 1);
            });
        });
    }

    /// Makes it the set of these marks, of which it has these rows.
    fn fill(&mut self, beginning: u32, rows: &[ReadRow]) {
        self.set.head.beginning.store(beginning, Relaxed);
        self.set.head.len.store(0, Relaxed);
        rows.iter().for_each(|row| self.append(row));
    }

    /// Changes what others read without the lock.
    fn write<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let head = self.set.head;
        let changing = head.version.load(Relaxed) | 1;
        head.version.store(changing, Relaxed);
        fence(Release);
        let written = write(self);
        head.version.store(changing + 1, Release);
        written
    }

    /// The hand goes on: a row that was found since it passed stays once more, another goes.
    fn pass(&mut self) {
        let at = if usize::from(self.writing.hand) < self.len() { self.writing.hand } else { 0 };
        self.writing.hand = at;
        if self.set.head.found.load(Relaxed) & 1 << at == 0 {
            self.take_out(at.into());
        } else {
            self.set.head.unfind(at.into());
            self.writing.hand += 1;
        }
    }

    /// Takes one out; those behind it move up.
    fn take_out(&mut self, at: usize) {
        let (head, start, next, len) =
            (self.set.head, self.set.head.start(at), self.set.head.start(at + 1), self.len());
        let words = self.set.body.words.get(start..self.used()).unwrap_or_default();
        words.iter().zip(words.iter().skip(next - start)).for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
        for at in at..len {
            head.set_tag(at, head.tag(at + 1));
            if let Some(to) = head.starts.get(at) {
                to.store((head.start(at + 1) - (next - start)) as u16, Relaxed);
            }
        }
        let (found, before) = (head.found.load(Relaxed), (1 << at) - 1);
        head.found.store(found & before | found >> 1 & !before, Relaxed);
        head.len.store(len as u16 - 1, Relaxed);
        self.writing.hand -= u16::from(at < usize::from(self.writing.hand));
    }

    fn len(&self) -> usize {
        self.set.head.len()
    }

    /// Words in use.
    fn used(&self) -> usize {
        self.set.head.start(self.len())
    }
}

#[cfg(test)]
mod tests;
