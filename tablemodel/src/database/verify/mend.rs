//! What puts a violation right, as data.
//!
//! How that is done is `repair`'s.

use tablemodel_store::{DateTime, ETag, RowKey};

use super::relist::Relist;
use crate::rooms::aggregate::Recount;

/// What puts a violation right.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Mend {
    /// Nothing that could be done without knowing what was meant.
    No,
    /// The entity of this type, of which so much was read (its sequence, as a rule), is written once more. That it was the same both times
    /// tells that it did not change between two pages of a check.
    Touch(&'static str, RowKey, i64),
    /// The copies of the entity of this type, which has this sequence, are brought to what their sources are.
    Recopy(&'static str, RowKey, i64),
    /// The row, which is ahead of its entity, is taken away if it is still as it was, and the entity written once more.
    Rewrite(ETag, &'static str, RowKey),
    /// The row is taken away, if it is still as it was.
    Remove(ETag),
    /// The same, once the store's clock is past this time.
    RemoveAfter(ETag, DateTime),
    /// The row of another partition is taken away, unless its entity wants it by now.
    Release { entity: &'static str, index: String, owner: RowKey, sequence: i64 },
    /// The list is written anew, if it is still as it was.
    Relist(Relist),
    /// The cell of an aggregate is written as its sources come to, or taken away, if it is still as it was, and its target is written once
    /// more.
    Recount(Box<Recount>),
    /// The outbox row is delivered, or the move finished.
    Deliver(&'static str),
}

impl Mend {
    /// Whether an entity is written once more, and all that is wrong with it is right by that.
    pub(super) fn rewrites(&self) -> bool {
        matches!(self, Self::Touch(..) | Self::Rewrite(..) | Self::Recopy(..))
    }

    /// The entity that is written once more, if that is all: then all of its violations are mended at once.
    pub(super) fn touches(&self) -> Option<(&'static str, &RowKey)> {
        match self {
            Self::Touch(entity, key, _) => Some((entity, key)),
            _ => None,
        }
    }
}
