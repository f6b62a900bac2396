//! What a migration leaves in the schema table, as FORMAT.md draws it: its record, its settings, its ranges with their
//! cursors, and the entities that were set aside.
//!
//! Rows to and from their meaning, and the writes of those that have no owner; the record itself is `states`'.

use serde_json::Value as Json;
use tablemodel_store::{Action, Batch, Condition, DateTime, ETag, KeyRange, Properties, Query, Row, RowKey, ValueRef};
use twox_hash::XxHash3_64;

use super::Failure;
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        listed,
        outbox::is_race,
        registry::{PARTITION, record as stamped},
    },
    error::{Error, ErrorKind, Result},
    key::beginning_with,
};

/// What the row keys of migrations begin with.
pub(super) const MIGRATION: &str = "mig|";
/// The partition of the schema table for what belongs to migrations and is no state.
pub(super) const WORK: &str = "m";

/// On a record: a list of the indexes, each with its entity.
const STEPS: &str = "Steps";

/// Puts these steps on a record.
pub(super) fn put_steps(steps: &[(String, String)], record: &mut Properties) {
    let step = |(entity, index): &(String, String)| Json::from(vec![entity.as_str(), index]);
    listed::put(STEPS, steps.iter().map(step), record);
}

/// A migration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) id: String,
    /// The indexes, each with its entity.
    pub(super) steps: Vec<(String, String)>,
    pub(super) started: DateTime,
    pub(super) finished: Option<DateTime>,
    /// Whether the indexes are taken away.
    pub(super) undo: bool,
    /// The migration that is taken back by that; none where the model dropped them.
    pub(super) taken_back: Option<String>,
    /// Who is at work on it, and until when it is theirs.
    pub(super) owner: Option<String>,
    pub(super) lease: DateTime,
    /// Whether its ranges are there, and how many entities they hold.
    pub(super) surveyed: bool,
    pub(super) entities: u64,
}

/// What a migration does with its indexes.
pub(super) enum Work {
    Build,
    TakeAway,
    /// Takes them away, since this migration that built them is taken back.
    TakeBack(String),
}

impl Record {
    /// One that begins.
    pub(super) fn new(id: String, steps: Vec<(String, String)>, work: Work, now: DateTime) -> Self {
        let (undo, taken_back) = match work {
            Work::Build => (false, None),
            Work::TakeAway => (true, None),
            Work::TakeBack(migration) => (true, Some(migration)),
        };
        Self {
            id,
            steps,
            started: now,
            finished: None,
            undo,
            taken_back,
            owner: Some(String::new()),
            lease: now,
            surveyed: false,
            entities: 0,
        }
    }

    pub(super) fn key(&self) -> String {
        format!("{MIGRATION}{}", self.id)
    }

    pub(super) fn read(row: &Row) -> Result<Self> {
        let corrupt = || Error::corrupt("the record of a migration cannot be read").at_key(row.key.clone());
        let text = |name: &str| match row.properties.get(name) {
            Some(ValueRef::String(text)) => Some(text.to_owned()),
            _ => None,
        };
        Ok(Self {
            id: row.key.row.strip_prefix(MIGRATION).ok_or_else(corrupt)?.to_owned(),
            steps: listed::on(STEPS, &row.properties).ok_or_else(corrupt)?,
            started: time(&row.properties, "Started").ok_or_else(corrupt)?,
            finished: time(&row.properties, "Finished"),
            undo: flag(&row.properties, "Undo"),
            taken_back: text("TakesBack"),
            owner: text("Owner"),
            lease: time(&row.properties, "Lease").unwrap_or(DateTime::UNIX_EPOCH),
            surveyed: flag(&row.properties, "Surveyed"),
            entities: number(&row.properties, "Entities"),
        })
    }

    pub(super) fn properties(&self, now: DateTime) -> Properties {
        let mut properties = stamped("~migration@1", now.ticks());
        put_steps(&self.steps, &mut properties);
        properties.insert("Started", self.started);
        properties.insert("Undo", self.undo);
        properties.insert("Surveyed", self.surveyed);
        properties.insert("Entities", self.entities.cast_signed());
        if let Some(finished) = self.finished {
            properties.insert("Finished", finished);
        }
        if let Some(taken_back) = &self.taken_back {
            properties.insert("TakesBack", taken_back.clone());
        }
        if let Some(owner) = &self.owner {
            properties.insert("Owner", owner.clone());
            properties.insert("Lease", self.lease);
        }
        properties
    }
}

/// What can be set while a migration runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Control {
    pub(super) paused: bool,
    /// Entities a second.
    pub(super) rate: Option<f64>,
}

/// What the row keys of that begin with.
pub(super) const CONTROL: &str = "control|";

pub(super) fn control_key(id: &str) -> String {
    format!("{CONTROL}{id}")
}

impl Control {
    pub(super) fn read(row: Option<&Row>) -> Self {
        let Some(row) = row else { return Self::default() };
        let rate = match row.properties.get("Rate") {
            Some(ValueRef::Double(rate)) => Some(rate),
            _ => None,
        };
        Self { paused: flag(&row.properties, "Paused"), rate }
    }
}

pub(super) async fn read_control(db: &Database, id: &str) -> Result<Control> {
    let row = db.get_row(&db.registry_table(), &RowKey::new(PARTITION, control_key(id))).await?;
    Ok(Control::read(row.as_ref()))
}

/// Changes what is set of a migration, whoever else does so at the same time.
pub(super) async fn change_control(
    db: &Database,
    id: &str,
    change: impl Fn(&mut Control) + Send + Sync,
) -> Result<Control> {
    for attempt in 0..ATTEMPTS {
        let there = db.get_row(&db.registry_table(), &RowKey::new(PARTITION, control_key(id))).await?;
        let mut control = Control::read(there.as_ref());
        change(&mut control);
        let mut properties = stamped("~migration.control@1", db.environment().clock.now().ticks());
        properties.insert("Paused", control.paused);
        if let Some(rate) = control.rate {
            properties.insert("Rate", rate);
        }
        let action = match there {
            Some(there) => Action::Replace(properties, Condition::Match(there.etag)),
            None => Action::Insert(properties),
        };
        let batch = Batch::new(db.registry_table(), PARTITION).with(control_key(id), action);
        match db.commit_unleased(&[batch], attempt).await {
            Ok(_) => return Ok(control),
            Err(error) if is_race(error.kind()) => {}
            Err(error) if is_transient(&error) => db.pause(attempt).await,
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::new(ErrorKind::Unavailable, "what is set of the migration keeps changing; try again"))
}

/// A range of a table: whole partitions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Range {
    pub(super) number: u32,
    /// Without the run-time prefix.
    pub(super) table: String,
    /// The last row before it.
    pub(super) after: Option<RowKey>,
    /// The first partition behind it.
    pub(super) before: Option<String>,
    /// The last row that was seen to.
    pub(super) cursor: Option<RowKey>,
    pub(super) done: bool,
    pub(super) touched: u64,
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) owner: Option<String>,
    pub(super) lease: DateTime,
    /// As it was read.
    pub(super) etag: Option<ETag>,
}

impl Range {
    pub(super) fn new(number: u32, table: &str, after: Option<RowKey>, before: Option<String>) -> Self {
        Self {
            number,
            table: table.to_owned(),
            after,
            before,
            cursor: None,
            done: false,
            touched: 0,
            passed: 0,
            failed: 0,
            owner: None,
            lease: DateTime::UNIX_EPOCH,
            etag: None,
        }
    }

    /// What is left of it.
    pub(super) fn rest(&self) -> KeyRange {
        let after = self.cursor.clone().or_else(|| self.after.clone());
        KeyRange::Table { after, before_partition: self.before.clone() }
    }

    fn read(row: &Row) -> Option<Self> {
        let text = |name: &str| match row.properties.get(name) {
            Some(ValueRef::String(text)) => Some(text.to_owned()),
            _ => None,
        };
        let key = |partition: &str, row: &str| Some(RowKey { partition: text(partition)?, row: text(row)? });
        Some(Self {
            number: row.key.row.rsplit_once('|')?.1.parse().ok()?,
            table: text("Table")?,
            after: key("AfterPartition", "AfterRow"),
            before: text("Before"),
            cursor: key("CursorPartition", "CursorRow"),
            done: flag(&row.properties, "Done"),
            touched: number(&row.properties, "Touched"),
            passed: number(&row.properties, "Passed"),
            failed: number(&row.properties, "Failed"),
            owner: text("Owner"),
            lease: time(&row.properties, "Lease").unwrap_or(DateTime::UNIX_EPOCH),
            etag: Some(row.etag.clone()),
        })
    }

    fn properties(&self, now: DateTime) -> Properties {
        let mut properties = stamped("~migration.range@1", now.ticks());
        properties.insert("Table", self.table.clone());
        properties.insert("Done", self.done);
        properties.insert("Touched", self.touched.cast_signed());
        properties.insert("Passed", self.passed.cast_signed());
        properties.insert("Failed", self.failed.cast_signed());
        let mut text = |name: &'static str, text: Option<&String>| {
            if let Some(text) = text {
                properties.insert(name, text.clone());
            }
        };
        text("AfterPartition", self.after.as_ref().map(|key| &key.partition));
        text("AfterRow", self.after.as_ref().map(|key| &key.row));
        text("CursorPartition", self.cursor.as_ref().map(|key| &key.partition));
        text("CursorRow", self.cursor.as_ref().map(|key| &key.row));
        text("Before", self.before.as_ref());
        text("Owner", self.owner.as_ref());
        properties.insert("Lease", self.lease);
        properties
    }

    /// The write of a range that is new, or of one that is as it was read.
    pub(super) fn batch(&self, db: &Database, id: &str) -> Batch {
        let properties = self.properties(db.environment().clock.now());
        let action = match &self.etag {
            None => Action::InsertOrReplace(properties),
            Some(etag) => Action::Replace(properties, Condition::Match(etag.clone())),
        };
        Batch::new(db.registry_table(), WORK).with(format!("{id}|range|{:05}", self.number), action)
    }
}

pub(super) async fn ranges(db: &Database, id: &str) -> Result<Vec<Range>> {
    let rows = work(db, &format!("{id}|range|")).await?;
    let read = |row: &Row| {
        Range::read(row).ok_or_else(|| Error::corrupt("a range of a migration cannot be read").at_key(row.key.clone()))
    };
    rows.iter().map(read).collect()
}

/// Sets an entity aside.
pub(super) async fn set_aside(db: &Database, id: &str, failure: &Failure) -> Result<()> {
    let mut properties = stamped("~migration.failure@1", db.environment().clock.now().ticks());
    properties.insert("Entity", failure.entity.clone());
    properties.insert("Partition", failure.key.partition.clone());
    properties.insert("Row", failure.key.row.clone());
    properties.insert("Error", failure.error.chars().take(1_000).collect::<String>());
    let text = format!("{}|{}|{}", failure.entity, failure.key.partition, failure.key.row);
    let row = format!("{id}|fail|{:016x}", XxHash3_64::oneshot(text.as_bytes()));
    put(db, Batch::new(db.registry_table(), WORK).with(row, Action::InsertOrReplace(properties))).await
}

/// The entities that were set aside, each with its row.
pub(super) async fn failures(db: &Database, id: &str) -> Result<Vec<(Row, Failure)>> {
    let rows = work(db, &format!("{id}|fail|")).await?;
    let text = |row: &Row, name: &str| match row.properties.get(name) {
        Some(ValueRef::String(text)) => text.to_owned(),
        _ => String::new(),
    };
    let failure = |row: Row| {
        let key = RowKey::new(text(&row, "Partition"), text(&row, "Row"));
        let failure = Failure { entity: text(&row, "Entity"), key, error: text(&row, "Error") };
        (row, failure)
    };
    Ok(rows.into_iter().map(failure).collect())
}

/// Takes a row of the schema table away, if it is still as it was read.
pub(super) async fn remove(db: &Database, row: &Row) -> Result<()> {
    let action = Action::Delete(Condition::Match(row.etag.clone()));
    let batches = [Batch::new(db.registry_table(), row.key.partition.clone()).with(row.key.row.clone(), action)];
    let mut attempt = 0;
    loop {
        match db.commit_unleased(&batches, attempt).await {
            Err(error) if is_race(error.kind()) => return Ok(()),
            Err(error) if is_transient(&error) && attempt + 1 < ATTEMPTS => db.pause(attempt).await,
            other => return Ok(other.map(drop)?),
        }
        attempt += 1;
    }
}

/// Rows of the partition of work; none when the schema table is not there.
pub(super) async fn work(db: &Database, prefix: &str) -> Result<Vec<Row>> {
    let range = KeyRange::rows(WORK, beginning_with(prefix));
    db.query_all_if_any(Query::new(db.registry_table(), range)).await
}

/// A write that may happen twice without harm.
pub(super) async fn put(db: &Database, batch: Batch) -> Result<()> {
    let batches = [batch];
    let mut attempt = 0;
    loop {
        match db.commit_unleased(&batches, attempt).await {
            Err(error) if is_transient(&error) && attempt + 1 < ATTEMPTS => db.pause(attempt).await,
            other => return Ok(other.map(drop)?),
        }
        attempt += 1;
    }
}

fn flag(properties: &Properties, name: &str) -> bool {
    matches!(properties.get(name), Some(ValueRef::Boolean(true)))
}

fn number(properties: &Properties, name: &str) -> u64 {
    match properties.get(name) {
        Some(ValueRef::Int64(number)) => number.max(0).cast_unsigned(),
        _ => 0,
    }
}

pub(super) fn time(properties: &Properties, name: &str) -> Option<DateTime> {
    match properties.get(name) {
        Some(ValueRef::DateTime(time)) => Some(time),
        _ => None,
    }
}
