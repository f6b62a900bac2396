#![doc = include_str!("../../docs/rooms/index.md")]

use tablemodel_store::{Properties, PropertyName, ValueRef};

use crate::{
    error::Result,
    plan::{
        entries::Entry,
        image::{Image, key_error},
        system,
    },
    schema::{Cover, SYSTEM_PROPERTIES, When},
};

/// The row that the index at this position of the schema wants for the image; none while its condition does not hold
/// or a part of its key is `None`.
pub(crate) fn entry(image: &Image, position: usize) -> Result<Option<Entry>> {
    let Some(index) = image.schema.indexes.get(position) else { return Ok(None) };
    if !index.when.is_none_or(|when| holds(when, &image.fields)) {
        return Ok(None);
    }
    let key = index.row.encode(|part| image.fields.get(part.property));
    let row = key.map_err(|error| key_error(image.schema, error, Some(index.name)))?;
    Ok(row.map(|row| Entry { index: position, row, properties: covered(image, index.cover) }))
}

/// Whether the condition holds for these fields.
fn holds(when: When, fields: &Properties) -> bool {
    let set = !matches!(fields.get(when.property), None | Some(ValueRef::Boolean(false)));
    set != when.negated
}

fn covered(image: &Image, cover: Cover) -> Properties {
    let mut properties = match cover {
        Cover::Whole => image.primary_properties(),
        Cover::Keep(names) => kept(&image.fields, names),
        Cover::KeysOnly => Properties::with_capacity(SYSTEM_PROPERTIES),
    };
    properties.set(PropertyName::from_static(system::OWNER_ROW), ValueRef::String(&image.key.row));
    properties
}

fn kept(fields: &Properties, names: &'static [&'static str]) -> Properties {
    let mut kept = Properties::with_capacity(names.len() + SYSTEM_PROPERTIES);
    for name in names {
        if let Some(value) = fields.get(name) {
            kept.set(PropertyName::from_static(name), value);
        }
    }
    kept
}
