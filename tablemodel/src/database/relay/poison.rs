//! What was set aside because it could not be delivered: inspected, tried again, or discarded.

use tablemodel_store::{Action, Batch, Condition, Row, RowKey};

use super::Relay;
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        outbox::{self, Progress},
        system,
    },
    rooms::{is_of_later, rekey::INTENT},
};

/// An outbox row that could not be delivered, and was set aside.
#[derive(Debug, Clone, PartialEq)]
pub struct Poisoned {
    /// The table, without the run-time prefix.
    pub table: String,
    /// The outbox row.
    pub row: RowKey,
    /// The entity that changed; of one that has left its key and could not arrive, the key to which it moves.
    pub entity: RowKey,
    /// How often it was tried.
    pub attempts: i32,
    /// The last error, its first 512 UTF-16 units.
    pub error: String,
}

impl Relay {
    /// What was set aside; nothing of a partition whose outbox cannot be read, which a round [counts](crate::RelayReport::unread). Cost: one
    /// request for each of 16 lists of markers, and for each dirty partition.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn poisoned(&self) -> Result<Vec<Poisoned>> {
        let mut poisoned = Vec::new();
        for marker in self.markers().await? {
            let dirty = match self.read(marker).await {
                Err(error) if *error.kind() == ErrorKind::Corrupt => continue,
                read => read?,
            };
            let Some(dirty) = dirty else { continue };
            for row in dirty.rows.into_iter().filter(|row| !is_of_later(&row.key.row)) {
                let progress = Progress::of(&row);
                let Some(error) = progress.poison else { continue };
                poisoned.push(Poisoned {
                    table: dirty.table.clone(),
                    entity: entity(&row),
                    row: row.key,
                    attempts: progress.attempts,
                    error,
                });
            }
        }
        Ok(poisoned)
    }

    /// Has it tried again, from the first attempt on. Cost: one read and one write.
    ///
    /// # Errors
    ///
    /// `NotFound` if it is gone; those of the store.
    pub async fn retry(&self, poisoned: &Poisoned) -> Result<()> {
        let (table, row) = self.set_aside(poisoned).await?;
        let mut properties = row.properties.clone();
        properties.retain(|name| name != outbox::POISON);
        let now = self.db.environment().clock.now();
        properties.merge(&outbox::failed(0, now, None));
        let action = Action::Replace(properties, Condition::Match(row.etag));
        self.db.commit_store(&[Batch::new(table, row.key.partition).with(row.key.row, action)], 0).await?;
        Ok(())
    }

    /// Takes it out of the outbox without its work done: the rows that it names may stay wrong until `repair`. That has to come once
    /// the [fence](crate::DatabaseBuilder::fence) has passed: one that comes sooner leaves the tombstones of what was done in part, and is to be made
    /// once more then. Cost: one read and one write.
    ///
    /// # Errors
    ///
    /// `NotFound` if it is gone; `Unsupported` if it holds an entity that moves; those of the store.
    pub async fn discard(&self, poisoned: &Poisoned) -> Result<()> {
        let (table, row) = self.set_aside(poisoned).await?;
        if row.key.row.starts_with(INTENT) {
            let detail = "an entity is on its way to another key, and stands nowhere else; have it tried again";
            return Err(Error::unsupported(detail).at_key(row.key));
        }
        self.db.remove_row(&table, &row).await
    }

    /// Whether it is still to be delivered.
    #[cfg(feature = "cli")]
    pub(crate) async fn is_left(&self, poisoned: &Poisoned) -> Result<bool> {
        let row = self.db.get_row(&self.db.table_name(&poisoned.table), &poisoned.row).await?;
        Ok(row.is_some_and(|row| Progress::of(&row).delivered.is_none()))
    }

    async fn set_aside(&self, poisoned: &Poisoned) -> Result<(String, Row)> {
        let table = self.db.table_name(&poisoned.table);
        let row = self.db.get_row(&table, &poisoned.row).await?.filter(|row| Progress::of(row).poison.is_some());
        match row {
            Some(row) => Ok((table, row)),
            None => {
                Err(Error::new(ErrorKind::NotFound, "the outbox row is no longer set aside")
                    .at_key(poisoned.row.clone()))
            }
        }
    }
}

/// The entity of an outbox row, which stands in its partition; or of an intent, which names the new key.
fn entity(row: &Row) -> RowKey {
    let moved = system::owner(row).filter(|_| row.key.row.starts_with(INTENT));
    moved.unwrap_or_else(|| {
        let owner = system::owner_row(&row.properties).unwrap_or_default();
        RowKey::new(row.key.partition.clone(), owner)
    })
}
