//! What ties an entity so that it cannot move: the compiler refuses that too, but only once `moved_from` is written.

use super::super::project::{Current, Project};

/// What has to be taken away in a release before the move, and added in one after it.
pub(super) fn bound(project: &Project, entity: &Current) -> Option<String> {
    let of = &entity.format.entity_type;
    let held = entity.aggregates.iter().map(|name| format!("it holds the total `{name}`"));
    let parts = entity.format.aggregates.iter().filter(|(_, own)| own.sharded);
    let parts = parts.map(|(name, _)| format!("it adds to `{name}`, which is sharded by its keys"));
    let copies = project.entities.iter().filter(|other| other.format.copies.values().any(|copy| copy.source == *of));
    let copies = copies.map(|other| format!("`{}` copies it", other.format.entity_type));
    let ties: Vec<_> = held.chain(parts).chain(copies).collect();
    (!ties.is_empty()).then(|| {
        format!(
            "      but `{of}` cannot move yet: {}. Take that away in a release before, and add it in one after: see `tablemodel::moves`",
            ties.join(", ")
        )
    })
}
