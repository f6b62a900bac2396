//! Some rows side by side in one piece of memory, which is all they take: no allocation for each, no holes between those of others.
//!
//! Knows no change and no lock.

use super::{LOCK_BYTES, Mark, ReadRow, SET_BYTES};
use crate::embedded::engine::Space;

/// Rows that a set has places for.
const PLACES: usize = 16;
/// Memory of the rows of one set: what its heads, the lock, and three small fields with their alignment leave.
pub(super) const ROW_BYTES: usize = SET_BYTES - PLACES * size_of::<Head>() - LOCK_BYTES - 16;

/// The rows of some marks.
#[derive(Debug)]
pub(super) struct Set {
    /// The last change of a row with one of its marks.
    pub(super) changed: u64,
    heads: [Head; PLACES],
    /// Heads in use.
    len: u8,
    /// The row that is looked at next when there is no room.
    hand: u8,
    /// The rows, one after the other.
    bytes: [u8; ROW_BYTES],
}

/// A row, and where it ends; it begins where the one before ends.
#[derive(Debug, Clone, Copy)]
struct Head {
    mark: Mark,
    end: u16,
    /// Where its value begins, from its own beginning.
    value: u16,
    /// Since the hand passed it.
    was_found: bool,
}

impl Default for Set {
    fn default() -> Self {
        const NONE: Head = Head { mark: Mark(0), end: 0, value: 0, was_found: false };
        Self { changed: 0, heads: [NONE; PLACES], len: 0, hand: 0, bytes: [0; ROW_BYTES] }
    }
}

impl Set {
    /// The row at `key` in `space`, if it is here.
    #[inline]
    pub(super) fn get(&mut self, mark: Mark, space: Space, key: &[u8]) -> Option<ReadRow> {
        for at in 0..usize::from(self.len) {
            let head = self.heads.get(at)?;
            if head.mark != mark {
                continue;
            }
            let (row, value) = (self.bytes.get(self.start(at)..usize::from(head.end))?, head.value);
            if ReadRow::is_of(row, value.into(), space, key) {
                let row = ReadRow { bytes: row.into(), value: value.into() };
                self.heads.get_mut(at)?.was_found = true;
                return Some(row);
            }
        }
        None
    }

    /// Puts a row in; others go, as far as there is no room. One that is larger than a set is not kept.
    pub(super) fn put(&mut self, mark: Mark, row: &ReadRow) {
        self.remove(mark);
        let bytes = row.bytes.len();
        if bytes > ROW_BYTES {
            return;
        }
        while self.used() + bytes > ROW_BYTES || usize::from(self.len) == PLACES {
            self.pass();
        }
        let (start, end) = (self.used(), self.used() + bytes);
        if let (Ok(end), Ok(value), Some(to)) =
            (u16::try_from(end), u16::try_from(row.value), self.bytes.get_mut(start..end))
            && let Some(head) = self.heads.get_mut(usize::from(self.len))
        {
            to.copy_from_slice(&row.bytes);
            *head = Head { mark, end, value, was_found: false };
            self.len += 1;
        }
    }

    /// Takes out what has this mark.
    pub(super) fn remove(&mut self, mark: Mark) {
        while let Some(at) = self.heads().iter().position(|head| head.mark == mark) {
            self.take_out(at);
        }
    }

    /// The hand goes on: a row that was found since it passed stays once more, another goes.
    fn pass(&mut self) {
        let at = if self.hand < self.len { usize::from(self.hand) } else { 0 };
        self.hand = at as u8;
        match self.heads.get_mut(at) {
            Some(head) if head.was_found => {
                head.was_found = false;
                self.hand += 1;
            }
            _ => self.take_out(at),
        }
    }

    /// Takes one out; those behind it move up.
    fn take_out(&mut self, at: usize) {
        let (start, used) = (self.start(at), self.used());
        let Some(end) = self.heads().get(at).map(|head| usize::from(head.end)) else { return };
        self.bytes.copy_within(end..used, start);
        self.heads.copy_within(at + 1..usize::from(self.len), at);
        self.len -= 1;
        self.hand -= u8::from(at < usize::from(self.hand));
        let gone = (end - start) as u16;
        let last = usize::from(self.len);
        self.heads.iter_mut().take(last).skip(at).for_each(|head| head.end -= gone);
    }

    fn heads(&self) -> &[Head] {
        self.heads.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Where a row begins.
    fn start(&self, at: usize) -> usize {
        at.checked_sub(1).and_then(|before| self.heads.get(before)).map_or(0, |head| head.end.into())
    }

    /// Bytes in use.
    fn used(&self) -> usize {
        self.start(self.len.into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::embedded::engine::TableId;

    const SPACE: Space = Space::Rows(TableId(1));

    fn row(key: u8, value: &[u8]) -> ReadRow {
        ReadRow::new(SPACE, &[key], value)
    }

    fn found(set: &mut Set, key: u8) -> Option<Vec<u8>> {
        set.get(Mark(key.into()), SPACE, &[key]).map(|row| row.parts().1.to_vec())
    }

    #[derive(Debug, Clone)]
    enum Step {
        Put(u8, usize),
        Get(u8),
        Remove(u8),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let key = 0..24_u8;
        prop_oneof![
            3 => (key.clone(), prop_oneof![0..200_usize, 0..ROW_BYTES + 9]).prop_map(|(key, len)| Step::Put(key, len)),
            2 => key.clone().prop_map(Step::Get),
            1 => key.prop_map(Step::Remove),
        ]
    }

    proptest! {
        /// Whatever goes to make room: what is found is what was put in last, and what was put in last is found.
        #[test]
        fn a_set_tells_the_newest_row_or_none(steps in prop::collection::vec(any_step(), 0..200)) {
            let (mut set, mut newest) = (Set::default(), BTreeMap::new());
            for (step, at) in steps.into_iter().zip(0_u8..) {
                match step {
                    Step::Put(key, len) => {
                        let (row, value) = (row(key, &vec![at; len]), vec![at; len]);
                        set.put(Mark(key.into()), &row);
                        prop_assert_eq!(found(&mut set, key), (row.bytes.len() <= ROW_BYTES).then(|| value.clone()));
                        newest.insert(key, value);
                    }
                    Step::Get(key) => {
                        let found = found(&mut set, key);
                        prop_assert!(found.is_none() || found.as_ref() == newest.get(&key));
                    }
                    Step::Remove(key) => {
                        set.remove(Mark(key.into()));
                        newest.remove(&key);
                        prop_assert_eq!(found(&mut set, key), None);
                    }
                }
                prop_assert!(set.used() <= ROW_BYTES && usize::from(set.len) <= PLACES && set.hand <= set.len);
            }
        }
    }

    #[test]
    fn nothing_goes_while_there_is_room() {
        let mut set = Set::default();
        let most = (ROW_BYTES / (super::super::SPACE_BYTES + 1 + 60)).min(PLACES) as u8;
        (0..most).for_each(|key| set.put(Mark(key.into()), &row(key, &[key; 60])));
        assert!((0..most).all(|key| found(&mut set, key) == Some(vec![key; 60])));
    }

    #[test]
    fn what_is_found_outlives_what_is_passed_by_once() {
        let mut set = Set::default();
        set.put(Mark(0), &row(0, &[1; 100]));
        for passing in (1..=u8::MAX).cycle().take(1_000) {
            set.put(Mark(passing.into()), &row(passing, &[1; 100]));
            assert!(found(&mut set, 0).is_some(), "{passing}");
        }
    }
}
