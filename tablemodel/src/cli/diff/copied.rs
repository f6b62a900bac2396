//! Copies of what its source stores otherwise: the holder's own format says nothing of that, and its rows are to be written anew.

use super::super::project::Project;
use crate::format::{Format, Lock};

/// What this entity copies that has another type, or another encoding, than the lock says: `Team.Colours`.
pub(super) fn otherwise(project: &Project, lock: &Lock, holder: &Format) -> Vec<String> {
    let mut found = Vec::new();
    for copy in holder.copies.values() {
        let source = project.entities.iter().find(|entity| entity.format.entity_type == copy.source);
        let (Some(source), Some(old)) = (source, lock.newest(&copy.source)) else { continue };
        let is_other = |name: &&String| {
            let stored = |format: &Format| format.properties.get(*name).map(|own| (own.edm, own.codec.clone()));
            let was = stored(&old.format);
            was.is_some() && was != stored(&source.format)
        };
        found.extend(copy.properties.iter().filter(is_other).map(|name| format!("{}.{name}", copy.source)));
    }
    found
}
