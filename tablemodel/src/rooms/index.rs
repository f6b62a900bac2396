#![doc = include_str!("../../docs/rooms/index.md")]

use tablemodel_store::{Properties, PropertyName, Value, ValueRef};

use crate::{
    error::Result,
    plan::{
        entries::Entry,
        image::{Image, key_error},
        system,
    },
    schema::{Cover, EntitySchema, When},
};

/// The row that the index at this position of the schema wants for the image; none while its condition does not hold
/// or a part of its key is `None`.
pub(crate) fn entry(image: &Image, position: usize) -> Result<Option<Entry>> {
    let Some(index) = image.schema.indexes.get(position) else { return Ok(None) };
    let row = row_key(image.schema, position, |property| image.fields.get(property))?;
    Ok(row.map(|row| Entry { index: position, row, properties: covered(image, index.cover) }))
}

/// The key of that row alone, by the values of the entity's properties.
pub(crate) fn row_key<'v>(
    schema: &'static EntitySchema,
    position: usize,
    value_of: impl Fn(&'static str) -> Option<ValueRef<'v>>,
) -> Result<Option<String>> {
    let Some(index) = schema.indexes.get(position) else { return Ok(None) };
    if !index.when.is_none_or(|when| holds(when, value_of(when.property))) {
        return Ok(None);
    }
    index.row.encode(|part| value_of(part.property)).map_err(|error| key_error(schema, error, Some(index.name)))
}

/// Whether the condition holds for this value of its property.
fn holds(when: When, value: Option<ValueRef<'_>>) -> bool {
    let set = !matches!(value, None | Some(ValueRef::Boolean(false)));
    set != when.negated
}

fn covered(image: &Image, cover: Cover) -> Properties {
    let mut properties = match cover {
        Cover::Whole => image.primary_properties(),
        Cover::Keep(names) => kept(&image.fields, names),
        Cover::KeysOnly => Properties::new(),
    };
    properties.insert(PropertyName::from_static(system::OWNER_ROW), Value::String(image.key.row.clone()));
    properties
}

fn kept(fields: &Properties, names: &'static [&'static str]) -> Properties {
    names.iter().filter_map(|name| Some((PropertyName::from_static(name), fields.get(name)?.to_value()))).collect()
}
