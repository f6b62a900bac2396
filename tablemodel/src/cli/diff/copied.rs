//! Copies of what its source stores otherwise: the holder's own format says nothing of that, and its rows are to be written anew.

use super::super::project::Project;
use crate::format::{Format, Lock, PropertyFormat};

/// What this entity copies that has another type, or another encoding, than the lock says, or must be there now: `Team.Colours`.
pub(super) fn otherwise(project: &Project, lock: &Lock, holder: &Format) -> Vec<String> {
    let mut found = Vec::new();
    for copy in holder.copies.values() {
        let source = project.entities.iter().find(|entity| entity.format.entity_type == copy.source);
        let (Some(source), Some(old)) = (source, lock.newest(&copy.source)) else { continue };
        let is_other = |name: &&String| {
            let Some(was) = old.format.properties.get(*name) else { return false };
            let is_as_it_was =
                |is: &PropertyFormat| (was.edm, &was.codec) == (is.edm, &is.codec) && (is.nullable || !was.nullable);
            !source.format.properties.get(*name).is_some_and(is_as_it_was)
        };
        found.extend(copy.properties.iter().filter(is_other).map(|name| format!("{}.{name}", copy.source)));
    }
    found
}
