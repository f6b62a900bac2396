#![doc = include_str!("../../docs/rooms/index.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

use std::collections::HashSet;

use tablemodel_store::{Properties, PropertiesBuilder, PropertyName, RowKey, ValueRef};

use crate::{
    entity::FieldError,
    error::Result,
    plan::{
        entries::{Away, Entry},
        image::{Fields, Image, invalid, key_error},
        system,
    },
    schema::{Cover, IndexSchema, SYSTEM_PROPERTIES},
};

/// The row of an index by which an entity was found.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    /// The position of the index in the schema.
    pub(crate) index: usize,
    pub(crate) row: RowKey,
}

impl Named {
    /// Whether the entity with these fields wants the row.
    pub(crate) fn is_wanted(&self, fields: &impl Fields) -> Result<bool> {
        wants(fields, self.index, &self.row.partition, &self.row.row)
    }
}

/// Adds the rows that the index at this position of the schema wants for the image; none while its condition does not
/// hold or a part of its key is `None`; with `each`, one for every different element.
pub(crate) fn entries(image: &Image, position: usize, to: &mut Vec<Entry>) -> Result<()> {
    let Some(index) = image.schema.indexes.get(position) else { return Ok(()) };
    let mut seen = HashSet::new();
    each_place(image, index, |away, row| {
        // Different elements may be written alike.
        if index.each.is_none() || seen.insert((away.clone(), row.clone())) {
            let properties = properties(image, index);
            to.push(Entry { index: position, away, row, properties });
        }
    })
}

/// Whether the entity with these fields wants this row of the index.
pub(crate) fn wants(fields: &impl Fields, position: usize, partition: &str, row: &str) -> Result<bool> {
    let mut wants = false;
    each_key(fields, position, |own, wanted| wants |= (own, wanted) == (partition, row))?;
    Ok(wants)
}

/// Shows the partition key and row key of each row that the entity with these fields wants of the index; of several elements that are
/// written alike, more than once.
pub(crate) fn each_key(fields: &impl Fields, position: usize, mut see: impl FnMut(&str, &str)) -> Result<()> {
    let Some(index) = fields.schema().indexes.get(position) else { return Ok(()) };
    let own = fields.key().partition.as_str();
    each_place(fields, index, |away, row| see(away.as_ref().map_or(own, |away| away.partition.as_str()), &row))
}

/// Shows where the rows of the index stand.
fn each_place(
    fields: &impl Fields,
    index: &'static IndexSchema,
    mut see: impl FnMut(Option<Away>, String),
) -> Result<()> {
    if !index.when.is_none_or(|when| when.holds(fields.get(when.property))) {
        return Ok(());
    }
    let Some(each) = index.each else {
        if let Some((away, row)) = place(fields, index, |name| fields.get(name))? {
            see(away, row);
        }
        return Ok(());
    };
    let unread =
        |error| invalid(fields.schema(), FieldError { property: each.property, error }).of_index(Some(index.name));
    for element in (each.elements)(fields.get(each.property)).map_err(unread)? {
        let value = |name: &'static str| if name == each.property { Some(element.as_ref()) } else { fields.get(name) };
        if let Some((away, row)) = place(fields, index, value)? {
            see(away, row);
        }
    }
    Ok(())
}

/// Where the row for these values of the key's fields stands.
fn place<'v>(
    fields: &'v impl Fields,
    index: &'static IndexSchema,
    value: impl Fn(&'static str) -> Option<ValueRef<'v>>,
) -> Result<Option<(Option<Away>, String)>> {
    let failed = |error| key_error(fields.schema(), error, Some(index.name));
    let value = |name: &'static str| match name {
        system::OWNER_PARTITION => Some(ValueRef::String(&fields.key().partition)),
        system::OWNER_ROW => Some(ValueRef::String(&fields.key().row)),
        name => value(name),
    };
    let Some(row) = index.row.encode(|part| value(part.property)).map_err(failed)? else { return Ok(None) };
    let Some(elsewhere) = &index.elsewhere else { return Ok(Some((None, row))) };
    let partition = elsewhere.partition.encode(|part| value(part.property)).map_err(failed)?;
    Ok(partition.map(|partition| (Some(Away { table: elsewhere.table, partition }), row)))
}

/// What each row of the index holds.
fn properties(image: &Image, index: &IndexSchema) -> Properties {
    let mut properties = covered(image, index.cover);
    properties.set(PropertyName::from_static(system::OWNER_ROW), ValueRef::String(&image.key.row));
    if index.elsewhere.is_some() {
        let owner = ValueRef::String(&image.key.partition);
        properties.set(PropertyName::from_static(system::OWNER_PARTITION), owner);
    }
    if index.is_claim() {
        properties.set(PropertyName::from_static(system::CLAIM), ValueRef::String(system::CONFIRMED));
    }
    properties
}

fn covered(image: &Image, cover: Cover) -> Properties {
    match cover {
        Cover::Whole => image.primary_properties(),
        Cover::Keep(names) => kept(&image.fields, names),
        Cover::KeysOnly | Cover::List => Properties::with_capacity(SYSTEM_PROPERTIES),
    }
}

fn kept(fields: &Properties, names: &'static [&'static str]) -> Properties {
    let mut kept = PropertiesBuilder::with_capacity(names.len() + SYSTEM_PROPERTIES);
    for name in names {
        if let Some(value) = fields.get(name) {
            kept.set(PropertyName::from_static(name), value);
        }
    }
    kept.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Notes", entity_type = "Note", partition = "{book}", row = "{id}")]
    #[table(index(by_word, row = "word_{words:lower}_{id}", each(words), keys_only))]
    struct Note {
        book: String,
        id: u32,
        #[table(json)]
        words: Vec<String>,
    }

    /// Each row against all before it would take hours.
    #[test]
    fn an_entity_may_want_a_row_for_each_of_very_many_elements() {
        let words = (0..400_000).map(|word| format!("w{}", word % 200_000)).chain(["W1".to_owned()]).collect();
        let image = Image::of(&Note { book: "a".to_owned(), id: 1, words }).expect("stored");
        let mut wanted = Vec::new();
        entries(&image, 0, &mut wanted).expect("told");
        assert_eq!(wanted.len(), 200_000);
        assert!(wants(&image, 0, "a", &wanted[199_999].row).expect("told"));
    }
}
