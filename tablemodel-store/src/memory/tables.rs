//! The tables of a memory store: plain data, changed by one writer at a time.
//!
//! No locks and no clock: the store around it holds those.

use std::{
    borrow::Borrow,
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::range;
use crate::{
    Batch, DateTime, ETag, Operation, Page, Properties, Query, Receipts, Row, StoreError, Written,
    apply::{self, Effect},
    clock::StoreTime,
    continuation,
    key::RowKey,
    validate,
};

/// All tables, by name in lower case, and the last stamp given out.
#[derive(Debug, Default, Clone)]
pub(super) struct Tables {
    tables: BTreeMap<String, Table>,
    last_stamp: u64,
    time: StoreTime,
}

#[derive(Debug, Clone)]
struct Table {
    /// As it was given.
    name: String,
    rows: BTreeSet<ByKey>,
}

/// A row that stands in a set by its key.
#[derive(Debug, Clone)]
struct ByKey(Row);

impl Borrow<RowKey> for ByKey {
    fn borrow(&self) -> &RowKey {
        &self.0.key
    }
}

impl Ord for ByKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

impl PartialOrd for ByKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for ByKey {}

/// What one operation will do: the row with these properties, or no row.
struct Change {
    key: RowKey,
    properties: Option<Properties>,
}

impl Tables {
    pub(super) fn create(&mut self, name: &str) -> Result<(), StoreError> {
        let lower = name.to_ascii_lowercase();
        if let Some(table) = self.tables.get(&lower) {
            return Err(StoreError::table_exists(&table.name));
        }
        self.tables.insert(lower, Table { name: name.to_owned(), rows: BTreeSet::new() });
        Ok(())
    }

    pub(super) fn delete(&mut self, name: &str) -> Result<(), StoreError> {
        match self.tables.remove(&name.to_ascii_lowercase()) {
            Some(_) => Ok(()),
            None => Err(StoreError::table_not_found(name)),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.tables.values().map(|table| table.name.clone()).collect()
    }

    pub(super) fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        Ok(self.table(table)?.rows.get(key).map(|row| row.0.clone()))
    }

    pub(super) fn query(&self, query: &Query) -> Result<Page, StoreError> {
        let after = continuation::resume(query)?;
        let table = self.table(&query.table)?;
        let mut page = Page { rows: Vec::new(), continuation: None };
        let Some(bounds) = range::bounds(&query.range, after) else { return Ok(page) };
        for ByKey(row) in table.rows.range::<RowKey, _>(bounds) {
            if let Some(last) = page.rows.last().filter(|_| page.rows.len() == query.limit) {
                page.continuation = Some(continuation::encode(query, &last.key));
                break;
            }
            if query.filter.as_ref().is_none_or(|filter| filter.matches(row)) {
                page.rows.push(projected(row, query));
            }
        }
        Ok(page)
    }

    /// These tables, of which another clock is to tell the time.
    pub(super) fn forked(&self) -> Self {
        Self { time: StoreTime::default(), ..self.clone() }
    }

    /// Decides every operation, then does them all; an error leaves everything as it was. It is `now`, by the clock, and by the one that
    /// never steps back.
    pub(super) fn commit(&mut self, batches: &[Batch], now: (DateTime, Duration)) -> Result<Vec<Receipts>, StoreError> {
        let mut decided = Vec::with_capacity(batches.len());
        for (index, batch) in batches.iter().enumerate() {
            decided.push(self.decide(index, batch)?);
        }
        let (now, monotonic) = now;
        let stamp = self.time.stamp(now, || monotonic, self.last_stamp);
        Ok(batches.iter().zip(decided).map(|(batch, changes)| self.carry_out(&batch.table, changes, stamp)).collect())
    }

    fn decide(&self, index: usize, batch: &Batch) -> Result<Vec<Change>, StoreError> {
        let table = self.table(&batch.table).map_err(|error| error.at(index, 0))?;
        let changes = batch
            .operations
            .iter()
            .enumerate()
            .map(|(at, operation)| table.change(&batch.partition, operation).map_err(|error| error.at(index, at)));
        changes.collect()
    }

    fn carry_out(&mut self, table: &str, changes: Vec<Change>, stamp: u64) -> Receipts {
        let Self { tables, last_stamp, .. } = self;
        let Some(table) = tables.get_mut(&table.to_ascii_lowercase()) else { return Vec::new() };
        let written = changes.into_iter().map(|change| {
            *last_stamp = stamp.max(*last_stamp + 1);
            table.write(change, *last_stamp)
        });
        written.collect()
    }

    fn table(&self, name: &str) -> Result<&Table, StoreError> {
        self.tables.get(&name.to_ascii_lowercase()).ok_or_else(|| StoreError::table_not_found(name))
    }
}

impl Table {
    fn change(&self, partition: &str, operation: &Operation) -> Result<Change, StoreError> {
        let Operation { row, action } = operation;
        let key = RowKey::new(partition, row);
        let existing = self.rows.get(&key).map(|row| &row.0);
        let effect = apply::decide(action, existing.map(|row| &row.etag))
            .map_err(|kind| apply::refusal(kind, action, &self.name, partition, row))?;
        let properties = match effect {
            Effect::Put(properties) => Some(properties.clone()),
            Effect::MergeOver(properties) => Some(merged(&key, existing, properties)?),
            Effect::Remove => None,
        };
        Ok(Change { key, properties })
    }

    fn write(&mut self, change: Change, stamp: u64) -> Written {
        let timestamp = DateTime::from_ticks(stamp.cast_signed());
        let Change { key, properties } = change;
        let Some(properties) = properties else {
            self.rows.remove(&key);
            return Written { etag: None, timestamp };
        };
        let etag = ETag::from_stamp(stamp);
        self.rows.replace(ByKey(Row { key, etag: etag.clone(), timestamp, properties }));
        Written { etag: Some(etag), timestamp }
    }
}

fn merged(key: &RowKey, existing: Option<&Row>, properties: &Properties) -> Result<Properties, StoreError> {
    let mut merged = existing.map(|row| row.properties.clone()).unwrap_or_default();
    merged.merge(properties);
    validate::row(&key.partition, &key.row, &merged)?;
    Ok(merged)
}

fn projected(row: &Row, query: &Query) -> Row {
    let mut row = row.clone();
    if let Some(select) = &query.select {
        row.properties.retain(|name| select.iter().any(|selected| selected.as_str() == name));
    }
    row
}
