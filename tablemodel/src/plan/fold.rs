//! Folding: two writes to one row, one after the other in a batch, are one write.
//!
//! A batch may name a row once (Azure: `InvalidDuplicateRow`), and changes of one batch often meet in one row.

use tablemodel_store::{Action, Condition, Properties};

/// What two writes to one row come to.
#[derive(Debug, PartialEq)]
pub(crate) enum Folded {
    /// One write.
    One(Action),
    /// Nothing: the row is made and unmade within the batch.
    Nothing,
    /// The second cannot succeed after the first.
    Impossible,
}

/// The one write that does what `first` and then `second` would do.
pub(crate) fn fold(first: Action, second: Action) -> Folded {
    match first {
        Action::Insert(p) => over_new(p, second),
        Action::Replace(p, condition) => over_replaced(p, condition, second),
        Action::Merge(p, condition) => over_merged(p, condition, second),
        Action::InsertOrReplace(p) => over_put(p, second),
        Action::InsertOrMerge(_) => Folded::Impossible,
        Action::Delete(condition) => over_deleted(condition, second),
    }
}

fn over_new(first: Properties, second: Action) -> Folded {
    match second {
        Action::Replace(p, _) | Action::InsertOrReplace(p) => Folded::One(Action::Insert(p)),
        Action::Merge(p, _) | Action::InsertOrMerge(p) => Folded::One(Action::Insert(merged(first, &p))),
        Action::Delete(_) => Folded::Nothing,
        Action::Insert(_) => Folded::Impossible,
    }
}

fn over_replaced(first: Properties, condition: Condition, second: Action) -> Folded {
    match second {
        Action::Replace(p, _) | Action::InsertOrReplace(p) => Folded::One(Action::Replace(p, condition)),
        Action::Merge(p, _) | Action::InsertOrMerge(p) => Folded::One(Action::Replace(merged(first, &p), condition)),
        Action::Delete(_) => Folded::One(Action::Delete(condition)),
        Action::Insert(_) => Folded::Impossible,
    }
}

fn over_merged(first: Properties, condition: Condition, second: Action) -> Folded {
    match second {
        Action::Replace(p, _) | Action::InsertOrReplace(p) => Folded::One(Action::Replace(p, condition)),
        Action::Merge(p, _) | Action::InsertOrMerge(p) => Folded::One(Action::Merge(merged(first, &p), condition)),
        Action::Delete(_) => Folded::One(Action::Delete(condition)),
        Action::Insert(_) => Folded::Impossible,
    }
}

fn over_put(first: Properties, second: Action) -> Folded {
    match second {
        Action::Replace(p, _) | Action::InsertOrReplace(p) => Folded::One(Action::InsertOrReplace(p)),
        Action::Merge(p, _) | Action::InsertOrMerge(p) => Folded::One(Action::InsertOrReplace(merged(first, &p))),
        Action::Delete(_) => Folded::Nothing,
        Action::Insert(_) => Folded::Impossible,
    }
}

fn over_deleted(condition: Condition, second: Action) -> Folded {
    match second {
        Action::Insert(p) | Action::InsertOrReplace(p) => Folded::One(Action::Replace(p, condition)),
        Action::InsertOrMerge(p) => Folded::One(Action::Replace(p, condition)),
        Action::Replace(..) | Action::Merge(..) | Action::Delete(_) => Folded::Impossible,
    }
}

fn merged(mut first: Properties, second: &Properties) -> Properties {
    first.merge(second);
    first
}
