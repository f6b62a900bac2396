//! Changes of partition: the half that leaves, and the half that arrives.
//!
//! In which order they are written is `database::rekey`'s.

use std::borrow::Cow;

use tablemodel_store::Action;

use super::{Planned, PlannedRow, Planner, Role, next_sequence};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{entries::told, group::Group, image::Image},
    rooms::rekey::{Move, Reservation},
};

impl Planner<'_> {
    /// As a delete, with the intent in the same batch, or its parts before that; what the entity wants again in the same partition is held for it.
    pub(super) fn leave(&self, old: &Group, to: &Move) -> Result<Planned> {
        let mut planned = self.delete(to.to.schema, old)?;
        let held = if to.stays() { to.held()? } else { Vec::new() };
        for row in &mut planned.rows {
            if let (Action::Delete(condition), Some(held)) = (&row.action, held.iter().find(|held| held.row == row.row))
            {
                row.action = Action::Replace(held.properties.clone(), condition.clone());
            }
        }
        let sequence = next_sequence(&old.head.properties, self.context.now);
        let (intent, parts) = to.intent(sequence, self.context.due)?;
        let part = |(row, part)| PlannedRow { row, action: Action::InsertOrReplace(part), role: Role::Outbox };
        let parts = parts.into_iter().map(part);
        match self.context.fresh {
            None => planned.rows.extend(parts),
            Some(_) => planned.staged.extend(parts),
        }
        planned.rows.push(PlannedRow { row: to.row(), action: Action::Insert(intent), role: Role::Outbox });
        Ok(planned)
    }

    pub(super) fn arrive(&self, to: &Move) -> Result<Planned> {
        let row = self.before.row(&to.to.key.row).flatten();
        let row = row.filter(|row| Reservation::of(row).is_some_and(|reservation| reservation.id == to.id));
        match row {
            Some(row) => {
                let mut image = Cow::Borrowed(&to.to);
                let guards = self.copy(None, &mut image)?;
                let mut cells = self.cells(None, Some(&image))?;
                cells.extend(self.take_totals(&mut image)?);
                let planned = self.put(None, &image, self.context.now, Some(&row.into_owned().into()), None)?;
                Ok(Planned { cells, guards, ..planned })
            }
            None => Err(Error::new(ErrorKind::NotFound, "the entity has arrived already").at_key(to.to.key.clone())),
        }
    }

    /// That no value unique over several partitions goes with a changed row key, where a claim is a commit of its own.
    pub(super) fn check_row_moves(&self, old: &Image, new: &Image) -> Result<()> {
        if !self.setting.deferred || !new.schema.has_claims() {
            return Ok(());
        }
        let old_entries = told(old, |_| false).entries;
        for entry in told(new, |_| false).entries {
            let index = new.latest.index_at(entry.index).filter(|index| index.is_claim());
            if let Some(index) = index.filter(|_| old_entries.iter().any(|old| old.is_at(&entry))) {
                let detail = format!(
                    "unique index `{}` spans partitions, and its value cannot follow a changed row key here; use `db.rekey()`",
                    index.name
                );
                let error = Error::new(ErrorKind::KeyChanged, detail);
                return Err(error.of(new.schema.entity_type).at_key(old.key.clone()));
            }
        }
        Ok(())
    }
}
