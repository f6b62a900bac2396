//! Whether a program stores what its lock says, asked while the program compiles.
//! Nothing here runs later, and nothing is decided about data: a difference is an error, and what it means `diff` tells.

use std::cmp::Ordering;

use super::{
    facts::{Lines, write_facts},
    tie::{Side, is_renamed},
};
use crate::schema::{AggregateSchema, EntitySchema, at, order};

/// Whether formats are compared. A feature of this crate switches it off, so that generated code stays the same.
pub(crate) const IS_ON: bool = cfg!(not(feature = "ungated"));

/// Differences that a message shows.
const SHOWN: usize = 12;

/// Lines of a lock of which it is noted whether the program has them. Beyond these each is looked for among all, which takes the
/// square of their number: minutes, where they are thousands.
const NOTED: usize = 8 * 1024;

/// Room for a message: a few lines more than are shown, each a little over the longest key.
const MESSAGE: usize = 32 * 1024;

/// Fails to compile if the entity is stored otherwise than the lock says.
///
/// `N` is [`facts_length`](super::facts_length); `newest` the greatest version in the lock; `locked` the sorted facts of
/// the version that the schema has, if they are there, and `expected` their sum, which the derive has taken; `is_frozen`
/// whether the struct is an old version kept to be read.
#[track_caller]
pub const fn gate<const N: usize>(
    schema: &EntitySchema,
    is_frozen: bool,
    newest: u32,
    locked: Option<&[&str]>,
    expected: u64,
) {
    if !IS_ON {
        return;
    }
    if !is_frozen && schema.version < newest {
        behind(schema, newest);
    }
    let Some(locked) = locked else {
        if is_frozen {
            absent(schema)
        }
        return;
    };
    let mut room = [0; N];
    write_facts(schema, &mut Lines::new(&mut room));
    // The lines are compared only where their sums differ: that takes three times as long.
    let passed = Passed::of(schema, is_frozen);
    if sum(&room) != expected && !is_same(&room, locked, passed) {
        differs(schema, is_frozen, &Compared { facts: &room, locked, passed });
    }
}

/// Which lines are not compared: of a frozen struct the copies, unless it declares some, which it then says whole; and the aggregates
/// that it does not declare. (One that the newest version keeps is missed there: see `check_previous`.)
#[derive(Clone, Copy)]
struct Passed<'s> {
    is_frozen: bool,
    copies: bool,
    declared: &'s [AggregateSchema],
}

impl<'s> Passed<'s> {
    const fn of(schema: &'s EntitySchema, is_frozen: bool) -> Self {
        Self { is_frozen, copies: is_frozen && schema.copies.is_empty(), declared: schema.aggregates }
    }

    /// Whether the line stands on the other side by what another entity calls its property now.
    const fn is_renamed(&self, line: &[u8], here: Side<'_>, there: Side<'_>) -> bool {
        self.is_frozen && is_renamed(line, here, there)
    }

    /// Whether the line, `aggregate Team.Members keeps count`, is of one that is not declared.
    const fn is_of_another(&self, line: &[u8]) -> bool {
        let Some((_, line)) = line.split_at_checked("aggregate ".len()) else { return false };
        let mut end = 0;
        while let Some((_, [byte, ..])) = line.split_at_checked(end)
            && *byte != b' '
        {
            end += 1;
        }
        let Some((name, _)) = line.split_at_checked(end) else { return false };
        let mut declared = self.declared;
        while let [own, tail @ ..] = declared {
            if own.is_called(name) {
                return false;
            }
            declared = tail;
        }
        true
    }
}

/// Fails to compile because the lock cannot be read.
#[track_caller]
#[expect(clippy::panic, reason = "runs while the user's program compiles: this is how a constant reports an error")]
pub const fn gate_unreadable() {
    if IS_ON {
        panic!("tablemodel.lock cannot be read: `cargo tablemodel check` says why, and what to do")
    }
}

/// The sum of the hashes of the lines, in whatever order they are, but for reserved names. The derive takes it of the lock's
/// lines, by the same rule (`tablemodel-derive/src/lock/sum.rs`).
///
/// Of its lines one after the other, a text is a polynomial; the square keeps what two lines exchange from adding up to the
/// same. Written in operators alone: where a constant is evaluated, a call costs as much as twenty of them.
#[expect(clippy::indexing_slicing, reason = "below the length")]
const fn sum(text: &[u8]) -> u64 {
    const BASE: u128 = 0x9E37_79B9_7F4A_7C15;
    const LOW: u128 = 0xFFFF_FFFF_FFFF_FFFF;
    let (mut sum, mut hash, mut start, mut i) = (0, 1, 0, 0);
    while i < text.len() {
        if text[i] == b'\n' {
            if text[start] != b'r' {
                sum = (sum + ((hash * hash) >> 32)) & LOW;
            }
            (hash, start) = (1, i + 1);
        } else {
            hash = (hash * BASE + text[i] as u128) & LOW;
        }
        i += 1;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the low bits")]
    let sum = sum as u64;
    sum
}

/// Whether the line is not compared. Reserved names are not stored.
const fn is_remark(line: &[u8], passed: Passed<'_>) -> bool {
    match line {
        [b'r', ..] => true,
        [b'c', ..] => passed.copies,
        [b'a', b'g', ..] => passed.is_frozen && passed.is_of_another(line),
        _ => false,
    }
}

const fn is_same(facts: &[u8], locked: &[&str], passed: Passed<'_>) -> bool {
    let mut expected = 0;
    let mut i = 0;
    while i < locked.len() {
        expected += !is_remark(at(locked, i).as_bytes(), passed) as usize;
        i += 1;
    }
    let (mut found, mut rest) = (0, facts);
    while let Some((line, tail)) = first_line(rest) {
        if !is_remark(line, passed) {
            if !is_among(line, locked) && !passed.is_renamed(line, Side::Facts(facts), Side::Locked(locked)) {
                return false;
            }
            found += 1;
        }
        rest = tail;
    }
    found == expected
}

const fn is_among(line: &[u8], sorted: &[&str]) -> bool {
    place_among(line, sorted).is_some()
}

/// By halves: the lines are sorted.
const fn place_among(line: &[u8], sorted: &[&str]) -> Option<usize> {
    let (mut from, mut to) = (0, sorted.len());
    while from < to {
        let middle = usize::midpoint(from, to);
        match order(line, at(sorted, middle).as_bytes()) {
            Ordering::Equal => return Some(middle),
            Ordering::Less => to = middle,
            Ordering::Greater => from = middle + 1,
        }
    }
    None
}

#[expect(clippy::indexing_slicing, reason = "below the length")]
pub(super) const fn first_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut end = 0;
    while end < text.len() {
        if text[end] == b'\n' {
            let (line, rest) = text.split_at(end);
            return Some((line, rest.split_at(1).1));
        }
        end += 1;
    }
    None
}

#[track_caller]
const fn behind(schema: &EntitySchema, newest: u32) -> ! {
    let mut room = [0; MESSAGE];
    let mut message = Lines::new(&mut room);
    message.texts(&["`", schema.entity_type, "` has version "]);
    message.number(schema.version as usize);
    message.texts(&[", and tablemodel.lock has version "]);
    message.number(newest as usize);
    message.texts(&[" of it: write `version = "]);
    message.number(newest as usize);
    message.texts(&["`; a struct that is kept to read old rows says `#[table(frozen)]`"]);
    let length = message.length();
    fail(&room, length)
}

#[track_caller]
const fn absent(schema: &EntitySchema) -> ! {
    let mut room = [0; MESSAGE];
    let mut message = Lines::new(&mut room);
    message.texts(&["this struct is frozen, and tablemodel.lock has no version "]);
    message.number(schema.version as usize);
    message.texts(&[" of `", schema.entity_type, "`: remove the struct, or restore the lock from version control"]);
    let length = message.length();
    fail(&room, length)
}

#[track_caller]
const fn differs(schema: &EntitySchema, is_frozen: bool, lines: &Compared<'_>) -> ! {
    let mut room = [0; MESSAGE];
    let mut message = Lines::new(&mut room);
    message.texts(&["`", schema.entity_type, "` is stored otherwise than tablemodel.lock says of version "]);
    message.number(schema.version as usize);
    message.texts(&[":\n"]);
    let differences = lines.gone(0, &mut message);
    let differences = lines.come(differences, &mut message);
    if differences > SHOWN {
        message.texts(&["  and "]);
        message.number(differences - SHOWN);
        message.texts(&[" more\n"]);
    }
    message.texts(&[if is_frozen {
        "rows are stored so, and this struct reads them: undo the change"
    } else {
        "rows may be stored so already: undo the change, or run `cargo tablemodel diff`, which plans it"
    }]);
    let length = message.length();
    fail(&room, length)
}

/// Lines that are not the same.
struct Compared<'a> {
    facts: &'a [u8],
    locked: &'a [&'a str],
    passed: Passed<'a>,
}

#[expect(clippy::indexing_slicing, reason = "below the length")]
impl Compared<'_> {
    /// Shows the lines that only the lock has.
    const fn gone(&self, mut shown: usize, message: &mut Lines<'_>) -> usize {
        let there = self.there();
        let mut i = 0;
        while i < self.locked.len() {
            let line = at(self.locked, i).as_bytes();
            let is_there = is_remark(line, self.passed) || if i < NOTED { there[i] } else { self.has(line) };
            if !is_there && !self.passed.is_renamed(line, Side::Locked(self.locked), Side::Facts(self.facts)) {
                show("  - ", line, shown, message);
                shown += 1;
            }
            i += 1;
        }
        shown
    }

    /// Of the lock's first lines, which the program has: each is found by one look at all of the program's.
    const fn there(&self) -> [bool; NOTED] {
        let (mut there, mut rest) = ([false; NOTED], self.facts);
        while let Some((line, tail)) = first_line(rest) {
            if let Some(place) = place_among(line, self.locked)
                && place < NOTED
            {
                there[place] = true;
            }
            rest = tail;
        }
        there
    }

    const fn has(&self, line: &[u8]) -> bool {
        let mut rest = self.facts;
        while let Some((own, tail)) = first_line(rest) {
            if matches!(order(own, line), Ordering::Equal) {
                return true;
            }
            rest = tail;
        }
        false
    }

    /// Shows the lines that only the program has.
    const fn come(&self, mut shown: usize, message: &mut Lines<'_>) -> usize {
        let mut rest = self.facts;
        while let Some((line, tail)) = first_line(rest) {
            let is_there = is_remark(line, self.passed) || is_among(line, self.locked);
            if !is_there && !self.passed.is_renamed(line, Side::Facts(self.facts), Side::Locked(self.locked)) {
                show("  + ", line, shown, message);
                shown += 1;
            }
            rest = tail;
        }
        shown
    }
}

const fn show(mark: &str, line: &[u8], shown: usize, message: &mut Lines<'_>) {
    if shown < SHOWN {
        message.texts(&[mark]);
        message.bytes(line);
        message.texts(&["\n"]);
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "runs while the user's program compiles: this is how a constant reports an error")]
const fn fail(room: &[u8], length: usize) -> ! {
    if length <= room.len() {
        let (message, _) = room.split_at(length);
        if let Ok(message) = std::str::from_utf8(message) {
            panic!("{}", message)
        }
    }
    panic!("an entity is stored otherwise than tablemodel.lock says: run `cargo tablemodel diff`")
}

#[cfg(test)]
mod tests;
