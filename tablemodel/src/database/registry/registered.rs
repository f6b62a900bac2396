//! An entity as a store keeps it: made of the rows of the schema table, and told to those who plan and read.
//!
//! No row is read or written here.

use std::{collections::HashMap, sync::Arc};

use tablemodel_store::Row;

use super::{
    beyond, changed, counted_beyond, epoch, followers, index_row, lacked, lapsed::complete, moved, state, unheld,
};
use crate::{
    database::{Consistency, Database, rewrites},
    error::{Error, ErrorKind, Result},
    plan::{
        outbox::{AwayKey, Intent},
        states::{CopiedBy, IndexState, IndexStates, Setting},
        table::TableName,
    },
    read::columns::Columns,
    rooms::wide,
    schema::{Adding, AggregateSchema, EntitySchema, Versioned, is_move},
};

/// What the store knows of an entity.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    /// The entity.
    pub(crate) entity_type: &'static str,
    /// The table's full name.
    pub(crate) table: String,
    /// Its format.
    pub(crate) schema: &'static EntitySchema,
    /// Rows of one entity, at least: itself and its parts.
    pub(crate) rows: usize,
    /// How it is kept.
    pub(crate) setting: Setting,
    /// Indexes that the store keeps of it and the program's model does not name.
    pub(crate) beyond: Vec<String>,
    /// The same, and those that only older versions of it have, where rows of its version are still written: what this program writes
    /// is not in them. Else the copies among them, of what it may write.
    pub(crate) lacked: Vec<String>,
    /// What its version has otherwise than one before, and the store does not say so yet.
    pub(crate) unsaid: Vec<String>,
    /// The version from which on its rows are of a form that it moves to, and that this program's model does not have.
    pub(crate) coming: Option<u32>,
    /// Its properties in which others count, by aggregates that the program's model does not name: what they come to cannot be told.
    pub(crate) counted_beyond: Vec<String>,
    /// The aggregates, by the keys of their rows in the schema table, of those in which its own version has no property: what this program
    /// inserts lacks their totals.
    pub(super) unheld: Vec<String>,
    /// The version that all rows are of, or are about to be; none where older ones were never rewritten.
    pub(crate) rewritten: Option<u32>,
    /// Whether no row is left of a version before that of the program, as far as programs of this crate write them.
    pub(crate) is_rewritten: bool,
    /// The changes of states that this knows of.
    pub(crate) epoch: i64,
    /// Why it may not be written, if it moves.
    pub(crate) closed: Option<Closed>,
    /// What its rows are read by.
    pub(crate) columns: Arc<Columns>,
    /// What rows of its indexes are read by, where only their entities are looked for.
    pub(crate) owners: Arc<Columns>,
    /// Its aggregates to which rows of other versions, of which there may be some, add otherwise.
    pub(crate) mixed: Vec<&'static AggregateSchema>,
    /// What its rows are read by, where only their copies change.
    pub(crate) copies: Arc<Columns>,
}

/// Why an entity may not be written in this form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The form that it moves from is still the one that is written.
    NotSwitched { from: u32 },
    /// It has moved.
    Moved { to: u32 },
    /// It is on its way, for programs that know of the move.
    Moving { to: u32 },
    /// It is about to be kept in the new form alone.
    Switching { to: u32 },
    /// The store keeps it elsewhere, and nothing says that it moves.
    Elsewhere(Arc<str>),
}

impl Closed {
    pub(in crate::database) fn error(&self, schema: &'static EntitySchema) -> Error {
        let (kind, detail) = match self {
            Self::Elsewhere(detail) => (ErrorKind::Unsupported, detail.to_string()),
            &Self::NotSwitched { from } => (
                ErrorKind::NotSwitched { from },
                format!(
                    "the entity is still kept as version {from}: run `db.migrations().apply()`, and `contract()` once the \
                     programs of that version have ended"
                ),
            ),
            &Self::Moved { to } => (
                ErrorKind::Moved { to },
                format!("the entity has moved to where version {to} keeps it: deploy the program of that version"),
            ),
            &Self::Moving { to } => (
                ErrorKind::Moved { to },
                format!(
                    "the entity is moving to where version {to} keeps it: finish that (`apply`, `contract`) with the program that \
                     knows of it, or take it back by its `rollback`"
                ),
            ),
            &Self::Switching { to } => (
                ErrorKind::Moved { to },
                format!(
                    "the entity is being switched to where version {to} keeps it: deploy the program of that version, and where its \
                     `contract` was interrupted, call `contract` again"
                ),
            ),
        };
        Error::new(kind, detail).of(schema.entity_type)
    }
}

impl Registered {
    /// Why its other form is neither read nor written.
    pub(in crate::database) fn instead(&self) -> Closed {
        let version = self.schema.version;
        if self.schema.moves_to.is_some() {
            Closed::NotSwitched { from: version }
        } else {
            Closed::Moved { to: version }
        }
    }

    /// Whether the row is of an index, or of a form that the entity moves to, which the store keeps and this program does not have.
    fn lacks(&self, entry: &AwayKey) -> bool {
        self.beyond.contains(&entry.index)
            || (self.coming.is_some() && is_move(&entry.index) && entry.position(self.schema).is_none())
    }

    /// That the entity may be written in this form.
    pub(in crate::database) fn check_open(&self) -> Result<()> {
        self.closed.as_ref().map_or(Ok(()), |closed| Err(closed.error(self.schema)))
    }
}

impl Database {
    /// Whether what is to be done in other partitions is, in part, for a program that has what this one lacks.
    pub(in crate::database) fn leaves(&self, registered: &Registered, intent: &Intent) -> bool {
        self.lacked_of(registered, intent).is_some()
    }

    /// The first copy, index or form that the intent names and this program does not have.
    pub(in crate::database) fn lacked_of<'i>(&self, registered: &Registered, intent: &'i Intent) -> Option<&'i str> {
        let copy = intent.copied.iter().find(|copy| self.0.registry.lacks(copy));
        let entry = || intent.entries.iter().find(|entry| registered.lacks(entry)).map(|entry| &entry.index);
        copy.or_else(entry).map(String::as_str)
    }
}

pub(super) fn registered(
    db: &Database,
    model: &[&'static EntitySchema],
    schema: &'static EntitySchema,
    rows: &HashMap<String, Row>,
) -> Result<Registered> {
    let states = followers(schema).map(|name| match rows.get(&index_row(schema.entity_type, &name)) {
        Some(row) => complete(row),
        None => Ok(IndexState::Absent),
    });
    let mut states: Vec<_> = states.collect::<Result<_>>()?;
    withhold(schema, rows, &mut states)?;
    let moving = moved::spread(schema, &mut states);
    for (older, at) in schema.former() {
        states.push(former_state(older, at, rows)?);
    }
    let copied = copied(model, schema);
    let deferred = db.0.consistency == Consistency::Azure;
    let table = TableName { prefix: db.0.prefix.clone(), table: schema.table, slice: None };
    Ok(Registered {
        entity_type: schema.entity_type,
        table: table.to_string(),
        schema,
        rows: wide::most_rows(schema),
        setting: Setting {
            states: IndexStates(states),
            deferred,
            tombstones: deferred
                && (schema.has_rows_elsewhere() || !copied.is_empty() || moving || moved::is_settling(schema, rows)),
            moving,
            copied,
        },
        beyond: beyond(schema, rows)?,
        lacked: lacked(model, schema, rows)?,
        unsaid: changed::unsaid(schema, rows),
        coming: moved::coming_unknown(schema, rows),
        counted_beyond: counted_beyond(model, schema, rows),
        unheld: unheld(model, schema, rows)?,
        rewritten: rewrites::newest(schema.entity_type, rows)?,
        is_rewritten: rewrites::reached(schema.entity_type, rows, IndexState::Readable, schema.version)?
            == Some(schema.version),
        epoch: epoch(rows),
        closed: moved::closed(schema, rows),
        columns: Arc::new(Columns::of(schema)),
        owners: Arc::new(Columns::of_owner()),
        mixed: mixed(schema, rows)?,
        copies: Arc::new(Columns::of_copies(schema)),
    })
}

/// Of an index that an older version has otherwise, or not at all: it is complete once no row is of a version before that was changed.
/// One that a newer version has otherwise is not complete.
fn withhold(schema: &'static EntitySchema, rows: &HashMap<String, Row>, states: &mut [IndexState]) -> Result<()> {
    for (name, _) in changed::overtaken(schema, rows) {
        let at = schema.indexes.iter().position(|index| index.name == name);
        if let Some(state) = at.and_then(|at| states.get_mut(at)) {
            *state = (*state).min(IndexState::WriteOnly);
        }
    }
    if !schema.has_ancestors() {
        return Ok(());
    }
    let older = left(schema, rows)?;
    for (index, state) in schema.indexes.iter().zip(states) {
        if older.iter().any(|older| Versioned(schema, index).differs_in(older)) {
            *state = (*state).min(IndexState::WriteOnly);
        }
    }
    Ok(())
}

/// Aggregates that mean one thing for rows of this version and another for rows of newer ones, or for those that are left of older ones.
fn mixed(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<Vec<&'static AggregateSchema>> {
    if schema.aggregates.is_empty() {
        return Ok(Vec::new());
    }
    let aggregate = |(name, _): (String, &Row)| schema.derived_position(&name).and_then(|at| schema.aggregate(at));
    let overtaken: Vec<_> = changed::overtaken(schema, rows).filter_map(aggregate).collect();
    if !overtaken.is_empty() || !schema.has_ancestors() {
        return Ok(overtaken);
    }
    let older = left(schema, rows)?;
    let differs = |own: &'static AggregateSchema, older: &'static EntitySchema| {
        let its = older.aggregates.iter().find(|its| own.is_same(its));
        its.is_some_and(|its| !Adding(schema, own).adds_as(Adding(older, its)))
    };
    Ok(schema.aggregates.iter().filter(|own| older.iter().any(|older| differs(own, older))).collect())
}

/// The older versions of which there may be rows.
fn left(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<Vec<&'static EntitySchema>> {
    let known = rewrites::reached(schema.entity_type, rows, IndexState::Readable, schema.version)?;
    Ok(schema.ancestors().filter(|older| known.is_none_or(|known| older.version >= known)).collect())
}

/// The state of what only an older version has: as its programs left it.
fn former_state(older: &'static EntitySchema, at: usize, rows: &HashMap<String, Row>) -> Result<IndexState> {
    let is_copy = (older.indexes.len()..older.indexes.len() + older.copies.len()).contains(&at);
    let name = older.derived(at).map_or_else(String::new, |kind| kind.name.into_owned());
    match rows.get(&index_row(older.entity_type, &name)) {
        _ if is_copy => Ok(IndexState::Readable),
        Some(row) => state(row),
        None => Ok(IndexState::Absent),
    }
}

/// The copies that the model's entities have of this one.
fn copied(model: &[&'static EntitySchema], source: &EntitySchema) -> Vec<CopiedBy> {
    let copies = model.iter().copied().flat_map(|holder| holder.copies.iter().map(|copy| CopiedBy { holder, copy }));
    copies.filter(|copied| copied.copy.source_type == source.entity_type).collect()
}
