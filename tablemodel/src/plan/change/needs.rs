//! The rows that must be read before a change can be planned.
//!
//! Only told here; executors read them.

use tablemodel_store::RowKey;

use super::{Change, Need, is_list, is_primary};
use crate::{
    error::Result,
    plan::{
        entries::{Entry, told},
        image::Image,
        known::Known,
        patch::is_patched_whole,
        shape::{self},
        states::{IndexState, Setting},
        version::Old,
    },
    rooms::{
        aggregate::{self},
        list::{self},
    },
    schema::{EntitySchema, PropertySchema},
};

/// The rows that must be read before the change can be planned.
///
/// Asked again with what was read: an upsert tells of the old image's rows once that is known.
/// Cost: none for an insert, save or delete while every index is readable; the primary row for an upsert or patch, and
/// for an insert or a move that claims values before it is committed; the first row of each list that changes, and the
/// chunk that changes of a long one.
pub(crate) fn needs(change: &Change, setting: &Setting, known: &Known) -> Result<Vec<Need>> {
    let mut needs = match change {
        Change::Upsert(image) => vec![Need { row: image.key.row.clone(), head: Some(image.schema) }],
        Change::Patch { schema, key, .. }
        | Change::Recopy { schema, key, .. }
        | Change::Refresh { schema, key, .. } => {
            vec![Need { row: key.row.clone(), head: Some(schema) }]
        }
        // The image under a claim is read before the claim is written.
        Change::Insert(image) if setting.deferred && image.schema.has_claims() => {
            vec![Need { row: image.key.row.clone(), head: Some(image.schema) }]
        }
        Change::Save { old, new } if setting.deferred && new.schema.has_claims() && *old.key() != new.key => {
            vec![Need { row: new.key.row.clone(), head: Some(new.schema) }]
        }
        Change::Arrive(to) => {
            let held = to.held()?.into_iter().map(|held| Need { row: held.row, head: None });
            held.chain([Need { row: to.to.key.row.clone(), head: Some(to.to.schema) }]).collect()
        }
        Change::Contribute(contribution) => contribution.needs(known)?,
        Change::Insert(_)
        | Change::Save { .. }
        | Change::Delete { .. }
        | Change::Touch { .. }
        | Change::Leave { .. } => Vec::new(),
    };
    let touches = matches!(change, Change::Touch { .. } | Change::Recopy { repair: true, .. });
    let is_needed = |entry: &Entry| {
        let building = matches!(setting.of(entry.index), IndexState::DeleteOnly | IndexState::WriteOnly);
        entry.away.is_none() && !is_list(change.schema(), entry) && (touches || building)
    };
    let is_built = |state: &IndexState| matches!(state, IndexState::DeleteOnly | IndexState::WriteOnly);
    if touches || setting.states.0.iter().any(is_built) {
        for image in known_images(change, setting, known)? {
            let needed = told(&image, |_| false).entries.into_iter().filter(is_needed);
            needs.extend(needed.map(|entry| Need { row: entry.row, head: None }));
        }
    }
    if change.schema().has_lists() {
        needs.extend(list_needs(change, setting, known)?);
    }
    if change.schema().has_aggregates() || change.schema().holds_aggregates() {
        needs.extend(cell_needs(change, setting, known)?);
    }
    needs.retain(|need| !known.contains_key(&need.row));
    Ok(needs)
}

/// The rows of the lists that the change may change.
pub(super) fn list_needs(change: &Change, setting: &Setting, known: &Known) -> Result<Vec<Need>> {
    let images = known_images(change, setting, known)?;
    let wanted: Vec<_> = images.iter().map(|image| told(image, |_| false).entries).collect();
    let mut needs = Vec::new();
    let touches = matches!(change, Change::Touch { .. });
    // Of one that is only brought to its sources, all but its copies stays as it is, and no list is made of those.
    let stays_listed = matches!((change, images.len()), (Change::Recopy { .. }, 1));
    for (at, own) in wanted.iter().enumerate() {
        let is_other = |other: usize| other != at && !touches;
        let stays =
            |entry: &Entry| wanted.iter().enumerate().any(|(other, all)| is_other(other) && all.contains(entry));
        let changes = |entry: &&Entry| match setting.of(entry.index) {
            IndexState::Absent => false,
            IndexState::Readable => !stays_listed && !stays(entry),
            IndexState::DeleteOnly | IndexState::WriteOnly => true,
        };
        for entry in own.iter().filter(|entry| is_list(change.schema(), entry)).filter(changes) {
            let key = images.get(at).map_or("", |image| &image.key.row);
            let Some(index) = change.schema().index_at(entry.index) else { continue };
            let need =
                list::need(index, &entry.row, key, known).map_err(|error| error.of(change.schema().entity_type))?;
            needs.extend(need.map(|row| Need { row, head: None }));
        }
    }
    Ok(needs)
}

/// The images of the change: what was before by the version that wrote it, then what is to be. None of a patch by which nothing changes that others
/// are made from.
pub(in crate::plan) fn known_images(change: &Change, setting: &Setting, known: &Known) -> Result<Vec<Image>> {
    let live = |schema: &'static EntitySchema, key: &RowKey| match known.get(&key.row) {
        Some(Some(row)) if is_primary(schema, row) => shape::known(schema, row.clone(), known).map(Some),
        _ => Ok(None),
    };
    Ok(match change {
        Change::Insert(image) => vec![image.clone()],
        Change::Upsert(image) => match live(image.schema, &image.key)? {
            Some(old) => vec![Image::written(image.schema, &old)?, image.clone()],
            None => vec![image.clone()],
        },
        Change::Save { old, new } => vec![Image::written(new.schema, old)?, new.clone()],
        Change::Delete { schema, old } => vec![Image::written(schema, old)?],
        Change::Touch { schema, old, .. } => Old::of(schema, old)?.into_images(),
        Change::Recopy { schema, key, .. } => match live(schema, key)? {
            Some(old) => Old::of(schema, &old)?.into_images(),
            None => Vec::new(),
        },
        Change::Patch { schema, key, sets, .. } => match live(schema, key)? {
            Some(old) => {
                let (old, is_whole) = (Old::of(schema, &old)?, is_patched_whole(schema, setting, &old.head));
                if is_whole {
                    vec![old.written.clone(), old.now().clone().with_sets(sets.to_vec())]
                } else {
                    Vec::new()
                }
            }
            None => Vec::new(),
        },
        Change::Leave { old, to } => vec![Image::written(to.to.schema, old)?],
        Change::Arrive(to) => vec![to.to.clone()],
        Change::Refresh { .. } | Change::Contribute(_) => Vec::new(),
    })
}

/// The cells of the aggregates that the change may change, and their targets.
pub(super) fn cell_needs(change: &Change, setting: &Setting, known: &Known) -> Result<Vec<Need>> {
    let mut images = known_images(change, setting, known)?;
    let new = match change {
        Change::Delete { .. } | Change::Leave { .. } => None,
        _ => images.pop(),
    };
    // Of one that is only brought to its sources, all but its copies stays as it is.
    let old = images.pop().or_else(|| new.clone().filter(|_| matches!(change, Change::Recopy { .. })));
    let mut needs = Vec::new();
    let touches = matches!(change, Change::Touch { .. });
    if !touches || old.is_some() {
        for edit in aggregate::edits(old.as_ref(), new.as_ref(), |at| setting.of(at))? {
            needs.extend(edit.range(known)?.map(|row| Need { row, head: None }));
            needs.extend(edit.into.needs());
        }
    }
    let stays = !touches && old.as_ref().zip(new.as_ref()).is_some_and(|(old, new)| old.key == new.key);
    let held = [&old, &new].into_iter().flatten().flat_map(|image| aggregate::held(image.schema, &image.key.row));
    let is_new = |into: &aggregate::Into| old.as_ref().is_some_and(|old| !says(old, into.property));
    needs.extend(held.filter(|into| !stays || is_new(into)).map(|into| Need { row: into.cell(), head: None }));
    Ok(needs)
}

/// Whether this version holds the aggregate in this property.
pub(super) fn holds(schema: &'static EntitySchema, property: &str) -> bool {
    schema.property(property).is_some_and(|property| property.aggregate)
}

/// Whether the entity says what this aggregate comes to, be it nothing.
pub(super) fn says(written: &Image, aggregate: &PropertySchema) -> bool {
    holds(written.schema, aggregate.property)
        && (aggregate.nullable || written.fields.get(aggregate.property).is_some())
}
