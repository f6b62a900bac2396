//! The registry: which entities and indexes the store knows, and how far each index is built, as rows of the schema
//! table (drawn in FORMAT.md).
//!
//! Indexes are not built here; a program only obeys the states it finds.

pub(super) mod moved;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tablemodel_store::{Action, Batch, KeyRange, Properties, Query, Row, RowRange, StoreErrorKind, ValueRef};

use crate::{
    database::{
        Consistency, Database,
        calls::{ATTEMPTS, is_transient},
        rewrites,
    },
    error::{Error, ErrorKind, Result},
    plan::{
        states::{CopiedBy, IndexState, IndexStates, Setting},
        system,
        table::TableName,
    },
    rooms::wide,
    schema::{EntitySchema, Moved, is_move},
};

/// The table that holds the registry, after the prefix.
pub(crate) const SCHEMA_TABLE: &str = "tmschema";
/// Its one partition: all changes of states are one batch.
pub(super) const PARTITION: &str = "s";
/// The row that counts the changes of states.
pub(super) const EPOCH: &str = "epoch";
const FORMAT: i64 = 1;

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
    /// The version that all rows are of, or are about to be; none where older ones were never rewritten.
    pub(crate) rewritten: Option<u32>,
    /// The changes of states that this knows of.
    pub(crate) epoch: i64,
    /// Why it may not be written, if it moves.
    pub(crate) closed: Option<Closed>,
}

/// Why an entity that moves may not be written in this form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The form that it moves from is still the one that is written.
    NotSwitched { from: u32 },
    /// It has moved, or is about to.
    Moved { to: u32 },
}

impl Closed {
    pub(super) fn error(self, schema: &'static EntitySchema) -> Error {
        let (kind, detail) = match self {
            Self::NotSwitched { from } => (
                ErrorKind::NotSwitched { from },
                format!(
                    "the entity is still kept as version {from}: run `db.migrations().apply()`, and `contract()` once the \
                     programs of that version have ended"
                ),
            ),
            Self::Moved { to } => (
                ErrorKind::Moved { to },
                format!("the entity moves to where version {to} keeps it: deploy the program of that version"),
            ),
        };
        Error::new(kind, detail).of(schema.entity_type)
    }
}

impl Registered {
    /// That the entity may be written in this form.
    pub(super) fn check_open(&self) -> Result<()> {
        self.closed.map_or(Ok(()), |closed| Err(closed.error(self.schema)))
    }
}

/// The states of indexes as of one epoch. Who plans a write holds it until the write is over.
#[derive(Debug, Default)]
pub(super) struct Generation {
    pub(super) epoch: i64,
    /// Whether the program may have missed later ones: nothing that was planned may be committed.
    lapsed: AtomicBool,
}

impl Generation {
    pub(super) fn is_lapsed(&self) -> bool {
        self.lapsed.load(Ordering::SeqCst)
    }
}

/// The registered entities, by name, as of the newest epoch that this program knows.
#[derive(Debug, Default)]
pub(super) struct Registry(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The entities of the model, each in the form that it is kept in.
    model: Arc<[&'static EntitySchema]>,
    entities: BTreeMap<&'static str, Arc<Registered>>,
    /// Forms that entities move to, or have moved to: to be read, or neither read nor written.
    others: BTreeMap<&'static str, Other>,
    generation: Arc<Generation>,
    /// Those before it that something may still be planned on.
    earlier: Vec<Weak<Generation>>,
}

/// A form of an entity that is not the one it is kept in.
#[derive(Debug)]
enum Other {
    /// Its rows are complete shadows, and may be read.
    Readable(Arc<Registered>),
    Closed(Closed),
}

impl Registry {
    pub(super) fn of(model: &'static [&'static EntitySchema]) -> Self {
        Self(RwLock::new(Known { model: model.into(), ..Known::default() }))
    }

    /// The entity in this form; an error where it is kept in another.
    pub(super) fn get(&self, schema: &'static EntitySchema) -> Result<Option<Arc<Registered>>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if known.others.is_empty() {
            return Ok(known.entities.get(schema.entity_type).cloned()); // the usual case
        }
        let kept = known.entities.get(schema.entity_type);
        if let Some(kept) = kept.filter(|kept| kept.schema.table.eq_ignore_ascii_case(schema.table)) {
            return Ok(Some(kept.clone()));
        }
        match known.others.get(schema.entity_type) {
            None => Ok(None),
            Some(Other::Readable(registered)) => Ok(Some(registered.clone())),
            Some(Other::Closed(closed)) => Err(closed.error(schema)),
        }
    }

    /// The entities of the model, each in the form that it is kept in.
    pub(super) fn model(&self) -> Arc<[&'static EntitySchema]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).model.clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).entities.is_empty()
    }

    /// The states as they are now, to be held while a write is planned and made.
    pub(super) fn enter(&self) -> Arc<Generation> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).generation.clone()
    }

    /// The oldest epoch that a write of this program is still planned on.
    pub(super) fn oldest(&self) -> i64 {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let earlier = known.earlier.iter().filter_map(Weak::upgrade).map(|generation| generation.epoch);
        earlier.min().unwrap_or(known.generation.epoch).min(known.generation.epoch)
    }

    /// What was planned so far may not be committed.
    pub(super) fn lapse(&self) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.generation.lapsed.store(true, Ordering::SeqCst);
        known.earlier.iter().filter_map(Weak::upgrade).for_each(|earlier| earlier.lapsed.store(true, Ordering::SeqCst));
    }

    fn set(&self, next: Known, epoch: i64) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        (known.model, known.entities, known.others) = (next.model, next.entities, next.others);
        if known.generation.epoch != epoch || known.generation.is_lapsed() {
            let next = Arc::new(Generation { epoch, lapsed: AtomicBool::new(false) });
            let last = std::mem::replace(&mut known.generation, next);
            known.earlier.retain(|earlier| earlier.strong_count() > 0);
            known.earlier.push(Arc::downgrade(&last));
        }
    }
}

impl Database {
    /// Reads the states of the model's entities; those that the store does not know stay unregistered.
    pub(super) async fn load_registry(&self) -> Result<()> {
        self.0.lease.looked(self.environment().clock.monotonic());
        let rows = self.registry_rows().await?;
        let mut known = Known { model: moved::model(self.0.model, &rows), ..Known::default() };
        for (schema, listed) in known.model.iter().copied().zip(self.0.model.iter().copied()) {
            let name = schema.entity_type;
            if !rows.contains_key(&entity_row(schema)) {
                continue;
            }
            if let Some(closed) = moved::gone(schema, &rows) {
                known.others.insert(name, Other::Closed(closed));
                continue;
            }
            let kept = registered(self, &known.model, schema, &rows)?;
            if !std::ptr::eq(schema, listed) {
                known.others.insert(name, moved::waiting(&kept, listed));
            }
            known.entities.insert(name, Arc::new(kept));
        }
        self.0.registry.set(known, epoch(&rows));
        if self.0.registry.is_empty() {
            self.0.lease.forget();
        }
        Ok(())
    }

    /// Records the model's entities and indexes where the store does not know them, then loads.
    pub(super) async fn record_registry(&self) -> Result<()> {
        for schema in self.model().iter().copied() {
            self.record_entity(schema).await?;
        }
        self.load_registry().await
    }

    pub(super) async fn record_entity(&self, schema: &'static EntitySchema) -> Result<()> {
        let now = self.environment().clock.now().ticks();
        for attempt in 0..ATTEMPTS {
            let rows = self.registry_rows().await?;
            check_known(schema, &rows)?;
            let batch = missing(&self.registry_table(), schema, &rows, now);
            if batch.operations.is_empty() {
                return Ok(());
            }
            match self.commit_store(&[batch], attempt).await {
                Ok(_) => return Ok(()),
                // Another program registered it at the same moment, or a reply was lost: look again.
                Err(error) if error.kind() == StoreErrorKind::RowExists => {}
                Err(error) if is_transient(&error) => self.pause(attempt).await,
                Err(error) => return Err(Error::from(error).of(schema.entity_type)),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the store is busy; call `ensure_tables` again").of(schema.entity_type))
    }

    pub(super) fn registry_table(&self) -> String {
        format!("{}{SCHEMA_TABLE}", self.0.prefix)
    }

    /// The registry's rows by row key; none when the table is not there.
    pub(super) async fn registry_rows(&self) -> Result<HashMap<String, Row>> {
        let mut query = Query::new(self.registry_table(), KeyRange::rows(PARTITION, RowRange::all()));
        let mut rows = HashMap::new();
        loop {
            let page = match self.query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(rows),
                other => other?,
            };
            rows.extend(page.rows.into_iter().map(|row| (row.key.row.clone(), row)));
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok(rows),
            }
        }
    }
}

pub(super) fn entity_row(schema: &EntitySchema) -> String {
    format!("entity|{}", schema.entity_type)
}

pub(super) fn index_row(entity: &str, index: &str) -> String {
    format!("index|{entity}|{index}")
}

/// The number of changes of states so far.
pub(super) fn epoch(rows: &HashMap<String, Row>) -> i64 {
    rows.get(EPOCH).map_or(0, epoch_of)
}

pub(super) fn epoch_of(row: &Row) -> i64 {
    match row.properties.get("Epoch") {
        Some(ValueRef::Int64(epoch)) => epoch,
        _ => 0,
    }
}

/// The names of what follows an entity, each with a state of its own: its indexes, then its copies, then its aggregates, then its
/// move.
pub(super) fn followers(schema: &'static EntitySchema) -> impl Iterator<Item = String> {
    let before = schema.indexes.len() + schema.copies.len();
    let aggregates = schema.aggregates.iter().map(|of| format!("~{}.{}", of.target.entity_type, of.into));
    let moves = schema.moves_to.iter().map(Moved::name);
    let others = (0..before).filter_map(|at| schema.derived(at)).map(|kind| kind.name.into_owned());
    others.chain(aggregates).chain(moves)
}

fn registered(
    db: &Database,
    model: &[&'static EntitySchema],
    schema: &'static EntitySchema,
    rows: &HashMap<String, Row>,
) -> Result<Registered> {
    let states = followers(schema).map(|name| match rows.get(&index_row(schema.entity_type, &name)) {
        Some(row) => state(row),
        None => Ok(IndexState::Absent),
    });
    let mut states: Vec<_> = states.collect::<Result<_>>()?;
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
        rewritten: rewrites::reached(schema.entity_type, rows, IndexState::WriteOnly, u32::MAX)?,
        epoch: epoch(rows),
        closed: moved::closed(schema, rows),
    })
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

/// The indexes of the entity that are kept, or were, and that its schema does not name.
pub(super) fn beyond(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<Vec<String>> {
    let own = index_row(schema.entity_type, "");
    let mut beyond = Vec::new();
    for (key, row) in rows {
        let Some(name) = key.strip_prefix(&own) else { continue };
        let is_known = rewrites::version(name).is_some()
            || is_move(name)
            || schema.lineage().any(|version| followers(version).any(|known| known == name));
        if !is_known && state(row)? != IndexState::Absent {
            beyond.push(name.to_owned());
        }
    }
    beyond.sort_unstable();
    Ok(beyond)
}

/// The copies that the model's entities have of this one.
fn copied(model: &[&'static EntitySchema], source: &EntitySchema) -> Vec<CopiedBy> {
    let copies = model.iter().copied().flat_map(|holder| holder.copies.iter().map(|copy| CopiedBy { holder, copy }));
    copies.filter(|copied| copied.copy.source_type == source.entity_type).collect()
}

pub(super) fn state(row: &Row) -> Result<IndexState> {
    match row.properties.get("State") {
        Some(ValueRef::String(word)) => IndexState::from_word(word),
        _ => None,
    }
    .ok_or_else(|| Error::corrupt("the state of an index in the schema table cannot be read").at_key(row.key.clone()))
}

/// That the store's record of the entity is one this program can work with.
fn check_known(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<()> {
    let Some(row) = rows.get(&entity_row(schema)) else { return Ok(()) };
    if let Some(closed) = moved::gone(schema, rows) {
        return Err(closed.error(schema));
    }
    match row.properties.get("Table") {
        Some(ValueRef::String(table)) if !table.eq_ignore_ascii_case(schema.table) => {
            let detail = format!("the store keeps this entity in table `{table}`, the program in `{}`", schema.table);
            Err(Error::unsupported(detail).of(schema.entity_type))
        }
        _ => Ok(()),
    }
}

/// The rows that are not there yet. The indexes of an entity that is new to the store are complete from the start,
/// since it has no rows; those of an adopted table, or added later, have to be built first.
fn missing(table: &str, schema: &'static EntitySchema, rows: &HashMap<String, Row>, now: i64) -> Batch {
    let is_new = !rows.contains_key(&entity_row(schema));
    let state = if is_new && !schema.adopt { IndexState::Readable } else { IndexState::Absent };
    let mut batch = Batch::new(table, PARTITION);
    if is_new {
        let mut properties = record("~entity@1", now);
        properties.insert("Table", schema.table);
        properties.insert("Version", i64::from(schema.version));
        properties.insert("Format", FORMAT);
        batch = batch.with(entity_row(schema), Action::Insert(properties));
    }
    for name in followers(schema).chain(rewrites::recorded(schema)) {
        let row = index_row(schema.entity_type, &name);
        if !rows.contains_key(&row) {
            let mut properties = record("~index@1", now);
            properties.insert("State", state.word());
            properties.insert("Version", i64::from(schema.version));
            if let Some(table) = place(schema, &name) {
                properties.insert("Table", table);
            }
            batch = batch.with(row, Action::Insert(properties));
        }
    }
    batch
}

/// The table of the rows of an index that stand elsewhere: so that they are found when no model names it any more.
pub(super) fn place(schema: &'static EntitySchema, name: &str) -> Option<&'static str> {
    match schema.index(name) {
        Some(index) => Some(index.elsewhere.as_ref()?.table),
        None => schema.copy(schema.derived_position(name)?).map(|copy| (copy.source)().table),
    }
}

pub(super) fn record(kind: &'static str, now: i64) -> Properties {
    let mut properties = Properties::new();
    system::stamp(&mut properties, kind, now, None);
    properties
}
