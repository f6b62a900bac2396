//! The database: a store, the model kept in it, and every operation on them.
//!
//! Only this module and `read` call the store; what a write must touch is decided in `plan`.

mod abreast;
mod batch;
mod beside;
#[cfg(feature = "blob")]
mod blobs;
mod bulk;
mod calls;
mod claims;
mod contributions;
mod copies;
mod deletion;
mod execute;
mod flights;
mod followers;
mod foreign;
#[cfg(feature = "testing")]
mod fork;
mod halves;
mod holders;
mod leases;
mod links;
mod listed;
mod lists;
mod lookup;
mod markers;
mod migrate;
mod older;
mod open;
mod outbox;
mod pieces;
mod registration;
mod registry;
mod rekey;
mod relay;
mod restricting;
mod rewrites;
#[cfg(feature = "cli")]
mod sample;
mod seat;
mod shadows;
pub(crate) mod since;
mod sources;
mod staging;
mod tables;
mod total;
mod traffic;
mod transfer;
mod turns;
mod update;
mod upgrade;
mod vain;
mod verify;
mod write;

use std::{fmt, sync::Arc, time::Duration};

use tablemodel_store::{Capabilities, DateTime, RowKey, TableStore};

#[cfg(feature = "blob")]
pub use self::blobs::{Blobs, Collected};
pub(crate) use self::registry::Registered;
pub use self::{
    batch::WriteBatch,
    bulk::{Bulk, BulkReport, BulkWritten},
    migrate::{
        Applied, AppliedPlan, Apply, Contracted, DroppedIndex, DryRun, Failure, MigrationPlan, MigrationStatus,
        Migrations, Program, Progress, Rewrite, Step, Unfinished, Unread,
    },
    open::{Consistency, DatabaseBuilder},
    relay::{Poisoned, Relay, RelayReport},
    transfer::Transferred,
    verify::{Checkpoint, Repair, Repaired, Verified, Verify, Violation, ViolationKind},
};
use crate::{
    entity::TableEntity,
    environment::Environment,
    error::{Error, ErrorKind, Result},
    observe::Observed,
    path::plan::owns,
    plan::{
        change::{check_told, is_primary},
        group::Group,
        system::OperationId,
    },
    schema::EntitySchema,
    stored::Stored,
};

/// A store opened with a model. Cheap to clone; clones share everything.
///
/// What each write needs, costs and may leave behind: [`writing`](crate::writing). Backups, exports and the like:
/// [`keeping`](crate::keeping).
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    store: Arc<dyn TableStore>,
    capabilities: Capabilities,
    prefix: String,
    environment: Environment,
    /// As the program lists them.
    model: &'static [&'static EntitySchema],
    registry: registry::Registry,
    traffic: traffic::Traffic,
    lease: leases::Lease,
    /// What the program is called, for people.
    program: String,
    observed: Observed,
    deadline: Duration,
    consistency: Consistency,
    fence: Duration,
    markers: markers::Markers,
    turns: turns::Turns,
    living: migrate::Living,
    read_only: bool,
    #[cfg(feature = "blob")]
    blobs: Option<crate::blob::Place>,
    #[cfg(all(feature = "blob", feature = "embedded"))]
    beside: Option<crate::blob::Beside>,
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
    /// The store below, for reads of one's own, and for tests that play another program.
    ///
    /// **What is written there goes past all that the database does**: it is planned by no schema, so that index rows, copies, totals and
    /// unique values no longer say what their entities do, until [`repair`](Database::repair) puts them right; it is checked by the store's
    /// rules alone, and may overwrite any row, the framework's own too; it has neither sequence number nor operation id, so that a delivery
    /// under way may take it for older than it is. Tables have their full names there, with the run-time prefix; nothing is sent again, held to
    /// the [deadline](crate::DatabaseBuilder::deadline), refused for [`read_only`](crate::DatabaseBuilder::read_only), or told to an
    /// [`Observer`](crate::Observer). Rows of types that the model does not know have calls of their own: [`insert_row`](Database::insert_row),
    /// [`replace_row`](Database::replace_row), [`delete_row`](Database::delete_row).
    pub fn store(&self) -> &Arc<dyn TableStore> {
        &self.0.store
    }

    /// The time by the database's clock: for the application's own fields, so that a test that [stops](crate::testing) the clock stops
    /// these too.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let begun = db.now();
    /// let due = begun.checked_add(std::time::Duration::from_secs(86_400)); // `None` after the year 9999
    /// assert!(due > Some(db.now()) && db.now().duration_since(begun).is_some());
    /// # Ok(())
    /// # });
    /// ```
    pub fn now(&self) -> DateTime {
        self.0.environment.clock.now()
    }

    /// Ends the database: what it holds back is on the disk, and the file is free for others. Clones over a file are closed too;
    /// over another store they go on.
    ///
    /// On a store that others may write too, migrations no longer wait for this program. Dropping the last clone closes the file
    /// as well, without telling of failures; other programs then wait for this one's lease to end.
    ///
    /// # Errors
    ///
    /// `Denied` or `OutcomeUnknown` if the disk failed.
    pub async fn close(self) -> Result<()> {
        if let Err(error) = self.end_lease().await {
            tracing::warn!(%error, "the lease of this program ends by itself, in two minutes");
        }
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

    /// A name for one attempt to write.
    fn operation_id(&self) -> OperationId {
        let random = &self.environment().random;
        OperationId::of([random.next(), random.next()])
    }

    /// The full name of a table.
    pub(crate) fn table_name(&self, table: &str) -> String {
        format!("{}{table}", self.0.prefix)
    }

    /// The entities of the model, each in the form that the store keeps it in.
    pub(crate) fn model(&self) -> Arc<[&'static EntitySchema]> {
        self.0.registry.model()
    }

    /// The entity of this name in the model.
    pub(crate) fn entity_of(&self, name: &str) -> Option<&'static EntitySchema> {
        self.model().iter().copied().find(|schema| schema.entity_type == name)
    }

    /// The table and index states of an entity of the opened model.
    pub(crate) fn registered(&self, schema: &'static EntitySchema) -> Result<Arc<Registered>> {
        if let Some(registered) = self.0.registry.get(schema)? {
            return Ok(registered);
        }
        if !self.lists(schema) {
            let detail = "the opened model does not list this entity; add it to the `#[derive(TableModel)]` enum";
            return Err(Error::unsupported(detail).of(schema.entity_type));
        }
        let detail = "the entity is not registered in this store; call `db.ensure_tables()`, best at every start";
        Err(Error::unsupported(detail).of(schema.entity_type))
    }

    /// Whether the entity is of the opened model.
    fn lists(&self, schema: &'static EntitySchema) -> bool {
        self.0.model.iter().any(|known| std::ptr::eq(*known, schema) || known.entity_type == schema.entity_type)
    }

    /// The same. Where the entity is kept in another form, or not known, it is looked again: it may have moved, or come, by now.
    pub(crate) async fn kept(&self, schema: &'static EntitySchema) -> Result<Arc<Registered>> {
        match self.registered(schema) {
            Err(error) if matches!(error.kind(), ErrorKind::NotSwitched { .. } | ErrorKind::Moved { .. }) => {
                Box::pin(self.look_at_states()).await?;
                self.registered(schema)
            }
            // Another program may have registered it since.
            Err(_) if self.lists(schema) && matches!(self.0.registry.get(schema), Ok(None)) => {
                Box::pin(self.load_registry()).await?;
                self.registered(schema)
            }
            kept => kept,
        }
    }

    /// The same, of one that is to be read: where what is found `rests_on_states`, by those that were looked at not long ago.
    pub(crate) async fn readable(
        &self,
        schema: &'static EntitySchema,
        rests_on_states: bool,
    ) -> Result<Arc<Registered>> {
        let registered = self.kept(schema).await?;
        if !rests_on_states || !self.may_have_moved() {
            return Ok(registered);
        }
        Box::pin(self.look_at_states()).await?;
        self.registered(schema)
    }

    /// The same, of one that is to be written.
    pub(crate) async fn writable(&self, schema: &'static EntitySchema) -> Result<Arc<Registered>> {
        let mut registered = self.kept(schema).await?;
        if registered.closed.is_some() {
            Box::pin(self.look_at_states()).await?;
            registered = self.registered(schema)?;
        }
        registered.check_open()?;
        self.note_traffic();
        Ok(registered)
    }

    /// The rows of the entity at `key`, unless there is a tombstone or a row of another type. One point read, or one range
    /// read of an entity that may be several rows. Of one whose version is none it cannot be told: `Corrupt`.
    pub(crate) async fn primary_rows(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<Option<Group>> {
        let registered = self.registered(schema)?;
        let rows = self.read_entity(schema, &registered.table, key).await;
        let rows = rows.map_err(|error| error.of(schema.entity_type).at_key(key.clone()))?;
        if let Some(rows) = &rows {
            check_told(schema, &rows.head)?;
        }
        match rows.filter(|rows| is_primary(schema, &rows.head)) {
            Some(rows) if schema.had_blobs() => Box::pin(self.completed(schema, rows)).await.map(Some),
            rows => Ok(rows),
        }
    }

    /// As [`Database::primary_rows`], of an entity that may have moved while the store kept the read waiting.
    pub(crate) async fn primary_now(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<Option<Group>> {
        let rows = self.primary_rows(schema, key).await?;
        self.readable(schema, schema.moves()).await?;
        Ok(rows)
    }

    pub(crate) async fn read_primary<E: TableEntity>(&self, key: &RowKey) -> Result<Option<Stored<E>>> {
        self.own_rows(E::SCHEMA, key).await?.map(Stored::read).transpose()
    }

    /// The rows of the entity with this primary key.
    pub(crate) async fn own_rows(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<Option<Group>> {
        self.readable(schema, schema.moves()).await?;
        let rows = self.primary_now(schema, key).await?;
        // A row of another program may be none of an entity that takes such over.
        Ok(rows.filter(|rows| owns(schema, None, &rows.head)))
    }
}
