use proptest::prelude::*;

use super::*;
use crate::embedded::engine::TableId;

const SPACE: Space = Space::Rows(TableId(1));

fn row(key: &[u8], value: &[u8]) -> ReadRow {
    ReadRow::new(SPACE, key, value)
}

fn put(rows: &Rows, key: &[u8], value: &[u8]) {
    rows.put(Mark::of(SPACE, key), &row(key, value), rows.as_of());
}

fn found(rows: &Rows, space: Space, key: &[u8]) -> Option<Vec<u8>> {
    rows.get(Mark::of(space, key), space, key).map(|row| row.parts().1.to_vec())
}

#[test]
fn a_row_is_found_by_its_space_and_key_until_it_changes() {
    let rows = Rows::new(4 * SET_BYTES);
    assert_eq!(found(&rows, SPACE, b"a"), None);
    put(&rows, b"a", b"1");
    put(&rows, b"b", b"2");
    put(&rows, b"a", b"3");
    assert_eq!(found(&rows, SPACE, b"a"), Some(b"3".to_vec()));
    assert_eq!(found(&rows, Space::Rows(TableId(2)), b"a"), None);
    rows.begin([Mark::of(SPACE, b"a")]);
    rows.end();
    assert_eq!(found(&rows, SPACE, b"a"), None);
    assert_eq!(found(&rows, SPACE, b"b"), Some(b"2".to_vec()));
}

#[test]
fn keys_with_one_mark_are_told_apart() {
    let rows = Rows::new(SET_BYTES);
    let (mark, as_of) = (Mark(7), rows.as_of());
    rows.put(mark, &row(b"a", b"b1"), as_of);
    for (space, key) in [(SPACE, &b"ab"[..]), (SPACE, b"b"), (Space::Rows(TableId(2)), b"a")] {
        assert!(rows.get(mark, space, key).is_none());
    }
    assert!(rows.get(mark, SPACE, b"a").is_some());
}

#[test]
fn without_memory_nothing_is_kept() {
    let rows = Rows::new(SET_BYTES - 1);
    put(&rows, b"a", b"1");
    assert_eq!(found(&rows, SPACE, b"a"), None);
}

#[test]
fn what_is_found_outlives_what_is_passed_by_once() {
    let rows = Rows::new(SET_BYTES);
    put(&rows, b"often", &[1; 100]);
    for passing in 0..1_000_u32 {
        put(&rows, &passing.to_be_bytes(), &[2; 100]);
        assert_eq!(found(&rows, SPACE, b"often"), Some(vec![1; 100]), "{passing}");
    }
}

proptest! {
    #[test]
    fn rows_take_no_more_memory_than_they_may(
        sets in 0..5_usize,
        put_rows in prop::collection::vec((any::<u8>(), 0..2 * SET_BYTES, any::<bool>()), 0..200),
    ) {
        let rows = Rows::new(sets * SET_BYTES);
        for (key, len, is_found) in put_rows {
            put(&rows, &[key], &vec![0; len]);
            if is_found {
                found(&rows, SPACE, &[key]);
            }
            for set in rows.sets.get().into_iter().flatten().map(|set| set.lock().unwrap()) {
                let bytes: usize = set.places.iter().flatten().map(Kept::bytes).sum();
                prop_assert_eq!(set.bytes, bytes);
                prop_assert!(size_of::<Mutex<Set>>() + bytes <= SET_BYTES);
            }
        }
    }
}

const KEYS: usize = 2;
const READERS: usize = 2;

/// A step of somebody who reads, or of the one who writes.
#[derive(Debug, Clone)]
enum Step {
    /// A reader is about to take a snapshot.
    Ask(usize),
    Snapshot(usize),
    Read(usize, usize),
    Keep(usize),
    /// A change of these keys begins; is committed; is seen by all.
    Begin([bool; KEYS]),
    Commit,
    End,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..READERS).prop_map(Step::Ask),
        (0..READERS).prop_map(Step::Snapshot),
        (0..READERS, 0..KEYS).prop_map(|(reader, key)| Step::Read(reader, key)),
        (0..READERS).prop_map(Step::Keep),
        any::<[bool; KEYS]>().prop_map(Step::Begin),
        Just(Step::Commit),
        Just(Step::End),
    ]
}

#[derive(Default)]
struct Reader {
    as_of: Option<AsOf>,
    snapshot: Option<[u8; KEYS]>,
    read: Option<(usize, u8)>,
}

/// Who keeps what he read, and as of when.
type Keeper = fn(&Rows, &Reader) -> Option<AsOf>;

/// Whether what is kept is always what the newest commit left.
fn is_never_stale(steps: &[Step], as_of: Keeper) -> bool {
    let rows = Rows::new(SET_BYTES);
    let mut committed = [0_u8; KEYS];
    let mut readers: [Reader; READERS] = Default::default();
    let (mut changing, mut is_committed) = (None, false);
    steps.iter().all(|step| {
        match *step {
            Step::Ask(reader) => readers[reader] = Reader { as_of: Some(rows.as_of()), ..Reader::default() },
            Step::Snapshot(reader) => {
                let reader = &mut readers[reader];
                reader.snapshot = reader.as_of.and(reader.snapshot.or(Some(committed)));
            }
            Step::Read(reader, key) => {
                let reader = &mut readers[reader];
                reader.read = reader.snapshot.map(|snapshot| (key, snapshot[key]));
            }
            Step::Keep(reader) => {
                if let Some((key, version)) = readers[reader].read
                    && let Some(as_of) = as_of(&rows, &readers[reader])
                {
                    let key = [u8::try_from(key).unwrap()];
                    rows.put(Mark::of(SPACE, &key), &row(&key, &[version]), as_of);
                }
            }
            Step::Begin(keys) if changing.is_none() => {
                let marks = (0_u8..).zip(keys).filter(|(_, is_changed)| *is_changed);
                rows.begin(marks.map(|(key, _)| Mark::of(SPACE, &[key])));
                (changing, is_committed) = (Some(keys), false);
            }
            Step::Commit if !is_committed => {
                for (version, is_changed) in committed.iter_mut().zip(changing.unwrap_or_default()) {
                    *version += u8::from(is_changed);
                }
                is_committed = true;
            }
            Step::End if is_committed && changing.take().is_some() => rows.end(),
            Step::Begin(_) | Step::Commit | Step::End => {}
        }
        (0_u8..).zip(committed).all(|(key, version)| {
            let kept = found(&rows, SPACE, &[key]);
            kept.is_none_or(|kept| kept == [version])
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn what_is_kept_is_what_the_newest_commit_left(steps in prop::collection::vec(step(), 0..60)) {
        prop_assert!(is_never_stale(&steps, |_, reader| reader.as_of));
    }
}

#[test]
fn keepers_who_do_not_say_as_of_when_they_read_are_caught() {
    use Step::{Ask, Begin, Commit, End, Keep, Read, Snapshot};
    let late = [Ask(0), Snapshot(0), Read(0, 0), Begin([true, false]), Commit, End, Keep(0)];
    let amid = [Begin([true, false]), Ask(0), Snapshot(0), Read(0, 0), Keep(0), Commit];
    let as_of_now: Keeper = |rows, _| Some(rows.as_of());
    let always_settled: Keeper = |rows, reader| match rows.as_of() {
        now if Some(now) == reader.as_of => {
            rows.end(); // as if no change were on its way
            Some(rows.as_of())
        }
        _ => None,
    };
    assert!(!is_never_stale(&late, as_of_now));
    assert!(!is_never_stale(&amid, always_settled));
    assert!([&late[..], &amid].iter().all(|steps| is_never_stale(steps, |_, reader| reader.as_of)));
}
