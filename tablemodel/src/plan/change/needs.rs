//! The rows that must be read before a change can be planned.
//!
//! Only told here; executors read them.

use super::{Change, Need, is_list, is_primary};
use crate::{
    error::Result,
    plan::{
        entries::{Entry, entries},
        image::Image,
        known::Known,
        shape::{self},
        states::{IndexState, Setting},
    },
    rooms::{
        aggregate::{self},
        list::{self},
    },
};

/// The rows that must be read before the change can be planned.
///
/// Asked again with what was read: an upsert tells of the old image's rows once that is known.
/// Cost: none for an insert, save or delete while every index is readable; the primary row for an upsert or patch, and
/// for an insert or a move that claims values before it is committed; the first row of each list that changes, and the
/// chunk that changes of a long one.
pub(crate) fn needs(change: &Change, setting: &Setting, known: &Known) -> Result<Vec<Need>> {
    let mut needs = match change {
        Change::Upsert(image) => vec![Need { row: image.key.row.clone(), head: true }],
        Change::Patch { key, .. } | Change::Recopy { key, .. } | Change::Refresh { key, .. } => {
            vec![Need { row: key.row.clone(), head: true }]
        }
        // The image under a claim is read before the claim is written.
        Change::Insert(image) if setting.deferred && image.schema.has_claims() => {
            vec![Need { row: image.key.row.clone(), head: true }]
        }
        Change::Save { old, new } if setting.deferred && new.schema.has_claims() && *old.key() != new.key => {
            vec![Need { row: new.key.row.clone(), head: true }]
        }
        Change::Arrive(to) => {
            let held = to.held()?.into_iter().map(|held| Need { row: held.row, head: false });
            held.chain([Need { row: to.to.key.row.clone(), head: true }]).collect()
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
    if touches || (0..change.schema().indexes.len()).any(|index| setting.of(index) != IndexState::Readable) {
        for image in known_images(change, known)? {
            needs.extend(
                entries(&image)?.into_iter().filter(is_needed).map(|entry| Need { row: entry.row, head: false }),
            );
        }
    }
    if change.schema().has_lists() {
        needs.extend(list_needs(change, setting, known)?);
    }
    if !change.schema().aggregates.is_empty() || change.schema().holds_aggregates() {
        needs.extend(cell_needs(change, setting, known)?);
    }
    needs.retain(|need| !known.contains_key(&need.row));
    Ok(needs)
}

/// The rows of the lists that the change may change.
pub(super) fn list_needs(change: &Change, setting: &Setting, known: &Known) -> Result<Vec<Need>> {
    let images = known_images(change, known)?;
    let wanted = images.iter().map(entries).collect::<Result<Vec<_>>>()?;
    let mut needs = Vec::new();
    for (at, own) in wanted.iter().enumerate() {
        let stays = |entry: &Entry| wanted.iter().enumerate().any(|(other, all)| other != at && all.contains(entry));
        let changes = |entry: &&Entry| match setting.of(entry.index) {
            IndexState::Absent => false,
            IndexState::Readable => !stays(entry),
            IndexState::DeleteOnly | IndexState::WriteOnly => true,
        };
        for entry in own.iter().filter(|entry| is_list(change.schema(), entry)).filter(changes) {
            let key = images.get(at).map_or("", |image| &image.key.row);
            let Some(index) = change.schema().indexes.get(entry.index) else { continue };
            let need =
                list::need(index, &entry.row, key, known).map_err(|error| error.of(change.schema().entity_type))?;
            needs.extend(need.map(|row| Need { row, head: false }));
        }
    }
    Ok(needs)
}

pub(in crate::plan) fn known_images(change: &Change, known: &Known) -> Result<Vec<Image>> {
    Ok(match change {
        Change::Insert(image) => vec![image.clone()],
        Change::Upsert(image) => match known.get(&image.key.row) {
            Some(Some(row)) if is_primary(image.schema, row) => {
                vec![Image::stored(image.schema, &shape::known(image.schema, row.clone(), known)?)?, image.clone()]
            }
            _ => vec![image.clone()],
        },
        Change::Save { old, new } => vec![Image::stored(new.schema, old)?, new.clone()],
        Change::Delete { schema, old } | Change::Touch { schema, old, .. } => vec![Image::stored(schema, old)?],
        Change::Recopy { schema, key, .. } => match known.get(&key.row) {
            Some(Some(row)) if is_primary(schema, row) => vec![Image::stored(schema, &row.clone().into())?],
            _ => Vec::new(),
        },
        Change::Leave { old, to } => vec![Image::stored(to.to.schema, old)?],
        Change::Arrive(to) => vec![to.to.clone()],
        Change::Patch { .. } | Change::Refresh { .. } | Change::Contribute(_) => Vec::new(),
    })
}

/// The cells of the aggregates that the change may change, and their targets.
pub(super) fn cell_needs(change: &Change, setting: &Setting, known: &Known) -> Result<Vec<Need>> {
    let mut images = known_images(change, known)?;
    let new = match change {
        Change::Delete { .. } | Change::Leave { .. } => None,
        _ => images.pop(),
    };
    let old = images.pop();
    let mut needs = Vec::new();
    if !matches!(change, Change::Touch { .. }) {
        for edit in aggregate::edits(old.as_ref(), new.as_ref(), |at| setting.keeps(change.schema(), at))? {
            needs.extend(edit.range(known)?.map(|row| Need { row, head: false }));
            needs.extend([edit.into.cell(), edit.into.row].map(|row| Need { row, head: false }));
        }
    }
    let stays = old.as_ref().zip(new.as_ref()).is_some_and(|(old, new)| old.key == new.key);
    for image in [&old, &new].into_iter().flatten().filter(|_| !stays) {
        needs.extend(aggregate::held(image.schema, &image.key.row).map(|into| Need { row: into.cell(), head: false }));
    }
    Ok(needs)
}
