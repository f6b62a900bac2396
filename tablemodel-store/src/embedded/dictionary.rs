//! Property names by number: each name stands once in a file, and rows name it by its number.
//!
//! Reads and writes no file: the writer persists what [`Dictionary::since`] gives.

use std::{
    collections::HashMap,
    convert::Infallible,
    hash::{BuildHasher, Hasher, RandomState},
    sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard},
};

use twox_hash::XxHash3_64;

use crate::{PropertyName, name::ByPlace};

/// Numbers that a dictionary gives out; a name beyond them is written out in each row that uses it.
pub(super) const MAX_NAMES: u32 = CHUNKS as u32 * CHUNK_NAMES as u32;

const CHUNKS: usize = 256;
const CHUNK_NAMES: usize = 256;

/// The number of a property name, from 0 on, in order of first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NameId(pub(super) u32);

/// The names of one store. Only grows; reading by number takes no lock.
pub(super) struct Dictionary {
    by_id: [OnceLock<Box<[OnceLock<PropertyName>]>>; CHUNKS],
    by_name: RwLock<HashMap<PropertyName, NameId, NameHash>>,
}

/// Hashes names in a fraction of the standard library's time: each row written asks for all of its names. Seeded, so
/// that names which collide are harder to prepare.
#[derive(Clone, Copy)]
struct NameHash(u64);

impl Default for NameHash {
    fn default() -> Self {
        Self(RandomState::new().hash_one(()))
    }
}

impl BuildHasher for NameHash {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for NameHash {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = XxHash3_64::oneshot_with_seed(self.0, bytes);
    }

    /// A string ends with a byte of its own, which tells nothing where it is all that is hashed.
    fn write_u8(&mut self, _end: u8) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Dictionary {
    /// A dictionary of the names that a file holds, in order of their numbers.
    pub(super) fn new(names: impl IntoIterator<Item = PropertyName>) -> Self {
        let dictionary = Self { by_id: [const { OnceLock::new() }; CHUNKS], by_name: RwLock::default() };
        for name in names {
            dictionary.intern(&name);
        }
        dictionary
    }

    /// The name with this number.
    #[inline]
    pub(super) fn name(&self, id: NameId) -> Option<&PropertyName> {
        let (chunk, place) = place(id);
        self.by_id.get(chunk)?.get()?.get(place)?.get()
    }

    /// The number of a name that has one.
    pub(super) fn id(&self, name: &str) -> Option<NameId> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// The number of a name, given out now if it had none; `None` if the dictionary is full.
    pub(super) fn number(&self, name: &PropertyName) -> Option<NameId> {
        self.id(name.as_str()).or_else(|| self.intern(name))
    }

    /// Gives the numbers of many names, most of them again and again.
    pub(super) fn numbers(&self) -> Numbers<'_, '_> {
        Numbers { names: self, known: None, seen: ByPlace::default() }
    }

    /// The names from number `first` on.
    pub(super) fn since(&self, first: u32) -> impl Iterator<Item = (NameId, &PropertyName)> {
        (first..MAX_NAMES).map_while(|id| Some((NameId(id), self.name(NameId(id))?)))
    }

    /// How many names there are.
    pub(super) fn len(&self) -> u32 {
        let count = self.by_name.read().unwrap_or_else(PoisonError::into_inner).len();
        u32::try_from(count).unwrap_or(MAX_NAMES)
    }

    /// Whether names may have been refused a number.
    pub(super) fn is_full(&self) -> bool {
        self.name(NameId(MAX_NAMES - 1)).is_some()
    }

    fn intern(&self, name: &PropertyName) -> Option<NameId> {
        let mut by_name = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = by_name.get(name) {
            return Some(*id);
        }
        let id = NameId(u32::try_from(by_name.len()).ok().filter(|id| *id < MAX_NAMES)?);
        let (chunk, place) = place(id);
        let names = self.by_id.get(chunk)?.get_or_init(|| (0..CHUNK_NAMES).map(|_| OnceLock::new()).collect());
        names.get(place)?.set(name.clone()).ok()?;
        by_name.insert(name.clone(), id);
        Some(id)
    }
}

/// The numbers of names, as [`Dictionary::number`] gives them; faster for names asked for before.
pub(super) struct Numbers<'d, 'n> {
    names: &'d Dictionary,
    /// Held from the first name that was not seen on.
    known: Option<Known<'d>>,
    seen: ByPlace<'n, Option<NameId>>,
}

impl<'n> Numbers<'_, 'n> {
    /// The number of a name, given out now if it had none; `None` if the dictionary is full.
    pub(super) fn of(&mut self, name: &'n PropertyName) -> Option<NameId> {
        let Self { names, known, seen } = self;
        let Ok(id) = seen.get_or_find(name.as_str(), || Ok::<_, Infallible>(look_up(names, known, name)));
        id
    }
}

/// The names that have a number, while they are read.
type Known<'d> = RwLockReadGuard<'d, HashMap<PropertyName, NameId, NameHash>>;

fn look_up<'d>(names: &'d Dictionary, known: &mut Option<Known<'d>>, name: &PropertyName) -> Option<NameId> {
    let read = known.get_or_insert_with(|| names.by_name.read().unwrap_or_else(PoisonError::into_inner));
    if let Some(id) = read.get(name) {
        return Some(*id);
    }
    *known = None; // it is in the way of writing
    names.intern(name)
}

fn place(NameId(id): NameId) -> (usize, usize) {
    (id as usize / CHUNK_NAMES, id as usize % CHUNK_NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers_and_are_found_both_ways() {
        let dictionary = Dictionary::new(["Age", "Name"].map(PropertyName::from));
        let names = ["Name", "City", "Age", "City"].map(PropertyName::from);
        let expected = [1, 2, 0, 2].map(|id| Some(NameId(id)));
        let mut numbers = dictionary.numbers();
        assert_eq!(names.each_ref().map(|name| numbers.of(name)), expected);
        assert_eq!(names.each_ref().map(|name| numbers.of(name)), expected);
        drop(numbers);
        assert_eq!(names.each_ref().map(|name| dictionary.number(name)), expected);
        assert_eq!(dictionary.name(NameId(2)).map(PropertyName::as_str), Some("City"));
        assert_eq!(dictionary.since(2).map(|(id, name)| (id.0, name.as_str())).collect::<Vec<_>>(), [(2, "City")]);
        assert_eq!(dictionary.len(), 3);
        assert!(!dictionary.is_full());
    }

    #[test]
    fn a_full_dictionary_gives_out_no_number() {
        let dictionary = Dictionary::new((0..MAX_NAMES).map(|n| PropertyName::from(format!("P{n}"))));
        assert_eq!(dictionary.len(), MAX_NAMES);
        assert!(dictionary.is_full());
        assert_eq!(dictionary.number(&PropertyName::from("Extra")), None);
        assert_eq!(dictionary.numbers().of(&PropertyName::from("Extra")), None);
        assert_eq!(dictionary.id("P65535"), Some(NameId(65_535)));
        assert_eq!(dictionary.name(NameId(MAX_NAMES)), None);
    }
}
