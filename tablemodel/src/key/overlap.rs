//! Whether two templates can produce the same key, told when compiling.
//! It errs on one side only: a `false` is certain.

use super::{
    Segment, Template,
    shape::{Alphabet, Shape},
};

/// The longest template looked at, in bytes of literals and characters of fixed width; a longer one may overlap.
const MAX_UNITS: usize = 256;

/// What can stand at one place of a key, in UTF-8 bytes.
#[derive(Clone, Copy)]
struct Unit {
    ascii: Alphabet,
    beyond_ascii: Beyond,
    /// Any number of times, also none.
    repeats: bool,
}

/// Which bytes from 0x80 on.
#[derive(Clone, Copy)]
enum Beyond {
    Nothing,
    Only(u8),
    Anything,
}

impl Unit {
    const NOTHING: Self = Self { ascii: Alphabet::of(&[]), beyond_ascii: Beyond::Nothing, repeats: false };

    const fn of(ascii: Alphabet) -> Self {
        Self { ascii, ..Self::NOTHING }
    }

    const fn byte(byte: u8) -> Self {
        if byte.is_ascii() {
            Self::of(Alphabet::of(&[byte]))
        } else {
            Self { beyond_ascii: Beyond::Only(byte), ..Self::NOTHING }
        }
    }

    const fn meets(self, other: Self) -> bool {
        let beyond = match (self.beyond_ascii, other.beyond_ascii) {
            (Beyond::Nothing, _) | (_, Beyond::Nothing) => false,
            (Beyond::Only(a), Beyond::Only(b)) => a == b,
            (Beyond::Anything, _) | (_, Beyond::Anything) => true,
        };
        beyond || self.ascii.meets(other.ascii)
    }
}

/// A template as a pattern; an end is a unit that meets nothing.
struct Pattern {
    units: [Unit; MAX_UNITS],
    len: usize,
}

#[expect(
    clippy::indexing_slicing,
    reason = "slices have no `get` in const fn; each index is checked against the length"
)]
impl Pattern {
    /// `None` when the template is too long.
    const fn of(template: &Template) -> Option<Self> {
        let mut pattern = Self { units: [Unit::NOTHING; MAX_UNITS], len: 0 };
        let mut rest = template.0;
        while let [segment, tail @ ..] = rest {
            let whole = match segment {
                Segment::Literal(text) => pattern.push_bytes(text.as_bytes(), Alphabet::of(b"0")),
                Segment::Part(part) => pattern.push_shape(part.shape()),
            };
            if !whole {
                return None;
            }
            rest = tail;
        }
        Some(pattern)
    }

    const fn push_shape(&mut self, shape: Shape) -> bool {
        match shape {
            Shape::Fixed { width, alphabet } => self.push(Unit::of(alphabet), width),
            Shape::Marked { marks, alphabet } => self.push_bytes(marks, alphabet),
            Shape::Truth => self.push(Unit { repeats: true, ..Unit::of(Alphabet::of(b"aeflrstu")) }, 1),
            Shape::Delimited { alphabet, beyond_ascii } => {
                let beyond_ascii = if beyond_ascii { Beyond::Anything } else { Beyond::Nothing };
                // with `$`, which stands for a key that would be empty
                let ascii = alphabet.and(Alphabet::of(b"$"));
                self.push(Unit { ascii, beyond_ascii, repeats: true }, 1)
            }
        }
    }

    /// Each byte as itself, and zeros as any of `zeros`.
    const fn push_bytes(&mut self, bytes: &[u8], zeros: Alphabet) -> bool {
        let mut rest = bytes;
        while let [byte, tail @ ..] = rest {
            let unit = if *byte == b'0' { Unit::of(zeros) } else { Unit::byte(*byte) };
            if !self.push(unit, 1) {
                return false;
            }
            rest = tail;
        }
        true
    }

    const fn push(&mut self, unit: Unit, times: u8) -> bool {
        if self.len + times as usize > MAX_UNITS {
            return false;
        }
        let mut left = times;
        while left > 0 {
            self.units[self.len] = unit;
            self.len += 1;
            left -= 1;
        }
        true
    }

    /// Whether some key is of both patterns: a walk over pairs of places, one row of pairs at a time.
    const fn meets(&self, other: &Self) -> bool {
        let mut row = [false; MAX_UNITS + 1];
        row[0] = true;
        let (mut from, mut to) = (0, 0);
        let mut at = 0;
        while at < self.len {
            let mine = self.units[at];
            let mut next = [false; MAX_UNITS + 1];
            let (mut next_from, mut next_to) = (MAX_UNITS + 1, 0);
            let mut place = from;
            while place <= to {
                if row[place] {
                    let theirs = if place < other.len { other.units[place] } else { Unit::NOTHING };
                    let meets = mine.meets(theirs);
                    if theirs.repeats || (mine.repeats && meets) {
                        row[place + 1] = true;
                        to = if to > place { to } else { place + 1 };
                    }
                    if mine.repeats || meets {
                        let reached = if mine.repeats || theirs.repeats { place } else { place + 1 };
                        next[reached] = true;
                        next_from = if next_from < reached { next_from } else { reached };
                        next_to = if next_to > reached { next_to } else { reached };
                    }
                }
                place += 1;
            }
            if next_from > next_to {
                return false;
            }
            (row, from, to) = (next, next_from, next_to);
            at += 1;
        }
        other.ends_after(&row, from)
    }

    /// Whether only repeated units lie between some place of the row and the end.
    const fn ends_after(&self, row: &[bool; MAX_UNITS + 1], from: usize) -> bool {
        let mut place = self.len;
        while place > from && !row[place] && self.units[place - 1].repeats {
            place -= 1;
        }
        row[place]
    }
}

impl Template {
    /// Whether both templates could produce one key. A `false` is certain; a `true` may be caution.
    ///
    /// ```
    /// use tablemodel::key::{Codec, Part, Segment::{Literal, Part as P}, Template};
    ///
    /// const ID: Part = Part::of::<u32>("id", "Id", Codec::Width(6));
    /// const EMAIL: Part = Part::of::<String>("email", "Email", Codec::Plain);
    /// const BY_ID: Template = Template(&[Literal("empid_"), P(ID)]);
    /// const BY_EMAIL: Template = Template(&[Literal("email_"), P(EMAIL)]);
    /// const ANY_TEXT: Template = Template(&[P(EMAIL)]);
    /// const _: () = assert!(!BY_ID.may_overlap(&BY_EMAIL));
    /// const _: () = assert!(ANY_TEXT.may_overlap(&BY_EMAIL));
    /// ```
    pub const fn may_overlap(&self, other: &Self) -> bool {
        if begin_apart(self.0, other.0) {
            return false;
        }
        match (Pattern::of(self), Pattern::of(other)) {
            (Some(a), Some(b)) => a.meets(&b),
            _ => true,
        }
    }
}

/// Whether the literals at the front tell the templates apart, as they nearly always do; compiling is the faster.
const fn begin_apart(a: &[Segment], b: &[Segment]) -> bool {
    let ([Segment::Literal(a), ..], [Segment::Literal(b), ..]) = (a, b) else { return false };
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while let ([x, a_tail @ ..], [y, b_tail @ ..]) = (a, b) {
        if *x != *y {
            return true;
        }
        (a, b) = (a_tail, b_tail);
    }
    false
}
