//! What an old version added to aggregates, as its struct says it: by the fields that the program's own structs have today.
//!
//! An aggregate that nothing keeps any more is left out: no total depends on it.

use std::collections::BTreeSet;

use super::ident_of;
use crate::{
    cli::project::Current,
    format::{AggregateFormat, Format, FunctionFormat},
};

/// The attributes, and what they name.
#[derive(Default)]
pub(super) struct Added {
    pub(super) uses: BTreeSet<String>,
    pub(super) attributes: Vec<String>,
}

/// Those of this version, in a program of these entities.
pub(super) fn of(format: &Format, entities: &[Current]) -> Added {
    let mut added = Added::default();
    for (name, aggregate) in &format.aggregates {
        let Some((target, property)) = name.split_once('.') else { continue };
        let target = entities.iter().find(|entity| entity.format.entity_type == target);
        let Some((target, attribute)) = target.and_then(|of| Some((of, attribute(of, property, aggregate)?))) else {
            continue;
        };
        added.uses.insert(format!("use {};", target.own_path()));
        added.attributes.push(attribute);
    }
    added
}

/// `#[table(count(Team, key(name = team), into = members))]`
fn attribute(target: &Current, into: &str, of: &AggregateFormat) -> Option<String> {
    let field = |property: &str| target.fields.get(property).copied();
    let into = target.aggregates.contains(into).then(|| field(into))??;
    let of_key = |theirs: &str| field(theirs).or_else(|| renamed(target, of).and_then(field));
    let key = of.key.iter().map(|(theirs, own)| Some(format!("{} = {}", of_key(theirs)?, ident_of(own))));
    let key = key.collect::<Option<Vec<_>>>()?.join(", ");
    let (function, value) = match &of.function {
        FunctionFormat::Count => ("count", None),
        FunctionFormat::Sum(property) => ("sum", Some(property)),
        FunctionFormat::Min(property) => ("min", Some(property)),
        FunctionFormat::Max(property) => ("max", Some(property)),
    };
    let value = value.map_or_else(String::new, |property| format!(", of = {}", ident_of(property)));
    let when = of.when.as_ref().map_or_else(String::new, |when| {
        format!(", when = {}{}", if when.negated { "!" } else { "" }, ident_of(&when.property))
    });
    let target = target.path.rsplit("::").next()?;
    Some(format!("#[table({function}({target}, key({key}){value}, into = {into}{when}))]"))
}

/// What the target calls the one property of its key today that the aggregate knows by another name.
fn renamed<'t>(target: &'t Current, of: &AggregateFormat) -> Option<&'t str> {
    let Format { partition, row, .. } = &target.format;
    let keys: BTreeSet<&str> = partition.properties().chain(row.properties()).collect();
    let mut unnamed = keys.iter().filter(|name| !of.key.contains_key(**name));
    let unknown = of.key.keys().filter(|name| !keys.contains(name.as_str())).count();
    let only = unnamed.next().copied().filter(|_| unnamed.next().is_none());
    only.filter(|_| unknown == 1)
}
