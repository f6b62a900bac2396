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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tablemodel_store::{ETag, apply};

    use super::*;

    type State = Option<(ETag, Properties)>;

    fn properties() -> impl Strategy<Value = Properties> {
        prop::collection::vec((prop::sample::select(vec!["A", "B", "C"]), 0..3_i32), 0..3)
            .prop_map(|pairs| pairs.into_iter().collect())
    }

    fn conditions() -> impl Strategy<Value = Condition> {
        prop_oneof![Just(Condition::Exists), (0..2_u64).prop_map(|stamp| Condition::Match(ETag::from_stamp(stamp)))]
    }

    fn actions() -> impl Strategy<Value = Action> {
        prop_oneof![
            properties().prop_map(Action::Insert),
            (properties(), conditions()).prop_map(|(p, c)| Action::Replace(p, c)),
            (properties(), conditions()).prop_map(|(p, c)| Action::Merge(p, c)),
            properties().prop_map(Action::InsertOrReplace),
            conditions().prop_map(Action::Delete),
        ]
    }

    fn states() -> impl Strategy<Value = State> {
        prop::option::of((0..2_u64, properties()).prop_map(|(stamp, p)| (ETag::from_stamp(stamp), p)))
    }

    /// The row after the action; nothing where it is refused.
    fn applied(state: &State, action: &Action) -> Option<State> {
        match apply::decide(action, state.as_ref().map(|(etag, _)| etag)).ok()? {
            apply::Effect::Put(p) => Some(Some((ETag::from_stamp(9), p.clone()))),
            apply::Effect::MergeOver(p) => {
                Some(Some((ETag::from_stamp(9), merged(state.clone().map(|(_, old)| old).unwrap_or_default(), p))))
            }
            apply::Effect::Remove => Some(None),
        }
    }

    /// The second of two writes: that the row is as the first left it is the planner's to know.
    fn after_first(action: Action) -> Action {
        match action {
            Action::Replace(p, _) => Action::Replace(p, Condition::Exists),
            Action::Merge(p, _) => Action::Merge(p, Condition::Exists),
            Action::Delete(_) => Action::Delete(Condition::Exists),
            other => other,
        }
    }

    fn contents(state: Option<State>) -> Option<Option<Properties>> {
        state.map(|state| state.map(|(_, properties)| properties))
    }

    proptest! {
        #[test]
        fn folded_writes_do_what_the_two_do_one_after_the_other(
            state in states(), first in actions(), second in actions(),
        ) {
            let both = applied(&state, &first).and_then(|left| applied(&left, &after_first(second.clone())));
            match fold(first.clone(), second) {
                Folded::One(action) => prop_assert_eq!(contents(applied(&state, &action)), contents(both)),
                // A row that was not there before: nothing remains of it. One that was is left as it is.
                Folded::Nothing => prop_assert!(state.is_some() || both == Some(None)),
                Folded::Impossible => prop_assert_eq!(both, None),
            }
        }
    }
}
