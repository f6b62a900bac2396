//! Tables of the model: ensure, list, drop.
//!
//! Rows are not touched here, but for the registry's.

use std::collections::BTreeSet;

use crate::{
    database::{
        Database,
        outbox::DIRTY_TABLE,
        registry::{SCHEMA_TABLE, recorded_tables},
    },
    error::Result,
    schema::{EntitySchema, Moved},
};

impl Database {
    /// Creates the model's tables where they are missing, and records entities and indexes that the store does not know.
    ///
    /// The indexes of an entity new to the store are readable at once; one added later is recorded as absent, and its
    /// paths answer `IndexNotReady` until [a migration](Database::migrations) has built it. An index that the store has and the
    /// model does not lapses here or with the first write, since what this program writes is not in it: who has it builds it anew
    /// before it is read.
    ///
    /// In the atomic mode what is due is migrated here, as by [`apply`](crate::migrations::Migrations::apply), if there are at most 200
    /// entities: also to the model's versions, after which programs of older ones no longer read them.
    ///
    /// Call it at every start of a program that writes, of any number of programs.
    /// Cost: one request a table, the framework's own among them; two to four reads of the schema table, and a write where something lacks
    /// there; in the atomic mode, while a migration is due, a count of the entities, and the migration.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// db.ensure_tables().await?; // safe to repeat
    /// assert_eq!(db.list_tables().await?, ["Company", "tmschema"]);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Unsupported` if the store keeps an entity in another table or under other keys; `Moved` and `NotSwitched` of one that [moves](crate::moves); those of
    /// the store, and in the atomic mode those of a migration. What was created stays.
    pub async fn ensure_tables(&self) -> Result<()> {
        self.check_writable()?;
        for table in self.table_names() {
            self.create_missing(&table).await?;
        }
        self.record_registry().await?;
        self.try_lease().await;
        self.build_small().await
    }

    /// Whether the store knows any entity of the model.
    #[cfg(feature = "cli")]
    pub(crate) fn is_registered(&self) -> bool {
        !self.0.registry.is_empty()
    }

    /// As [`Database::ensure_tables`], of the entities that the store knows already, and of those that aggregates and copies tie to them, and
    /// without building anything: how many those are. What a migration begins with, over a store that may be only one of several models'.
    #[cfg(feature = "cli")]
    pub(crate) async fn ensure_known(&self) -> Result<usize> {
        self.check_writable()?;
        let rows = self.registry_rows().await?;
        let known = |schema: &EntitySchema| rows.contains_key(&super::registry::entity_row(schema));
        let mut count = 0;
        for schema in tied(&self.model(), known) {
            let elsewhere = schema.indexes.iter().filter_map(|index| index.elsewhere.as_ref());
            let moves = schema.moves_to.iter().flat_map(|moved| moved.form().tables());
            let new = (!known(schema)).then_some(schema.table);
            for table in elsewhere.map(|elsewhere| elsewhere.table).chain(moves).chain(new) {
                self.create_missing(&self.table_name(table)).await?;
            }
            if schema.has_outbox() {
                self.create_missing(&self.dirty_table()).await?;
            }
            self.record_entity(schema).await?;
            count += 1;
        }
        self.load_registry().await?;
        Ok(count)
    }

    /// The keys of the rows of states and leases.
    #[cfg(all(test, feature = "cli"))]
    pub(crate) async fn registry_rows_for_tests(&self) -> Vec<String> {
        self.registry_rows().await.map(|rows| rows.into_keys().collect()).unwrap_or_default()
    }

    /// Deletes the model's tables with all their rows, those where another release keeps indexes and lists of its entities (but for
    /// tables of entities that the model lacks), and the schema table. There is no way back.
    ///
    /// Cost: one request for each table, and three to read and write the schema table; not atomic. Rows of other models in these tables go too.
    /// Where a call was cut short, no index of what is left is read (`IndexNotReady`) before it is built anew.
    /// Another program that has them open should be ended before: it learns of it when it renews its lease, up to 20 s later. What it writes until
    /// then, where the tables were made again, may lack rows of indexes that it does not know, and what it leaves behind when it dies no relay finds.
    ///
    /// # Errors
    ///
    /// `Denied` where the database is read-only; those of the store. The call can be made again.
    pub async fn drop_tables(&self) -> Result<()> {
        self.check_writable()?;
        let rows = self.forget_states().await?;
        let recorded = recorded_tables(&self.model(), &rows);
        // Also where no entity has rows elsewhere a move has left markers.
        self.delete_existing(&self.dirty_table()).await?;
        self.0.markers.forget_all();
        let recorded = recorded.iter().map(|table| self.table_name(table));
        for table in recorded.chain(self.table_names()) {
            self.delete_existing(&table).await?;
        }
        self.load_registry().await
    }

    /// The tables of the store that begin with this database's prefix, without it. Cost: one request for each 1,000 tables of the store.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn list_tables(&self) -> Result<Vec<String>> {
        let names = self.all_tables().await?;
        let prefix = self.0.prefix.as_str();
        let own = names.iter().filter_map(|name| {
            let (head, tail) = name.split_at_checked(prefix.len())?;
            head.eq_ignore_ascii_case(prefix).then(|| tail.to_owned())
        });
        Ok(own.collect())
    }

    /// The tables that hold rows of the model's entities, without the prefix; one that is written in several ways is one.
    pub(super) fn entity_tables(&self) -> BTreeSet<&'static str> {
        let model = self.model();
        let moving = model.iter().filter_map(|schema| schema.moves_to.as_ref()).map(Moved::form);
        let mut known = BTreeSet::new();
        let tables = model.iter().copied().chain(moving).flat_map(EntitySchema::tables);
        tables.filter(|table| known.insert(table.to_ascii_lowercase())).collect()
    }

    /// The full names of the model's tables, the schema table last.
    pub(super) fn table_names(&self) -> Vec<String> {
        let outbox = self.model().iter().any(|schema| schema.has_outbox()).then_some(DIRTY_TABLE);
        self.entity_tables()
            .into_iter()
            .chain(outbox)
            .chain([SCHEMA_TABLE])
            .map(|table| self.table_name(table))
            .collect()
    }
}

/// Those of a model that are known, and whatever adds to one of them, copies it, or the other way round, through any number of others.
#[cfg(feature = "cli")]
fn tied(
    model: &[&'static EntitySchema],
    is_known: impl Fn(&EntitySchema) -> bool,
) -> impl Iterator<Item = &'static EntitySchema> {
    let (mut tied, mut rest): (Vec<_>, Vec<_>) = model.iter().copied().partition(|schema| is_known(schema));
    let mut next = 0;
    while let Some(schema) = tied.get(next).copied() {
        let (more, others) = rest.into_iter().partition(|other| names(schema, other) || names(other, schema));
        tied.extend::<Vec<_>>(more);
        (rest, next) = (others, next + 1);
    }
    tied.into_iter()
}

/// Whether an entity adds to another, or copies it.
#[cfg(feature = "cli")]
fn names(schema: &EntitySchema, other: &EntitySchema) -> bool {
    let targets = schema.aggregates.iter().map(|aggregate| aggregate.target);
    let sources = schema.copies.iter().map(|copy| (copy.source)());
    targets.chain(sources).any(|named| named.entity_type == other.entity_type)
}
