//! The rows of the model of copies: one source, one target that may copy it, the back-reference beside the source.

use std::fmt::{self, Debug};

/// Outbox rows in all: of the programs' writes, then of cascades, by the number of the target that they write.
pub(crate) const WRITES: usize = 8;
pub(crate) const CASCADES: usize = 3;

pub(crate) const STALE: &str = "a copy is stale";
pub(crate) const MISSING: &str = "a copy's back-reference is missing";
pub(crate) const ORPHANED: &str = "a target outlives its source";
pub(crate) const DANGLING: &str = "a back-reference stands that no copy wants";

/// The source: absent at number 0; dead if without a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Source {
    pub(crate) value: Option<u8>,
    pub(crate) seq: u8,
}

impl Source {
    pub(crate) fn is_dead(self) -> bool {
        self.value.is_none() && self.seq > 0
    }
}

/// The target: refers to the source or does not, and holds a copy made from the source as of a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Target {
    pub(crate) refers: bool,
    pub(crate) seq: u8,
    pub(crate) copy: Source,
}

/// In the source's partition, written from the target as of a number; a tombstone if not live.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct BackReference {
    pub(crate) live: bool,
    pub(crate) seq: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Intent {
    /// The source changed. Against the rules: whether a back-reference was seen before.
    Source { seen: Option<bool> },
    /// The target changed.
    Target,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    pub(crate) source: Source,
    pub(crate) target: Target,
    pub(crate) back: Option<BackReference>,
    pub(crate) outbox: [Option<Intent>; WRITES],
}

pub(crate) const ABSENT: Source = Source { value: None, seq: 0 };

impl Rows {
    /// A source with a value, and a target that does not refer to it.
    pub(crate) const APART: Self = Self {
        source: Source { value: Some(0), seq: 1 },
        target: Target { refers: false, seq: 1, copy: ABSENT },
        back: None,
        outbox: [None; WRITES],
    };
    /// A target that has copied the source.
    pub(crate) const COPIED: Self = Self {
        target: Target { refers: true, seq: 1, copy: Self::APART.source },
        back: Some(BackReference { live: true, seq: 1 }),
        ..Self::APART
    };
    /// A target that refers to a source that does not exist.
    pub(crate) const AWAITED: Self =
        Self { source: ABSENT, target: Target { copy: ABSENT, ..Self::COPIED.target }, ..Self::COPIED };

    /// What stays wrong when no outbox row is left.
    pub(crate) fn wrong(&self, cascades: bool) -> Option<&'static str> {
        if cascades && self.target.refers && self.source.is_dead() {
            return Some(ORPHANED);
        }
        let registered = self.back.is_some_and(|back| back.live);
        match (self.target.refers, registered) {
            (true, false) => Some(MISSING),
            (false, true) => Some(DANGLING),
            (true, true) => (self.target.copy.value != self.source.value).then_some(STALE),
            (false, false) => None,
        }
    }
}

impl Debug for Rows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |source: Source| match source {
            Source { value: Some(value), seq } => format!("{}@{seq}", char::from(b'a' + value)),
            Source { seq: 0, .. } => "-".to_owned(),
            Source { seq, .. } => format!("dead@{seq}"),
        };
        write!(out, " source: {}", show(self.source))?;
        if self.target.refers {
            write!(out, " target@{}: copy {}", self.target.seq, show(self.target.copy))?;
        } else {
            write!(out, " target@{}: apart", self.target.seq)?;
        }
        if let Some(back) = self.back {
            write!(out, " {}ref@{}", if back.live { "+" } else { "†" }, back.seq)?;
        }
        for intent in self.outbox.iter().flatten() {
            let of = if *intent == Intent::Target { "target" } else { "source" };
            write!(out, " [out {of}]")?;
        }
        Ok(())
    }
}
