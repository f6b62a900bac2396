//! What a row does not say: what stands in for it, and what says that it is not there.
//!
//! Nothing is read or written here.

use tablemodel_store::{Properties, PropertyName};

use crate::{
    entity::FieldError,
    error::Result,
    plan::image::invalid,
    schema::{EntitySchema, PropertySchema},
};

/// The properties that are there, and say that they are not.
pub(super) fn told(schema: &'static EntitySchema, fields: &Properties) -> Vec<&'static str> {
    let absent = |property: &&PropertySchema| property.is_absence(fields.get_constant(property.property));
    schema.properties().filter(absent).map(|property| property.property).collect()
}

/// What the properties that are not there read as, of those that have a default: what is derived from an entity is derived from what
/// it is read as. An aggregate is what its cell says, and has none here.
pub(crate) fn defaults(schema: &'static EntitySchema, is_there: impl Fn(&'static str) -> bool) -> Result<Properties> {
    let mut absent = Properties::new();
    for property in schema.properties() {
        let Some(default) = property.default.filter(|_| !property.aggregate && !is_there(property.property)) else {
            continue;
        };
        let value = default().map_err(|error| invalid(schema, FieldError { property: property.property, error }))?;
        if let Some(value) = value {
            absent.insert(PropertyName::from_static(property.property), value);
        }
    }
    Ok(absent)
}
