//! Kept rows: sets, memory, and schedules of readers and the writer.

use std::sync::Barrier;

use proptest::prelude::*;

use super::{directory::CHUNK, set::SET_BYTES, *};
use crate::embedded::engine::TableId;

const SPACE: Space = Space::Rows(TableId(1));

fn row(key: &[u8], value: &[u8]) -> ReadRow {
    ReadRow::new(Mark::of(SPACE, key), key, value)
}

fn put(rows: &Rows, key: &[u8], value: &[u8]) {
    rows.put(&row(key, value), rows.ended());
}

fn found(rows: &Rows, space: Space, key: &[u8]) -> Option<Vec<u8>> {
    rows.get(Mark::of(space, key), key).map(|row| row.parts().1.to_vec())
}

#[test]
fn a_row_is_found_by_its_space_and_key_until_it_changes() {
    let rows = Rows::new(CHUNK_BYTES);
    assert_eq!(found(&rows, SPACE, b"a"), None);
    put(&rows, b"a", b"1");
    put(&rows, b"b", b"2");
    put(&rows, b"a", b"3");
    assert_eq!(found(&rows, SPACE, b"a"), Some(b"3".to_vec()));
    assert_eq!(found(&rows, Space::Rows(TableId(2)), b"a"), None);
    let change = rows.begin();
    assert!(change.is_noticed);
    rows.take_out(change, [Mark::of(SPACE, b"a")]);
    rows.end();
    assert_eq!(found(&rows, SPACE, b"a"), None);
    assert_eq!(found(&rows, SPACE, b"b"), Some(b"2".to_vec()));
}

#[test]
fn a_row_that_the_next_change_changes_is_not_kept_when_only_the_change_before_it_has_ended() {
    let rows = Rows::new(CHUNK_BYTES);
    put(&rows, b"b", b"1");
    let (first, next) = (rows.begin(), rows.begin());
    rows.take_out(next, [Mark::of(SPACE, b"a")]);
    rows.end_up_to(first);
    assert_eq!(rows.ended(), first.ended());
    put(&rows, b"a", b"as the first left it");
    assert_eq!(found(&rows, SPACE, b"a"), None);
    rows.end_up_to(next);
    put(&rows, b"a", b"as the next left it");
    assert!(found(&rows, SPACE, b"a").is_some() && found(&rows, SPACE, b"b").is_some());
}

#[test]
fn keys_with_one_mark_are_told_apart() {
    let rows = Rows::new(CHUNK_BYTES);
    let mark = Mark(7);
    rows.put(&ReadRow::new(mark, b"a", b"b1"), rows.ended());
    assert!([&b"ab"[..], b"b", b""].iter().all(|key| rows.get(mark, key).is_none()));
    assert!(rows.get(Mark(7 | 1 << 32), b"a").is_none()); // looks alike in its set
    assert!(rows.get(mark, b"a").is_some());
}

#[test]
fn without_memory_nothing_is_kept() {
    let rows = Rows::new(CHUNK_BYTES - 1);
    put(&rows, b"a", b"1");
    assert_eq!(found(&rows, SPACE, b"a"), None);
}

#[test]
fn a_change_that_was_begun_before_anything_was_kept_is_not_noticed_and_nothing_is_kept_from_before_it() {
    let rows = Rows::new(CHUNK_BYTES);
    let before = rows.ended();
    assert!(!rows.begin().is_noticed);
    rows.put(&row(b"a", b"1"), before);
    assert_eq!(found(&rows, SPACE, b"a"), None);
    rows.end();
    put(&rows, b"a", b"2");
    assert_eq!(found(&rows, SPACE, b"a"), Some(b"2".to_vec()));
}

#[test]
fn rows_are_all_found_while_there_is_memory_for_them_and_few_of_them_take_little() {
    let (rows, value) = (Rows::new(64 * CHUNK_BYTES), [7; 300]);
    let (few, many) = (100_u32, 8_000_u32);
    for key in 0..many {
        put(&rows, &key.to_le_bytes(), &value);
        let memory = rows.sets.get().map_or(0, Directory::memory);
        assert!(key != few || memory <= 3 * CHUNK_BYTES, "{memory}");
    }
    let found = (0..many).filter(|key| found(&rows, SPACE, &key.to_le_bytes()).is_some());
    assert_eq!(found.count(), many as usize);
}

const STRESS_KEYS: u32 = 1_000;

/// What the newest commit left of each key of a stress.
fn versions() -> Vec<AtomicU64> {
    (0..STRESS_KEYS).map(|_| AtomicU64::new(0)).collect()
}

/// A value that tells its key and version, and that it is whole.
fn told(key: u32, version: u64) -> Vec<u8> {
    let word = u64::from(key) << 32 | version;
    word.to_le_bytes().repeat(1 + (key as usize * 7 + version as usize) % 150)
}

/// Looks a row up as a reader does: what it finds is whole, and no older than what was committed before.
fn look_up(rows: &Rows, committed: &[AtomicU64], key: u32) {
    let (bytes, newest) = (key.to_le_bytes(), &committed[key as usize]);
    let floor = newest.load(SeqCst);
    match found(rows, SPACE, &bytes) {
        Some(value) => {
            let word = u64::from_le_bytes(value[..8].try_into().unwrap());
            let version = word & u64::from(u32::MAX);
            assert_eq!(value, told(key, version), "key {key}");
            assert!(version >= floor, "key {key}: {version}, and {floor} was committed");
        }
        None => {
            let ended = rows.ended();
            let version = newest.load(SeqCst);
            rows.put(&row(&bytes, &told(key, version)), ended);
        }
    }
}

/// Changes some rows as the writer does.
fn change(rows: &Rows, committed: &[AtomicU64], seed: u32) {
    let keys: Vec<_> = (0..8).map(|n| (seed * 31 + n * 57) % STRESS_KEYS).collect();
    let change = rows.begin();
    rows.take_out(change, keys.iter().map(|key| Mark::of(SPACE, &key.to_le_bytes())).filter(|_| change.is_noticed));
    for key in &keys {
        committed[*key as usize].fetch_add(1, SeqCst);
    }
    rows.end();
}

/// Sets are divided all the while: each round begins without any.
#[test]
fn many_readers_and_a_writer_find_whole_rows_that_are_not_stale() {
    for round in 0..40 {
        let (rows, committed, begin) = (Rows::new(16 * CHUNK_BYTES), versions(), Barrier::new(4));
        std::thread::scope(|scope| {
            for reader in 0..3 {
                let (rows, committed, begin) = (&rows, &committed, &begin);
                scope.spawn(move || {
                    begin.wait();
                    for at in 0..8_000_u32 {
                        look_up(
                            rows,
                            committed,
                            at.wrapping_mul(2_654_435_761).wrapping_add(reader + round) % STRESS_KEYS,
                        );
                    }
                });
            }
            begin.wait();
            (0..400).for_each(|seed| change(&rows, &committed, seed + round));
        });
        assert!(rows.sets.get().is_some_and(|sets| sets.used() > CHUNK), "none was divided");
    }
}

#[test]
fn until_a_row_is_kept_commits_take_no_memory() {
    let rows = Rows::new(4 * CHUNK_BYTES);
    let change = rows.begin();
    rows.take_out(change, []);
    rows.end();
    assert!(rows.sets.get().is_none());
}

proptest! {
    #[test]
    fn rows_take_no_more_memory_than_they_may(
        chunks in 0..6_usize,
        put_rows in prop::collection::vec((any::<u16>(), 0..SET_BYTES), 0..400),
    ) {
        let rows = Rows::new(chunks * CHUNK_BYTES);
        put_rows.iter().for_each(|(key, len)| put(&rows, &key.to_le_bytes(), &vec![0; *len]));
        prop_assert!(rows.sets.get().map_or(0, Directory::memory) <= chunks * CHUNK_BYTES);
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
    /// A change begins; the rows of these keys are taken out, a reader keeping what he read in the midst of it; it is committed;
    /// it is seen by all. Or its sync is left: then the next one may begin before it is published.
    Begin,
    TakeOut([bool; KEYS], usize, bool),
    Commit,
    Leave,
    Publish,
    End,
    /// Other rows are kept, in the set of this key: it has no room for all of them.
    Crowd(usize, [u64; 4]),
}

fn step() -> impl Strategy<Value = Step> {
    let reader = || 0..READERS;
    prop_oneof![
        reader().prop_map(Step::Ask),
        reader().prop_map(Step::Snapshot),
        (reader(), 0..KEYS).prop_map(|(reader, key)| Step::Read(reader, key)),
        reader().prop_map(Step::Keep),
        Just(Step::Begin),
        (any::<[bool; KEYS]>(), reader(), any::<bool>())
            .prop_map(|(keys, reader, leaves)| Step::TakeOut(keys, reader, leaves)),
        Just(Step::Commit),
        Just(Step::Leave),
        Just(Step::Publish),
        Just(Step::End),
        (0..KEYS, any::<[u64; 4]>()).prop_map(|(key, others)| Step::Crowd(key, others)),
    ]
}

/// Keeps rows whose marks begin as that of the key.
fn crowd(rows: &Rows, key: usize, others: &[u64; 4]) {
    let mark = Mark::of(SPACE, &[u8::try_from(key).unwrap()]).0;
    for other in others {
        let mark = Mark(mark ^ other >> 6);
        rows.put(&ReadRow::new(mark, b"other", &[0; SET_BYTES / 3]), rows.ended());
    }
}

#[derive(Default)]
struct Reader {
    ended: Option<Ended>,
    snapshot: Option<[u8; KEYS]>,
    read: Option<(usize, u8)>,
}

/// As of when somebody says that he read.
type Keeper = fn(&Rows, &Reader) -> Option<Ended>;

impl Reader {
    fn keep(&self, rows: &Rows, ended: Keeper) {
        if let Some((key, version)) = self.read
            && let Some(ended) = ended(rows, self)
        {
            let key = [u8::try_from(key).unwrap()];
            rows.put(&row(&key, &[version]), ended);
        }
    }
}

/// How far the change is that is on its way.
enum Stage {
    None,
    Begun(Change),
    Changing(Change, [bool; KEYS], bool),
    /// Whether its sync is left.
    Committed(Change, bool),
}

/// How a change is ended whose sync was left.
type Publisher = fn(&Rows, Change);

struct Schedule {
    rows: Rows,
    committed: [u8; KEYS],
    /// What readers share, where they may not see what was committed.
    view: Option<[u8; KEYS]>,
    readers: [Reader; READERS],
    stage: Stage,
    /// On its way to the disk, and what it left.
    left: Option<(Change, [u8; KEYS])>,
}

impl Schedule {
    fn step(&mut self, step: &Step, ended: Keeper, publish: Publisher) {
        let Self { rows, committed, view, readers, stage, left } = self;
        match (step, &*stage) {
            (Step::Ask(reader), _) => readers[*reader] = Reader { ended: Some(rows.ended()), ..Reader::default() },
            (Step::Snapshot(reader), _) => {
                let reader = &mut readers[*reader];
                reader.snapshot = reader.ended.and(reader.snapshot.or(Some(view.unwrap_or(*committed))));
            }
            (Step::Read(reader, key), _) => {
                let reader = &mut readers[*reader];
                reader.read = reader.snapshot.map(|snapshot| (*key, snapshot[*key]));
            }
            (Step::Keep(reader), _) => readers[*reader].keep(rows, ended),
            (Step::Begin, Stage::None) => *stage = Stage::Begun(rows.begin()),
            (Step::TakeOut(keys, reader, leaves), Stage::Begun(change)) => {
                let change = *change;
                let marks = (0_u8..).zip(keys).filter(|(_, is_changed)| **is_changed && change.is_noticed);
                rows.take_out(
                    change,
                    marks.map(|(key, _)| {
                        readers[*reader].keep(rows, ended);
                        Mark::of(SPACE, &[key])
                    }),
                );
                if *leaves {
                    view.get_or_insert(*committed);
                }
                *stage = Stage::Changing(change, *keys, *leaves);
            }
            (Step::Commit, Stage::Changing(change, keys, leaves)) => {
                committed.iter_mut().zip(keys).for_each(|(version, is_changed)| *version += u8::from(*is_changed));
                *stage = Stage::Committed(*change, *leaves);
            }
            (Step::Leave, Stage::Committed(change, true)) if left.is_none() => {
                *left = Some((*change, *committed));
                *stage = Stage::None;
            }
            (Step::Publish, _) => {
                if let Some((change, state)) = left.take() {
                    publish(rows, change);
                    *view = Some(state);
                }
            }
            (Step::End, Stage::Committed(_, false)) if left.is_none() => {
                rows.end();
                (*stage, *view) = (Stage::None, None);
            }
            (Step::Crowd(key, others), _) => crowd(rows, *key, others),
            (Step::Begin | Step::TakeOut(..) | Step::Commit | Step::Leave | Step::End, _) => {}
        }
    }

    /// Whether what is kept is what the newest commit left.
    fn is_right(&self) -> bool {
        let mut keys = (0_u8..).zip(self.committed);
        keys.all(|(key, version)| found(&self.rows, SPACE, &[key]).is_none_or(|kept| kept == [version]))
    }
}

/// Whether what is kept is right after each step.
fn is_never_stale(steps: &[Step], ended: Keeper, publish: Publisher) -> bool {
    let (rows, readers) = (Rows::new(2 * CHUNK_BYTES), Default::default());
    let mut schedule = Schedule { rows, committed: [0; KEYS], view: None, readers, stage: Stage::None, left: None };
    steps.iter().all(|step| {
        schedule.step(step, ended, publish);
        schedule.is_right()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn what_is_kept_is_what_the_newest_commit_left(steps in prop::collection::vec(step(), 0..120)) {
        prop_assert!(is_never_stale(&steps, |_, reader| reader.ended, Rows::end_up_to));
    }
}

#[test]
fn keepers_who_do_not_say_as_of_when_they_read_are_caught() {
    use Step::{Ask, Begin, Commit, End, Keep, Leave, Publish, Read, Snapshot, TakeOut};
    let change = |reader| [Begin, TakeOut([true, false], reader, false), Commit];
    let read = || [Ask(0), Snapshot(0), Read(0, 0)];
    // Something was kept before: else a change is not noticed, and nothing is kept from before it.
    let used = || read().into_iter().chain([Keep(0)]);
    let late: Vec<_> = used().chain(read()).chain(change(1)).chain([End, Keep(0)]).collect();
    let amid: Vec<_> =
        used().chain([Begin, TakeOut([true, false], 1, false)]).chain(read()).chain([Keep(0), Commit]).collect();
    // The next change has begun when the one before gets to the disk.
    let left =
        [Begin, TakeOut([false, true], 1, true), Commit, Leave, Begin, TakeOut([true, false], 1, false), Publish];
    let overlapped: Vec<_> = used().chain(left).chain(read()).chain([Keep(0), Commit]).collect();
    let as_of_now: Keeper = |rows, _| Some(rows.ended());
    let begun: Keeper = |rows, reader| reader.ended.map(|_| Ended(rows.begun.load(SeqCst)));
    let asked: Keeper = |_, reader| reader.ended;
    assert!(!is_never_stale(&late, as_of_now, Rows::end_up_to));
    assert!(!is_never_stale(&amid, begun, Rows::end_up_to));
    assert!(!is_never_stale(&overlapped, asked, |rows, _| rows.end()));
    assert!([&late, &amid, &overlapped].iter().all(|steps| is_never_stale(steps, asked, Rows::end_up_to)));
}
