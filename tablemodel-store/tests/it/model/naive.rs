//! The model: tables as lists of rows, and the rules of the service written plainly.
//!
//! Nothing here is fast, and nothing is taken from the crate under test but its words.

use std::{collections::BTreeMap, ops::Bound};

use tablemodel_store::{KeyRange, StoreErrorKind::*, Value};

use super::{
    Failure,
    steps::{Do, If, Pairs, Question, Write},
};

/// A row; its state is the number of the write that left it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NaiveRow {
    pub(crate) partition: String,
    pub(crate) row: String,
    pub(crate) state: usize,
    pub(crate) own: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    tables: BTreeMap<u8, Vec<NaiveRow>>,
    /// How many operations were committed.
    writes: usize,
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn set(own: &mut BTreeMap<String, String>, pairs: &Pairs) {
    for (name, number) in pairs {
        own.insert((*name).to_owned(), format!("{:?}", Value::Int32(*number).as_ref()));
    }
}

impl Model {
    pub(crate) fn create(&mut self, table: u8) -> Result<(), Failure> {
        if self.tables.contains_key(&table) {
            return Err((TableExists, None));
        }
        self.tables.insert(table, Vec::new());
        Ok(())
    }

    pub(crate) fn drop(&mut self, table: u8) -> Result<(), Failure> {
        self.tables.remove(&table).map(drop).ok_or((TableNotFound, None))
    }

    pub(crate) fn get(&self, table: u8, partition: &str, row: &str) -> Result<Option<NaiveRow>, Failure> {
        let rows = self.tables.get(&table).ok_or((TableNotFound, None))?;
        Ok(rows.iter().find(|found| found.partition == partition && found.row == row).cloned())
    }

    /// All rows, in order.
    pub(crate) fn query(&self, asked: &Question) -> Result<Vec<NaiveRow>, Failure> {
        let mut rows = self.tables.get(&asked.table).ok_or((TableNotFound, None))?.clone();
        rows.retain(|row| lies_in(row, &asked.range));
        rows.retain(|row| asked.at_least.is_none_or(|least| is_at_least(row, least)));
        rows.sort_by_key(|row| (units(&row.partition), units(&row.row)));
        for row in &mut rows {
            row.own.retain(|name, _| asked.select.is_none_or(|select| select == name));
        }
        Ok(rows)
    }

    /// The number of operations of each batch, or what fails first.
    pub(crate) fn commit(&mut self, batches: &[Write]) -> Result<Vec<usize>, Failure> {
        first_repeat(batches)?;
        let mut next = self.clone();
        for (batch, (table, partition, operations)) in batches.iter().enumerate() {
            if !next.tables.contains_key(table) {
                return Err((TableNotFound, Some((batch, 0))));
            }
            for (at, (row, action)) in operations.iter().enumerate() {
                next.write(self.writes, *table, (partition, row), action).map_err(|kind| (kind, Some((batch, at))))?;
            }
        }
        *self = next;
        Ok(batches.iter().map(|(_, _, operations)| operations.len()).collect())
    }

    fn write(
        &mut self,
        writes_before: usize,
        table: u8,
        (partition, row): (&str, &str),
        action: &Do,
    ) -> Result<(), tablemodel_store::StoreErrorKind> {
        let state = self.writes;
        self.writes += 1;
        let rows = self.tables.get_mut(&table).unwrap();
        let found = rows.iter().position(|found| found.partition == partition && found.row == row);
        let old = found.map(|at| rows.remove(at));
        if let Do::Replace(_, when) | Do::Merge(_, when) | Do::Delete(when) = action {
            let old = old.as_ref().ok_or(RowNotFound)?;
            if let If::Recent(recent) = when
                && If::state(*recent, writes_before) != Some(old.state)
            {
                return Err(ConditionNotMet);
            }
        }
        let (pairs, keeps) = match action {
            Do::Insert(_) if old.is_some() => return Err(RowExists),
            Do::Insert(pairs) | Do::Replace(pairs, _) | Do::InsertOrReplace(pairs) => (pairs, false),
            Do::Merge(pairs, _) | Do::InsertOrMerge(pairs) => (pairs, true),
            Do::Delete(_) => return Ok(()),
        };
        let mut own = old.filter(|_| keeps).map(|old| old.own).unwrap_or_default();
        set(&mut own, pairs);
        rows.push(NaiveRow { partition: partition.to_owned(), row: row.to_owned(), state, own });
        Ok(())
    }
}

fn first_repeat(batches: &[Write]) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for (batch, (table, partition, operations)) in batches.iter().enumerate() {
        for (at, (row, _)) in operations.iter().enumerate() {
            if seen.contains(&(table, partition, row)) {
                return Err((InvalidBatch, Some((batch, at))));
            }
            seen.push((table, partition, row));
        }
    }
    Ok(())
}

fn is_at_least(row: &NaiveRow, least: i32) -> bool {
    (least..10).any(|number| row.own.get("A") == Some(&format!("{:?}", Value::Int32(number).as_ref())))
}

fn lies_in(row: &NaiveRow, range: &KeyRange) -> bool {
    match range {
        KeyRange::Partition { partition, rows } => {
            let above = match &rows.lower {
                Bound::Included(key) => units(&row.row) >= units(key),
                Bound::Excluded(key) => units(&row.row) > units(key),
                Bound::Unbounded => true,
            };
            let below = match &rows.upper {
                Bound::Included(key) => units(&row.row) <= units(key),
                Bound::Excluded(key) => units(&row.row) < units(key),
                Bound::Unbounded => true,
            };
            row.partition == *partition && above && below
        }
        KeyRange::Table { after, before_partition } => {
            let key = (units(&row.partition), units(&row.row));
            after.as_ref().is_none_or(|after| key > (units(&after.partition), units(&after.row)))
                && before_partition.as_ref().is_none_or(|end| units(&row.partition) < units(end))
        }
    }
}
