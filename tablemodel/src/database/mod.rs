//! The database: a store, the model kept in it, and every operation on them.
//!
//! Only this module and `read` await; what a write must touch is decided in `plan`.

mod batch;
mod bulk;
mod calls;
mod claims;
mod execute;
mod open;
mod outbox;
mod registry;
mod rekey;
mod relay;
mod tables;
mod transfer;
mod verify;
mod write;

use std::{fmt, sync::Arc, time::Duration};

use tablemodel_store::{Capabilities, Row, RowKey, TableStore};

pub(crate) use self::registry::Registered;
pub use self::{
    batch::WriteBatch,
    bulk::{Bulk, BulkReport},
    open::{Consistency, DatabaseBuilder},
    relay::{Poisoned, Relay, RelayReport},
    transfer::Transferred,
    verify::{Verified, Violation, ViolationKind},
};
use crate::{
    entity::TableEntity,
    environment::Environment,
    error::{Error, Result},
    observe::Observed,
    plan::change::is_primary,
    schema::EntitySchema,
    stored::Stored,
};

/// A store opened with a model. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    store: Arc<dyn TableStore>,
    capabilities: Capabilities,
    prefix: String,
    environment: Environment,
    model: &'static [&'static EntitySchema],
    registry: registry::Registry,
    observed: Observed,
    deadline: Duration,
    consistency: Consistency,
    fence: Duration,
    markers: outbox::Markers,
    read_only: bool,
    #[cfg(feature = "embedded")]
    embedded: Option<tablemodel_store::EmbeddedStore>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("prefix", &self.0.prefix)
            .field("entities", &self.0.model.iter().map(|schema| schema.entity_type).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Database {
    /// The store below.
    pub fn store(&self) -> &Arc<dyn TableStore> {
        &self.0.store
    }

    /// Ends the database: what it holds back is on the disk, and the file is free for others. Clones are closed too.
    ///
    /// Dropping the last clone does the same, without telling of failures. Does nothing for stores without a file.
    ///
    /// # Errors
    ///
    /// `Denied` or `OutcomeUnknown` if the disk failed.
    pub async fn close(self) -> Result<()> {
        #[cfg(feature = "embedded")]
        if let Some(embedded) = &self.0.embedded {
            embedded.close().await?;
        }
        Ok(())
    }

    /// How rows in other partitions follow their entity.
    pub fn consistency(&self) -> Consistency {
        self.0.consistency
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.0.environment
    }

    /// The full name of a table.
    pub(crate) fn table_name(&self, table: &str) -> String {
        format!("{}{table}", self.0.prefix)
    }

    pub(crate) fn model(&self) -> &'static [&'static EntitySchema] {
        self.0.model
    }

    /// The table and index states of an entity of the opened model.
    pub(crate) fn registered(&self, schema: &'static EntitySchema) -> Result<Arc<Registered>> {
        if let Some(registered) = self.0.registry.get(schema) {
            return Ok(registered);
        }
        if !self.0.model.iter().any(|known| std::ptr::eq(*known, schema) || known.entity_type == schema.entity_type) {
            let detail = "the opened model does not list this entity; add it to the `#[derive(TableModel)]` enum";
            return Err(Error::unsupported(detail).of(schema.entity_type));
        }
        let detail = "the entity is not registered in this store; call `db.ensure_tables()` once";
        Err(Error::unsupported(detail).of(schema.entity_type))
    }

    /// The primary row at `key`, unless it is a tombstone or of another type. One point read.
    pub(crate) async fn primary_row(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<Option<Row>> {
        let registered = self.registered(schema)?;
        let row = self.get_row(&registered.table, key).await;
        let row = row.map_err(|error| error.of(schema.entity_type).at_key(key.clone()))?;
        Ok(row.filter(|row| is_primary(schema, row)))
    }

    pub(crate) async fn read_primary<E: TableEntity>(&self, key: &RowKey) -> Result<Option<Stored<E>>> {
        self.primary_row(E::SCHEMA, key).await?.map(|row| Stored::read(row.into())).transpose()
    }
}
