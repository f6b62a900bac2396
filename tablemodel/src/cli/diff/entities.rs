//! Entities under another name. Rows, keys and the records of a store say an entity's stored name, and programs of older versions know no
//! other: it does not change. What a struct is called is free.

use super::super::project::{Current, Project};
use crate::format::Lock;

/// Why an entity is not renamed, and what to write; none where no flag says that one was.
pub(super) fn refused(project: &Project, lock: &Lock, renames: &[(String, String)]) -> Option<String> {
    renames.iter().find_map(|(from, to)| {
        let listed = |name: &str| project.entities.iter().find(|entity| entity.format.entity_type == name);
        let entity = listed(to)?;
        // One that is still there is meant as a property, which may be called as an entity is.
        lock.newest(from).filter(|_| listed(from).is_none())?;
        Some(format!(
            "TM201: the stored name `{from}` stays: rows and keys that are there say it, and older programs know no other; the \
             struct may have any name: write `entity_type = \"{from}\"` on `{}`, and its version as it was",
            entity.path
        ))
    })
}

/// What a struct may have become that is no longer there: a hint.
pub(super) fn hint(project: &Project, lock: &Lock, gone: &str) -> String {
    let Some(old) = lock.newest(gone) else { return String::new() };
    let is_like = |entity: &&Current| {
        lock.newest(&entity.format.entity_type).is_none() && entity.format.table.eq_ignore_ascii_case(&old.format.table)
    };
    match project.entities.iter().find(is_like) {
        Some(entity) => format!("was it renamed to `{}`? then write `entity_type = \"{gone}\"` there", entity.path),
        None => "was the struct renamed? then say `entity_type` as it was".to_owned(),
    }
}
