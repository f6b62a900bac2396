//! The two forms of an entity that moves: of which of them a row is, where both stand in one table.
//!
//! A row tells by the version in its `EntityType`: the new form is the newer. Pure.

use tablemodel_store::{Comparison, Filter, Properties};

use crate::{plan::system, schema::EntitySchema};

/// Whether the row, of whatever kind, is of the form that this one moves to, or has moved from.
#[inline]
pub(crate) fn is_of_other(schema: &EntitySchema, properties: &Properties) -> bool {
    if schema.moves_to.is_none() && schema.moved_from.is_none() {
        return false; // the usual case
    }
    system::version(properties).is_some_and(|version| schema.is_of_other_form(version))
}

/// The same, by what the model says of the entity that the row is of.
pub(crate) fn is_of_other_in(model: &[&'static EntitySchema], properties: &Properties) -> bool {
    let entity = system::kind(properties).entity();
    model.iter().find(|schema| Some(schema.entity_type) == entity).is_some_and(|schema| is_of_other(schema, properties))
}

/// What a store is to test, so that rows of the other form stay away: of the primary rows, or of those of the index with this
/// number. Nothing where that has none in the table.
pub(crate) fn condition(schema: &'static EntitySchema, index: Option<usize>, table: &str) -> Option<Filter> {
    let others = others(schema);
    let is_here = |other: &&'static EntitySchema| other.tables().any(|own| own.eq_ignore_ascii_case(table));
    let kinds = others.iter().copied().filter(is_here).filter_map(|other| match index {
        None => Some(other.discriminator),
        Some(index) => Some(other.index(schema.indexes.get(index)?.name)?.discriminator),
    });
    let is_not = |kind: &'static str| Filter::compare(system::ENTITY_TYPE, Comparison::NotEqual, kind);
    kinds.map(is_not).reduce(Filter::and)
}

/// The same, of the parts of entities.
pub(crate) fn part_condition(schema: &'static EntitySchema, table: &str) -> Filter {
    let is_here = |other: &&'static EntitySchema| other.has_parts() && other.table.eq_ignore_ascii_case(table);
    let of_others = others(schema).into_iter().filter(is_here).map(system::part_type);
    let is_not = |kind| Filter::compare(system::ENTITY_TYPE, Comparison::NotEqual, kind);
    of_others.map(is_not).fold(system::part_condition(schema.entity_type), Filter::and)
}

/// The versions of the other form that the program knows.
fn others(schema: &'static EntitySchema) -> Vec<&'static EntitySchema> {
    match (&schema.moves_to, schema.moved_from) {
        (Some(moved), _) => vec![moved.form()],
        (None, Some(old)) => old.lineage().collect(),
        (None, None) => Vec::new(),
    }
}
