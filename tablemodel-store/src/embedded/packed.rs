//! The properties of a row as it was read from a file: taken apart once, found to be whole, and then only borrowed from.
//!
//! Nothing is changed here: whoever changes properties makes pairs of them first.

use std::{cmp::Ordering, sync::Arc};

use uuid::Uuid;

use super::{
    dictionary::{Dictionary, Known, NameId, Wanted},
    property::{StoredName, StoredProperties},
};
use crate::{DateTime, PropertyName, ValueRef};

/// The properties of a row read from a file. Clones share them.
#[derive(Clone)]
pub(crate) struct Packed(Arc<Parts>);

struct Parts {
    /// In order of name, each name once and with a number.
    slots: Slots,
    /// All texts, one after the other.
    texts: Box<str>,
    /// All bytes of the values that are bytes.
    bytes: Vec<u8>,
    names: Arc<Dictionary>,
}

/// Slots: in place where they are few, as those of most rows are.
#[expect(clippy::large_enum_variant, reason = "a row behind one pointer takes no further allocation for its slots")]
enum Slots {
    Few([Slot; FEW], usize),
    Many(Vec<Slot>),
}

/// Slots that stand in place.
const FEW: usize = 16;

#[derive(Clone, Copy)]
struct Slot {
    name: NameId,
    value: Kept,
}

/// A value, or where its bytes lie. Numbers are in little-endian bytes, which keeps a slot at 16.
#[derive(Clone, Copy)]
enum Kept {
    Text(Run),
    Binary(Run),
    Guid(Run),
    Boolean(bool),
    DateTime([u8; 8]),
    Double([u8; 8]),
    Int32(i32),
    Int64([u8; 8]),
}

#[derive(Clone, Copy)]
struct Run {
    start: u32,
    end: u32,
}

impl Slots {
    #[inline]
    fn with_capacity(count: usize) -> Self {
        const NONE: Slot = Slot { name: NameId(0), value: Kept::Boolean(false) };
        if count <= FEW { Self::Few([NONE; FEW], 0) } else { Self::Many(Vec::with_capacity(count)) }
    }

    /// Adds one; `None` if there are more than was said.
    #[inline]
    fn push(&mut self, slot: Slot) -> Option<()> {
        match self {
            Self::Few(slots, len) => {
                *slots.get_mut(*len)? = slot;
                *len += 1;
            }
            Self::Many(slots) => slots.push(slot),
        }
        Some(())
    }

    #[inline]
    fn as_slice(&self) -> &[Slot] {
        match self {
            Self::Few(slots, len) => slots.get(..*len).unwrap_or_default(),
            Self::Many(slots) => slots,
        }
    }
}

impl Packed {
    /// The properties; `None` unless they are whole: every name known and in its order, every value of its type, and
    /// nothing after them.
    ///
    /// `None` also where a name stands in the row, as in a store whose dictionary is full: there is none to borrow.
    pub(super) fn parse(mut stored: StoredProperties<'_>, names: &Arc<Dictionary>) -> Option<Self> {
        let mut slots = Slots::with_capacity(stored.len());
        let (texts, kind, mut bytes) = (stored.texts(), stored.kind(), Vec::new());
        let mut last: Option<&Known> = None;
        while stored.len() > 0 {
            let (StoredName::Id(name), tag) = stored.take_name()? else { return None };
            let known = names.known(name)?;
            if last.replace(known).is_some_and(|last| !last.is_before(known)) {
                return None;
            }
            let value = match stored.take_value(tag)? {
                // Behind the other texts.
                ValueRef::String(_) if tag.is_kind() => Kept::Text(Run::ending(texts.len() + kind.len(), kind.len())?),
                ValueRef::String(text) => Kept::Text(Run::ending(texts.len() - stored.texts().len(), text.len())?),
                value => Kept::of(value, &mut bytes)?,
            };
            slots.push(Slot { name, value })?;
        }
        let parts = || Parts { slots, texts: [texts, kind].concat().into(), bytes, names: Arc::clone(names) };
        stored.is_at_end().then(|| Self(Arc::new(parts())))
    }

    /// The value under `name`.
    pub(crate) fn get(&self, name: &str) -> Option<ValueRef<'_>> {
        self.value(self.position(&Wanted::new(name)).ok()?)
    }

    /// The value under `name`, looked for at `place` first, which is left behind it.
    #[inline(always)]
    pub(crate) fn get_from(&self, place: &mut usize, name: &'static str) -> Option<ValueRef<'_>> {
        let parts = &*self.0;
        let id = parts.names.id_of_constant(name)?; // a name without a number is in no row
        let slots = parts.slots.as_slice();
        let slot = match slots.get(*place) {
            Some(slot) if slot.name == id => slot, // the usual case
            _ => {
                *place = self.seek(*place, id, name)?;
                slots.get(*place)?
            }
        };
        *place += 1;
        parts.value(slot.value)
    }

    fn seek(&self, place: usize, id: NameId, name: &str) -> Option<usize> {
        const SOON_SEARCHED: usize = 32;
        let slots = self.0.slots.as_slice();
        // Mostly it is behind one of those that no field asks for.
        if slots.get(place + 1).is_some_and(|slot| slot.name == id) {
            return Some(place + 1);
        }
        if slots.len() <= SOON_SEARCHED {
            return slots.iter().position(|slot| slot.name == id);
        }
        self.position_near(place, &Wanted::new(name)).ok()
    }

    /// As [`position`](Self::position): sooner where the name would be at `place`, as one that is absent mostly is.
    fn position_near(&self, place: usize, wanted: &Wanted<'_>) -> Result<usize, usize> {
        let sorts = |at, order| self.0.slots.as_slice().get(at).is_none_or(|slot| self.order(slot, wanted) == order);
        if sorts(place, Ordering::Greater) && place.checked_sub(1).is_none_or(|before| sorts(before, Ordering::Less)) {
            return Err(place);
        }
        self.position(wanted)
    }

    /// Where the name is, or would be.
    fn position(&self, wanted: &Wanted<'_>) -> Result<usize, usize> {
        self.0.slots.as_slice().binary_search_by(|slot| self.order(slot, wanted))
    }

    #[inline]
    fn order(&self, slot: &Slot, wanted: &Wanted<'_>) -> Ordering {
        self.0.names.known(slot.name).map_or(Ordering::Less, |known| known.order(wanted))
    }

    fn value(&self, at: usize) -> Option<ValueRef<'_>> {
        self.0.value(self.0.slots.as_slice().get(at)?.value)
    }

    /// All, in order of name.
    #[inline]
    pub(crate) fn iter(&self) -> PackedIter<'_> {
        PackedIter { slots: self.0.slots.as_slice().iter(), parts: &self.0 }
    }
}

impl Parts {
    #[inline(always)]
    fn value(&self, kept: Kept) -> Option<ValueRef<'_>> {
        Some(match kept {
            Kept::Text(run) => ValueRef::String(self.texts.get(run.range())?),
            Kept::Binary(run) => ValueRef::Binary(self.bytes.get(run.range())?),
            Kept::Guid(run) => ValueRef::Guid(Uuid::from_slice(self.bytes.get(run.range())?).ok()?),
            Kept::Boolean(truth) => ValueRef::Boolean(truth),
            Kept::DateTime(ticks) => ValueRef::DateTime(DateTime::from_ticks(i64::from_le_bytes(ticks))),
            Kept::Double(bits) => ValueRef::Double(f64::from_le_bytes(bits)),
            Kept::Int32(int) => ValueRef::Int32(int),
            Kept::Int64(int) => ValueRef::Int64(i64::from_le_bytes(int)),
        })
    }
}

impl Kept {
    #[inline]
    fn of(value: ValueRef<'_>, bytes: &mut Vec<u8>) -> Option<Self> {
        Some(match value {
            ValueRef::String(_) => return None, // those are in a run of their own
            ValueRef::Binary(binary) => Self::Binary(Run::append(bytes, binary)?),
            ValueRef::Guid(guid) => Self::Guid(Run::append(bytes, guid.as_bytes())?),
            ValueRef::Boolean(truth) => Self::Boolean(truth),
            ValueRef::DateTime(at) => Self::DateTime(at.ticks().to_le_bytes()),
            ValueRef::Double(double) => Self::Double(double.to_le_bytes()),
            ValueRef::Int32(int) => Self::Int32(int),
            ValueRef::Int64(int) => Self::Int64(int.to_le_bytes()),
        })
    }
}

impl Run {
    /// Where `added` lies, now at the end of `run`. A row is far below 4 GiB.
    #[inline]
    fn append(run: &mut Vec<u8>, added: &[u8]) -> Option<Self> {
        let start = u32::try_from(run.len()).ok()?;
        run.extend_from_slice(added);
        Some(Self { start, end: u32::try_from(run.len()).ok()? })
    }

    /// The last `bytes` of the first `end`.
    #[inline]
    fn ending(end: usize, bytes: usize) -> Option<Self> {
        Some(Self { start: u32::try_from(end - bytes).ok()?, end: u32::try_from(end).ok()? })
    }

    #[inline]
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Packed properties, one by one.
#[derive(Clone)]
pub(crate) struct PackedIter<'a> {
    slots: std::slice::Iter<'a, Slot>,
    parts: &'a Parts,
}

impl<'a> Iterator for PackedIter<'a> {
    type Item = (&'a PropertyName, ValueRef<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.slots.next()?;
        Some((self.parts.names.name(slot.name)?, self.parts.value(slot.value)?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.slots.size_hint()
    }
}
