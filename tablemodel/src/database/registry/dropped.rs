//! Before tables are dropped one by one: that nothing which follows an entity is there any more. After a call that was cut short it is built
//! anew, before anybody reads what is left of it.
//!
//! No table is dropped here.

use std::collections::HashMap;

use tablemodel_store::{Action, Batch, Condition, Operation, Row};

use super::{INDEX, MOST_CHANGES, PARTITION, moved::CLOSED, next_epoch, state};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        outbox::is_race,
    },
    error::Result,
    plan::states::IndexState,
};

impl Database {
    /// Says so of all that follows the model's entities; gives the rows of states. Cost: one request, and two more for each 98 states.
    pub(in crate::database) async fn forget_states(&self) -> Result<HashMap<String, Row>> {
        let mut attempt = 0;
        loop {
            let rows = self.registry_rows().await?;
            let mut operations = self.forgotten(&rows);
            if operations.is_empty() {
                return Ok(rows);
            }
            operations.truncate(MOST_CHANGES);
            operations.push(next_epoch(&rows, self.environment().clock.now().ticks()));
            let batch = Batch { operations, ..Batch::new(self.registry_table(), PARTITION) };
            match self.commit_unleased(&[batch], attempt).await {
                Ok(_) => attempt = 0,
                Err(error) if attempt + 1 < ATTEMPTS && (is_race(error.kind()) || is_transient(&error)) => {
                    self.pause(attempt).await;
                    attempt += 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn forgotten(&self, rows: &HashMap<String, Row>) -> Vec<Operation> {
        let model = self.model();
        let is_own = |key: &str| {
            let entity = key.strip_prefix(INDEX).and_then(|key| key.split_once('|')).map(|(entity, _)| entity);
            entity.is_some_and(|entity| model.iter().any(|schema| schema.entity_type == entity))
        };
        let is_there = |row: &Row| matches!(state(row), Ok(state) if state != IndexState::Absent);
        let kept = rows.values().filter(|row| is_own(&row.key.row) && is_there(row));
        let forgotten = kept.map(|row| {
            let mut properties = row.properties.clone();
            properties.insert("State", IndexState::Absent.word());
            properties.remove(CLOSED);
            let action = Action::Replace(properties, Condition::Match(row.etag.clone()));
            Operation { row: row.key.row.clone(), action }
        });
        forgotten.collect()
    }
}
