#![doc = include_str!("../../docs/rooms/index.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

use tablemodel_store::{Properties, PropertyName, ValueRef};

use crate::{
    entity::FieldError,
    error::Result,
    plan::{
        entries::{Away, Entry},
        image::{Image, invalid, key_error},
        system,
    },
    schema::{Cover, IndexSchema, SYSTEM_PROPERTIES},
};

/// Adds the rows that the index at this position of the schema wants for the image; none while its condition does not
/// hold or a part of its key is `None`; with `each`, one for every different element.
pub(crate) fn entries(image: &Image, position: usize, to: &mut Vec<Entry>) -> Result<()> {
    let Some(index) = image.schema.indexes.get(position) else { return Ok(()) };
    if !index.when.is_none_or(|when| when.holds(&image.fields)) {
        return Ok(());
    }
    let Some(each) = index.each else {
        to.extend(entry(image, index, position, &|name| image.fields.get(name))?);
        return Ok(());
    };
    let first = to.len();
    let elements = (each.elements)(image.fields.get(each.property));
    for element in elements.map_err(|error| invalid(image.schema, FieldError { property: each.property, error }))? {
        let value = |name: &str| if name == each.property { Some(element.as_ref()) } else { image.fields.get(name) };
        let Some(entry) = entry(image, index, position, &value)? else { continue };
        if !to.iter().skip(first).any(|earlier| earlier.is_at(&entry)) {
            to.push(entry);
        }
    }
    Ok(())
}

/// Whether the image wants this row of the index.
pub(crate) fn wants(image: &Image, position: usize, partition: &str, row: &str) -> Result<bool> {
    let mut wanted = Vec::with_capacity(1);
    entries(image, position, &mut wanted)?;
    let here =
        |entry: &Entry| entry.away.as_ref().map_or(image.key.partition.as_str(), |away| &away.partition) == partition;
    Ok(wanted.iter().any(|entry| entry.row == row && here(entry)))
}

/// The row for these values of the key's fields.
fn entry<'v>(
    image: &'v Image,
    index: &'static IndexSchema,
    position: usize,
    value: &impl Fn(&str) -> Option<ValueRef<'v>>,
) -> Result<Option<Entry>> {
    let failed = |error| key_error(image.schema, error, Some(index.name));
    let value = |name: &str| match name {
        system::OWNER_PARTITION => Some(ValueRef::String(&image.key.partition)),
        system::OWNER_ROW => Some(ValueRef::String(&image.key.row)),
        name => value(name),
    };
    let Some(row) = index.row.encode(|part| value(part.property)).map_err(failed)? else { return Ok(None) };
    let mut properties = covered(image, index.cover);
    properties.set(PropertyName::from_static(system::OWNER_ROW), ValueRef::String(&image.key.row));
    let away = match &index.elsewhere {
        None => None,
        Some(elsewhere) => {
            let partition = elsewhere.partition.encode(|part| value(part.property)).map_err(failed)?;
            let Some(partition) = partition else { return Ok(None) };
            let owner = ValueRef::String(&image.key.partition);
            properties.set(PropertyName::from_static(system::OWNER_PARTITION), owner);
            if index.is_claim() {
                properties.set(PropertyName::from_static(system::CLAIM), ValueRef::String(system::CONFIRMED));
            }
            Some(Away { table: elsewhere.table, partition })
        }
    };
    Ok(Some(Entry { index: position, away, row, properties }))
}

fn covered(image: &Image, cover: Cover) -> Properties {
    match cover {
        Cover::Whole => image.primary_properties(),
        Cover::Keep(names) => kept(&image.fields, names),
        Cover::KeysOnly | Cover::List => Properties::with_capacity(SYSTEM_PROPERTIES),
    }
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
