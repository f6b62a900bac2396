//! What rows have in common, by number: the names and types of their properties, and the kind of row that they say they
//! are, stand once in a file for all rows of a shape.
//!
//! Reads and writes no file: the writer persists what [`Shapes::since`] gives.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use twox_hash::XxHash3_64;

use super::{
    dictionary::{Dictionary, Known, NameHash, NameId},
    property::tag,
    roll::Roll,
    wire::{take_bytes, take_length, take_varint},
};

/// The property by which rows of several types in one table say which they are.
const KIND: &str = "EntityType";
/// The longest text that is taken for a kind, in bytes.
const MAX_KIND: usize = 64;

/// Times that a shape must be met, and hardly another one in between, to be given a number: there are more shapes of rows
/// with many optional properties than numbers.
pub(super) const OFTEN: u32 = 8;

const CHUNKS: usize = 16;

/// Shapes that are given numbers; rows of others say themselves what they are like.
pub(super) const MAX_SHAPES: u32 = Roll::<Shape, CHUNKS>::MOST;

/// Whether a text is the kind of the row that has it under this name.
#[inline]
pub(super) fn is_kind(name: &str, text: &str) -> bool {
    text.len() <= MAX_KIND && name == KIND
}

/// The number of a shape, from 0 on, in order of first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShapeId(pub(super) u32);

/// What a row shares with others of its shape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common<'a> {
    /// How many properties there are.
    pub(super) count: usize,
    /// Their names and types.
    pub(super) heads: &'a [u8],
    /// The text of the one that is the kind, if one is.
    pub(super) kind: &'a str,
}

impl<'a> Common<'a> {
    /// What the bytes in front of `rest` say, which are taken.
    #[inline]
    pub(super) fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let mut heads = take_bytes(rest)?;
        let count = take_length(&mut heads)?;
        let kind = std::str::from_utf8(take_bytes(rest)?).ok()?;
        // A head takes a byte at least: a count that lies must not reserve memory.
        (count <= heads.len()).then_some(Self { count, heads, kind })
    }

    /// Whether it can be a shape: all names have numbers, are there, and in order, and all types are known.
    fn is_whole(&self, names: &Dictionary) -> bool {
        let (mut heads, mut last) = (self.heads, None::<&Known>);
        let mut field = || {
            let head = take_varint(&mut heads)?;
            let known = names.known(NameId::of((head >> tag::BITS).checked_sub(1)?)?)?;
            let is_in_order = last.replace(known).is_none_or(|last| last.is_before(known));
            (is_in_order && head & tag::MASK <= tag::KIND).then_some(())
        };
        (0..self.count).all(|_| field().is_some()) && heads.is_empty()
    }
}

/// One shape.
pub(super) struct Shape {
    /// As it stands in the file, and in a row that has no number for it.
    said: Box<[u8]>,
    count: usize,
    heads: Box<[u8]>,
    kind: Box<str>,
}

impl Shape {
    /// What these bytes say; `None` if it can be no shape.
    fn new(said: &[u8], names: &Dictionary) -> Option<Self> {
        let mut rest = said;
        let common = Common::take(&mut rest)?;
        let Common { count, heads, kind } = common;
        let is_shape = rest.is_empty() && common.is_whole(names);
        is_shape.then(|| Self { said: said.into(), count, heads: heads.into(), kind: kind.into() })
    }

    /// As it stands in the file, and in a row that has no number for it.
    #[inline]
    pub(super) fn said(&self) -> &[u8] {
        &self.said
    }

    #[inline]
    pub(super) fn common(&self) -> Common<'_> {
        Common { count: self.count, heads: &self.heads, kind: &self.kind }
    }
}

/// The shapes of one store. Only grows; reading by number takes no lock.
pub(super) struct Shapes {
    by_id: Roll<Shape, CHUNKS>,
    by_said: RwLock<HashMap<Box<[u8]>, ShapeId, NameHash>>,
    sightings: Sightings,
}

impl Shapes {
    /// None yet.
    pub(super) fn new() -> Self {
        Self { by_id: Roll::new(), by_said: RwLock::default(), sightings: Sightings::new() }
    }

    /// The shape with this number.
    #[inline]
    pub(super) fn get(&self, number: u64) -> Option<&Shape> {
        self.by_id.get(u32::try_from(number).ok()?)
    }

    /// The shapes from number `first` on.
    pub(super) fn since(&self, first: u32) -> impl Iterator<Item = (ShapeId, &Shape)> {
        self.by_id.since(first).map(|(number, shape)| (ShapeId(number), shape))
    }

    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        self.by_id.len()
    }

    /// The number of the shape of a row that says this; given out now if it had none and is met often. `names` are those of
    /// this store.
    pub(super) fn number(&self, said: &[u8], names: &Dictionary) -> Option<(ShapeId, &Shape)> {
        let known = self.by_said.read().unwrap_or_else(PoisonError::into_inner).get(said).copied();
        let id = match known {
            Some(id) => id,
            None if self.len() < MAX_SHAPES && self.sightings.are_many(said) => self.add(said, names)?,
            None => return None,
        };
        Some((id, self.by_id.get(id.0)?))
    }

    /// Gives a shape a number, if it has none; `None` if it can be no shape, or there are too many.
    pub(super) fn add(&self, said: &[u8], names: &Dictionary) -> Option<ShapeId> {
        let shape = Shape::new(said, names)?;
        let mut by_said = self.by_said.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = by_said.get(said) {
            return Some(*id);
        }
        let id = ShapeId(self.by_id.push(shape)?);
        by_said.insert(said.into(), id);
        Some(id)
    }
}

/// How often shapes without a number were met lately: each has two cells, which it shares with others, and one that meets
/// another one's begins anew there.
struct Sightings(Box<[AtomicU32]>);

impl Sightings {
    /// A power of two.
    const CELLS: usize = 2048;
    /// The bits of a cell that count.
    const COUNT: u32 = 0xFF;

    fn new() -> Self {
        Self((0..Self::CELLS).map(|_| AtomicU32::new(0)).collect())
    }

    /// Notes that a shape was met; whether it was [`OFTEN`]. The same for the same rows: what a file holds does not differ from
    /// run to run.
    fn are_many(&self, said: &[u8]) -> bool {
        let hash = XxHash3_64::oneshot(said);
        let [low, high] = [hash as u32, (hash >> u32::BITS) as u32];
        [(low, high), (high, low)].into_iter().map(|(place, mark)| self.count(place, mark)).max() >= Some(OFTEN)
    }

    /// Counts in one cell. Of two who count at once one may be lost.
    fn count(&self, place: u32, mark: u32) -> u32 {
        let Some(cell) = self.0.get(place as usize % Self::CELLS) else { return 0 };
        let (mark, old) = (mark & !Self::COUNT, cell.load(Relaxed));
        let count = if old & !Self::COUNT == mark { (old & Self::COUNT).min(Self::COUNT - 1) + 1 } else { 1 };
        cell.store(mark | count, Relaxed);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PropertyName;

    fn names() -> Dictionary {
        Dictionary::new((0..300).map(|n| PropertyName::from(format!("P{n:03}"))))
    }

    /// What rows of one shape say: one number, under the name with this number, of this kind.
    fn said(name: u8, kind: &str) -> Vec<u8> {
        let head = (u16::from(name) + 1) << tag::BITS | tag::INT32 as u16;
        let [low, high] = [head as u8 & 0x7F | 0x80, (head >> 7) as u8];
        [&[3, 1, low, high, kind.len() as u8], kind.as_bytes()].concat()
    }

    fn number(names: &Dictionary, said: &[u8]) -> Option<u32> {
        names.shapes.number(said, names).map(|(id, _)| id.0)
    }

    #[test]
    fn a_shape_has_a_number_once_it_was_met_often_and_keeps_it() {
        let names = names();
        let [a, b] = [said(200, "Cat"), said(200, "Dog")];
        let given: Vec<_> = (0..OFTEN + 2).map(|_| (number(&names, &a), number(&names, &b))).collect();
        let expected = (1..=OFTEN + 2).map(|met| if met < OFTEN { (None, None) } else { (Some(0), Some(1)) });
        assert_eq!(given, expected.collect::<Vec<_>>());
        let Common { count, heads, kind } = names.shapes.get(1).unwrap().common();
        assert_eq!((count, heads, kind), (1, &b[2..4], "Dog"));
        assert_eq!((names.shapes.len(), names.shapes.get(2).is_none()), (2, true));
        assert_eq!(names.numbers().shape(&a), Some(ShapeId(0)));
    }

    #[test]
    fn rows_that_are_each_of_another_shape_take_no_numbers_from_those_that_are_alike() {
        let names = names();
        // Each twice, as an entity with many optional properties that is written and changed.
        for rare in 0..100_000 {
            let rare = said((rare % 200) as u8, &format!("{rare}"));
            assert_eq!([number(&names, &rare), number(&names, &rare)], [None, None]);
        }
        let alike: Vec<_> = (0..40).map(|kind| said(9, &format!("Kind{kind}"))).collect();
        for met in 1..=OFTEN {
            let numbers = alike.iter().filter(|said| number(&names, said).is_some()).count();
            assert_eq!(numbers, if met < OFTEN { 0 } else { alike.len() });
        }
    }

    #[test]
    fn where_no_number_is_left_rows_say_themselves_what_they_are_like() {
        let names = names();
        for shape in 0..MAX_SHAPES {
            assert_eq!(names.shapes.add(&said(7, &format!("{shape}")), &names), Some(ShapeId(shape)));
        }
        let further = said(8, "Cat");
        assert_eq!(names.shapes.add(&further, &names), None);
        assert!((0..3 * OFTEN).all(|_| number(&names, &further).is_none()));
        assert_eq!(number(&names, &said(7, "4095")), Some(4095));
        let mut numbers = names.numbers();
        let known = ["3", "1", "4", "1", "5", "9", "2", "6", "5", "3"].map(|kind| said(7, kind));
        assert_eq!(known.map(|said| numbers.shape(&said)), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3].map(|id| Some(ShapeId(id))));
    }
}
