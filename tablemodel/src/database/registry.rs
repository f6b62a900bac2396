//! The registry: which entities and indexes the store knows, and how far each index is built, as rows of the schema
//! table (drawn in FORMAT.md).
//!
//! Indexes are not built here; a program only obeys the states it finds.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use tablemodel_store::{
    Action, Batch, KeyRange, Properties, Query, Row, RowRange, StoreErrorKind, TableStore, ValueRef,
};

use crate::{
    error::{Error, Result},
    plan::{
        states::{IndexState, IndexStates},
        system,
        table::TableName,
    },
    schema::EntitySchema,
};

/// The table that holds the registry, after the prefix.
pub(crate) const SCHEMA_TABLE: &str = "tmschema";
/// Its one partition: all changes of states are one batch.
const PARTITION: &str = "s";
const FORMAT: i64 = 1;

/// What the store knows of an entity.
#[derive(Debug)]
pub(crate) struct Registered {
    /// The table's full name.
    pub(crate) table: String,
    /// The states of its indexes.
    pub(crate) states: IndexStates,
}

/// The registered entities, by name.
#[derive(Debug, Default)]
pub(super) struct Registry(RwLock<HashMap<&'static str, Arc<Registered>>>);

impl Registry {
    pub(super) fn get(&self, schema: &'static EntitySchema) -> Option<Arc<Registered>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(schema.entity_type).cloned()
    }

    fn set(&self, entities: HashMap<&'static str, Arc<Registered>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = entities;
    }

    /// Reads the states of the model's entities; those that the store does not know stay unregistered.
    pub(super) async fn load(
        &self,
        store: &dyn TableStore,
        prefix: &str,
        model: &'static [&'static EntitySchema],
    ) -> Result<()> {
        let rows = read(store, &format!("{prefix}{SCHEMA_TABLE}")).await?;
        let known = model.iter().filter(|schema| rows.contains_key(&entity_row(schema)));
        self.set(
            known
                .map(|schema| Ok((schema.entity_type, Arc::new(registered(prefix, schema, &rows)?))))
                .collect::<Result<_>>()?,
        );
        Ok(())
    }

    /// Records the model's entities and indexes where the store does not know them, then loads.
    pub(super) async fn record(
        &self,
        store: &dyn TableStore,
        prefix: &str,
        model: &'static [&'static EntitySchema],
        now: i64,
    ) -> Result<()> {
        let table = format!("{prefix}{SCHEMA_TABLE}");
        for schema in model {
            let rows = read(store, &table).await?;
            check_known(schema, &rows)?;
            let batch = missing(&table, schema, &rows, now);
            if batch.operations.is_empty() {
                continue;
            }
            match store.commit(&[batch]).await {
                // Another program registered it at the same moment, or a lost reply was ours: the states are read below.
                Err(error) if error.kind() == StoreErrorKind::RowExists => {}
                other => drop(other.map_err(|error| Error::from(error).of(schema.entity_type))?),
            }
        }
        self.load(store, prefix, model).await
    }
}

fn entity_row(schema: &EntitySchema) -> String {
    format!("entity|{}", schema.entity_type)
}

fn index_row(schema: &EntitySchema, index: &str) -> String {
    format!("index|{}|{index}", schema.entity_type)
}

/// The registry's rows by row key; none when the table is not there.
async fn read(store: &dyn TableStore, table: &str) -> Result<HashMap<String, Row>> {
    let mut query = Query::new(table, KeyRange::rows(PARTITION, RowRange::all()));
    let mut rows = HashMap::new();
    loop {
        let page = match store.query(&query).await {
            Ok(page) => page,
            Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(rows),
            Err(error) => return Err(error.into()),
        };
        rows.extend(page.rows.into_iter().map(|row| (row.key.row.clone(), row)));
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => return Ok(rows),
        }
    }
}

fn registered(prefix: &str, schema: &EntitySchema, rows: &HashMap<String, Row>) -> Result<Registered> {
    let states = schema.indexes.iter().map(|index| match rows.get(&index_row(schema, index.name)) {
        Some(row) => state(row),
        None => Ok(IndexState::Absent),
    });
    let table = TableName { prefix: prefix.to_owned(), table: schema.table, slice: None };
    Ok(Registered { table: table.to_string(), states: IndexStates(states.collect::<Result<_>>()?) })
}

fn state(row: &Row) -> Result<IndexState> {
    match row.properties.get("State") {
        Some(ValueRef::String(word)) => IndexState::from_word(word),
        _ => None,
    }
    .ok_or_else(|| Error::corrupt("the state of an index in the schema table cannot be read").at_key(row.key.clone()))
}

/// That the store's record of the entity is one this program can work with.
fn check_known(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<()> {
    let Some(row) = rows.get(&entity_row(schema)) else { return Ok(()) };
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
fn missing(table: &str, schema: &EntitySchema, rows: &HashMap<String, Row>, now: i64) -> Batch {
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
    for index in schema.indexes {
        let row = index_row(schema, index.name);
        if !rows.contains_key(&row) {
            let mut properties = record("~index@1", now);
            properties.insert("State", state.word());
            batch = batch.with(row, Action::Insert(properties));
        }
    }
    batch
}

fn record(kind: &'static str, now: i64) -> Properties {
    let mut properties = Properties::new();
    system::stamp(&mut properties, kind, now, None);
    properties
}
