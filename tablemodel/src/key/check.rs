//! What can be wrong with a template, told when compiling.
//! No message is made here: the derive knows the words the user wrote.

use super::{Codec, KeyType, Part, Segment, Template, template::separator};

/// What is wrong with a template; `segment` counts literals and components from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The template, or one of its literals, holds nothing.
    Empty,
    /// A literal holds a character that may not stand in a key: a control, a space, or one of `/ \ # ? % '`.
    LiteralCharacter {
        /// The literal.
        segment: usize,
    },
    /// Keys would begin with `~~`, which are the framework's own.
    Reserved,
    /// The codec does not fit the type: [`Codec::fits`].
    Unfit {
        /// The component.
        segment: usize,
    },
    /// Nothing tells where this component ends and the next begins: a literal must stand between.
    Glued {
        /// The component.
        segment: usize,
    },
    /// The literal after this component begins with a character that the component itself may hold. For texts
    /// these are `$`, digits, `A` to `F`, `& . ~ > [ }` and all beyond ASCII; `!` and `_` are good choices.
    Separator {
        /// The component.
        segment: usize,
    },
}

impl Template {
    /// The first thing that is wrong, if any.
    pub const fn check(&self) -> Option<Problem> {
        if self.0.is_empty() {
            return Some(Problem::Empty);
        }
        if is_reserved(self.0) {
            return Some(Problem::Reserved);
        }
        let mut segment = 0;
        while segment < self.0.len() {
            let problem = self.check_segment(segment);
            if problem.is_some() {
                return problem;
            }
            segment += 1;
        }
        None
    }

    /// What is wrong with one literal or component, whatever is wrong with others.
    pub(crate) const fn check_segment(&self, segment: usize) -> Option<Problem> {
        let (_, rest) = self.0.split_at(segment);
        match rest {
            [Segment::Literal(text), ..] if text.is_empty() => Some(Problem::Empty),
            [Segment::Literal(text), ..] if !is_legal(text) => Some(Problem::LiteralCharacter { segment }),
            [Segment::Part(part), tail @ ..] => check_part(part, tail, segment),
            [Segment::Literal(_), ..] | [] => None,
        }
    }

    /// Whether a component holds this property so that it can be had back, and it need not be stored beside the key.
    pub const fn is_recoverable(&self, property: &str) -> bool {
        let mut rest = self.0;
        while let [head, tail @ ..] = rest {
            if let Segment::Part(part) = head
                && !part.codec.is_lossy()
                && same_text(part.property, property)
            {
                return true;
            }
            rest = tail;
        }
        false
    }

    /// Whether ranges of the component at this index (counting components alone, from 0) are ranges of keys: then
    /// `field_between` exists. False when there is no such component.
    pub const fn orders(&self, part: usize) -> bool {
        match self.part(part) {
            Some((part, tail)) => part.orders(separator(tail)),
            None => false,
        }
    }

    /// Whether the component at this index (counting components alone, from 0) has prefixes: then
    /// `field_starts_with` exists.
    pub const fn has_prefixes(&self, part: usize) -> bool {
        match self.part(part) {
            Some((part, _)) => part.has_prefixes(),
            None => false,
        }
    }

    /// How many buckets the template spreads keys over; `None` without a `shard(n)` component.
    pub const fn shards(&self) -> Option<u16> {
        let mut rest = self.0;
        while let [head, tail @ ..] = rest {
            if let Segment::Part(Part { codec: Codec::Shard(buckets), .. }) = head {
                return Some(*buckets);
            }
            rest = tail;
        }
        None
    }

    /// Whether keys can hold a space: only `raw` texts can. Rows that belong to another row stand at its key, a
    /// space, and `~~`; a `raw` text with a space may sort between the two.
    pub const fn may_hold_space(&self) -> bool {
        let mut rest = self.0;
        while let [head, tail @ ..] = rest {
            if let Segment::Part(Part { codec: Codec::Raw, .. }) = head {
                return true;
            }
            rest = tail;
        }
        false
    }

    /// The components, in order.
    pub fn parts(&self) -> impl Iterator<Item = &'static Part> + use<> {
        self.0.iter().filter_map(|segment| match segment {
            Segment::Part(part) => Some(part),
            Segment::Literal(_) => None,
        })
    }

    const fn part(&self, index: usize) -> Option<(&'static Part, &'static [Segment])> {
        let mut before = index;
        let mut rest = self.0;
        while let [head, tail @ ..] = rest {
            if let Segment::Part(part) = head {
                if before == 0 {
                    return Some((part, tail));
                }
                before -= 1;
            }
            rest = tail;
        }
        None
    }
}

impl Part {
    pub(super) const fn has_prefixes(&self) -> bool {
        matches!(self.key_type, KeyType::Text) && matches!(self.codec, Codec::Plain | Codec::Lower | Codec::Raw)
    }

    pub(crate) const fn is_bucket_of_time(&self) -> bool {
        matches!(self.codec, Codec::Hour | Codec::Day | Codec::Month)
    }
}

const fn check_part(part: &Part, tail: &[Segment], segment: usize) -> Option<Problem> {
    if !part.codec.fits(part.key_type) {
        return Some(Problem::Unfit { segment });
    }
    match separator(tail) {
        Some(byte) if part.may_precede(byte) => None,
        Some(_) => Some(Problem::Separator { segment }),
        None if tail.is_empty() || !part.is_delimited() => None,
        None => Some(Problem::Glued { segment }),
    }
}

/// A literal `~~`, or a literal `~` before a text that may begin with another.
const fn is_reserved(segments: &[Segment]) -> bool {
    match segments {
        [Segment::Literal(text), tail @ ..] => match text.as_bytes() {
            [b'~', b'~', ..] => true,
            [b'~'] => matches!(tail, [Segment::Part(part), ..] if part.is_delimited()),
            _ => false,
        },
        _ => false,
    }
}

const fn is_legal(literal: &str) -> bool {
    let mut rest = literal.as_bytes();
    while let [byte, tail @ ..] = rest {
        match (*byte, tail) {
            (0..=b' ' | b'/' | b'\\' | b'#' | b'?' | b'%' | b'\'' | 0x7F, _) => return false,
            (0xC2, [0x80..=0x9F, ..]) => return false, // U+0080 to U+009F in UTF-8
            _ => rest = tail,
        }
    }
    true
}

const fn same_text(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while let ([x, a_tail @ ..], [y, b_tail @ ..]) = (a, b) {
        if *x != *y {
            return false;
        }
        (a, b) = (a_tail, b_tail);
    }
    a.is_empty() && b.is_empty()
}
