//! What the writer thread knows, and what each request does to it and to the file.
//!
//! Runs inside a commit of the engine; begins and ends none.

use std::{collections::VecDeque, sync::Arc};

use super::{
    attempt::attempt,
    catalogue::{Catalogue, TableEntry},
    codec::{EncodedRow, StoredRow},
    dictionary::Dictionary,
    engine::{Amount, Group, Space, TableId},
    keys::{at_row, row_key},
    pace,
    prepare::PreparedCommit,
    property::BodyWriter,
    records::{self, Counters, Recorded},
    rows::{Change, Mark},
    together::Together,
};
use crate::{
    Action, DateTime, ETag, Properties, Receipts, RowKey, StoreError, Written,
    apply::{self, Effect},
    clock::{Clock, StoreTime},
    validate,
};

/// What one commit frees of dropped tables: about a millisecond.
const RECLAIMED: Amount = Amount { entries: 1_000, bytes: 2 * 1024 * 1024 };

/// What a request asks of the writer thread.
pub(super) enum Work {
    Commit(PreparedCommit),
    CreateTable(String),
    DeleteTable(String),
    /// Nothing but that all that was acknowledged before it is on the disk.
    Flush,
}

impl Work {
    /// About the memory that it takes.
    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Commit(commit) => commit.memory(),
            Self::CreateTable(name) | Self::DeleteTable(name) => name.len(),
            Self::Flush => 0,
        }
    }

    /// Whether other tables may be there afterwards.
    pub(super) const fn changes_tables(&self) -> bool {
        matches!(self, Self::CreateTable(_) | Self::DeleteTable(_))
    }
}

/// The answer to a request. Requests other than commits have no receipts.
pub(super) type Reply = Result<Vec<Receipts>, StoreError>;

/// The state of the writer thread. Behind the file if a commit fails: then it must not be used again.
pub(super) struct State {
    pub(super) catalogue: Arc<Catalogue>,
    names: Arc<Dictionary>,
    recorded: Recorded,
    counters: Counters,
    /// The counters as of the last time they were recorded.
    settled_counters: Counters,
    /// How far ahead they are recorded.
    reserve: u64,
    /// Stamps that the newest commit records as given out, and those that the disk does.
    recorded_stamp: u64,
    safe_stamp: u64,
    dropped: VecDeque<TableId>,
    clock: Arc<dyn Clock>,
    /// When the group on its way began: by the clock, and what it stamps rows with.
    now: DateTime,
    time: u64,
    store_time: StoreTime,
    together: Together,
    /// Of the rows that the group on its way changes, where somebody is to notice.
    changed: Vec<Mark>,
    is_noticed: bool,
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
        reserve: u64,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            catalogue,
            recorded: Recorded::of(&names),
            names,
            counters,
            settled_counters: counters,
            reserve,
            recorded_stamp: counters.last_stamp,
            safe_stamp: counters.last_stamp,
            dropped: dropped.into(),
            now: clock.now().min(DateTime::MAX),
            time: 0,
            store_time: StoreTime::default(),
            clock,
            together: Together::default(),
            changed: Vec::new(),
            is_noticed: true,
        }
    }

    /// Begins a group, whose changes may have to be noticed. The clock is the user's, and asked outside the engine, which takes a panic
    /// for damage of the file.
    pub(super) fn begin(&mut self, change: Change) {
        self.is_noticed = change.is_noticed;
        self.now = self.clock.now().min(DateTime::MAX);
        self.time = self.store_time.stamp(self.now, || self.clock.monotonic(), self.counters.last_stamp);
    }

    /// The marks of the rows that were changed since this was asked last.
    pub(super) fn changed(&mut self) -> impl Iterator<Item = Mark> {
        self.changed.drain(..)
    }

    /// Notes that all commits so far are on the disk.
    pub(super) fn synced(&mut self) {
        self.safe_stamp = self.recorded_stamp;
    }

    /// Whether a stamp was given out that a crash could make forgotten: it must not be told before the next sync.
    pub(super) fn is_ahead_of_disk(&self) -> bool {
        self.counters.last_stamp > self.safe_stamp
    }

    /// What to record when the store is closed, if more stamps are recorded than were given out.
    pub(super) fn given_out(&self) -> Option<Counters> {
        (self.recorded_stamp > self.counters.last_stamp).then_some(self.counters)
    }

    /// Whether tables that were dropped still have rows.
    pub(super) fn is_reclaiming(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// Does what requests ask, one after the other; refuses one having written nothing of it. The outer error ends the whole group.
    pub(super) fn carry_out(&mut self, group: &mut impl Group, mut work: Vec<Work>) -> Result<Vec<Reply>, StoreError> {
        match self.commit_together(group, &mut work)? {
            Some(receipts) => Ok(receipts.into_iter().map(Ok).collect()),
            None => work.into_iter().map(|work| self.carry_out_one(group, work)).collect(),
        }
    }

    fn carry_out_one(&mut self, group: &mut impl Group, work: Work) -> Result<Reply, StoreError> {
        match work {
            Work::Commit(commit) => self.commit(group, commit),
            Work::CreateTable(name) => self.create(group, name),
            Work::DeleteTable(name) => self.delete(group, &name),
            Work::Flush => Ok(Ok(Vec::new())),
        }
    }

    /// Frees some rows of a table that was dropped, in a group of its own.
    pub(super) fn reclaim(&mut self, group: &mut impl Group) -> Result<(), StoreError> {
        if let Some(id) = self.dropped.front().copied()
            && group.shrink(Space::Rows(id), RECLAIMED)?
        {
            records::forget_dropped(group, id)?;
            self.dropped.pop_front();
        }
        Ok(())
    }

    /// Leaves the table whose rows are being freed to the next opening of the store.
    pub(super) fn leave(&mut self) {
        self.dropped.pop_front();
    }

    /// Ends a group: records what it used.
    pub(super) fn settle(&mut self, group: &mut impl Group) -> Result<(), StoreError> {
        if self.counters != self.settled_counters {
            self.recorded_stamp = pace::recorded(self.counters.last_stamp, self.time, self.reserve);
            records::put_counters(group, Counters { last_stamp: self.recorded_stamp, ..self.counters })?;
            self.settled_counters = self.counters;
        }
        // Also the names and shapes of requests that were refused: another may have been encoded with them meanwhile.
        records::put_names(group, &self.names, &mut self.recorded)
    }

    /// Commits a large group together, if nothing else is asked for in it and none of its commits is refused.
    fn commit_together(
        &mut self,
        group: &mut impl Group,
        work: &mut [Work],
    ) -> Result<Option<Vec<Vec<Receipts>>>, StoreError> {
        let commits = work.iter_mut().map(|work| match work {
            Work::Commit(commit) => Some(commit),
            Work::CreateTable(_) | Work::DeleteTable(_) | Work::Flush => None,
        });
        let Some(mut commits) = commits.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let rows = commits.iter().map(|commit| commit.operations.len()).sum();
        if !self.together.pays(commits.len(), rows) {
            return Ok(None);
        }
        let receipts = self.attempt(group, &mut commits)?;
        self.together.ended(receipts.is_some());
        Ok(receipts)
    }

    /// Writes all commits or none: if one of them is refused, or its table is not there.
    fn attempt(
        &mut self,
        group: &mut impl Group,
        commits: &mut [&mut PreparedCommit],
    ) -> Result<Option<Vec<Vec<Receipts>>>, StoreError> {
        let spaces_of = |commit: &&mut PreparedCommit| {
            let spaces = commit.batches.iter().map(|batch| self.catalogue.rows(commit.table(batch)));
            spaces.collect::<Result<Vec<_>, _>>()
        };
        let Ok(spaces) = commits.iter().map(spaces_of).collect::<Result<Vec<_>, _>>() else { return Ok(None) };
        let unused = self.counters;
        let receipts = commits.iter_mut().zip(&spaces).map(|(commit, spaces)| self.stamp(commit, spaces)).collect();
        let located: Vec<_> = commits.iter().map(|commit| &**commit).zip(spaces).collect();
        if attempt(group, &located)? {
            located.iter().for_each(|(commit, spaces)| self.note_changed(commit, spaces));
            return Ok(Some(receipts));
        }
        self.counters = unused;
        Ok(None)
    }

    fn commit(&mut self, group: &mut impl Group, mut commit: PreparedCommit) -> Result<Reply, StoreError> {
        if let Some(receipts) = self.attempt(group, &mut [&mut commit])? {
            return Ok(Ok(receipts.into_iter().flatten().collect()));
        }
        let spaces = match self.plan(group, &mut commit) {
            Ok(spaces) => spaces,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let receipts = self.stamp(&mut commit, &spaces);
        write(group, &commit, &spaces)?;
        self.note_changed(&commit, &spaces);
        Ok(Ok(receipts))
    }

    fn note_changed(&mut self, commit: &PreparedCommit, spaces: &[Space]) {
        for (batch, space) in commit.batches.iter().zip(spaces).filter(|_| self.is_noticed) {
            let marks = commit.operations(batch).iter().map(|operation| Mark::of(*space, commit.key(operation)));
            self.changed.extend(marks);
        }
    }

    /// Reads what the operations ask of the rows that are there, and encodes those that are made from them; where they
    /// lie, or why they are refused.
    fn plan(&self, group: &mut impl Group, commit: &mut PreparedCommit) -> Result<Vec<Space>, StoreError> {
        let mut spaces = Vec::with_capacity(commit.batches.len());
        for index in 0..commit.batches.len() {
            let Some(batch) = commit.batches.get(index) else { break };
            let (table, operations) = (commit.table(batch).to_owned(), batch.operations.clone());
            let space = self.catalogue.rows(&table).map_err(|error| error.at(index, 0))?;
            let place = Place { space, table: &table, names: &self.names };
            for (at, operation) in operations.enumerate() {
                place.decide(group, commit, operation).map_err(|error| error.at(index, at))?;
            }
            spaces.push(space);
        }
        Ok(spaces)
    }

    /// Gives every operation its stamp, in order, and every row its seal.
    fn stamp(&mut self, commit: &mut PreparedCommit, spaces: &[Space]) -> Vec<Receipts> {
        let PreparedCommit { batches, operations, bytes, .. } = commit;
        let receipts = batches.iter().zip(spaces).map(|(batch, space)| {
            let operations = operations.get(batch.operations.clone()).unwrap_or_default();
            let written = operations.iter().map(|operation| {
                let stamp = self.next_stamp();
                let row = operation.encoded.as_ref();
                row.inspect(|row| row.stamp(bytes, *space, stamp));
                let timestamp = DateTime::from_ticks(stamp.cast_signed());
                Written { etag: row.map(|_| ETag::from_stamp(stamp)), timestamp }
            });
            written.collect()
        });
        receipts.collect()
    }

    /// Above all stamps before it, also those of earlier openings and of a clock that stepped back.
    fn next_stamp(&mut self) -> u64 {
        self.counters.last_stamp = self.time.max(self.counters.last_stamp + 1);
        self.counters.last_stamp
    }

    fn create(&mut self, group: &mut impl Group, name: String) -> Result<Reply, StoreError> {
        if let Some(table) = self.catalogue.find(&name) {
            return Ok(Err(StoreError::table_exists(&table.name)));
        }
        let id = TableId(self.counters.next_table);
        self.counters.next_table += 1;
        let folded = name.to_ascii_lowercase();
        let entry = TableEntry { id, name, created: self.now };
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
        records::drop_table(group, &folded, table.id, self.now)?;
        self.dropped.push_back(table.id);
        Ok(Ok(Vec::new()))
    }
}

/// Writes what was decided.
fn write(group: &mut impl Group, commit: &PreparedCommit, spaces: &[Space]) -> Result<(), StoreError> {
    for (batch, space) in commit.batches.iter().zip(spaces) {
        for operation in commit.operations(batch) {
            match &operation.encoded {
                Some(row) => group.put(*space, commit.key(operation), row.value(&commit.bytes))?,
                None => group.remove(*space, commit.key(operation))?,
            }
        }
    }
    Ok(())
}

/// Where the rows of a batch lie.
struct Place<'a> {
    space: Space,
    table: &'a str,
    names: &'a Arc<Dictionary>,
}

impl Place<'_> {
    /// Decides what an operation will do, or why it is refused: its row is encoded then, unless it will be gone.
    fn decide(&self, group: &mut impl Group, commit: &mut PreparedCommit, at: usize) -> Result<(), StoreError> {
        let Some(operation) = commit.operations.get(at) else { return Ok(()) };
        let key = commit.key(operation);
        let existing = self.existing(group, key, &operation.action)?;
        let etag = existing.as_ref().map(|existing| &existing.etag);
        let row = match apply::decide(&operation.action, etag) {
            Ok(Effect::Remove) => None,
            Ok(Effect::Put(_)) if operation.encoded.is_some() => return Ok(()),
            Ok(Effect::Put(properties)) => Some(properties.clone()),
            Ok(Effect::MergeOver(properties)) => {
                let mut merged = existing.and_then(|existing| existing.properties).unwrap_or_default();
                merged.merge(properties);
                let RowKey { partition, row } = row_key(key)?;
                validate::row(&partition, &row, &merged)?;
                Some(merged)
            }
            Err(kind) => {
                let RowKey { partition, row } = row_key(key)?;
                return Err(apply::refusal(kind, &operation.action, self.table, &partition, &row));
            }
        };
        let encoded = row.as_ref().map(|row| {
            let writer = &mut BodyWriter::new();
            EncodedRow::append(&mut commit.bytes, &operation.key, row, writer, &mut self.names.numbers())
        });
        if let Some(operation) = commit.operations.get_mut(at) {
            operation.encoded = encoded;
        }
        Ok(())
    }

    /// The row at `key`, as far as `action` needs to know it.
    fn existing(&self, group: &mut impl Group, key: &[u8], action: &Action) -> Result<Option<Existing>, StoreError> {
        let merges = match action {
            Action::InsertOrReplace(_) => return Ok(None),
            Action::Merge(..) | Action::InsertOrMerge(_) => true,
            Action::Insert(_) | Action::Replace(..) | Action::Delete(_) => false,
        };
        let read = |value: &[u8]| {
            let stored = StoredRow::checked(self.space, key, value)?;
            let properties = merges.then(|| stored.open(self.names)?.properties(self.names, None)).transpose()?;
            Ok(Existing { etag: stored.etag(), properties })
        };
        group.get(self.space, key, read)?.transpose().map_err(|error| at_row(error, self.table, key))
    }
}

#[cfg(test)]
mod tests;
