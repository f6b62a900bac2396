//! Links to blobs that the program's struct does not have: those of another release, which an entity takes along as every unknown property.
//!
//! Nothing is read or written here, and nothing known of a place for blobs.

use tablemodel_store::{Properties, PropertyName, RowKey, ValueRef};

use crate::{
    blob::name::{self, Named},
    error::{Error, Result},
    plan::{group::Group, image::Image, system, version},
    schema::EntitySchema,
};

/// The properties by which an entity that is saved at another key takes links along, and the names of the blobs.
pub(super) fn carried<'g>(old: &'g Group, new: &Image) -> impl Iterator<Item = (&'g PropertyName, &'g str)> {
    let (schema, moves) = (new.schema, *old.key() != new.key);
    old.iter().filter(move |_| moves).flat_map(move |row| unknown(schema, &row.properties))
}

/// The properties of a row that link blobs and that the struct does not have, and the names of the blobs.
pub(super) fn unknown<'p>(
    schema: &'static EntitySchema,
    row: &'p Properties,
) -> impl Iterator<Item = (&'p PropertyName, &'p str)> {
    row.iter().filter_map(move |(name, value)| unknown_link(schema, name, value))
}

fn unknown_link<'p>(
    schema: &'static EntitySchema,
    name: &'p PropertyName,
    value: ValueRef<'p>,
) -> Option<(&'p PropertyName, &'p str)> {
    let ValueRef::String(text) = value else { return None };
    let is_link = || matches!(name::parse(text), Some(Named::Blob(owner)) if owner.entity == schema.entity_type);
    let is_kept = system::is_unknown(schema, name.as_str()) && !version::is_former(schema, name.as_str());
    (is_kept && is_link()).then_some((name, text))
}

/// That none is, in a program that cannot record where they go: the blobs would be taken for nobody's.
pub(super) fn check_none(old: &Group, new: &Image) -> Result<()> {
    match carried(old, new).next() {
        Some((property, _)) => Err(refused(new.schema, old.key(), property)),
        None => Ok(()),
    }
}

/// That this property of the entity would be taken along by such a program.
pub(super) fn refused(schema: &EntitySchema, key: &RowKey, property: &PropertyName) -> Error {
    let detail = format!(
        "property `{property}`, which this program does not know, links a blob, and the program has none: let the release that keeps \
         it there move the entity"
    );
    Error::unsupported(detail).of(schema.entity_type).at_key(key.clone())
}

/// The same, of several changes.
#[cfg(not(feature = "blob"))]
pub(super) fn check_changes(changes: &[crate::plan::change::Change]) -> Result<()> {
    for (number, change) in changes.iter().enumerate() {
        if let crate::plan::change::Change::Save { old, new } = change {
            check_none(old, new).map_err(|error| error.in_operation(number))?;
        }
    }
    Ok(())
}
