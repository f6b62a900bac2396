//! Writes of single entities: insert, save, upsert, patch, delete. Updates, which are read and saved until nobody is in between, are `update`'s.
//!
//! Each turns its arguments into a change and hands it on; what rows that means is planned elsewhere.

use tablemodel_store::Value;

use crate::{
    database::{Database, execute::waits::Waits},
    entity::{FieldError, TableEntity},
    error::{Error, ErrorKind, Result},
    path::{
        Path,
        field::{Patch, Set},
        query::PathQuery,
        state::{Complete, PathKind, PathState},
    },
    plan::{
        change::Change,
        group::Group,
        image::{self, Image},
    },
    read,
    schema::EntitySchema,
    stored::{Rows, Stored},
};

/// The entity of a path.
pub(super) type EntityOf<P> = <<<P as Path>::State as PathState>::Kind as PathKind>::Entity;

impl Database {
    /// Inserts an entity that must not exist yet, with every derived row, in one batch.
    ///
    /// Gives the entity as it was written (a time is cut to 100 ns, a skipped field is its default).
    /// Cost: one request; 1 row and one per index entry, atomic. An entity that is
    /// [too large for one batch](crate::rooms::wide) takes several, of which the last publishes it.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let stored = db.insert(&employee(7)).await?;
    /// assert_eq!(stored.key().row, "empid_000007");
    /// assert_eq!(db.insert(&employee(7)).await.unwrap_err().kind(), &ErrorKind::AlreadyExists);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, `UniqueViolation`; `NotFound` where a copy that is no `Option` has no source; `KeyTooLong`,
    /// `KeyOverflow`, `Invalid`, `TooLarge` for values that cannot be stored, `TooMany` for more than 100 rows of the partition, `Overflow`
    /// for an aggregate; `Unavailable`, `LeaseExpired`: nothing was written, and the same call may succeed later; `OutcomeUnknown` if a reply was lost.
    pub async fn insert<E: TableEntity>(&self, entity: &E) -> Result<Stored<E>> {
        let rows = self.write_whole(E::SCHEMA, Image::of(entity).map(Change::Insert)).await?;
        Stored::read(rows.ok_or_else(no_row)?)
    }

    /// Writes a change of an entity of this type.
    async fn write_whole(&self, schema: &'static EntitySchema, change: Result<Change>) -> Result<Option<Group>> {
        let registered = self.writable(schema).await?;
        self.write_one(&registered, change?).await
    }

    /// Writes a changed entity back, if it is still as it was read; afterwards `entity` is current again.
    ///
    /// Derived rows of the old keys are deleted and those of the new ones written in the same batch; properties that
    /// this version of the struct does not know stay. A changed row key moves the entity within its partition. The value of
    /// an entity that holds aggregates is read back from what was written (a skipped field is then its default).
    /// Cost: one request; 1 row and one or two per index entry that changed, atomic.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let mut jones = Employee::find().department("Sales").id(1).one(&db).await?.unwrap();
    /// jones.email = "jones@contoso.com".into();
    /// db.save(&mut jones).await?; // its old index row is gone, the new one is there
    /// assert!(Employee::by_email().department("Sales").email("jones@contoso.com").exists(&db).await?);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Conflict` if another wrote it meanwhile ([`Error::current`] gives what is there then), `NotFound` if it is gone,
    /// `AlreadyExists` if its new row key is taken, `Restricted` if it changes while another entity keeps a copy which forbids that,
    /// `KeyChanged` for another partition (see [`Database::rekey`]); the others of [`Database::insert`]. `entity` is then as the
    /// caller left it.
    pub async fn save<E: TableEntity>(&self, entity: &mut Stored<E>) -> Result<()> {
        self.save_in_turn(entity, &mut Waits::default()).await
    }

    pub(super) async fn save_in_turn<E: TableEntity>(&self, entity: &mut Stored<E>, waits: &mut Waits) -> Result<()> {
        let new = Image::of::<E>(entity);
        let rows = self.save_rows(E::SCHEMA, entity.rows_mut(), new, waits).await?;
        entity.set_rows(rows);
        Ok(())
    }

    /// The rows of an entity once its image is written; it rests on `entity` until then.
    async fn save_rows(
        &self,
        schema: &'static EntitySchema,
        entity: &mut Rows,
        new: Result<Image>,
        waits: &mut Waits,
    ) -> Result<Group> {
        let registered = self.writable(schema).await?;
        let new = new?;
        let key = entity.group().key();
        if new.key != *key && new.key.partition == key.partition {
            Box::pin(self.let_claims_go(entity, &new)).await?;
        }
        let change = Change::Save { old: entity.group().clone(), new };
        self.write_in_turn(&registered, change, waits).await?.ok_or_else(no_row)
    }

    /// Inserts the entity, or replaces the one with its key; properties that this version of the struct does not know stay.
    ///
    /// Cost: one point read and one batch, repeated (at most 8 times, besides after [waits for a turn](crate::writing)) when another writes
    /// at the same moment.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// db.upsert(&Employee { age: 31, ..employee(1) }).await?; // replaces
    /// db.upsert(&employee(8)).await?; // inserts
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if a row of another type has the key; `Unavailable` if others kept writing; the others of
    /// [`Database::insert`].
    pub async fn upsert<E: TableEntity>(&self, entity: &E) -> Result<Stored<E>> {
        let rows = self.write_whole(E::SCHEMA, Image::of(entity).map(Change::Upsert)).await?;
        Stored::read(rows.ok_or_else(no_row)?)
    }

    /// Sets some properties of an entity without sending the others.
    ///
    /// Only properties that no key and no derived row is made from have a `set`. Cost: one point read, on an index path two, and a
    /// batch of one row; `None` values need the row to be replaced as a whole. Of an entity of [several rows](crate::rooms::wide):
    /// one range read, and those rows that it changes. A row of an older version is [written as a whole](crate::upgrade).
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// db.patch(Employee::find().department("Sales").id(1), Employee::AGE.set(35)).await?;
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `NotFound`, as of [`Database::update`]; `UnknownVersion` for a row of a newer version; `UpgradeFailed`; `Invalid` for a
    /// value that cannot be stored.
    pub async fn patch<P>(&self, path: P, patch: Patch<EntityOf<P>>) -> Result<()>
    where
        P: Path,
        P::State: Complete,
    {
        self.set(<EntityOf<P>>::SCHEMA, path.into_query(), patch.sets).await
    }

    async fn set(&self, schema: &'static EntitySchema, query: PathQuery, patch: Vec<Set>) -> Result<()> {
        let registered = self.writable(schema).await?;
        let sets = sets(schema, patch)?;
        if query.index().is_none() {
            let (key, named) = read::primary_key(self, query).await?;
            return self.write_one(&registered, Change::Patch { schema, key, sets, named }).await.map(drop);
        }
        let mut missed = None;
        loop {
            let (key, named) = read::primary_key(self, query.clone()).await?;
            let change = Change::Patch { schema, key: key.clone(), sets: sets.clone(), named };
            match self.write_one(&registered, change).await {
                // Gone, or under another key, which the index says by now.
                Err(error) if *error.kind() == ErrorKind::NotFound && missed.as_ref() != Some(&key) => {
                    missed = Some(key);
                }
                other => return other.map(drop),
            }
        }
    }

    /// Deletes an entity, if it is still as it was read, with every derived row.
    ///
    /// Cost: one request; 1 row and one per index entry, atomic.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let jones = Employee::find().department("Sales").id(1).one(&db).await?.unwrap();
    /// db.delete(jones).await?;
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Conflict` if another wrote it meanwhile, `NotFound` if it is gone already; `Restricted` while another entity keeps a
    /// copy of it that says so.
    pub async fn delete<E: TableEntity>(&self, entity: Stored<E>) -> Result<()> {
        let change = Change::Delete { schema: E::SCHEMA, old: entity.into_rows() };
        self.write_whole(E::SCHEMA, Ok(change)).await.map(drop)
    }
}

/// What is to be set of an entity, or taken away.
type Sets = Vec<(&'static str, Option<Value>)>;

/// What a patch sets, by the names of the properties: values that are stored, and read back as they are.
pub(super) fn sets(schema: &'static EntitySchema, sets: Vec<Set>) -> Result<Sets> {
    let sets = sets.into_iter().map(|(property, value)| {
        let value = value.map_err(|error| image::invalid(schema, FieldError { property, error }))?;
        if value.is_none() {
            let mut absent = schema.properties().filter(|absent| absent.property == property);
            absent.try_for_each(|absent| image::check_absent(schema, absent))?;
        }
        Ok((property, value))
    });
    sets.collect()
}

pub(crate) fn not_found(schema: &EntitySchema) -> Error {
    Error::new(ErrorKind::NotFound, "no such entity").of(schema.entity_type)
}

pub(super) fn no_row() -> Error {
    Error::corrupt("the store acknowledged a write without a receipt")
}
