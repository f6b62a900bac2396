//! The writes of a batch, one for each row: found by their keys, and folded where two changes meet in one.
//!
//! What a change writes is planned elsewhere.

use std::{collections::HashMap, hash::BuildHasher, ops::Deref};

use tablemodel_store::{Action, Condition, ETag, Properties, RowKey, StoreError, StoreErrorKind};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        change::{PlannedRow, Role},
        fold::{Folded, fold},
        known::Known,
        shape,
        short_hash::ShortHash,
        system,
    },
    schema::{EntitySchema, IndexSchema},
};

/// Rows among which one is looked for by comparing.
const FEW: usize = 8;

/// One write of a batch, and which change asked for it.
#[derive(Debug)]
pub(crate) struct BatchRow {
    pub(crate) planned: PlannedRow,
    pub(crate) change: usize,
    pub(crate) schema: &'static EntitySchema,
}

impl BatchRow {
    pub(super) fn unique_index(&self) -> Option<&'static IndexSchema> {
        match self.planned.role {
            Role::Primary | Role::Part | Role::List(_) | Role::Cell => None,
            Role::Outbox | Role::Holder | Role::Source => None,
            Role::Index(at) => self.schema.index_at(at).filter(|index| index.unique),
        }
    }

    /// That a store refuses the row: in words of the entity where it is too large, and the entity's own.
    pub(crate) fn refused(&self, partition: &str, error: StoreError) -> Error {
        let key = RowKey::new(partition, self.planned.row.clone());
        let is_own = matches!(self.planned.role, Role::Primary | Role::Part);
        let properties = self.planned.action.properties();
        let own = properties.filter(|_| is_own && error.kind() == StoreErrorKind::TooLarge);
        let told = match own.and_then(|own| shape::check_row(self.schema, &key, own).err()) {
            Some(told) => told.caused_by(error),
            None => Error::from(error),
        };
        told.of(self.schema.entity_type).at_key(key).in_operation(self.change)
    }

    fn is_unique(&self) -> bool {
        self.unique_index().is_some()
    }
}

/// The writes, in the order in which they were first asked for; no two of one row.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: Vec<BatchRow>,
    /// The first row of each hash, while there are more than a few.
    places: HashMap<u64, usize, ShortHash>,
}

impl Deref for Rows {
    type Target = [BatchRow];

    fn deref(&self) -> &[BatchRow] {
        &self.rows
    }
}

impl Rows {
    /// No writes yet, with room for so many.
    pub(super) fn with_capacity(rows: usize) -> Self {
        Self { rows: Vec::with_capacity(rows), ..Self::default() }
    }

    /// All of them; none are left.
    pub(super) fn take(&mut self) -> Vec<BatchRow> {
        self.places.clear();
        std::mem::take(&mut self.rows)
    }

    /// The place of the row among the writes.
    pub(super) fn position(&self, row: &str) -> Option<usize> {
        self.place_of(row, hash(row))
    }

    fn place_of(&self, row: &str, hash: u64) -> Option<usize> {
        let is_it = |write: &BatchRow| write.planned.row == row;
        if self.rows.len() > FEW {
            let first = *self.places.get(&hash)?;
            if self.rows.get(first).is_some_and(is_it) {
                return Some(first);
            }
        }
        self.rows.iter().position(is_it) // of a few, or one of several with the same hash
    }

    fn add(&mut self, row: BatchRow, hash: u64) {
        let at = self.rows.len();
        if at > FEW {
            self.places.entry(hash).or_insert(at);
        }
        self.rows.push(row);
        if at == FEW {
            self.note_places();
        }
    }

    fn remove(&mut self, at: usize) {
        self.rows.remove(at);
        if self.rows.len() > FEW {
            self.note_places();
        }
    }

    fn note_places(&mut self) {
        self.places.clear();
        self.places.reserve(self.rows.capacity());
        for (at, row) in self.rows.iter().enumerate() {
            self.places.entry(hash(&row.planned.row)).or_insert(at);
        }
    }

    /// Adds one write of a change. `owner` is the entity that the change took rows from.
    pub(super) fn push(&mut self, row: BatchRow, owner: &str, known: &Known) -> Result<()> {
        let releases = row.is_unique() && matches!(row.planned.action, Action::Delete(_));
        let read = known.get(&row.planned.row).map(Option::as_ref);
        let holder = read.flatten().and_then(|row| system::owner_row(&row.properties));
        let hash = hash(&row.planned.row);
        let at = self.place_of(&row.planned.row, hash);
        let taken = at.and_then(|at| self.rows.get(at)?.planned.action.properties());
        let has_taken = taken.and_then(system::owner_row) == Some(owner); // by an earlier change of the batch
        if releases && !has_taken && holder.is_some_and(|holder| holder != owner) {
            return Ok(()); // another's value by now: not ours to release
        }
        let Some(at) = at else {
            self.add(row, hash);
            return Ok(());
        };
        let Some(first) = self.rows.get_mut(at) else { return Ok(()) };
        if let (Some(a), Some(b)) = (matched(&first.planned.action), matched(&row.planned.action))
            && a != b
        {
            return Err(twice(&row, "two states of the row were given; one of them is not current"));
        }
        if releases && let Some(taker) = first.planned.action.properties().filter(|taker| is_other(taker, owner)) {
            // Two entities exchange a value: the first took it before the second let it go.
            let condition = match read {
                Some(Some(row)) => Condition::Match(row.etag.clone()),
                None => Condition::Exists,
                Some(None) => return Ok(()),
            };
            if matches!(first.planned.action, Action::Insert(_)) {
                first.planned.action = Action::Replace(taker.clone(), condition);
            }
            return Ok(());
        }
        if row.planned.role == Role::Primary && matches!(first.planned.role, Role::Holder | Role::Source) {
            (first.planned.role, first.change, first.schema) = (Role::Primary, row.change, row.schema);
        }
        // A row made and unmade in one batch is no write at all.
        let before = std::mem::replace(&mut first.planned.action, Action::Delete(Condition::Exists));
        match fold(before, row.planned.action.clone()) {
            Folded::One(action) => first.planned.action = action,
            Folded::Nothing => self.remove(at),
            Folded::Impossible => return Err(impossible(&row)),
        }
        Ok(())
    }
}

fn hash(row: &str) -> u64 {
    ShortHash::default().hash_one(row)
}

/// The state of the row that the action rests on.
pub(crate) fn matched(action: &Action) -> Option<&ETag> {
    match action {
        Action::Replace(_, Condition::Match(etag))
        | Action::Merge(_, Condition::Match(etag))
        | Action::Delete(Condition::Match(etag)) => Some(etag),
        _ => None,
    }
}

fn is_other(properties: &Properties, owner: &str) -> bool {
    system::owner_row(properties).is_some_and(|taker| taker != owner)
}

fn impossible(row: &BatchRow) -> Error {
    match (&row.planned.action, row.unique_index()) {
        (Action::Insert(_), Some(index)) => {
            let detail = format!("unique index `{}`: two entities of the batch have this value", index.name);
            Error::new(ErrorKind::UniqueViolation { index: index.name, owner: None }, detail)
                .of(row.schema.entity_type)
                .in_operation(row.change)
        }
        (Action::Insert(_), None) => Error::new(
            ErrorKind::AlreadyExists,
            format!("the batch writes row `{}` before it inserts it", row.planned.row),
        )
        .of(row.schema.entity_type)
        .in_operation(row.change),
        _ => twice(row, "an earlier change of the batch deletes the row"),
    }
}

fn twice(row: &BatchRow, detail: &str) -> Error {
    Error::new(ErrorKind::Conflict { current: None }, format!("{detail} (row `{}`)", row.planned.row))
        .of(row.schema.entity_type)
        .in_operation(row.change)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::example::Employee;

    fn write(row: &str, action: Action) -> BatchRow {
        let schema = <Employee as crate::TableEntity>::SCHEMA;
        let planned = PlannedRow { row: row.to_owned(), action, role: Role::Primary };
        BatchRow { planned, change: 0, schema }
    }

    proptest! {
        #[test]
        fn each_row_is_found_where_it_stands_however_many_come_and_go(
            steps in prop::collection::vec(0..30_u8, 0..80),
        ) {
            let (mut rows, mut expected) = (Rows::default(), Vec::<String>::new());
            for step in steps {
                let row = format!("row{step}");
                match expected.iter().position(|known| *known == row) {
                    // Made and unmade, it is no write at all.
                    Some(at) => {
                        rows.push(write(&row, Action::Delete(Condition::Exists)), "", &Known::new()).unwrap();
                        expected.remove(at);
                    }
                    None => {
                        rows.push(write(&row, Action::Insert(Properties::new())), "", &Known::new()).unwrap();
                        expected.push(row);
                    }
                }
                for number in 0..30 {
                    let row = format!("row{number}");
                    prop_assert_eq!(rows.position(&row), expected.iter().position(|known| *known == row));
                }
            }
        }

        #[test]
        fn rows_that_share_a_hash_are_told_apart(count in 9..40_usize, shared in 0..40_usize) {
            let mut rows = Rows::default();
            for number in 0..count {
                let row = format!("row{number}");
                rows.add(write(&row, Action::Insert(Properties::new())), hash(&row));
            }
            // As if all had the hash of one of them.
            for number in 0..count {
                rows.places.insert(hash(&format!("row{number}")), shared % count);
            }
            for number in 0..count {
                prop_assert_eq!(rows.position(&format!("row{number}")), Some(number));
            }
        }
    }
}
