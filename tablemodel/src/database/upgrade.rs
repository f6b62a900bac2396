//! Rows of older versions written as new, one entity at a time: what a sweep is made of.
//!
//! Which entities, how fast and how often is its caller's; what the rows become is planned elsewhere.

use crate::{
    database::{Database, write::no_row},
    entity::TableEntity,
    error::Result,
    plan::{change::Change, group::Group, version},
    schema::EntitySchema,
    stored::Stored,
};

impl Database {
    /// Writes an entity that an older version of its type wrote as this version has it, with every derived row, if it is still
    /// as it was read. Tells whether it was older; one that was not is left alone.
    ///
    /// Any other write does the same by the way; this is for those that nobody writes. What only the older version derived
    /// from the entity is taken away in the same batch.
    /// Cost: nothing for a current entity; else a point read for each derived row, and one batch, atomic.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let mut jones = Employee::find().department("Sales").id(1).one(&db).await?.unwrap();
    /// assert!(!db.upgrade(&mut jones).await?); // of this version already
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Conflict` if another wrote it meanwhile, `NotFound` if it is gone, `UpgradeFailed`, and `UniqueViolation` where this
    /// version makes something unique that was not. The value of `entity` is otherwise what was written: changes of the
    /// caller's are lost, so save those instead.
    pub async fn upgrade<E: TableEntity>(&self, entity: &mut Stored<E>) -> Result<bool> {
        if version::is_current(E::SCHEMA, E::SCHEMA.discriminator, entity.row()) {
            return Ok(false);
        }
        self.writable(E::SCHEMA).await?;
        let rows = self.upgrade_rows(E::SCHEMA, entity.rows().clone()).await?;
        *entity = Stored::read(rows)?;
        Ok(true)
    }

    /// The same, of whatever type: the entity of these rows as it stands afterwards.
    pub(crate) async fn upgrade_rows(&self, schema: &'static EntitySchema, old: Group) -> Result<Group> {
        let registered = self.registered(schema)?;
        let change = Change::Touch { schema, old, strays: Vec::new() };
        self.write_one(&registered, change).await?.ok_or_else(no_row)
    }
}
