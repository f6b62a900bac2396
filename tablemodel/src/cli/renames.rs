//! Renames that stand in the program: `#[table(was = "Qty")]` on a field.
//! What they mean depends on the lock; nothing is guessed.

use super::{
    outcome::Failure,
    plan::Written,
    project::{Current, Renamed},
};
use crate::format::{Format, Lock};

/// The properties that the program renames since the newest version in the lock: the old name, the new one. A word that did its work in
/// an earlier change says nothing any more.
///
/// # Errors
///
/// A word that names no property of any locked version, or one that the newest does not have any more.
pub(super) fn written(entity: &Current, lock: &Lock) -> Result<Vec<(String, String)>, Failure> {
    let name = &entity.format.entity_type;
    let newest = lock.newest(name).map(|section| &section.format);
    let mut renames = Vec::new();
    for Renamed { field, was, is } in &entity.renamed {
        let of = |format: &Format| format.properties.contains_key(*was);
        let place = format!("`was = \"{was}\"` on `{}::{field}`", entity.path);
        let Some(newest) = newest else {
            return Err(Failure(format!(
                "{place}: `{name}` is not in tablemodel.lock, so that nothing was renamed: take it away"
            )));
        };
        match (of(newest), newest.properties.contains_key(*is)) {
            (true, false) => renames.push(((*was).to_owned(), (*is).to_owned())),
            (true, true) => {
                let both = format!("{place}: version {} of `{name}` has both `{was}` and `{is}`", newest.version);
                return Err(Failure(format!("{both}: they are two properties; take `was` away")));
            }
            (false, true) if lock.versions(name).any(|section| of(&section.format)) => {}
            (false, _) => return Err(Failure(format!("{place}: {}", unknown(newest, was)))),
        }
    }
    Ok(renames)
}

/// What to write instead.
fn unknown(newest: &Format, was: &str) -> String {
    let Format { entity_type, version, properties, .. } = newest;
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    format!(
        "version {version} of `{entity_type}` in tablemodel.lock has no property `{was}`: say the stored name that it has there ({}), or \
         take `was` away",
        names.join(", ")
    )
}

/// The renames since a format, for telling alone: those of the plans since then, one after the other, and those that the program writes.
/// What does not fit is passed over.
pub(super) fn shown(entity: &Current, old: &Format, plans: &[Written]) -> Vec<(String, String)> {
    let mut renames = Vec::<(String, String)>::new();
    let of_plans = plans.iter().flat_map(Written::renames);
    let of_plans = of_plans.filter(|(of, ..)| *of == old.entity_type).map(|(_, from, to)| (from, to));
    let written = entity.renamed.iter().map(|Renamed { was, is, .. }| (*was, *is));
    for (from, to) in of_plans.chain(written) {
        match renames.iter_mut().find(|(_, last)| last == from) {
            Some((_, last)) => to.clone_into(last),
            None => renames.push((from.to_owned(), to.to_owned())),
        }
    }
    let has = |format: &Format, name: &str| format.properties.contains_key(name);
    let mut fitting = Vec::<(String, String)>::new();
    for (was, is) in renames {
        let fits = has(old, &was) && !has(old, &is) && has(&entity.format, &is) && !has(&entity.format, &was);
        if fits && fitting.iter().all(|(other, new)| *other != was && *new != is) {
            fitting.push((was, is));
        }
    }
    fitting
}
