//! The registry: which entities and indexes the store knows, and how far each index is built, as rows of the schema
//! table (drawn in FORMAT.md).
//!
//! Indexes are not built here; a program only obeys the states it finds.

pub(super) mod changed;
mod dropped;
pub(super) mod kept;
mod known;
pub(super) mod lapsed;
pub(super) mod moved;
pub(super) mod recording;
mod registered;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use tablemodel_store::{Action, Condition, KeyRange, Operation, Properties, Query, Row, ValueRef, limits};

pub(super) use self::known::{Generation, Registry};
pub(crate) use self::registered::{Closed, Registered};
use self::{
    known::{Known, Other},
    registered::registered,
};
use crate::{
    database::{Database, rewrites},
    error::{Error, Result},
    plan::{states::IndexState, system},
    schema::{EntitySchema, Moved, is_move},
};

/// The table that holds the registry, after the prefix.
pub(crate) const SCHEMA_TABLE: &str = "tmschema";
/// Its one partition: changes of states are one batch, or a few where there are many.
pub(super) const PARTITION: &str = "s";
/// The row that counts the changes of states.
pub(super) const EPOCH: &str = "epoch";
/// What the rows of states begin with.
const ENTITY: &str = "entity|";
pub(super) const INDEX: &str = "index|";
/// How many rows of states a batch has room for, beside the epoch and the record of a migration.
pub(super) const MOST_CHANGES: usize = limits::MAX_BATCH_OPERATIONS - 2;

impl Database {
    /// Reads the states of the model's entities; those that the store does not know stay unregistered.
    pub(super) async fn load_registry(&self) -> Result<()> {
        self.read_registry().await.map(drop)
    }

    /// The same; gives the rows by which it is known now.
    pub(super) async fn read_registry(&self) -> Result<HashMap<String, Row>> {
        let looked = self.since();
        let look = self.0.registry.look();
        let rows = self.registry_rows().await?;
        let recorded = rows.keys().filter_map(|key| key.strip_prefix(ENTITY)).map(str::to_owned).collect();
        let model = moved::model(self.0.model, &rows);
        let beyond = named_by_none(&model, &rows);
        let mut known = Known { model, recorded, beyond, look, ..Known::default() };
        for (schema, listed) in known.model.iter().copied().zip(self.0.model.iter().copied()) {
            let name = schema.entity_type;
            if !rows.contains_key(&entity_row(schema)) {
                continue;
            }
            if let Some(closed) = shut(schema, &rows)? {
                known.others.insert(name, Other::Closed(closed));
                continue;
            }
            let kept = registered(self, &known.model, schema, &rows)?;
            if !std::ptr::eq(schema, listed) {
                known.others.insert(name, moved::waiting(&kept, listed, &rows)?);
            }
            known.entities.insert(name, Arc::new(kept));
        }
        self.0.registry.set(known, epoch(&rows));
        self.0.lease.looked(looked);
        if self.0.registry.is_empty() {
            self.0.lease.forget();
        }
        Ok(rows)
    }

    pub(super) fn registry_table(&self) -> String {
        format!("{}{SCHEMA_TABLE}", self.0.prefix)
    }

    /// The registry's rows by row key; none when the table is not there.
    pub(super) async fn registry_rows(&self) -> Result<HashMap<String, Row>> {
        let query = Query::new(self.registry_table(), KeyRange::partition(PARTITION));
        let rows = self.query_all_if_any(query).await?;
        Ok(rows.into_iter().map(|row| (row.key.row.clone(), row)).collect())
    }
}

pub(super) fn entity_row(schema: &EntitySchema) -> String {
    entity_row_of(schema.entity_type)
}

/// The same, of one that the model may lack.
pub(super) fn entity_row_of(entity: &str) -> String {
    format!("{ENTITY}{entity}")
}

pub(super) fn index_row(entity: &str, index: &str) -> String {
    format!("{INDEX}{entity}|{index}")
}

/// The number of changes of states so far.
pub(super) fn epoch(rows: &HashMap<String, Row>) -> i64 {
    rows.get(EPOCH).map_or(0, epoch_of)
}

/// The write that counts one more, if nobody does so meanwhile.
pub(super) fn next_epoch(rows: &HashMap<String, Row>, now: i64) -> Operation {
    let mut properties = record("~epoch@1", now);
    properties.insert("Epoch", epoch(rows) + 1);
    let action = match rows.get(EPOCH) {
        Some(there) => Action::Replace(properties, Condition::Match(there.etag.clone())),
        None => Action::Insert(properties),
    };
    Operation { row: EPOCH.to_owned(), action }
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

/// The indexes of the entity that are kept, or were, and that no version of its schema names.
pub(super) fn beyond(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<Vec<String>> {
    let mut beyond = unnamed(schema, rows)?;
    beyond.retain(|name| !schema.ancestors().any(|older| followers(older).any(|known| known == *name)));
    Ok(beyond)
}

/// The indexes of the entity that are kept, or were, and that rows of its own version are not in. Where no such row is written any more, the
/// copies among them: their sources may be.
fn lacked(
    model: &[&'static EntitySchema],
    schema: &'static EntitySchema,
    rows: &HashMap<String, Row>,
) -> Result<Vec<String>> {
    let mut narrower = narrower(schema, rows)?;
    if is_overtaken(schema, rows)? {
        narrower.append(&mut uncopied(model, schema, rows)?);
        return Ok(narrower);
    }
    let mut lacked = unnamed(schema, rows)?;
    lacked.append(&mut narrower);
    if let Some((moved, row)) = move_of(schema, rows)
        && moved::narrowed(moved, row)?.is_some()
    {
        lacked.push(moved.name());
    }
    Ok(lacked)
}

/// Whether no row of the entity's own version is written any more, since all are rewritten as a newer one.
fn is_overtaken(schema: &EntitySchema, rows: &HashMap<String, Row>) -> Result<bool> {
    Ok(rewrites::newest(schema.entity_type, rows)?.is_some_and(|newest| newest > schema.version))
}

/// The copies by which newer versions copy more: that a source changes so, this program does not tell.
fn narrower(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<Vec<String>> {
    let mut narrower = Vec::new();
    for (name, row) in changed::overtaken(schema, rows) {
        let is_copy = schema.derived_position(&name).is_some_and(|at| schema.copy(at).is_some());
        if is_copy && state(row)? != IndexState::Absent {
            narrower.push(name);
        }
    }
    Ok(narrower)
}

/// The copies by which newer versions copy what this program may write, and its own does not: that a source changes, it does not tell.
fn uncopied(
    model: &[&'static EntitySchema],
    schema: &'static EntitySchema,
    rows: &HashMap<String, Row>,
) -> Result<Vec<String>> {
    let mut written = BTreeSet::new();
    for source in model.iter().copied() {
        if !is_overtaken(source, rows)? {
            written.insert(source.table);
        }
    }
    let is_written = |name: &str| {
        let row = rows.get(&index_row(schema.entity_type, name));
        let table = row.and_then(|row| row.properties.get("Table"));
        matches!(table, Some(ValueRef::String(table)) if written.contains(table))
    };
    let mut uncopied = unnamed(schema, rows)?;
    uncopied.retain(|name| name.starts_with('~') && place_of(name).is_none() && is_written(name));
    Ok(uncopied)
}

/// The move of the entity, and the row of its state.
fn move_of<'r>(schema: &'static EntitySchema, rows: &'r HashMap<String, Row>) -> Option<(&'static Moved, &'r Row)> {
    let moved = schema.moves_to.as_ref()?;
    Some((moved, rows.get(&index_row(schema.entity_type, &moved.name()))?))
}

/// The indexes of the entity that are kept, or were, and that its own version does not name.
fn unnamed(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<Vec<String>> {
    let own = index_row(schema.entity_type, "");
    let mut unnamed = Vec::new();
    for (key, row) in rows {
        let Some(name) = key.strip_prefix(&own) else { continue };
        let is_known =
            rewrites::version(name).is_some() || is_move(name) || followers(schema).any(|known| known == name);
        if !is_known && state(row)? != IndexState::Absent {
            unnamed.push(name.to_owned());
        }
    }
    unnamed.sort_unstable();
    Ok(unnamed)
}

pub(super) fn state(row: &Row) -> Result<IndexState> {
    match row.properties.get("State") {
        Some(ValueRef::String(word)) => IndexState::from_word(word),
        _ => None,
    }
    .ok_or_else(|| Error::corrupt("the state of an index in the schema table cannot be read").at_key(row.key.clone()))
}

/// Why this program may neither read nor write the entity as it has it.
fn shut(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<Option<Closed>> {
    match moved::gone(schema, rows) {
        Some(closed) => Ok(Some(closed)),
        None => kept::elsewhere(schema, rows),
    }
}

/// Whether the store keeps an aggregate of this name for the sources of another entity: its cells are theirs.
pub(super) fn is_taken(entity: &str, name: &str, rows: &HashMap<String, Row>) -> Result<bool> {
    if place_of(name).is_none() {
        return Ok(false);
    }
    let own = index_row(entity, name);
    let others = rows.iter().filter(|(key, _)| key.starts_with(INDEX) && **key != own);
    for (_, row) in others.filter(|(key, _)| key.rsplit('|').next() == Some(name)) {
        if state(row)? != IndexState::Absent {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The target and the property of the aggregate of this name, if the name is of one.
pub(super) fn place_of(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix('~')?.split_once('.')
}

/// What programs keep that this one's model does not name: the names of its entity and its own.
fn kept_beyond<'r>(
    model: &[&'static EntitySchema],
    rows: &'r HashMap<String, Row>,
) -> impl Iterator<Item = (&'r str, &'r str)> {
    rows.iter().filter_map(move |(key, row)| {
        let (entity, name) = key.strip_prefix(INDEX)?.split_once('|')?;
        let own = model.iter().find(|schema| schema.entity_type == entity);
        let is_named = own.is_some_and(|schema| followers(schema).any(|own| own == name));
        (!is_named && !matches!(state(row), Ok(IndexState::Absent))).then_some((entity, name))
    })
}

/// The same, but for what an older version of the model's entities names: each as outbox rows name a copy.
fn named_by_none(model: &[&'static EntitySchema], rows: &HashMap<String, Row>) -> BTreeSet<String> {
    let was_named = |entity: &str, name: &str| {
        let mut versions = model.iter().filter(|schema| schema.entity_type == entity).flat_map(|own| own.ancestors());
        versions.any(|older| followers(older).any(|known| known == name))
    };
    let beyond = kept_beyond(model, rows).filter(|&(entity, name)| !was_named(entity, name));
    beyond.map(|(entity, name)| format!("{entity}|{name}")).collect()
}

/// The properties of the entity in which programs count that have an aggregate which this one's model does not name.
fn counted_beyond(
    model: &[&'static EntitySchema],
    target: &'static EntitySchema,
    rows: &HashMap<String, Row>,
) -> Vec<String> {
    let places = kept_beyond(model, rows).filter_map(|(_, name)| place_of(name));
    places.filter(|(entity, _)| *entity == target.entity_type).map(|(_, property)| property.to_owned()).collect()
}

/// The aggregates that programs keep in the entity and its own version has no property for, by the keys of their rows: an entity that this
/// program inserts does not hold them. None where no row of its version is written any more.
fn unheld(
    model: &[&'static EntitySchema],
    target: &'static EntitySchema,
    rows: &HashMap<String, Row>,
) -> Result<Vec<String>> {
    if is_overtaken(target, rows)? {
        return Ok(Vec::new());
    }
    let holds =
        |into: &str| target.sharded(into).is_some() || target.property(into).is_some_and(|property| property.aggregate);
    let is_unheld = |name| place_of(name).is_some_and(|(entity, into)| entity == target.entity_type && !holds(into));
    let unheld = kept_beyond(model, rows).filter(|(_, name)| is_unheld(name));
    Ok(unheld.map(|(entity, name)| index_row(entity, name)).collect())
}

/// The tables where programs keep indexes and lists of these entities, also such as this one does not name; not those of other entities.
pub(super) fn recorded_tables<'r>(
    model: &[&'static EntitySchema],
    rows: &'r HashMap<String, Row>,
) -> BTreeSet<&'r str> {
    let of = |row: &'r Row| match row.properties.get("Table") {
        Some(ValueRef::String(table)) => Some(table),
        _ => None,
    };
    let is_known = |entity: &str| model.iter().any(|schema| schema.entity_type == entity);
    let others = rows.iter().filter(|(key, _)| key.strip_prefix(ENTITY).is_some_and(|entity| !is_known(entity)));
    let others: Vec<_> = others.filter_map(|(_, row)| of(row)).collect();
    let is_own = |key: &str| {
        let place = key.strip_prefix(INDEX).and_then(|key| key.split_once('|'));
        place.is_some_and(|(entity, name)| is_known(entity) && !name.starts_with('~'))
    };
    let own = rows.iter().filter(|(key, _)| is_own(key)).filter_map(|(_, row)| of(row));
    own.filter(|table| !others.iter().any(|other| other.eq_ignore_ascii_case(table))).collect()
}

/// For which version of the entity an index is recorded, and where its rows stand.
pub(super) fn record_for(schema: &'static EntitySchema, name: &str, properties: &mut Properties) {
    properties.insert("Version", i64::from(schema.version));
    changed::raise(schema, name, properties);
    match place(schema, name) {
        Some(table) => drop(properties.insert("Table", table)),
        None => drop(properties.remove("Table")),
    }
    if let Some(moved) = schema.moves_to.as_ref().filter(|moved| moved.name() == name) {
        moved::record_form(moved, properties);
    }
}

/// The table of the rows of an index that stand elsewhere: so that they are found when no model names it any more.
pub(super) fn place(schema: &'static EntitySchema, name: &str) -> Option<&'static str> {
    match schema.index(name) {
        Some(index) => Some(index.elsewhere.as_ref()?.table),
        None => {
            let position = schema.derived_position(name)?;
            let source = schema.copy(position).map(|copy| (copy.source)().table);
            source.or_else(|| schema.aggregate(position).and(schema.derived(position)?.table))
        }
    }
}

pub(super) fn record(kind: &'static str, now: i64) -> Properties {
    let mut properties = Properties::new();
    system::stamp(&mut properties, kind, now, None);
    properties
}
