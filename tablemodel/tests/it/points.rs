//! Which points of a scenario are tried, where each costs a run of it: store calls at which it dies, or before which another comes.
//!
//! A usual run tries some of many, always the same ones; all of them are tried where `TABLEMODEL_EVERY_CALL` is set. What a
//! test is called ("anywhere", "at any call") is what holds of all.

use std::ops::Range;

/// Where it is set, to whatever, every point is tried, which takes many times as long.
const EVERY_CALL: &str = "TABLEMODEL_EVERY_CALL";

/// However many there are.
pub(crate) const ALL: usize = usize::MAX;

/// Those of the first `count` numbers that are tried, in their order: all, where they are no more than `at_most`. Else the first
/// and the last of them, a sixth of `at_most` each, since most begins and ends there; and one of each of so many equal stretches
/// between, another one for each scenario that is `told`, so that those of two modes or of several operations meet more of them together.
pub(crate) fn points(count: usize, at_most: usize, told: &str) -> Vec<usize> {
    chosen(count, bound(at_most), told)
}

/// How many are tried in this run, where in a usual one it is `at_most` so many.
pub(crate) fn bound(at_most: usize) -> usize {
    if std::env::var_os(EVERY_CALL).is_some() { ALL } else { at_most }
}

/// The points of a usual run.
pub(crate) fn chosen(count: usize, at_most: usize, told: &str) -> Vec<usize> {
    if count <= at_most {
        return (0..count).collect();
    }
    let few = at_most / 6;
    let (between, stretches) = (count - 2 * few, at_most - 2 * few);
    let stretch = |number: usize| few + number * between / stretches..few + (number + 1) * between / stretches;
    let one_of = |number: usize| {
        let Range { start, end } = stretch(number);
        start + drawn(told, number) % (end - start)
    };
    (0..few).chain((0..stretches).map(one_of)).chain(count - few..count).collect()
}

/// A number that looks like chance, the same in every run: 64-bit FNV-1a of both.
pub(crate) fn drawn(told: &str, number: usize) -> usize {
    let bytes = told.bytes().chain((number as u64).to_le_bytes());
    let hash =
        bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    (hash >> 33) as usize
}

#[test]
fn few_points_are_all_tried() {
    for count in [0, 1, 7, 24] {
        assert_eq!(chosen(count, 24, "few"), Vec::from_iter(0..count));
    }
    assert_eq!(chosen(500, ALL, "all"), Vec::from_iter(0..500));
    assert!(chosen(500, 0, "none").is_empty());
}

#[test]
fn of_many_the_first_the_last_and_some_of_everywhere_are_tried() {
    for (count, at_most) in [(25, 24), (100, 24), (1_000, 24), (1_000, 5), (7, 1)] {
        let chosen = chosen(count, at_most, "many");
        let (few, told) = (at_most / 6, format!("{at_most} of {count}: {chosen:?}"));
        assert_eq!(chosen.len(), at_most, "{told}");
        assert!(chosen.is_sorted_by(|a, b| a < b) && chosen.iter().all(|point| *point < count), "{told}");
        assert!((0..few).chain(count - few..count).all(|end| chosen.contains(&end)), "{told}");
        let widest = chosen.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        assert!(widest <= 2 * count.div_ceil(at_most - 2 * few), "{told}");
    }
}

#[test]
fn scenarios_that_differ_try_other_points_and_each_the_same_ones_again() {
    let of = |told: &str| chosen(1_000, 24, told);
    assert_eq!(of("Azure"), of("Azure"));
    let (azure, atomic) = (of("Azure"), of("Atomic"));
    let shared = azure.iter().filter(|point| atomic.contains(point)).count();
    assert!((8..14).contains(&shared), "the ends, and few between: {azure:?} {atomic:?}");
}
