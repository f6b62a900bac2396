//! Renames that are not written in the program: rows that older versions derived are told by the words on the fields.

use super::Evolution;
use crate::format::{AggregateFormat, Change, Format, FunctionFormat, IndexFormat, WhenFormat};

/// What to write on fields whose property has another name, where rows or totals are made of it.
pub(super) fn unwritten<'e>(evolution: &'e Evolution<'_>, old: &'e Format) -> impl Iterator<Item = String> + 'e {
    let Evolution { entity, new, changes, .. } = evolution;
    changes.iter().filter_map(move |change| {
        let Change::Renamed { from, to, .. } = change else { return None };
        if entity.renamed.iter().any(|written| written.was == from && written.is == to) {
            return None;
        }
        let (field, made) = (entity.fields.get(to.as_str())?, made_of(to, old, new));
        (!made.is_empty()).then(|| {
            format!(
                "next: write `was = \"{from}\"` on `{}::{field}`, for as long as rows of version {} may be left: without it {} may be out of \
                 use until `apply` has written these anew",
                entity.path,
                old.version,
                made.join(", ")
            )
        })
    })
}

/// The indexes, lists and aggregates that both versions have, and that the new one makes of the property.
fn made_of(property: &str, old: &Format, new: &Format) -> Vec<String> {
    let indexes = new.indexes.iter().filter(|(name, own)| old.indexes.contains_key(*name) && is_of(own, property));
    let aggregates =
        new.aggregates.iter().filter(|(name, own)| old.aggregates.contains_key(*name) && adds(own, property));
    let names = indexes.map(|(name, _)| name).chain(aggregates.map(|(name, _)| name));
    names.map(|name| format!("`{name}`")).collect()
}

/// Whether it depends on the property where a row of the index stands, or whether there is one.
fn is_of(IndexFormat { elsewhere, row, each, when, .. }: &IndexFormat, property: &str) -> bool {
    let partition = elsewhere.iter().flat_map(|elsewhere| elsewhere.partition.properties());
    let mut parts = row.properties().chain(partition).chain(each.as_deref());
    parts.any(|part| part == property) || asks(when.as_ref(), property)
}

/// Whether it depends on the property what is added to the aggregate, or to which.
fn adds(AggregateFormat { function, key, when, .. }: &AggregateFormat, property: &str) -> bool {
    let is_value = match function {
        FunctionFormat::Count => false,
        FunctionFormat::Sum(of) | FunctionFormat::Min(of) | FunctionFormat::Max(of) => of == property,
    };
    is_value || key.values().any(|own| own == property) || asks(when.as_ref(), property)
}

fn asks(when: Option<&WhenFormat>, property: &str) -> bool {
    when.is_some_and(|when| when.property == property)
}
