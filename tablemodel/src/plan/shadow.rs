//! Shadows: the rows of the form that an entity moves to, derived from the one that it is kept in.
//!
//! A shadow is written, delivered, fenced and verified as an index row in another partition is. It names its entity by a property of
//! its own, since what it is an index row of, or would be, is the new form. How one is cut into several rows is told in `rows`, what ties it to
//! other entities in `ties`. Pure.

mod rows;
mod ties;

use serde_json::Value as Json;
use tablemodel_store::{Properties, PropertyName, Row, RowKey, ValueRef, validate};

pub(crate) use self::rows::{ShadowRows, is_left_behind, rows, stored};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        entries::{self, Away, Entry},
        image::Image,
        outbox::AwayKey,
        system::{self, RowKind},
        version,
    },
    schema::{EntitySchema, is_move},
};

/// Adds the rows of the new form: its primary row first, which here holds all that its parts will. Nothing where one of them could
/// not be stored: who delivers them could tell nobody.
pub(crate) fn add_entries(image: &Image, to: &mut Vec<Entry>) -> Result<()> {
    let Some(moved) = &image.latest.moves_to else { return Ok(()) };
    let new = image.moved(moved)?;
    ties::check(image, &new)?;
    let first = image.latest.first_shadow();
    let owner = owner_text(&image.key);
    let own = || Away { table: new.schema.table, partition: new.key.partition.clone() };
    let mut primary = new.primary_properties();
    version::expand(&new, &mut primary)?;
    let mut shadows = vec![shadow(first, own(), new.key.row.clone(), primary, &owner)];
    for entry in entries::entries(&new)? {
        let away = entry.away.unwrap_or_else(own);
        shadows.push(shadow(first + 1 + entry.index, away, entry.row, entry.properties, &owner));
    }
    for entry in &shadows {
        check(image, entry)?;
    }
    to.append(&mut shadows);
    Ok(())
}

/// That a store takes the rows of the entry, once they say what they are.
fn check(image: &Image, entry: &Entry) -> Result<()> {
    let partition = entry.partition(image);
    let refused = |row: &str, error: Error| {
        let key = RowKey::new(partition, row);
        let detail = format!("the row {key} of the form that the entity moves to: {}", error.detail());
        let refused = Error::new(error.kind().clone(), detail).of_field(error.field()).of_index(error.index());
        refused.caused_by(error).of(image.latest.entity_type).at_key(image.key.clone())
    };
    let is_stored = |row: &str, properties: &Properties| {
        validate::row(partition, row, properties).map_err(|error| refused(row, error.into()))
    };
    let Some(kind) = image.kind(entry) else { return Ok(()) };
    if is_primary(image.latest, entry.index) {
        let ShadowRows { head, parts } =
            rows(image.latest, entry, i64::MAX).map_err(|error| refused(&entry.row, error))?;
        is_stored(&entry.row, &head)?;
        return parts.iter().try_for_each(|(row, properties)| is_stored(row, properties));
    }
    let mut properties = entry.properties.clone();
    system::stamp(&mut properties, kind.discriminator, i64::MAX, None);
    is_stored(&entry.row, &properties)
}

fn shadow(index: usize, away: Away, row: String, mut properties: Properties, owner: &str) -> Entry {
    properties.set(PropertyName::from_static(system::MOVED), ValueRef::String(owner));
    Entry { index, away: Some(away), row, properties }
}

/// How a shadow names the entity that it is of.
fn owner_text(key: &RowKey) -> String {
    Json::from(vec![key.partition.as_str(), key.row.as_str()]).to_string()
}

/// The entity that the shadow is of; none where the row is no shadow.
pub(crate) fn owner(row: &Row) -> Option<RowKey> {
    let Some(ValueRef::String(text)) = row.properties.get(system::MOVED) else { return None };
    let [partition, row] = serde_json::from_str::<[String; 2]>(text).ok()?;
    Some(RowKey { partition, row })
}

/// The entity that a row of this kind is of.
pub(crate) fn owner_as(kind: &str, row: &Row) -> Option<RowKey> {
    if is_move(kind) { owner(row) } else { system::owner(row) }
}

/// The entity of the model that the row is a shadow of, and the kind of shadow.
pub(crate) fn kind(model: &[&'static EntitySchema], row: &Row) -> Option<(&'static EntitySchema, usize)> {
    row.properties.get_constant(system::MOVED)?;
    let kind = system::kind(&row.properties);
    let schema = model.iter().copied().find(|schema| Some(schema.entity_type) == kind.entity())?;
    let to = schema.moves_to.as_ref()?.form();
    // What came here by an earlier move says so until it is next written.
    system::version(&row.properties).filter(|version| schema.is_of_other_form(*version))?;
    let first = schema.first_shadow();
    match kind {
        RowKind::Primary { .. } | RowKind::Tombstone { .. } => Some((schema, first)),
        RowKind::Derived { name, .. } => Some((schema, first + 1 + to.derived_position(name)?)),
        RowKind::Part { .. } | RowKind::Foreign => None,
    }
}

/// Whether the kind with this number is the new form's primary row: of that one entity alone.
pub(crate) fn is_primary(schema: &EntitySchema, index: usize) -> bool {
    schema.moves_to.is_some() && index == schema.first_shadow()
}

/// What remembers that a shadow stood here.
pub(crate) fn dead(schema: &EntitySchema, entry: &AwayKey, owner: &RowKey, sequence: i64) -> Option<Properties> {
    let number = schema.derived_position(&entry.index).filter(|number| schema.is_shadow(*number))?;
    let to = schema.moves_to.as_ref()?.form();
    let kind = number.checked_sub(schema.first_shadow() + 1).and_then(|at| to.derived(at));
    let mut properties = match kind.filter(|kind| kind.table.is_some()) {
        // Readers of index rows pass over what is dead elsewhere alone.
        Some(kind) => {
            let mut properties = Properties::new();
            system::stamp(&mut properties, kind.discriminator, sequence, None);
            properties
        }
        None => system::tombstone(to, sequence, None),
    };
    properties.set(PropertyName::from_static(system::DEAD), ValueRef::Boolean(true));
    properties.set(PropertyName::from_static(system::MOVED), ValueRef::String(&owner_text(owner)));
    Some(properties)
}

/// Whether what is to be written at this sequence for `owner` is due over the row that is there. One that lives is its owner's; what remembers
/// another is in nobody's way, whatever its number: the numbers of two entities say nothing of each other, and who left last is remembered.
pub(crate) fn is_due(there: &Row, owner: &RowKey, sequence: i64) -> bool {
    match self::owner(there).as_ref() == Some(owner) {
        true => system::sequence(&there.properties) < sequence,
        false => system::is_dead(&there.properties),
    }
}

/// That two entities become one.
pub(crate) fn collision(schema: &EntitySchema, owner: &RowKey, other: Option<&RowKey>, key: &RowKey) -> Error {
    let version = schema.moves_to.as_ref().map_or(0, |moved| moved.form().version);
    let who = match other {
        Some(other) => format!("the entity {other} moves to the same key {key}: change one of the two, or the upgrade"),
        None => format!("a row that is no part of the move has the key {key} of its new form: move it away"),
    };
    let detail = format!("{who} (version {version})");
    Error::new(ErrorKind::AlreadyExists, detail).of(schema.entity_type).at_key(owner.clone())
}
