//! How a long list is cut into chunks, and which of them a key belongs to.
//!
//! Nothing of rows is known here.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap};

use tablemodel_store::{key::compare, size::utf16_len};

/// UTF-16 code units of keys, as JSON, that one row holds: what a change of a long list rewrites. At most 32,768 fit a
/// property.
pub(crate) const MAX_KEYS_UNITS: usize = 16_000;
/// More than any one key takes: 1,024 code units, each escaped, with quotes and a comma.
const LONGEST_KEY_UNITS: usize = 2_100;

/// A part of a list: the number that its row key ends with, and the least key that belongs there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) number: u32,
    pub(super) from: String,
}

/// Which chunk a key belongs to.
pub(super) fn place(chunks: &[Chunk], key: &str) -> usize {
    chunks.partition_point(|chunk| compare(&chunk.from, key).is_le()).saturating_sub(1)
}

pub(super) fn free_number(chunks: &[Chunk]) -> u32 {
    let mut taken: Vec<_> = chunks.iter().map(|chunk| chunk.number).collect();
    taken.sort_unstable();
    (1..).zip(taken).find(|(free, taken)| free != taken).map_or(chunks.len() as u32 + 1, |(free, _)| free)
}

/// Puts keys in and takes keys out; whether that changes anything. Each key is moved once, however many come and go: a list in a blob may
/// have a million.
pub(super) fn apply_all<'k>(keys: &mut Vec<Cow<'k, str>>, edits: &BTreeMap<&'k str, bool>) -> bool {
    let mut places: Vec<(usize, Option<&'k str>)> = Vec::with_capacity(edits.len());
    for (key, adds) in edits {
        match (keys.binary_search_by(|other| compare(other, key)), adds) {
            (Err(at), true) => places.push((at, Some(key))),
            (Ok(at), false) => places.push((at, None)),
            _ => {}
        }
    }
    // Edits are in the order of UTF-8.
    places.sort_unstable_by(|(a, new), (b, other)| a.cmp(b).then_with(|| in_front(*new, *other)));
    let changes = !places.is_empty();
    let mut rest = std::mem::replace(keys, Vec::with_capacity(keys.len() + places.len())).into_iter();
    let mut passed = 0;
    for (at, new) in places {
        keys.extend(rest.by_ref().take(at - passed));
        passed = at;
        match new {
            Some(new) => keys.push(Cow::Borrowed(new)),
            None => passed += usize::from(rest.next().is_some()),
        }
    }
    keys.extend(rest);
    changes
}

/// What comes first at one place: what is new there, in order, is in front of what goes.
fn in_front(a: Option<&str>, b: Option<&str>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(a, b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Whether all that is added comes after all that was there: then chunks are left full, for more of the kind.
pub(super) fn is_after(before: &[Cow<'_, str>], edits: &BTreeMap<&str, bool>) -> bool {
    let last = before.last().map_or("", |last| last);
    edits.iter().filter(|(_, adds)| **adds).all(|(key, _)| compare(key, last).is_gt())
}

/// The keys in pieces that each fit a row: full ones, or of one size.
pub(super) fn pieces<K: AsRef<str>>(keys: Vec<K>, full: bool) -> Vec<Vec<K>> {
    let sizes: Vec<_> = keys.iter().map(|key| units(key.as_ref())).collect();
    let all: usize = sizes.iter().sum();
    if all <= MAX_KEYS_UNITS {
        return vec![keys];
    }
    let most = match full {
        true => MAX_KEYS_UNITS,
        false => all.div_ceil(all / (MAX_KEYS_UNITS - LONGEST_KEY_UNITS) + 1) + LONGEST_KEY_UNITS,
    };
    let mut pieces: Vec<Vec<K>> = vec![Vec::new()];
    let mut filled = 0;
    for (key, size) in keys.into_iter().zip(sizes) {
        if filled + size > most.min(MAX_KEYS_UNITS) {
            pieces.push(Vec::new());
            filled = 0;
        }
        filled += size;
        if let Some(piece) = pieces.last_mut() {
            piece.push(key);
        }
    }
    pieces
}

/// What a key takes in JSON, with quotes and a comma.
fn units(key: &str) -> usize {
    let escaped = key.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    utf16_len(key) + escaped + 3
}

/// The shortest beginning of `after` that is above `before`.
pub(super) fn separator(before: &str, after: &str) -> String {
    let ends = after.char_indices().map(|(at, c)| at + c.len_utf8());
    let beginnings = ends.filter_map(|end| after.get(..end));
    beginnings.into_iter().find(|text| compare(text, before).is_gt()).unwrap_or(after).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(keys: &BTreeMap<String, bool>) -> Vec<Cow<'_, str>> {
        let mut keys: Vec<_> = keys.keys().map(|key| Cow::Borrowed(key.as_str())).collect();
        keys.sort_by(|a, b| compare(a, b));
        keys
    }

    fn keys() -> impl Strategy<Value = BTreeMap<String, bool>> {
        prop::collection::btree_map("[a-c\u{FFEE}\u{10437}]{0,3}", any::<bool>(), 0..40)
    }

    proptest! {
        #[test]
        fn what_is_there_afterwards_was_put_in_or_was_not_taken_out(before in keys(), edits in keys()) {
            let mut wanted = before.clone();
            for (key, adds) in &edits {
                if *adds { wanted.insert(key.clone(), true) } else { wanted.remove(key) };
            }
            let mut found = sorted(&before);
            let edits = edits.iter().map(|(key, adds)| (key.as_str(), *adds)).collect();
            let changes = apply_all(&mut found, &edits);
            prop_assert_eq!(&found, &sorted(&wanted));
            prop_assert_eq!(changes, found != sorted(&before));
        }
    }

    /// To move all behind it for each key would take minutes.
    #[test]
    fn many_keys_are_put_among_very_many() {
        let all: Vec<_> = (0..800_000).map(|key| format!("{key:07}")).collect();
        let of = |rest: usize| all.iter().skip(rest).step_by(2).map(String::as_str);
        let mut keys: Vec<_> = of(0).map(Cow::Borrowed).collect();
        assert!(apply_all(&mut keys, &of(1).map(|key| (key, true)).collect()));
        assert!(keys.iter().eq(&all));
    }
}
