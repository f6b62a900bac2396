//! Batches as users write them: changes of several entities of one partition, all or nothing.
//!
//! Everything is checked before anything is written, and before any I/O where nothing has to be read for it; a batch is never
//! split: `bulk` is the way to write more.

use crate::{
    database::{Database, write::sets},
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    path::{
        Path,
        field::Patch,
        partition::PartitionOf,
        state::{Complete, PathKind, PathState, PrimaryKind},
    },
    plan::{change::Change, group::Group, image::Image},
    schema::EntitySchema,
    stored::Stored,
};

/// Something that is current again once the batch is committed.
trait Refresh: Send {
    fn refresh(&mut self, rows: Group);
}

impl<T: TableEntity> Refresh for Stored<T> {
    fn refresh(&mut self, rows: Group) {
        self.set_rows(rows);
    }
}

/// Changes of one partition, committed together or not at all. Made by [`Database::batch`].
///
/// Mistakes (another partition, a value that cannot be stored) are kept and reported by [`WriteBatch::commit`]. One that is dropped without
/// it writes nothing, and nothing tells of that once a change was added.
#[must_use = "a batch does nothing until it is committed"]
pub struct WriteBatch<'a> {
    db: Database,
    table: &'static EntitySchema,
    partition: Result<String>,
    changes: Vec<Change>,
    refresh: Vec<Option<&'a mut dyn Refresh>>,
    error: Option<Error>,
}

impl std::fmt::Debug for WriteBatch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteBatch").field("partition", &self.partition).field("changes", &self.changes.len()).finish()
    }
}

impl Database {
    /// A batch for one partition; entities of every type kept in the same table and partition fit.
    pub fn batch<'a, E: TableEntity>(&self, partition: PartitionOf<E>) -> WriteBatch<'a> {
        WriteBatch {
            db: self.clone(),
            table: E::SCHEMA,
            partition: partition.key(),
            changes: Vec::new(),
            refresh: Vec::new(),
            error: None,
        }
    }
}

impl<'a> WriteBatch<'a> {
    /// Inserts an entity that must not exist yet.
    pub fn insert<E: TableEntity>(&mut self, entity: &E) -> &mut Self {
        let change = Image::of(entity).map(Change::Insert);
        self.add(E::SCHEMA, change, None)
    }

    /// Inserts the entity or replaces the one with its key; one point read when the batch is committed.
    pub fn upsert<E: TableEntity>(&mut self, entity: &E) -> &mut Self {
        let change = Image::of(entity).map(Change::Upsert);
        self.add(E::SCHEMA, change, None)
    }

    /// Writes a changed entity back, if it is still as it was read; it is current again once the batch is committed.
    ///
    /// If a later change of the batch writes the entity too, it is not: its next `save` is a `Conflict`.
    pub fn save<E: TableEntity>(&mut self, entity: &'a mut Stored<E>) -> &mut Self {
        let change = Image::of::<E>(entity).map(|new| Change::Save { old: entity.rows().clone(), new });
        self.add(E::SCHEMA, change, Some(entity))
    }

    /// Deletes an entity, if it is still as it was read.
    pub fn delete<E: TableEntity>(&mut self, entity: Stored<E>) -> &mut Self {
        self.add(E::SCHEMA, Ok(Change::Delete { schema: E::SCHEMA, old: entity.into_rows() }), None)
    }

    /// Sets some properties of the entity that a full primary key names; one point read when the batch is committed. A path over an
    /// index does not compile: [`Database::patch`] takes one.
    pub fn patch<P>(&mut self, path: P, patch: Patch<<<P::State as PathState>::Kind as PathKind>::Entity>) -> &mut Self
    where
        P: Path,
        P::State: Complete,
        <P::State as PathState>::Kind: PrimaryKind,
    {
        let schema = <<P::State as PathState>::Kind as PathKind>::Entity::SCHEMA;
        let change = sets(schema, patch.sets).and_then(|sets| {
            let key = path.query().exact_key()?;
            Ok(Change::Patch { schema, key, sets, named: None })
        });
        self.add(schema, change, None)
    }

    /// The number of changes so far.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Commits every change in one batch. Cost: one request, and one point read for each upsert and patch; with lists, aggregates and copies
    /// what those read.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let mut promoted = Employee::find().department("Sales").id(1).one(&db).await?.unwrap();
    /// let retired = Employee::find().department("Sales").id(2).one(&db).await?.unwrap();
    /// promoted.age += 1;
    /// let mut batch = db.batch(Employee::in_partition("Sales"));
    /// batch.insert(&employee(9)).save(&mut promoted).delete(retired);
    /// batch.commit().await?; // all or nothing
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Before anything is written, and before any row is read where no upsert, patch or blob is in it, nor a list, aggregate, copy, or
    /// value that is unique elsewhere: `WrongPartition`, `TooMany` (over 100 rows, derived ones counted), `TooLarge` (over 4 MiB), and those
    /// of each change. Then those of each change; [`Error::operation`] tells which. Nothing was written.
    pub async fn commit(self) -> Result<()> {
        let partition = self.partition?;
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.changes.is_empty() {
            return Ok(());
        }
        let registered = self.db.writable(self.table).await?;
        for change in &self.changes {
            self.db.writable(change.schema()).await?;
        }
        let outcomes = self.db.write(&registered, &partition, &self.changes).await?;
        for (target, rows) in self.refresh.into_iter().zip(outcomes) {
            if let (Some(target), Some(rows)) = (target, rows) {
                target.refresh(rows);
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        schema: &'static EntitySchema,
        change: Result<Change>,
        refresh: Option<&'a mut dyn Refresh>,
    ) -> &mut Self {
        let number = self.changes.len();
        match change.and_then(|change| self.check(schema, change)) {
            Ok(change) => {
                self.changes.push(change);
                self.refresh.push(refresh);
            }
            Err(error) => {
                self.error.get_or_insert(error.in_operation(number));
            }
        }
        self
    }

    fn check(&self, schema: &'static EntitySchema, change: Change) -> Result<Change> {
        let wrong = |detail: String| {
            Error::new(ErrorKind::WrongPartition, detail).of(schema.entity_type).at_key(change.key().clone())
        };
        if !schema.table.eq_ignore_ascii_case(self.table.table) {
            return Err(wrong(format!("the batch is for table `{}`", self.table.table)));
        }
        match &self.partition {
            Ok(partition) if *partition != change.key().partition => {
                Err(wrong(format!("the batch is for partition `{partition}`")))
            }
            _ => Ok(change),
        }
    }
}
