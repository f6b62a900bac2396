//! Why a change is refused: its key, or one of its values, is another's.
//!
//! Whether that is so is decided elsewhere.

use tablemodel_store::{Row, RowKey};

use crate::{
    error::{Error, ErrorKind},
    plan::system,
    schema::{EntitySchema, IndexSchema},
};

/// The violation of a unique index by whoever holds `row`.
pub(crate) fn violation(schema: &'static EntitySchema, index: &IndexSchema, row: &Row) -> Error {
    let owner = system::owner(row);
    let holder = owner.as_ref().map_or("another entity".to_owned(), |owner| format!("the entity {owner}"));
    let detail = format!("unique index `{}`: {holder} has this value", index.name);
    Error::new(ErrorKind::UniqueViolation { index: index.name, owner }, detail)
        .of(schema.entity_type)
        .at_key(row.key.clone())
}

/// That another entity is on its way to the key.
pub(crate) fn reserved(schema: &'static EntitySchema, row: &Row) -> Error {
    let detail = "another entity is on its way to this key, or a program died over it; try again in a minute";
    Error::new(ErrorKind::Unavailable, detail).of(schema.entity_type).at_key(row.key.clone())
}

/// That `row` stands at the key of an entity that is to be new.
pub(crate) fn exists(schema: &'static EntitySchema, key: RowKey, row: &Row) -> Error {
    let is_ours = system::is_adopted(schema, &row.properties);
    let detail = match (system::kind(&row.properties).entity(), system::entity_type(&row.properties)) {
        (Some(entity), _) if entity == schema.entity_type => "an entity with this key exists".to_owned(),
        (Some(entity), _) => format!("a row of `{entity}` has this key"),
        (None, _) if is_ours => "an entity with this key exists, of another program".to_owned(),
        (None, Some(theirs)) if !theirs.is_empty() && theirs != schema.entity_type => {
            format!("a row of `{theirs}`, of another program, has this key")
        }
        (None, _) => "a row that is no entity's has this key; `adopt` takes such rows over".to_owned(),
    };
    Error::new(ErrorKind::AlreadyExists, detail).of(schema.entity_type).at_key(key)
}
