//! A plan as batches of the store: that of its own partition, and those of others.
//!
//! Nothing is planned here; limits are checked.

use std::collections::{HashMap, HashSet};

use tablemodel_store::{Action, Batch, Operation, limits, size, validate};

use super::{BatchAway, BatchPlan, Missing};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        change::Role,
        entries::Away,
        fold::{Folded, fold},
        table::TableName,
    },
    rooms::unique::{KnownClaims, nets},
};

impl BatchPlan {
    /// The batches to commit: that of the entities, then those of other partitions. Each is checked against the limits of
    /// a batch: 100 rows and 4 MiB, derived rows counted. `missing` are rows elsewhere that were looked for in vain,
    /// `claims` those of claims that were read. The rows of the last changes, the `guests`, may be any number.
    pub(crate) fn batches(
        &self,
        table: &str,
        partition: &str,
        prefix: &str,
        (missing, claims): (&Missing, &KnownClaims),
        guests: usize,
    ) -> Result<Vec<Batch>> {
        let own = self.added.saturating_sub(guests);
        if guests == 0 && self.rows.len() > limits::MAX_BATCH_OPERATIONS {
            return Err(self.too_many());
        }
        if !(self.outgoing.is_empty() && self.staged.is_empty()) {
            self.check_rows(partition)?;
        }
        let batches = self.all_batches(table, partition, prefix, missing, claims)?;
        let without_guests = (guests > 0).then(|| self.batch_of(table, partition, own));
        let first = without_guests.as_ref().or(batches.first());
        first.into_iter().chain(batches.iter().skip(1)).try_for_each(|batch| check_size(batch, self.remedy(own)))?;
        Ok(batches)
    }

    /// The one batch of a plan with [nothing beside it](Self::is_of_its_partition), which has no rows afterwards: for a plan that is asked nothing more.
    pub(crate) fn give_away(&mut self, table: &str, partition: &str) -> Result<Batch> {
        if self.rows.len() > limits::MAX_BATCH_OPERATIONS {
            return Err(self.too_many());
        }
        self.is_given = true;
        let operations = self.rows.take().into_iter();
        let operations = operations.map(|row| Operation { row: row.planned.row, action: row.planned.action }).collect();
        let batch = Batch { operations, ..Batch::new(table, partition) };
        check_size(&batch, self.remedy(self.added))?;
        Ok(batch)
    }

    /// What the first so many changes write, and no later one alone.
    fn batch_of(&self, table: &str, partition: &str, own: usize) -> Batch {
        let rows = self.rows.iter().filter(|row| row.change < own);
        let operations = rows.map(|row| Operation { row: row.planned.row.clone(), action: row.planned.action.clone() });
        Batch { operations: operations.collect(), ..Batch::new(table, partition) }
    }

    /// That a store takes each row: asked where something is written before them.
    pub(super) fn check_rows(&self, partition: &str) -> Result<()> {
        let rows = self.rows.iter().filter_map(|row| Some((row, row.planned.action.properties()?)));
        rows.into_iter().try_for_each(|(row, properties)| {
            validate::row(partition, &row.planned.row, properties).map_err(|error| row.refused(partition, error))
        })
    }

    /// The batches to commit, whatever their size; the first is that of the entities.
    pub(crate) fn all_batches(
        &self,
        table: &str,
        partition: &str,
        prefix: &str,
        missing: &Missing,
        claims: &KnownClaims,
    ) -> Result<Vec<Batch>> {
        let operations =
            self.rows.iter().map(|row| Operation { row: row.planned.row.clone(), action: row.planned.action.clone() });
        let mut batches = vec![Batch { operations: operations.collect(), ..Batch::new(table, partition) }];
        let claims = nets(&self.away)?.into_iter().filter_map(|net| {
            let (away, row) = net.place();
            let action = net.action(net.known(claims, missing, self))?;
            Some((away, row, action))
        });
        // Two changes may guard one entity.
        let mut guarded = HashSet::new();
        let guards = self.guards.iter().filter(|guard| guarded.insert(&guard.0));
        let guards = guards.map(|(place, action)| (place.away.clone(), place.row.clone(), action.clone()));
        let mut places = HashMap::new();
        for (place, row, action) in claims.chain(self.folded_away(missing)?).chain(guards) {
            let at = *places.entry(place).or_insert_with_key(|place| {
                let table = TableName { prefix: prefix.to_owned(), table: place.table, slice: None }.to_string();
                batches.push(Batch::new(table, place.partition.clone()));
                batches.len() - 1
            });
            if let Some(batch) = batches.get_mut(at) {
                batch.operations.push(Operation { row, action });
            }
        }
        Ok(batches)
    }

    /// The same, of this table and partition.
    pub(crate) fn at(mut self, table: &str, partition: &str) -> Self {
        self.place = (table.to_owned(), partition.to_owned());
        self
    }

    /// The table, with the prefix, and the partition that it was told.
    pub(crate) fn place(&self) -> (&str, &str) {
        (&self.place.0, &self.place.1)
    }

    /// The partition of a plan that follows another; else this one.
    pub(crate) fn partition_or<'a>(&'a self, other: &'a str) -> &'a str {
        if self.place.0.is_empty() { other } else { &self.place.1 }
    }

    /// The writes in other partitions, one for each row.
    pub(super) fn folded_away(&self, missing: &Missing) -> Result<Vec<(Away, String, Action)>> {
        let mut writes: Vec<(Away, String, Option<Action>)> = Vec::with_capacity(self.away.len());
        let mut places = HashMap::with_capacity(self.away.len());
        let plain = |away: &&BatchAway| away.claimed().is_none() && away.aggregate().is_none();
        for BatchAway { row, change, schema } in self.away.iter().filter(plain) {
            // By a change before it.
            let is_put = || {
                let before = places.get(&(&row.away, &row.row)).and_then(|at: &usize| writes.get(*at));
                before.is_some_and(|(_, _, first)| first.is_some())
            };
            let was_missing = !missing.is_empty()
                && missing.contains(&(row.away.clone(), row.row.clone(), self.state_of(&row.owner)));
            let Some(action) = row.action(was_missing && !is_put()) else { continue };
            let at = *places.entry((&row.away, &row.row)).or_insert(writes.len());
            let Some((_, _, first)) = writes.get_mut(at) else {
                writes.push((row.away.clone(), row.row.clone(), Some(action)));
                continue;
            };
            *first = match first.take().map(|first| fold(first, action.clone())) {
                None => Some(action),
                Some(Folded::One(action)) => Some(action),
                // While an index is built the row may have been there before.
                Some(Folded::Nothing) => Some(action).filter(|_| !row.was && !was_missing),
                Some(Folded::Impossible) => {
                    let detail =
                        format!("two entities of the batch want one row of another partition (row `{}`)", row.row);
                    let error = Error::new(ErrorKind::Conflict { current: None }, detail);
                    return Err(error.of(schema.entity_type).in_operation(*change));
                }
            };
        }
        Ok(writes.into_iter().filter_map(|(away, row, action)| Some((away, row, action?))).collect())
    }

    /// What helps where the first so many changes are too much for one batch.
    fn remedy(&self, own: usize) -> Remedy {
        let mut rows = self.left.iter().take(own).map(|left| &left.row);
        let first = rows.next();
        if rows.all(|row| Some(row) == first) { Remedy::Less } else { Remedy::Apart }
    }

    pub(super) fn too_many(&self) -> Error {
        let derived = self.rows.iter().filter(|row| row.planned.role != Role::Primary).count();
        let detail = format!(
            "the batch writes {} rows ({derived} of them derived), over the {} that one may have; {}",
            self.rows.len(),
            limits::MAX_BATCH_OPERATIONS,
            self.remedy(self.added).of_rows()
        );
        Error::new(ErrorKind::TooMany, detail)
    }
}

/// What helps where a plan is too much for one batch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Remedy {
    /// It is of several entities.
    Apart,
    /// It is of one alone.
    Less,
}

impl Remedy {
    const APART: &str = "use `db.bulk()` to write more";

    const fn of_rows(self) -> &'static str {
        match self {
            Self::Apart => Self::APART,
            Self::Less => {
                "the entity alone takes so many: have fewer rows follow it in one partition (`each` of fewer elements, fewer indexes there)"
            }
        }
    }

    const fn of_bytes(self) -> &'static str {
        match self {
            Self::Apart => Self::APART,
            Self::Less => {
                "the entity alone takes so many: have its indexes hold less of it (`keep(..)`, `keys_only`), or keep large values as blobs"
            }
        }
    }
}

/// The batch, in as many pieces as its limits ask for; each has room for its own operations, not for those of all.
pub(crate) fn split(batch: Batch, to: &mut Vec<Batch>) {
    if batch.operations.len() <= limits::MAX_BATCH_OPERATIONS {
        return halve(batch, to);
    }
    let Batch { table, partition, operations } = batch;
    let mut rest = operations.into_iter();
    while rest.len() > 0 {
        let operations = rest.by_ref().take(limits::MAX_BATCH_OPERATIONS).collect();
        halve(Batch { operations, ..Batch::new(table.clone(), partition.clone()) }, to);
    }
}

/// A batch of not too many rows, in halves as often as its bytes ask for that.
fn halve(mut batch: Batch, to: &mut Vec<Batch>) {
    let count = batch.operations.len();
    if count < 2 || size::batch_bytes_over(&batch, limits::MAX_BATCH_BYTES).is_none() {
        to.push(batch);
        return;
    }
    let operations = batch.operations.split_off(count / 2);
    let second = Batch { operations, ..Batch::new(batch.table.clone(), batch.partition.clone()) };
    halve(batch, to);
    halve(second, to);
}

/// That the batch has not too many rows or bytes.
pub(crate) fn check_size(batch: &Batch, remedy: Remedy) -> Result<()> {
    if batch.operations.len() > limits::MAX_BATCH_OPERATIONS {
        let detail = format!(
            "the batch writes {} rows in partition `{}`, over the {} that one may have; {}",
            batch.operations.len(),
            batch.partition,
            limits::MAX_BATCH_OPERATIONS,
            remedy.of_rows()
        );
        return Err(Error::new(ErrorKind::TooMany, detail));
    }
    let Some(bytes) = size::batch_bytes_over(batch, limits::MAX_BATCH_BYTES) else { return Ok(()) };
    let detail = format!(
        "the batch is {bytes} bytes as Azure measures it, over the {} that one may have; {}",
        limits::MAX_BATCH_BYTES,
        remedy.of_bytes()
    );
    Err(Error::new(ErrorKind::TooLarge, detail))
}

#[cfg(test)]
mod tests {
    use tablemodel_store::Properties;

    use super::*;

    fn batch(rows: usize, properties: &Properties) -> Batch {
        (0..rows).fold(Batch::new("Table", "p"), |batch, row| {
            batch.with(format!("{row:06}"), Action::Insert(properties.clone()))
        })
    }

    /// That the pieces are within the limits, hold no room for others, and are all of the batch in its order.
    fn assert_pieces(whole: &Batch, pieces: &[Batch]) {
        for piece in pieces {
            assert!((1..=limits::MAX_BATCH_OPERATIONS).contains(&piece.operations.len()));
            assert!(piece.operations.capacity() <= 2 * limits::MAX_BATCH_OPERATIONS, "{}", piece.operations.capacity());
            assert!(size::batch_bytes(piece) <= limits::MAX_BATCH_BYTES);
            assert_eq!((&piece.table, &piece.partition), (&whole.table, &whole.partition));
        }
        assert!(pieces.iter().flat_map(|piece| &piece.operations).eq(&whole.operations));
    }

    #[test]
    fn a_batch_of_any_number_of_rows_is_cut_on_a_small_stack_into_pieces_of_their_own_size() {
        let whole = batch(100_000, &Properties::new());
        let small = std::thread::Builder::new().stack_size(64 * 1024);
        let cut = whole.clone();
        let pieces = small.spawn(move || {
            let mut pieces = Vec::new();
            split(cut, &mut pieces);
            pieces
        });
        let pieces = pieces.unwrap().join().unwrap();
        assert_eq!(pieces.len(), 1_000);
        assert_pieces(&whole, &pieces);
    }

    #[test]
    fn a_batch_of_too_many_bytes_is_cut_in_halves_until_each_fits() {
        let large = Properties::from_iter((0..8).map(|n| (format!("P{n}"), "x".repeat(32_000))));
        let whole = batch(105, &large);
        let mut pieces = Vec::new();
        split(whole.clone(), &mut pieces);
        assert_pieces(&whole, &pieces);
        let few = batch(3, &Properties::new());
        let mut pieces = Vec::new();
        split(few.clone(), &mut pieces);
        assert_eq!(pieces, [few]);
    }
}
