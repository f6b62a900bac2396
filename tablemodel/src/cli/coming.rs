//! The forms that entities move to: while the old form is kept, stores may have their rows, and they stand in the lock beside the versions.
//! Nothing is written here.

use super::{
    diff::Evolution,
    outcome::Failure,
    project::{Current, Project},
};
use crate::format::{Change, Format, Lock, Renames, diff};

/// What is between the program and the lock of each form that an entity moves to: the entity, and a line.
pub(super) fn changes(project: &Project, lock: &Lock) -> Result<Vec<(String, String)>, Failure> {
    let mut found = Vec::new();
    for entity in &project.entities {
        let lines = changes_of(entity, lock)?;
        found.extend(lines.into_iter().map(|line| (entity.format.entity_type.clone(), line)));
    }
    Ok(found)
}

fn changes_of(entity: &Current, lock: &Lock) -> Result<Vec<String>, Failure> {
    let Format { entity_type, version, .. } = &entity.format;
    // One that has come with this version is no form to come.
    let was = lock.coming(entity_type).map(|was| &was.format).filter(|was| was.version > *version);
    let is = entity.coming.as_ref().map(|is| &is.format);
    let rollback = "where a store has begun to move there, take that back first (`rollback`)";
    Ok(match (was, is) {
        (None, None) => Vec::new(),
        (None, Some(is)) => vec![format!("it moves to {}, which is not in the lock", is.discriminator())],
        (Some(was), None) => vec![format!("it does not move to {} any more: {rollback}", was.discriminator())],
        (Some(was), Some(is)) if was.version != is.version => {
            vec![format!("it moves to {}, and not to {} any more: {rollback}", is.discriminator(), was.discriminator())]
        }
        (Some(was), Some(is)) => {
            let changes = diff(was, is, &Renames::default())?;
            let told = |change: &Change| {
                let rest = if change.needs_version() { format!(": {rollback}") } else { String::new() };
                format!("{}, which it moves to: {} {change}{rest}", is.discriminator(), change.code())
            };
            changes.iter().map(told).collect()
        }
    })
}

/// Why the program may not be locked as it is now, as far as forms to come go.
pub(super) fn refused(lock: &Lock, evolutions: &[Evolution<'_>]) -> Result<Option<String>, Failure> {
    match evolutions.iter().find_map(overtaken) {
        Some(why) => Ok(Some(why)),
        None => broken(lock, evolutions.iter().map(|evolution| &evolution.new)),
    }
}

/// That an entity comes to the version of the form that it moves to: two formats would have one name.
fn overtaken(Evolution { entity, new, .. }: &Evolution<'_>) -> Option<String> {
    let to = entity.coming.as_ref().map(|to| &to.format).filter(|to| to.version <= new.version)?;
    Some(format!(
        "`{}` becomes version {}, and the form that it moves to is `{}`: write `version = {}` on that form, or make the change in a \
         release of its own",
        new.entity_type,
        new.version,
        to.discriminator(),
        new.version + 1
    ))
}

/// Whether one of these formats is of the version that an entity was to move to, and not as that was.
fn broken<'f>(lock: &Lock, formats: impl Iterator<Item = &'f Format>) -> Result<Option<String>, Failure> {
    for is in formats {
        let was = lock.coming(&is.entity_type).map(|was| &was.format).filter(|was| was.version == is.version);
        let Some(was) = was else { continue };
        let changes = diff(was, is, &Renames::default())?;
        if let Some(change) = changes.iter().find(|change| change.needs_version()) {
            let (of, next) = (is.discriminator(), is.version + 1);
            return Ok(Some(format!(
                "`{of}` is stored otherwise than the release said that moves to it, and stores may have rows of that ({change}): undo it, \
                 and make the change in a release after; or write `version = {next}`, if no store has begun to move, or each has taken \
                 that back (`rollback`)"
            )));
        }
    }
    Ok(None)
}
