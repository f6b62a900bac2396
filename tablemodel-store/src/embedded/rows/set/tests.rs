//! One set, and a set and the other that it is divided into.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A key's mark: keys of one half begin with a one, and many look alike.
fn mark(key: u8) -> Mark {
    Mark(u64::from(key) << 8 | u64::from(key % 3) | u64::from(key % 2) << 63)
}

fn row(key: u8, value: &[u8]) -> ReadRow {
    ReadRow::new(mark(key), &[key], value)
}

/// One set, and its memory.
#[derive(Default)]
struct Alone(Head, Body);

impl Alone {
    fn of(beginning: u32) -> Self {
        Self(Head::of(beginning), Body::default())
    }

    fn set(&self) -> Set<'_> {
        Set { head: &self.0, body: &self.1 }
    }
}

fn put(set: Set<'_>, row: &ReadRow) {
    set.change(row.mark(), |held| {
        held.remove(row.mark());
        held.put(row);
    });
}

fn found(set: Set<'_>, key: u8) -> Option<Vec<u8>> {
    match set.get(mark(key), &[key]) {
        Look::Found(row) => Some(row.parts().1.to_vec()),
        Look::Absent | Look::Elsewhere => None,
    }
}

const ROW_BYTES: usize = WORDS * WORD_BYTES - 17; // without its head and its key

#[derive(Debug, Clone)]
enum Step {
    Put(u8, usize),
    Get(u8),
    Remove(u8),
}

fn any_step() -> impl Strategy<Value = Step> {
    let key = 0..24_u8;
    prop_oneof![
        3 => (key.clone(), prop_oneof![0..200_usize, 0..ROW_BYTES + 1]).prop_map(|(key, len)| Step::Put(key, len)),
        2 => key.clone().prop_map(Step::Get),
        1 => key.prop_map(Step::Remove),
    ]
}

proptest! {
    #[test]
    fn bytes_of_a_word_that_are_one_are_told_by_their_places(bytes in prop::array::uniform8(prop_oneof![Just(0_u8), Just(1), Just(0x7F), Just(0x80), any::<u8>()]), other in any::<u8>()) {
        for byte in bytes.into_iter().chain([other]) {
            let places = bytes.iter().rev().fold(0, |places, at| places << 1 | u8::from(*at == byte));
            prop_assert_eq!(equal_bytes(u64::from_le_bytes(bytes), byte), places);
        }
    }

    /// Whatever goes to make room: what is found is what was put in last, and what was put in last is found.
    #[test]
    fn a_set_tells_the_newest_row_or_none(steps in prop::collection::vec(any_step(), 0..200)) {
        let (set, mut newest) = (Alone::of(1), BTreeMap::new());
        for (step, at) in steps.into_iter().zip(0_u8..) {
            match step {
                Step::Put(key, len) => {
                    let value = vec![at; len];
                    put(set.set(), &row(key, &value));
                    prop_assert_eq!(found(set.set(), key), Some(value.clone()));
                    newest.insert(key, value);
                }
                Step::Get(key) => {
                    let found = found(set.set(), key);
                    prop_assert!(found.is_none() || found.as_ref() == newest.get(&key));
                }
                Step::Remove(key) => {
                    set.set().change(mark(key), |held| held.forget(mark(key), 1));
                    newest.remove(&key);
                    prop_assert_eq!(found(set.set(), key), None);
                }
            }
            set.set().held(|held| {
                assert!(held.used() <= WORDS && held.len() <= PLACES && usize::from(held.writing.hand) <= held.len());
                assert!(held.set.head.version.load(Relaxed) % 2 == 0);
            });
        }
    }

    /// Each row is in one of the two, and where its mark says.
    #[test]
    fn a_divided_set_and_the_other_have_what_it_had(keys in prop::collection::btree_set(0..24_u8, 0..PLACES)) {
        let (set, other) = (Alone::of(1), Alone::default());
        keys.iter().for_each(|key| put(set.set(), &row(*key, &[*key])));
        set.set().held(|held| held.writing.changed = 7);
        set.set().held(|held| held.divide(other.set(), |beginning| {
            assert_eq!(beginning, 0b11);
            assert!(other.1.writing.try_lock().is_err(), "it could be divided before it is found");
        }));
        for key in 0..24 {
            let (has, lacks) = if key % 2 == 1 { (other.set(), set.set()) } else { (set.set(), other.set()) };
            prop_assert_eq!(found(has, key), keys.contains(&key).then(|| vec![key]));
            prop_assert!(matches!(lacks.get(mark(key), &[key]), Look::Elsewhere));
            prop_assert_eq!(has.change(mark(key), |held| held.changed()), Some(7));
            prop_assert_eq!(lacks.change(mark(key), |_| ()), None);
        }
    }
}

#[test]
fn nothing_goes_while_there_is_room() {
    let set = Alone::of(1);
    let most = (WORDS / row(0, &[0; 60]).words().len()).min(PLACES) as u8;
    (0..most).for_each(|key| put(set.set(), &row(key, &[key; 60])));
    assert!((0..most).all(|key| found(set.set(), key) == Some(vec![key; 60])));
}

#[test]
fn what_is_found_outlives_what_is_passed_by_once() {
    let set = Alone::of(1);
    put(set.set(), &row(0, &[1; 100]));
    for passing in (1..=u8::MAX).cycle().take(1_000) {
        put(set.set(), &row(passing, &[1; 100]));
        assert!(found(set.set(), 0).is_some(), "{passing}");
    }
}

#[test]
fn what_is_read_while_the_set_is_changed_is_not_believed() {
    let set = Alone::of(1);
    put(set.set(), &row(2, &[2; 100]));
    put(set.set(), &row(4, &[4; 100]));
    let amid = set.set().head.unchanged(|| {
        let before = set.set().row(0);
        put(set.set(), &row(2, &[3; 100]));
        (before, set.set().look(mark(4), &[4]))
    });
    assert!(amid.is_none());
    set.set().held(|held| {
        held.write(|held| assert!(held.set.head.unchanged(|| ()).is_none(), "a change is under way"));
    });
    assert_eq!((found(set.set(), 2), found(set.set(), 4)), (Some(vec![3; 100]), Some(vec![4; 100])));
}

#[test]
fn what_was_found_stays_so_when_one_before_it_goes() {
    let set = Alone::of(1);
    (0..3).for_each(|key| put(set.set(), &row(key, &[key; 100])));
    assert!(found(set.set(), 2).is_some());
    set.set().change(mark(0), |held| held.remove(mark(0)));
    // Others come until the one goes that was never found; the next to go is not the one that was.
    let mut others = (10..).map(|key| row(key, &[key; 100]));
    while found_without_a_note(&set, 1) {
        put(set.set(), &others.next().unwrap());
    }
    put(set.set(), &others.next().unwrap());
    assert!(found_without_a_note(&set, 2));
}

fn found_without_a_note(set: &Alone, key: u8) -> bool {
    set.set().held(|held| held.find(mark(key)).is_some())
}
