//! What can be told of the entity that a row of another partition names.
//!
//! That it cannot be read is reported where it stands.

use tablemodel_store::RowKey;

use crate::{
    database::{Database, verify::readable::readable},
    error::{ErrorKind, Result},
    plan::{change::is_primary, version::Old},
    schema::EntitySchema,
};

/// What stands at the key of an entity.
pub(super) enum Standing {
    /// The entity.
    Read(Box<Old>),
    /// It is there, and cannot be read: what it wants cannot be told.
    Untold,
    /// No entity of this type.
    Gone,
}

impl Database {
    /// The entity at this key, as it is now.
    pub(super) async fn entity_at(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<Standing> {
        let there = match self.read_owner(schema, &self.table_name(schema.table), key).await {
            Err(error) if *error.kind() == ErrorKind::Corrupt => return Ok(Standing::Untold),
            other => other?.filter(|rows| is_primary(schema, &rows.head)),
        };
        Ok(match there.map(|rows| readable(schema, &rows)) {
            Some(Ok(old)) => Standing::Read(Box::new(old)),
            Some(Err(_)) => Standing::Untold,
            None => Standing::Gone,
        })
    }
}
