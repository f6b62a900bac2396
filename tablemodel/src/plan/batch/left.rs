//! What the changes of a batch leave, in their order: the last of them that left a row is found by its key.
//!
//! What a change leaves is planned elsewhere.

use std::{collections::HashMap, ops::Deref};

use tablemodel_store::{Properties, Row, limits};

/// Changes among which those of a row are found by comparing: few batches are of more.
const FEW: usize = limits::MAX_BATCH_OPERATIONS;

/// What a change leaves: its primary row's properties, and where they stand in the batch.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) row: String,
    pub(crate) properties: Option<Properties>,
    /// Its parts; those that the batch writes have no ETag yet.
    pub(crate) parts: Vec<Row>,
    /// Whether the entity was not there before: what a caller read cannot be it.
    pub(super) born: bool,
}

impl Left {
    /// What it leaves in a row, its head or a part of it; none where the row is neither.
    fn in_row(&self, row: &str) -> Option<Option<&Properties>> {
        match self.row == row {
            true => Some(self.properties.as_ref()),
            false => self.parts.iter().find(|part| part.key.row == row).map(|part| Some(&part.properties)),
        }
    }
}

/// What all changes leave, one for each.
#[derive(Debug, Default)]
pub(crate) struct Lefts {
    lefts: Vec<Left>,
    /// The place of the last one of each head and part, while there are more than a few.
    last: HashMap<String, usize>,
}

impl Deref for Lefts {
    type Target = [Left];

    fn deref(&self) -> &[Left] {
        &self.lefts
    }
}

impl IntoIterator for Lefts {
    type Item = Left;
    type IntoIter = std::vec::IntoIter<Left>;

    fn into_iter(self) -> Self::IntoIter {
        self.lefts.into_iter()
    }
}

impl Lefts {
    /// Nothing yet, with room for so many changes.
    pub(super) fn with_capacity(changes: usize) -> Self {
        Self { lefts: Vec::with_capacity(changes), ..Self::default() }
    }

    pub(super) fn push(&mut self, left: Left) {
        let at = self.lefts.len();
        self.lefts.push(left);
        if at == FEW {
            (0..at).for_each(|earlier| self.note(earlier));
        }
        self.note(at);
    }

    /// Lets the change at this place, the last of its entity, leave something else.
    pub(super) fn renew(&mut self, at: usize, properties: Option<Properties>, parts: Vec<Row>) {
        if let Some(left) = self.lefts.get_mut(at) {
            (left.properties, left.parts) = (properties, parts);
            self.note(at);
        }
    }

    /// The place of the last change of this entity.
    pub(super) fn last_of(&self, row: &str) -> Option<usize> {
        self.last(row, |left| left.row == row)
    }

    /// What the last change that wrote this row, a head or a part, left in it.
    pub(super) fn in_row(&self, row: &str) -> Option<&Properties> {
        let last = self.last(row, |left| left.in_row(row).is_some())?;
        self.lefts.get(last)?.in_row(row)?
    }

    /// The place of the last one with this row that is so.
    fn last(&self, row: &str, is_it: impl Fn(&Left) -> bool) -> Option<usize> {
        if self.lefts.len() > FEW {
            let last = *self.last.get(row)?;
            if self.lefts.get(last).is_some_and(&is_it) {
                return Some(last);
            }
        }
        self.lefts.iter().rposition(is_it) // of a few, or one that has lost this part
    }

    fn note(&mut self, at: usize) {
        if self.lefts.len() <= FEW {
            return;
        }
        let Some(left) = self.lefts.get(at) else { return };
        let rows = left.parts.iter().map(|part| &part.key.row).chain([&left.row]);
        self.last.extend(rows.map(|row| (row.clone(), at)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tablemodel_store::RowKey;

    use super::*;
    use crate::plan::change::planned_row;

    fn properties(of: usize) -> Properties {
        Properties::from_iter([("Of", of as i64)])
    }

    /// Parts of one entity, by their numbers.
    fn parts(entity: usize, numbers: usize, of: usize) -> Vec<Row> {
        let part = |number| planned_row(RowKey::new("p", format!("row{entity} part{number}")), properties(of));
        (0..numbers).map(part).collect()
    }

    proptest! {
        #[test]
        fn the_last_that_left_a_row_is_found_however_many_there_are(
            steps in prop::collection::vec((0..40_usize, 0..3_usize, prop::bool::weighted(0.2)), 0..3 * FEW),
        ) {
            let mut lefts = Lefts::default();
            for (of, (entity, numbers, renews)) in steps.into_iter().enumerate() {
                let row = format!("row{entity}");
                let after = (of % 5 > 0).then(|| properties(of));
                match lefts.last_of(&row).filter(|_| renews) {
                    Some(at) => lefts.renew(at, after, parts(entity, numbers, of)),
                    None => lefts.push(Left { row, properties: after, parts: parts(entity, numbers, of), born: false }),
                }
            }
            for entity in 0..41 {
                let row = format!("row{entity}");
                prop_assert_eq!(lefts.last_of(&row), lefts.iter().rposition(|left| left.row == row));
                for row in [row.clone(), format!("{row} part0"), format!("{row} part1")] {
                    let expected = lefts.iter().rev().find_map(|left| left.in_row(&row)).flatten();
                    prop_assert_eq!(lefts.in_row(&row), expected);
                }
            }
        }
    }
}
