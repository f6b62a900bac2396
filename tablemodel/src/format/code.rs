//! The codes of changes, and what a change asks for.
//! The page of versions lists them; which change has which code is said beside the changes.

use std::fmt;

/// What a change asks for, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Stored bytes are the same.
    NoOp,
    /// Old rows read as new ones: nothing has to be done to them.
    LazySafe,
    /// Rows that are derived from the entity have to come into being.
    Backfill,
    /// Rows stay where they are, and have to be written anew.
    Rewrite,
    /// Rows move to other keys.
    Rekey,
    /// Something may be lost or misread: refused unless allowed with a reason.
    Unsafe,
}

impl Class {
    /// The word of the class, as in plans.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoOp => "no-op",
            Self::LazySafe => "lazy-safe",
            Self::Backfill => "backfill",
            Self::Rewrite => "rewrite",
            Self::Rekey => "re-key",
            Self::Unsafe => "unsafe",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A kind of change, by a number that never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A property that may be absent was added.
    TM101,
    /// A property was added that old rows lack.
    TM102,
    /// A property was removed.
    TM103,
    /// A property was renamed.
    TM104,
    /// A property takes more than before.
    TM105,
    /// A property is stored otherwise.
    TM106,
    /// A removed name returned.
    TM107,
    /// A name was reserved, or is no longer.
    TM108,
    /// The entity type was renamed.
    TM201,
    /// The version was raised.
    TM202,
    /// `adopt` was added or taken away.
    TM205,
    /// The partition key changed.
    TM301,
    /// The row key changed.
    TM302,
    /// A component of a key is written otherwise.
    TM303,
    /// An index, list, copy or aggregate was added; or a property became an aggregate.
    TM401,
    /// An index, list, copy or aggregate was removed.
    TM402,
    /// The keys of an index changed, or what a copy or an aggregate is made of.
    TM403,
    /// An index keeps other properties.
    TM404,
    /// An index moved between the entity's partition and others.
    TM405,
    /// An index became unique, or is no longer.
    TM406,
    /// The condition of an index changed.
    TM407,
    /// What becomes of a copy without its source changed.
    TM408,
    /// The entity became several rows, or one; a property became chunked, or whole.
    TM501,
    /// A property became a blob, or is one no longer.
    TM502,
    /// The number of shards changed.
    TM503,
    /// The table changed.
    TM601,
}

impl Code {
    /// All codes, ascending.
    pub const ALL: [Self; 26] = [
        Self::TM101,
        Self::TM102,
        Self::TM103,
        Self::TM104,
        Self::TM105,
        Self::TM106,
        Self::TM107,
        Self::TM108,
        Self::TM201,
        Self::TM202,
        Self::TM205,
        Self::TM301,
        Self::TM302,
        Self::TM303,
        Self::TM401,
        Self::TM402,
        Self::TM403,
        Self::TM404,
        Self::TM405,
        Self::TM406,
        Self::TM407,
        Self::TM408,
        Self::TM501,
        Self::TM502,
        Self::TM503,
        Self::TM601,
    ];
}

/// `TM101`
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
