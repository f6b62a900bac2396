//! Entities and indexes that the store does not know are recorded: those of a new entity as complete, others as absent.
//!
//! What is on record already is not changed here.

use std::collections::HashMap;

use tablemodel_store::{Action, Batch, Row};

use super::{
    MOST_CHANGES, PARTITION, entity_row, followers, index_row, is_taken, kept, moved, next_epoch, record, record_for,
    shut,
};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        leases::INSTANCE,
        outbox::is_race,
        rewrites,
    },
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
    schema::EntitySchema,
};

const FORMAT: i64 = 1;

/// The row that stands while rows of an import have come, and the states of their indexes have not.
pub(in crate::database) const IMPORT: &str = "import";

impl Database {
    /// Records the model's entities and indexes where the store does not know them, then loads. Cost: two reads of the registry, and one
    /// for each entity that is not on record.
    pub(in crate::database) async fn record_registry(&self) -> Result<()> {
        let rows = self.registry_rows().await?;
        for schema in self.model().iter().copied() {
            // What others record meanwhile is looked at before anything is.
            if !self.unrecorded(schema, &rows, 0)?.operations.is_empty() {
                self.record_entity(schema).await?;
            }
        }
        self.load_registry().await
    }

    /// The entity itself comes with the last of its rows: nobody writes it before.
    pub(in crate::database) async fn record_entity(&self, schema: &'static EntitySchema) -> Result<()> {
        let now = self.environment().clock.now().ticks();
        for attempt in 0..ATTEMPTS {
            let rows = self.registry_rows().await?;
            let mut batch = self.unrecorded(schema, &rows, now)?;
            if batch.operations.is_empty() {
                return Ok(());
            }
            let is_last = batch.operations.len() <= MOST_CHANGES;
            batch.operations.truncate(MOST_CHANGES);
            if is_last && is_to_be_told(schema, &rows) {
                batch.operations.push(next_epoch(&rows, now));
            }
            match self.commit_unleased(&[batch], attempt).await {
                Ok(_) if is_last => return Ok(()),
                Ok(_) => {}
                // Another program registered it at the same moment, or a reply was lost: look again.
                Err(error) if is_race(error.kind()) => {}
                Err(error) if is_transient(&error) => self.pause(attempt).await,
                Err(error) => return Err(Error::from(error).of(schema.entity_type)),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the store is busy; call `ensure_tables` again").of(schema.entity_type))
    }

    /// What is to be recorded of the entity; an error where this program may not write it.
    fn unrecorded(&self, schema: &'static EntitySchema, rows: &HashMap<String, Row>, now: i64) -> Result<Batch> {
        match shut(schema, rows)? {
            Some(closed) => Err(closed.error(schema)),
            None => missing(&self.registry_table(), schema, rows, now),
        }
    }
}

/// Whether programs that run are to notice the entity: it is new to a store that is in use, and counts in entities of theirs. They do with their
/// next look at the states, which a repair takes before it writes a total.
fn is_to_be_told(schema: &EntitySchema, rows: &HashMap<String, Row>) -> bool {
    let is_new = !rows.contains_key(&entity_row(schema));
    is_new && !schema.aggregates.is_empty() && rows.keys().any(|key| key.starts_with(INSTANCE))
}

/// The rows that are not there yet. The indexes of an entity that is new to the store are complete from the start,
/// since it has no rows; those of an adopted table, after an import that was cut short, or added later, have to be built first, and so do
/// aggregates in which others are counted.
fn missing(table: &str, schema: &'static EntitySchema, rows: &HashMap<String, Row>, now: i64) -> Result<Batch> {
    let is_new = !rows.contains_key(&entity_row(schema));
    let may_have_rows = schema.adopt || rows.contains_key(IMPORT);
    let mut batch = Batch::new(table, PARTITION);
    for name in followers(schema).chain(rewrites::recorded(schema)) {
        let row = index_row(schema.entity_type, &name);
        if !rows.contains_key(&row) {
            let is_complete = is_new && !may_have_rows && !is_taken(schema.entity_type, &name, rows)?;
            let state = if is_complete { IndexState::Readable } else { IndexState::Absent };
            let mut properties = record("~index@1", now);
            properties.insert("State", state.word());
            record_for(schema, &name, &mut properties);
            batch = batch.with(row, Action::Insert(properties));
        }
    }
    if is_new {
        let mut properties = record("~entity@1", now);
        kept::keep(schema, &mut properties);
        properties.insert("Format", FORMAT);
        if schema.moved_from.is_some() {
            properties.insert(moved::SINCE, i64::from(schema.version));
        }
        batch = batch.with(entity_row(schema), Action::Insert(properties));
    }
    Ok(batch)
}
