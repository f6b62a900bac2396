//! The derived rows of a change: those that only the old image wants go, those that the new one wants newly or otherwise are
//! written.
//!
//! What an image wants is `entries`' to say.

use tablemodel_store::{Action, Condition};

use super::{Derived, PlannedRow, Planner, Role, is_list};
use crate::{
    error::{Error, Result},
    plan::{
        entries::{Entry, Told, told},
        image::Image,
        outbox::{AwayRow, check_names},
        shadow,
        states::IndexState,
        system::{self},
    },
    rooms::list::Edit,
    schema::IndexSchema,
};

/// How a row that is wanted stands before the change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    is_there: bool,
    /// As it is wanted.
    is_same: bool,
}

impl Planner<'_> {
    /// Entries that only `old` wants are deleted, those that `new` wants newly or differently are written: at the
    /// `sequence` of the new image, or at that of the old one's end, which `released` tells.
    pub(super) fn derived(
        &self,
        old: Option<&Image>,
        new: Option<&Image>,
        sequence: i64,
        released: i64,
    ) -> Result<Derived> {
        let mut derived = Derived::default();
        let Some(image) = new.or(old).filter(|image| image.latest.derived(0).is_some()) else { return Ok(derived) };
        let alone = old.zip(new).map(|(old, new)| self.left_alone(old, new)).unwrap_or_default();
        let stays_alone = |index| alone.get(index).copied().unwrap_or(false);
        let told = |image: Option<&Image>| image.map(|image| told(image, stays_alone)).unwrap_or_default();
        let (Told { entries: mut old_entries, untold }, Told { entries: mut new_entries, untold: refused }) =
            (told(old), told(new));
        self.check_told(refused, &untold)?;
        if let (true, Some(new)) = (self.setting.deferred, new) {
            check_names(old, new)?;
        }
        if self.setting.moving {
            // Of one that cannot be upgraded there is no shadow.
            old.map(|old| shadow::add_entries(old, &mut old_entries)).transpose().ok();
            new.map(|new| shadow::add_entries(new, &mut new_entries)).transpose()?;
        }
        if let Some(old) = old {
            derived = self.leaving(old, &old_entries, &new_entries, released);
        }
        for entry in new_entries {
            if is_list(image.latest, &entry) {
                let was_there = old_entries.contains(&entry);
                let is_there = self.setting.of(entry.index) == IndexState::Readable && was_there;
                derived.lists.extend(self.edit(&entry, &image.key.row, (true, !was_there)).filter(|_| !is_there));
                continue;
            }
            let before = old_entries.iter().find(|old| old.is_at(&entry));
            // The row of another version says so, and is written anew.
            let is_same = before == Some(&entry) && old.is_some_and(|old| old.schema.version == image.schema.version);
            let before = Standing { is_there: before.is_some(), is_same };
            if entry.away.is_some() {
                derived.away.extend(self.writing_away(image, entry, before, sequence)?);
                continue;
            }
            let owners = [Some(image), old].map(|image| image.map(|image| image.key.row.as_str()));
            derived.rows.extend(self.writing(image, entry, before, owners, sequence));
        }
        Ok(derived)
    }

    /// That the new image can have what it wants. One that was set aside while an index is built may stay so.
    fn check_told(&self, refused: Vec<(usize, Error)>, before: &[(usize, Error)]) -> Result<()> {
        let was_so = |index: usize| before.iter().any(|(other, _)| *other == index);
        let may_stay = |index| self.setting.of(index) < IndexState::Readable && was_so(index);
        refused.into_iter().find(|(index, _)| !may_stay(*index)).map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The removal of those entries of `old` that are not wanted any more.
    pub(super) fn leaving(&self, old: &Image, had: &[Entry], wanted: &[Entry], released: i64) -> Derived {
        let mut leaving = Derived::default();
        for entry in had {
            // What is not written any more must not stay behind as it was.
            let shared = is_list(old.latest, entry);
            let stays = |wanted: &Entry| match self.setting.of(entry.index) {
                _ if shared => wanted == entry,
                IndexState::DeleteOnly => wanted == entry,
                // Of another index of a newer version, that is not written yet.
                _ if wanted.index != entry.index && self.setting.of(wanted.index) < IndexState::WriteOnly => false,
                IndexState::Absent | IndexState::WriteOnly | IndexState::Readable => wanted.is_at(entry),
            };
            if wanted.iter().any(stays) {
                continue;
            }
            let owner = &old.key.row;
            match &entry.away {
                None if shared => leaving.lists.extend(self.edit(entry, owner, (false, true))),
                None => leaving.rows.extend(self.removal(entry)),
                Some(_) => leaving.away.extend(self.removal_away(entry, owner, released)),
            }
        }
        leaving
    }

    /// Of each index whether its rows are left as they are, by what they are made from alone.
    fn left_alone(&self, old: &Image, new: &Image) -> Vec<bool> {
        if !old.is_current() || old.key != new.key || !self.before.is_blank() {
            return Vec::new();
        }
        let is_same = |name| old.fields.get(name) == new.fields.get(name);
        let stays = |(at, index): (usize, &IndexSchema)| {
            self.setting.of(at) == IndexState::Readable && index.made_from().is_some_and(|mut names| names.all(is_same))
        };
        new.schema.indexes.iter().enumerate().map(stays).collect()
    }

    /// The change of a list: whether the key is put in or taken out, and whether that is news.
    pub(super) fn edit(&self, entry: &Entry, key: &str, (adds, is_news): (bool, bool)) -> Option<(usize, Edit)> {
        let edit = Edit { row: entry.row.clone(), key: key.to_owned(), adds, is_news };
        match (self.setting.of(entry.index), adds) {
            (IndexState::Absent, _) | (IndexState::DeleteOnly, true) => None,
            _ => Some((entry.index, edit)),
        }
    }

    pub(super) fn removal_away(&self, entry: &Entry, owner: &str, sequence: i64) -> Option<AwayRow> {
        let state = self.setting.of(entry.index);
        match state {
            IndexState::Absent => None,
            _ => AwayRow::removed(entry, owner, sequence, state == IndexState::Readable),
        }
    }

    pub(super) fn writing_away(
        &self,
        image: &Image,
        entry: Entry,
        before: Standing,
        sequence: i64,
    ) -> Result<Option<AwayRow>> {
        let state = self.setting.of(entry.index);
        match state {
            IndexState::Absent | IndexState::DeleteOnly => return Ok(None),
            IndexState::Readable if before.is_same => return Ok(None),
            IndexState::Readable | IndexState::WriteOnly => {}
        }
        AwayRow::wanted(image, entry, sequence, before.is_there && state == IndexState::Readable)
    }

    pub(super) fn removal(&self, entry: &Entry) -> Option<PlannedRow> {
        let condition = match (self.setting.of(entry.index), self.before.row(&entry.row)) {
            (IndexState::Absent, _) | (_, Some(None)) => return None,
            (_, Some(Some(row))) => Condition::Match(row.etag.clone()),
            (IndexState::Readable, None) => Condition::Exists,
            (IndexState::DeleteOnly | IndexState::WriteOnly, None) => return None,
        };
        Some(PlannedRow { row: entry.row.clone(), action: Action::Delete(condition), role: Role::Index(entry.index) })
    }

    pub(super) fn writing(
        &self,
        image: &Image,
        entry: Entry,
        before: Standing,
        owners: [Option<&str>; 2],
        sequence: i64,
    ) -> Option<PlannedRow> {
        let index = image.kind(&entry)?;
        let there = self.before.row(&entry.row);
        match self.setting.of(entry.index) {
            IndexState::Absent | IndexState::DeleteOnly => return None,
            IndexState::Readable if before.is_same && there.is_none() => return None,
            IndexState::Readable | IndexState::WriteOnly => {}
        }
        let mut properties = entry.properties;
        system::stamp(&mut properties, index.discriminator, sequence, None);
        let action = match there {
            // Another's row: a later change of the batch may release it, else it is a violation.
            Some(Some(row)) if index.unique && !owners.contains(&system::owner_row(&row.properties)) => {
                Action::Insert(properties)
            }
            Some(Some(row)) => Action::Replace(properties, Condition::Match(row.etag.clone())),
            Some(None) => Action::Insert(properties),
            None if before.is_there && self.setting.of(entry.index) == IndexState::Readable => {
                Action::Replace(properties, Condition::Exists)
            }
            None if index.unique => Action::Insert(properties),
            None => Action::InsertOrReplace(properties),
        };
        Some(PlannedRow { row: entry.row, action, role: Role::Index(entry.index) })
    }
}
