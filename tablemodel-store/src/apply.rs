//! What an operation does to its row, given the row's state: the service's rules of conditions.
//!
//! Pure: nothing is read, written or validated here. A merged row must be validated again by the store.

use crate::{Action, Condition, ETag, Properties, StoreError, StoreErrorKind};

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect<'a> {
    /// The row has exactly these properties afterwards, whatever it had before.
    Put(&'a Properties),
    /// The existing row keeps its properties, and these are set on it ([`Properties::merge`]).
    ///
    /// The result must be checked by [`validate::row`](crate::validate::row): it may be over a limit.
    MergeOver(&'a Properties),
    /// The row is gone afterwards.
    Remove,
}

/// Decides what `action` does to a row whose current ETag is `existing` (`None`: there is no such row).
///
/// Refuses with `RowExists` (insert), `RowNotFound` (conditional writes of a missing row) or `ConditionNotMet`
/// (another ETag).
///
/// ```
/// use tablemodel_store::{Action, Condition, ETag, Properties, StoreErrorKind, apply};
///
/// let (now, before) = (ETag::from_stamp(2), ETag::from_stamp(1));
/// let delete = Action::Delete(Condition::Match(before));
/// assert_eq!(apply::decide(&delete, Some(&now)), Err(StoreErrorKind::ConditionNotMet));
/// assert_eq!(apply::decide(&Action::Delete(Condition::Exists), Some(&now)), Ok(apply::Effect::Remove));
/// ```
pub fn decide<'a>(action: &'a Action, existing: Option<&ETag>) -> Result<Effect<'a>, StoreErrorKind> {
    match action {
        Action::Insert(_) if existing.is_some() => Err(StoreErrorKind::RowExists),
        Action::Insert(properties) | Action::InsertOrReplace(properties) => Ok(Effect::Put(properties)),
        Action::InsertOrMerge(properties) if existing.is_some() => Ok(Effect::MergeOver(properties)),
        Action::InsertOrMerge(properties) => Ok(Effect::Put(properties)),
        Action::Replace(properties, condition) => holds(condition, existing).map(|()| Effect::Put(properties)),
        Action::Merge(properties, condition) => holds(condition, existing).map(|()| Effect::MergeOver(properties)),
        Action::Delete(condition) => holds(condition, existing).map(|()| Effect::Remove),
    }
}

fn holds(condition: &Condition, existing: Option<&ETag>) -> Result<(), StoreErrorKind> {
    match (condition, existing) {
        (_, None) => Err(StoreErrorKind::RowNotFound),
        (Condition::Exists, Some(_)) => Ok(()),
        (Condition::Match(expected), Some(current)) if expected == current => Ok(()),
        (Condition::Match(_), Some(_)) => Err(StoreErrorKind::ConditionNotMet),
    }
}

/// The error for an `action` that [`decide`] refused, naming the row and what to do.
pub fn refusal(kind: StoreErrorKind, action: &Action, table: &str, partition: &str, row: &str) -> StoreError {
    let why = match kind {
        StoreErrorKind::RowExists => "the row exists; read it, or write with insert-or-replace",
        StoreErrorKind::RowNotFound => "the row does not exist; insert it",
        StoreErrorKind::ConditionNotMet => "the row was changed since its ETag was read; read it again",
        _ => "the row cannot be written",
    };
    StoreError::new(kind, format!("cannot {} row ({partition}, {row}) of table `{table}`: {why}", action.verb()))
}
