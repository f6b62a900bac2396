//! Indexes that lapse: which a program wrote without, whose model does not have them. Until a migration has built them anew, what they
//! hold is not complete.
//!
//! Whether one did is a property of the row of the index's state. A program says so after it has its lease: whoever clears it waits
//! for those who lack the index and have one, and then builds; one that comes later says so anew.

use std::collections::HashMap;

use tablemodel_store::{Action, Batch, Condition, Operation, Properties, Row, ValueRef};

use super::{PARTITION, beyond, entity_row, index_row, state};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        outbox::is_race,
    },
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
};

/// How often a program without the index began to write beside it since it was built.
const LAPSED: &str = "Lapsed";

/// Whether a program that lacks the index has written since it was built.
pub(in crate::database) fn is_lapsed(row: &Row) -> bool {
    lapses(row) > 0
}

/// How far the index is, for those who have it: one that lapsed is written, and not read.
pub(in crate::database) fn complete(row: &Row) -> Result<IndexState> {
    let state = state(row)?;
    Ok(if is_lapsed(row) { state.min(IndexState::WriteOnly) } else { state })
}

fn lapses(row: &Row) -> i64 {
    match row.properties.get(LAPSED) {
        Some(ValueRef::Int64(lapses)) => lapses,
        _ => 0,
    }
}

/// The row's properties, as of an index that begins to be built anew.
pub(in crate::database) fn restored(row: &Row) -> Result<Properties> {
    let mut properties = row.properties.clone();
    properties.insert("State", complete(row)?.word());
    properties.remove(LAPSED);
    Ok(properties)
}

impl Database {
    /// Says of the indexes that the store keeps and the model does not name that what this program writes is not in them.
    pub(in crate::database) async fn lapse_others(&self) -> Result<()> {
        if !self.0.registry.is_any_beyond() {
            return Ok(());
        }
        for attempt in 0..ATTEMPTS {
            let operations = self.lapses(&self.registry_rows().await?)?;
            if operations.is_empty() {
                return Ok(());
            }
            let batch = Batch { operations, ..Batch::new(self.registry_table(), PARTITION) };
            match self.commit_unleased(&[batch], attempt).await {
                Ok(_) => return Ok(()),
                Err(error) if is_race(error.kind()) => {}
                Err(error) if is_transient(&error) => self.pause(attempt).await,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the states of indexes keep changing; try again"))
    }

    fn lapses(&self, rows: &HashMap<String, Row>) -> Result<Vec<Operation>> {
        let mut operations = Vec::new();
        for schema in self.model().iter().copied().filter(|schema| rows.contains_key(&entity_row(schema))) {
            for name in beyond(schema, rows)? {
                let row = index_row(schema.entity_type, &name);
                let Some(there) = rows.get(&row) else { continue };
                let mut properties = there.properties.clone();
                properties.insert(LAPSED, lapses(there) + 1);
                operations
                    .push(Operation { row, action: Action::Replace(properties, Condition::Match(there.etag.clone())) });
            }
        }
        Ok(operations)
    }
}
