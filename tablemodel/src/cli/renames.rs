//! Renames that stand in the program: `#[table(was = "Qty")]` on a field.
//! What they mean depends on the lock; nothing is guessed.

use super::{
    outcome::Failure,
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

/// The renames that two formats show, for telling alone: words that do not fit are passed over.
pub(super) fn shown(entity: &Current, old: &Format) -> Vec<(String, String)> {
    let has = |format: &Format, name: &str| format.properties.contains_key(name);
    let fits = |Renamed { was, is, .. }: &&Renamed| {
        has(old, was) && !has(old, is) && has(&entity.format, is) && !has(&entity.format, was)
    };
    entity.renamed.iter().filter(fits).map(|renamed| (renamed.was.to_owned(), renamed.is.to_owned())).collect()
}
