//! Joining: the batches of two plans as one commit.
//!
//! An entity that moves leaves one partition and arrives in another; rows of third partitions may be touched by both.

use tablemodel_store::{Action, Batch, Operation};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::fold::{Folded, fold},
};

/// The batches of the first plan, then those of the second that are of other partitions; a row that both write is
/// written once. How many rows a batch may have was decided where each was planned; together they may be more than a store takes in one.
pub(crate) fn join(first: Vec<Batch>, second: Vec<Batch>) -> Result<Vec<Batch>> {
    let mut joined: Vec<Batch> = Vec::with_capacity(first.len() + second.len());
    for batch in first.into_iter().chain(second) {
        let same = joined
            .iter_mut()
            .find(|other| other.table.eq_ignore_ascii_case(&batch.table) && other.partition == batch.partition);
        match same {
            None => joined.push(batch),
            Some(into) => batch.operations.into_iter().try_for_each(|operation| add(into, operation))?,
        }
    }
    Ok(joined)
}

fn add(into: &mut Batch, operation: Operation) -> Result<()> {
    let Some(first) = into.operations.iter_mut().find(|first| first.row == operation.row) else {
        into.operations.push(operation);
        return Ok(());
    };
    let both = match (&first.action, operation.action) {
        // The second plan may know of the row what the first does.
        (Action::Delete(condition), Action::Replace(properties, _)) => {
            Folded::One(Action::Replace(properties, condition.clone()))
        }
        (before, after) => fold(before.clone(), after),
    };
    match both {
        Folded::One(action) => first.action = action,
        Folded::Nothing => into.operations.retain(|other| other.row != operation.row),
        Folded::Impossible => {
            let detail =
                format!("the entity at its new key wants a row that it has at its old one (row `{}`)", operation.row);
            return Err(Error::new(ErrorKind::Conflict { current: None }, detail));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tablemodel_store::{Condition, ETag, Properties};

    use super::*;

    fn batch(partition: &str, rows: &[(&str, Action)]) -> Batch {
        let batch = Batch::new("T", partition);
        rows.iter().fold(batch, |batch, (row, action)| batch.with(*row, action.clone()))
    }

    fn holding(name: &str) -> Properties {
        [(name, 1_i32)].into_iter().collect()
    }

    #[test]
    fn a_row_that_one_plan_releases_and_the_other_takes_is_replaced_as_it_was_read() {
        let read = Condition::Match(ETag::from_stamp(7));
        for taken in [Action::Insert(holding("A")), Action::Replace(holding("A"), Condition::Exists)] {
            let joined = join(
                vec![
                    batch("p", &[("x", Action::Delete(Condition::Exists))]),
                    batch("c", &[("v", Action::Delete(read.clone()))]),
                ],
                vec![batch("q", &[("x", Action::Insert(holding("B")))]), batch("c", &[("v", taken)])],
            );
            let wanted = [
                batch("p", &[("x", Action::Delete(Condition::Exists))]),
                batch("c", &[("v", Action::Replace(holding("A"), read.clone()))]),
                batch("q", &[("x", Action::Insert(holding("B")))]),
            ];
            assert_eq!(joined.unwrap(), wanted);
        }
    }

    #[test]
    fn a_row_is_found_in_whatever_batch_of_its_partition_it_is() {
        let first = vec![
            batch("c", &[("u", Action::Delete(Condition::Exists))]),
            batch("c", &[("v", Action::Delete(Condition::Exists))]),
        ];
        let joined = join(first, vec![batch("c", &[("v", Action::Insert(holding("A")))])]).unwrap();
        let replaced = Action::Replace(holding("A"), Condition::Exists);
        assert_eq!(joined, [batch("c", &[("u", Action::Delete(Condition::Exists)), ("v", replaced)])]);
    }

    #[test]
    fn a_row_that_both_insert_is_refused() {
        let insert = || vec![batch("c", &[("v", Action::Insert(holding("A")))])];
        assert!(join(insert(), insert()).is_err());
    }
}
