//! Whether a store takes what an application would write, as far as an entity alone tells: what it is to copy is not read.

use tablemodel_store::{Row, validate};

use crate::{
    error::{Error, Result},
    plan::{
        entries::Entry,
        image::Image,
        shape,
        system::{self, OperationId},
    },
    schema::Derived,
};

/// Above all that a row may have: what is reckoned is how large it is.
const SEQUENCE: i64 = i64::MAX;

/// The rows of the entity itself, which are written anew over this head.
pub(super) fn own(image: &Image, head: &Row) -> Result<()> {
    let (schema, key) = (image.schema, &image.key);
    if schema.shape.is_some() {
        return shape::cut(image).map(drop);
    }
    let mut properties = image.primary_properties();
    let before = head.properties.get(system::OPERATIONS);
    let operations = before.map(|before| system::with_operation_told(Some(before), OperationId([0; 16])));
    system::stamp(&mut properties, schema.discriminator, SEQUENCE, operations);
    validate::row(&key.partition, &key.row, &properties).map_err(|error| {
        let told = shape::check_row(schema, key, &properties).err();
        told.unwrap_or_else(|| Error::from(error).of(schema.entity_type).at_key(key.clone()))
    })
}

/// A row that is derived from it.
pub(super) fn entry(image: &Image, entry: &Entry, kind: &Derived) -> Result<()> {
    let mut properties = entry.properties.clone();
    system::stamp(&mut properties, &kind.discriminator, SEQUENCE, None);
    validate::row(entry.partition(image), &entry.row, &properties).map_err(|error| {
        let within = format!("a row of `{}` cannot be stored; let it keep less", kind.name);
        Error::from(error).within(&within).of(image.schema.entity_type).at_key(image.key.clone())
    })
}
