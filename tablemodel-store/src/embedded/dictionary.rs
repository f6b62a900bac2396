//! Property names by number: each name stands once in a file, and rows name it by its number.
//!
//! Reads and writes no file: the writer persists what [`Dictionary::since`] gives.

use std::{
    cmp::Ordering,
    collections::HashMap,
    convert::Infallible,
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        OnceLock, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use twox_hash::XxHash3_64;

use super::{
    roll::Roll,
    shapes::{Shape, ShapeId, Shapes},
};
use crate::{PropertyName, name::ByPlace};

/// Numbers that a dictionary gives out; a name beyond them is written out in each row that uses it.
pub(super) const MAX_NAMES: u32 = Roll::<Known, CHUNKS>::MOST;

const CHUNKS: usize = 256;

/// Constants of the program that are known again: more than most programs have, in 40 KiB.
const CONSTANTS: usize = 1024;
/// Where a constant may stand: places that follow each other.
const PLACES: usize = 4;

/// The serial of the next dictionary that this program opens.
static NEXT_SERIAL: AtomicU64 = AtomicU64::new(0);

/// The number of a property name, from 0 on, in order of first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NameId(pub(super) u32);

impl NameId {
    /// The number that a row names; `None` for one that no dictionary gives out.
    #[inline(always)]
    pub(super) fn of(number: u64) -> Option<Self> {
        u32::try_from(number).ok().filter(|id| *id < MAX_NAMES).map(Self)
    }
}

/// The names of one store. Only grows; reading by number takes no lock.
pub(super) struct Dictionary {
    by_id: Roll<Known, CHUNKS>,
    by_name: RwLock<HashMap<PropertyName, NameId, NameHash>>,
    /// What is made of these names.
    pub(super) shapes: Shapes,
    /// Which of the program's dictionaries it is.
    pub(super) serial: u64,
    /// By address: each in the first of its [`PLACES`] that was free. One that found none is looked up by its text.
    constants: Box<[OnceLock<Constant>]>,
}

/// A constant of the program that is a name with a number.
#[derive(Clone, Copy)]
struct Constant {
    name: &'static str,
    id: NameId,
}

/// A name with a number.
pub(super) struct Known {
    name: PropertyName,
    /// The first bytes of the name: names that differ in these sort as they do.
    lead: u64,
}

/// A name to be looked for among others.
pub(super) struct Wanted<'n> {
    name: &'n str,
    lead: u64,
}

impl<'n> Wanted<'n> {
    pub(super) fn new(name: &'n str) -> Self {
        Self { name, lead: lead(name) }
    }
}

/// The first eight bytes of a name, and zeros where it is shorter.
fn lead(name: &str) -> u64 {
    if let Some(lead) = name.as_bytes().first_chunk() {
        return u64::from_be_bytes(*lead);
    }
    let mut lead = [0; size_of::<u64>()];
    if let Some(front) = lead.get_mut(..name.len()) {
        front.copy_from_slice(name.as_bytes());
    }
    u64::from_be_bytes(lead)
}

impl Known {
    fn new(name: PropertyName) -> Self {
        Self { lead: lead(name.as_str()), name }
    }

    #[inline]
    pub(super) fn name(&self) -> &PropertyName {
        &self.name
    }

    /// How it sorts against the one wanted.
    #[inline]
    pub(super) fn order(&self, wanted: &Wanted<'_>) -> Ordering {
        self.lead.cmp(&wanted.lead).then_with(|| self.name.as_str().cmp(wanted.name))
    }

    /// Whether it sorts before `other`.
    #[inline]
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.lead < other.lead || (self.lead == other.lead && self.name < other.name)
    }
}

/// Hashes names in a fraction of the standard library's time: each row written asks for all of its names, and each call
/// for its table. Seeded, so that names which collide are harder to prepare.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameHash(u64);

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
        let dictionary = Self {
            by_id: Roll::new(),
            by_name: RwLock::default(),
            shapes: Shapes::new(),
            serial: NEXT_SERIAL.fetch_add(1, Relaxed),
            constants: (0..CONSTANTS).map(|_| OnceLock::new()).collect(),
        };
        for name in names {
            dictionary.intern(&name);
        }
        dictionary
    }

    /// The name with this number.
    #[inline]
    pub(super) fn name(&self, id: NameId) -> Option<&PropertyName> {
        self.known(id).map(|known| &known.name)
    }

    /// The name with this number, to be compared.
    #[inline]
    pub(super) fn known(&self, id: NameId) -> Option<&Known> {
        self.by_id.get(id.0)
    }

    /// The number of a name that has one.
    pub(super) fn id(&self, name: &str) -> Option<NameId> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// As [`id`](Self::id), for a constant of the program.
    #[inline]
    pub(super) fn id_of_constant(&self, name: &'static str) -> Option<NameId> {
        self.constant(name).map(|constant| constant.id)
    }

    /// A constant of the program, if it has a number: one that was asked for before is known by its address.
    #[inline]
    fn constant(&self, name: &'static str) -> Option<Constant> {
        let place =
            name.as_ptr().addr().wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> (usize::BITS - CONSTANTS.ilog2());
        match self.constants.get(place)?.get() {
            Some(constant) if std::ptr::eq(constant.name, name) => Some(*constant),
            _ => self.find_constant(place, name),
        }
    }

    /// A constant that met another in its first place, or was not asked for before.
    #[cold]
    fn find_constant(&self, first: usize, name: &'static str) -> Option<Constant> {
        for place in (0..PLACES).map(|further| (first + further) % CONSTANTS) {
            let place = self.constants.get(place)?;
            match place.get() {
                Some(constant) if std::ptr::eq(constant.name, name) => return Some(*constant),
                Some(_) => {}
                None => {
                    let constant = self.look_up_constant(name)?;
                    let _ = place.set(constant); // another may be there by now
                    return Some(constant);
                }
            }
        }
        self.look_up_constant(name)
    }

    fn look_up_constant(&self, name: &'static str) -> Option<Constant> {
        Some(Constant { name, id: self.id(name)? })
    }

    /// The number of a name, given out now if it had none; `None` if the dictionary is full.
    #[cfg(test)]
    pub(super) fn number(&self, name: &PropertyName) -> Option<NameId> {
        self.id(name.as_str()).or_else(|| self.intern(name))
    }

    /// Gives the numbers of many names, most of them again and again.
    pub(super) fn numbers(&self) -> Numbers<'_, '_> {
        Numbers { names: self, known: None, seen: ByPlace::default(), shapes: [None; SHAPES] }
    }

    /// The names from number `first` on.
    pub(super) fn since(&self, first: u32) -> impl Iterator<Item = (NameId, &PropertyName)> {
        self.by_id.since(first).map(|(id, known)| (NameId(id), &known.name))
    }

    /// How many names there are.
    pub(super) fn len(&self) -> u32 {
        self.by_id.len()
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
        let id = NameId(self.by_id.push(Known::new(name.clone()))?);
        by_name.insert(name.clone(), id);
        Some(id)
    }
}

/// The numbers of names, as [`Dictionary::number`] gives them, and of shapes; faster for those asked for before.
pub(super) struct Numbers<'d, 'n> {
    names: &'d Dictionary,
    /// Held from the first name that was not seen on.
    known: Option<ById<'d>>,
    seen: ByPlace<'n, Option<NameId>>,
    /// The last ones, the first of them the newest.
    shapes: [Option<(ShapeId, &'d Shape)>; SHAPES],
}

/// Shapes that are known again at a time: an entity and its index rows have few.
const SHAPES: usize = 4;

impl<'n> Numbers<'_, 'n> {
    /// The number of a name, given out now if it had none; `None` if the dictionary is full.
    pub(super) fn of(&mut self, name: &'n PropertyName) -> Option<NameId> {
        let Self { names, known, seen, .. } = self;
        let Ok(id) = seen.get_or_find(name.as_str(), || Ok::<_, Infallible>(look_up(names, known, name)));
        id
    }
}

impl Numbers<'_, '_> {
    /// The number of the shape of a row that says this, if it has one.
    pub(super) fn shape(&mut self, said: &[u8]) -> Option<ShapeId> {
        if let Some((id, _)) = self.shapes.iter().flatten().find(|(_, shape)| shape.said() == said) {
            return Some(*id);
        }
        let found = self.names.shapes.number(said, self.names)?;
        self.shapes.rotate_right(1);
        let [newest, ..] = &mut self.shapes;
        *newest = Some(found);
        Some(found.0)
    }
}

/// The names that have a number, while they are read.
type ById<'d> = RwLockReadGuard<'d, HashMap<PropertyName, NameId, NameHash>>;

fn look_up<'d>(names: &'d Dictionary, known: &mut Option<ById<'d>>, name: &PropertyName) -> Option<NameId> {
    // Without a lock for the first, and without a hash for most: but a name that is new may ask for the lock it holds.
    if known.is_none()
        && let Some(id) = name.constant().and_then(|constant| names.id_of_constant(constant))
    {
        return Some(id);
    }
    let read = known.get_or_insert_with(|| names.by_name.read().unwrap_or_else(PoisonError::into_inner));
    if let Some(id) = read.get(name) {
        return Some(*id);
    }
    *known = None; // it is in the way of writing
    names.intern(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn names_with_numbers_sort_as_they_do(a in "[A-C\u{0}é]{0,10}", b in "[A-C\u{0}é]{0,10}") {
            let [known_a, known_b] = [&a, &b].map(|name| Known::new(PropertyName::from(name.as_str())));
            prop_assert_eq!(known_a.is_before(&known_b), a < b);
            prop_assert_eq!(known_a.order(&Wanted::new(&b)), a.cmp(&b));
        }
    }

    #[test]
    fn constants_have_the_numbers_of_their_names_however_many_meet() {
        let names: Vec<&'static str> = (0..3 * CONSTANTS).map(|n| &*format!("Name{n}").leak()).collect();
        let (known, unknown) = names.split_at(2 * CONSTANTS);
        let dictionary = Dictionary::new(known.iter().map(|name| PropertyName::from(*name)));
        for _ in 0..2 {
            for name in known {
                assert_eq!(dictionary.id_of_constant(name), dictionary.id(name));
                // The same address, another text.
                assert_eq!(dictionary.id_of_constant(&name[..4]), None);
            }
            assert!(unknown.iter().all(|name| dictionary.id_of_constant(name).is_none()));
        }
        assert!(dictionary.number(&PropertyName::from(unknown[0])).is_some());
        assert_eq!(dictionary.id_of_constant(unknown[0]), dictionary.id(unknown[0]));
    }

    #[test]
    fn constants_that_meet_are_known_again_as_long_as_one_of_their_places_is_free() {
        // Texts that begin at one address have one first place.
        let text: &'static str = "Names";
        let names: Vec<&'static str> = (1..=text.len()).map(|len| &text[..len]).collect();
        let dictionary = Dictionary::new(names.iter().map(|name| PropertyName::from(*name)));
        for _ in 0..2 {
            for name in &names {
                assert_eq!(dictionary.id_of_constant(name), dictionary.id(name));
            }
            let kept = dictionary.constants.iter().filter_map(|place| place.get().map(|constant| constant.name));
            assert_eq!(kept.collect::<std::collections::HashSet<_>>(), names.iter().copied().take(PLACES).collect());
        }
        assert_eq!(names.len(), PLACES + 1);
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
