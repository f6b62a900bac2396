//! What the writer thread knows, and what each request does to it and to the file.
//!
//! Runs inside a commit of the engine; begins and ends none.

use std::{collections::VecDeque, sync::Arc};

use super::{
    catalogue::{Catalogue, TableEntry},
    codec::{EncodedRow, StoredRow},
    dictionary::Dictionary,
    engine::{Amount, Group, Space, TableId},
    prepare::{PreparedBatch, PreparedOperation},
    records::{self, Counters},
};
use crate::{
    Action, DateTime, ETag, Properties, Receipts, StoreError, Written,
    apply::{self, Effect},
    clock::Clock,
    validate,
};

/// What one commit frees of dropped tables: about a millisecond.
const RECLAIMED: Amount = Amount { entries: 1_000, bytes: 2 * 1024 * 1024 };

/// What a request asks of the writer thread.
pub(super) enum Work {
    Commit(Vec<PreparedBatch>),
    CreateTable(String),
    DeleteTable(String),
    /// Nothing but that all before it is on the disk.
    Flush,
}

/// The answer to a request. Requests other than commits have no receipts.
pub(super) type Reply = Result<Vec<Receipts>, StoreError>;

/// The state of the writer thread. Behind the file if a commit fails: then it must not be used again.
pub(super) struct State {
    pub(super) catalogue: Arc<Catalogue>,
    names: Arc<Dictionary>,
    recorded_names: u32,
    counters: Counters,
    recorded_counters: Counters,
    dropped: VecDeque<TableId>,
    clock: Arc<dyn Clock>,
}

/// What will happen to one row.
struct Change {
    space: Space,
    key: Vec<u8>,
    /// `None`: it is removed.
    row: Option<EncodedRow>,
}

/// A row that is there already.
struct Existing {
    etag: ETag,
    /// Only where they are needed.
    properties: Option<Properties>,
}

impl State {
    pub(super) fn new(
        catalogue: Arc<Catalogue>,
        names: Arc<Dictionary>,
        counters: Counters,
        dropped: Vec<TableId>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let recorded_names = names.len();
        let dropped = dropped.into();
        Self { catalogue, names, recorded_names, counters, recorded_counters: counters, dropped, clock }
    }

    /// Whether tables that were dropped still have rows.
    pub(super) fn is_reclaiming(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// Does what a request asks, or refuses it having written nothing. The outer error ends the whole group.
    pub(super) fn carry_out(&mut self, group: &mut impl Group, work: Work) -> Result<Reply, StoreError> {
        match work {
            Work::Commit(batches) => match self.plan(group, batches) {
                Ok(plan) => self.write(group, plan).map(Ok),
                Err(refusal) => Ok(Err(refusal)),
            },
            Work::CreateTable(name) => self.create(group, name),
            Work::DeleteTable(name) => self.delete(group, &name),
            Work::Flush => Ok(Ok(Vec::new())),
        }
    }

    /// Ends a group: frees some rows of dropped tables, and records what the group used.
    pub(super) fn settle(&mut self, group: &mut impl Group) -> Result<(), StoreError> {
        if let Some(id) = self.dropped.front().copied()
            && group.shrink(Space::Rows(id), RECLAIMED)?
        {
            records::forget_dropped(group, id)?;
            self.dropped.pop_front();
        }
        if self.counters != self.recorded_counters {
            records::put_counters(group, self.counters)?;
            self.recorded_counters = self.counters;
        }
        // Also the names of requests that were refused: another may have been encoded with them meanwhile.
        let names = self.names.len();
        if names > self.recorded_names {
            records::put_names(group, &self.names, self.recorded_names)?;
            self.recorded_names = names;
        }
        Ok(())
    }

    fn plan(&self, group: &mut impl Group, batches: Vec<PreparedBatch>) -> Result<Vec<Vec<Change>>, StoreError> {
        let plan = batches.into_iter().enumerate().map(|(index, batch)| {
            let PreparedBatch { table, partition, operations } = batch;
            let space = self.catalogue.rows(&table).map_err(|error| error.at(index, 0))?;
            let changes = operations.into_iter().enumerate().map(|(at, operation)| {
                let place = Place { space, table: &table, partition: &partition };
                place.change(group, operation, &self.names).map_err(|error| error.at(index, at))
            });
            changes.collect()
        });
        plan.collect()
    }

    fn write(&mut self, group: &mut impl Group, plan: Vec<Vec<Change>>) -> Result<Vec<Receipts>, StoreError> {
        let now = u64::try_from(self.clock.now().ticks()).unwrap_or(0);
        let receipts = plan.into_iter().map(|changes| {
            let written = changes.into_iter().map(|Change { space, key, row }| {
                let stamp = self.next_stamp(now);
                let timestamp = DateTime::from_ticks(stamp.cast_signed());
                let Some(mut row) = row else {
                    group.remove(space, &key)?;
                    return Ok(Written { etag: None, timestamp });
                };
                group.put(space, &key, row.stamped(space, stamp))?;
                Ok(Written { etag: Some(ETag::from_stamp(stamp)), timestamp })
            });
            written.collect()
        });
        receipts.collect()
    }

    /// Above all stamps before it, also those of earlier openings and of a clock that stepped back.
    fn next_stamp(&mut self, now: u64) -> u64 {
        self.counters.last_stamp = now.max(self.counters.last_stamp + 1);
        self.counters.last_stamp
    }

    fn create(&mut self, group: &mut impl Group, name: String) -> Result<Reply, StoreError> {
        if let Some(table) = self.catalogue.find(&name) {
            return Ok(Err(StoreError::table_exists(&table.name)));
        }
        let id = TableId(self.counters.next_table);
        self.counters.next_table += 1;
        let folded = name.to_ascii_lowercase();
        let entry = TableEntry { id, name, created: self.clock.now() };
        group.create(Space::Rows(id))?;
        records::put_table(group, &folded, &entry)?;
        Arc::make_mut(&mut self.catalogue).insert(&folded, entry);
        Ok(Ok(Vec::new()))
    }

    fn delete(&mut self, group: &mut impl Group, name: &str) -> Result<Reply, StoreError> {
        let folded = name.to_ascii_lowercase();
        let Some(table) = Arc::make_mut(&mut self.catalogue).remove(&folded) else {
            return Ok(Err(StoreError::table_not_found(name)));
        };
        records::drop_table(group, &folded, table.id, self.clock.now())?;
        self.dropped.push_back(table.id);
        Ok(Ok(Vec::new()))
    }
}

/// Where the rows of a batch lie.
struct Place<'a> {
    space: Space,
    table: &'a str,
    partition: &'a str,
}

impl Place<'_> {
    /// What an operation will do, or why it is refused.
    fn change(
        &self,
        group: &mut impl Group,
        operation: PreparedOperation,
        names: &Arc<Dictionary>,
    ) -> Result<Change, StoreError> {
        let PreparedOperation { row, key, action, encoded } = operation;
        let existing = self.existing(group, &key, &action, names)?;
        let etag = existing.as_ref().map(|existing| &existing.etag);
        let effect = apply::decide(&action, etag)
            .map_err(|kind| apply::refusal(kind, &action, self.table, self.partition, &row))?;
        let row = match effect {
            Effect::Remove => None,
            Effect::Put(properties) => Some(encoded.unwrap_or_else(|| EncodedRow::new(&key, properties, names))),
            Effect::MergeOver(properties) => {
                let mut merged = existing.and_then(|existing| existing.properties).unwrap_or_default();
                merged.merge(properties);
                validate::row(self.partition, &row, &merged)?;
                Some(EncodedRow::new(&key, &merged, names))
            }
        };
        Ok(Change { space: self.space, key, row })
    }

    /// The row at `key`, as far as `action` needs to know it.
    fn existing(
        &self,
        group: &mut impl Group,
        key: &[u8],
        action: &Action,
        names: &Arc<Dictionary>,
    ) -> Result<Option<Existing>, StoreError> {
        let merges = match action {
            Action::InsertOrReplace(_) => return Ok(None),
            Action::Merge(..) | Action::InsertOrMerge(_) => true,
            Action::Insert(_) | Action::Replace(..) | Action::Delete(_) => false,
        };
        let read = |value: &[u8]| {
            let stored = StoredRow::checked(self.space, key, value)?;
            let properties = merges.then(|| stored.properties(names, None)).transpose()?;
            Ok(Existing { etag: stored.etag(), properties })
        };
        group.get(self.space, key, read)?.transpose()
    }
}
