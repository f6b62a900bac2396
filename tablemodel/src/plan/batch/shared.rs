//! The rows that several changes of a batch meet in, each written once: lists, and the cells of aggregates with their targets.
//!
//! They are closed after all changes were added.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use tablemodel_store::{Action, Row, RowKey, Value};

use super::{BatchEdit, BatchPlan, BatchRow, Earlier, Left, ranked::Ranked};
#[cfg(feature = "blob")]
use crate::rooms::list::take_out;
use crate::{
    error::Result,
    plan::{
        change::{self, Before, Change, Context, PlannedRow, Role},
        entries::Away,
        group::Group,
        grouped::grouped,
        known::Known,
        shape,
        states::Setting,
        version,
    },
    rooms::{
        aggregate::{self, Edit},
        list::{self, List},
    },
    schema::{EntitySchema, IndexSchema},
};

/// How an entity is kept: its newest format, and its setting.
pub(crate) type Kept = (&'static EntitySchema, Setting);

/// The rows before the last write of an entity: of its parts, also those that were read with it and that no change of the batch
/// writes.
struct WithParts<'a> {
    earlier: Earlier<'a>,
    parts: &'a [Row],
}

impl Before for WithParts<'_> {
    fn row(&self, row: &str) -> Option<Option<Cow<'_, Row>>> {
        let part = || self.parts.iter().find(|part| part.key.row == row);
        self.earlier.row(row).or_else(|| part().map(|part| Some(Cow::Borrowed(part))))
    }

    fn gone(&self, row: &str) -> i64 {
        self.earlier.gone(row)
    }

    fn known(&self) -> &Known {
        self.earlier.known()
    }

    fn put_under(&self, prefix: &str) -> Vec<Cow<'_, Row>> {
        self.earlier.put_under(prefix)
    }

    fn is_blank(&self) -> bool {
        self.earlier.is_blank()
    }
}

impl BatchPlan {
    /// Writes the cells of the aggregates that the changes meet in, and copies them into their targets.
    pub(crate) fn close_cells(
        &mut self,
        partition: &str,
        known: &Known,
        context: Context,
        setting: impl Fn(&'static EntitySchema) -> Result<Kept>,
    ) -> Result<()> {
        let edits = std::mem::take(&mut self.cells);
        let is_ranked = edits.iter().any(|(_, edit)| edit.rank().is_some());
        let ranked = if is_ranked { Ranked::of(&self.rows, known) } else { Ranked::default() };
        let (mut refreshed, mut targets) = (Vec::<(usize, Change)>::new(), HashMap::new());
        for edits in grouped(&edits, |(_, edit)| edit.into.place()) {
            let Some((change, Edit { into, .. })) = edits.first() else { continue };
            let set = self.close_cell(&edits, partition, (known, &ranked), context);
            let set = set.map_err(|error| error.of(into.target.entity_type).in_operation(*change))?;
            let Some(set) = set else { continue };
            let at = *targets.entry(into.row.as_str()).or_insert(refreshed.len());
            if let Some((_, Change::Refresh { sets, .. })) = refreshed.get_mut(at) {
                sets.push(set);
                continue;
            }
            let key = RowKey::new(partition, into.row.clone());
            refreshed.push((*change, Change::Refresh { schema: into.target, key, sets: vec![set] }));
        }
        for (number, change) in refreshed {
            self.refresh(number, change, known, &setting, context).map_err(|error| error.in_operation(number))?;
        }
        Ok(())
    }

    /// Writes one cell, by all edits of it; tells what its target is to hold, if that is something else than it does.
    fn close_cell(
        &mut self,
        edits: &[&(usize, Edit)],
        partition: &str,
        (known, ranked): (&Known, &Ranked<'_>),
        context: Context,
    ) -> Result<Option<(&'static str, Option<Value>)>> {
        let Some((change, Edit { into, .. })) = edits.first() else { return Ok(None) };
        let (change, row) = (*change, into.cell());
        let cell = known.get(&row).and_then(Option::as_ref);
        self.shared.insert(row.clone());
        if into.is_held() && !self.is_asked_for(&into.row) {
            // What the target says, or that there is none, was read with the cell, and is true no longer than that.
            self.shared.insert(into.row.clone());
        }
        if cell.is_some_and(aggregate::is_unbuilt) || edits.iter().any(|(_, edit)| edit.spoils) {
            self.leave_unbuilt(into, cell, change, known, context)?;
            return Ok(None);
        }
        let before = into.total(cell)?;
        let (mut total, mut comes_or_goes, mut rank) = (before.clone(), false, None);
        for (_, edit) in edits {
            // Who takes away as much as he adds might write no cell: then nothing would tell that it was read too early.
            match cell.is_none() && total.lacks(edit) {
                true if edit.is_counted => return Err(into.too_few()),
                true => {
                    self.leave_unbuilt(into, cell, change, known, context)?;
                    return Ok(None);
                }
                false => {}
            }
            total.change(edit);
            comes_or_goes |= edit.loss.is_none() && edit.gain.is_none();
            rank = rank.or_else(|| edit.rank().cloned());
        }
        // Who takes the first away reads what comes next, and must learn of every rank that changes meanwhile.
        let is_ranked = rank.is_some();
        if let Some(rank) = rank {
            let lost: Vec<_> = edits.iter().filter_map(|(_, edit)| edit.lost()).collect();
            let first = self.first(into, before.rank(&rank), ranked, &lost)?;
            total.set_first(first.and_then(|code| rank.with_code(code).value(into.property.edm)));
        }
        if total.is_impossible() && edits.iter().any(|(_, edit)| !edit.is_counted) {
            // A program that lacks the aggregate wrote sources beside it: they are counted again before anybody reads it.
            self.leave_unbuilt(into, cell, change, known, context)?;
            return Ok(None);
        }
        let stored = self.held_by(into, partition, known)?;
        if total == before && !comes_or_goes && !is_ranked {
            return Ok(None);
        }
        if let Some(action) = into.write(&total, cell, stored.is_some(), context.now)? {
            let planned = PlannedRow { row, action, role: Role::Cell };
            self.rows.push(BatchRow { planned, change, schema: into.target }, "", known)?;
        }
        let (was, value) = (into.value(&before)?, into.value(&total)?);
        // One that says something else than its cell was read at another time: it is written, so that this is found out.
        let is_to_change = |stored: &Option<Value>| *stored != value || *stored != was;
        Ok(stored.filter(is_to_change).map(|_| (into.property.property, value)))
    }

    /// Writes a cell whose sources are still to be counted: it says no more than before, and is another one for whoever counts
    /// them, even where what changes here adds up to nothing.
    fn leave_unbuilt(
        &mut self,
        into: &aggregate::Into,
        cell: Option<&Row>,
        change: usize,
        known: &Known,
        context: Context,
    ) -> Result<()> {
        let planned = PlannedRow { row: into.cell(), action: into.unbuilt(cell, context.now), role: Role::Cell };
        self.rows.push(BatchRow { planned, change, schema: into.target }, "", known)
    }

    /// Whether a change that the caller asked for writes the entity's row: only then it is the caller's to hear that another
    /// wrote it, and not where the row follows as a holder of copies.
    fn is_asked_for(&self, row: &str) -> bool {
        self.planned(row).is_some_and(|planned| planned.role == Role::Primary)
    }

    /// What the target holds, in whichever of its rows; none where there is none that holds it.
    fn held_by(&self, into: &aggregate::Into, partition: &str, known: &Known) -> Result<Option<Option<Value>>> {
        if !into.is_held() {
            return Ok(None);
        }
        let before = Earlier { known, plan: self, partition };
        let target = before.row(&into.row).flatten().filter(|row| change::is_primary(into.target, row));
        // A version that does not hold it leaves that to its cell, and needs none that says nothing.
        let holds = |head: &Cow<'_, Row>| version::writes_total(into.target, head, into.property.property);
        let Some(head) = target.filter(holds).map(Cow::into_owned) else { return Ok(None) };
        let rows = match self.left_at(&into.row) {
            Some(left) => Group { head, parts: left.parts.clone(), fetched: None },
            None => shape::known(into.target, head, &before)?,
        };
        let held = rows.iter().find_map(|row| row.properties.get(into.property.property));
        Ok(Some(held.map(|value| value.to_value())))
    }

    /// Plans the write of a target over what the batch leaves of it.
    pub(super) fn refresh(
        &mut self,
        number: usize,
        change: Change,
        known: &Known,
        setting: impl Fn(&'static EntitySchema) -> Result<Kept>,
        context: Context,
    ) -> Result<()> {
        let key = change.key().clone();
        let ((schema, setting), context) = (setting(change.schema())?, Context { fresh: None, ..context });
        // An older version of the source may know an older one of the target.
        let change = match change {
            Change::Refresh { key, sets, .. } => Change::Refresh { schema, key, sets },
            other => other,
        };
        let earlier = Earlier { known, plan: self, partition: &key.partition };
        let before = WithParts { earlier, parts: self.left_at(&key.row).map_or(&[], |left| &left.parts) };
        let planned = change::plan(&change, &before, &setting, context)?;
        if !self.is_asked_for(&key.row) {
            let of_target = planned.rows.iter().filter(|row| matches!(row.role, Role::Primary | Role::Part));
            self.shared.extend(of_target.map(|row| row.row.clone()));
        }
        let (after, parts) =
            self.take(number, schema, planned, (&key.partition, &key.row, known), &setting, context)?;
        match self.left.last_of(&key.row) {
            Some(at) => self.left.renew(at, after, parts),
            None => self.left.push(Left { row: key.row, properties: after, parts, born: false }),
        }
        Ok(())
    }

    /// The contributions that are written in the same commit, each for its place.
    pub(crate) fn contributions(&self) -> impl Iterator<Item = (&Away, Change)> {
        self.away.iter().filter_map(|away| {
            let (of, row) = (away.aggregate()?, &away.row);
            let key = RowKey::new(row.away.partition.clone(), row.row.clone());
            let wish = aggregate::Wish::Now(row.want.clone());
            Some((&row.away, Change::Contribute(aggregate::Contribution { of, key, wish })))
        })
    }

    /// Adds the rows of the lists that the changes meet in, each list once.
    /// `fresh` names a blob for the list at a key.
    pub(crate) fn close(
        &mut self,
        partition: &str,
        known: &Known,
        context: Context,
        fresh: impl Fn(&'static EntitySchema, &RowKey) -> String,
    ) -> Result<()> {
        let edits = std::mem::take(&mut self.edits);
        let lists = grouped(&edits, |edit| edit.edit.row.as_str());
        // A chunk that needs no change was read with its head, and is true no longer than that.
        let heads: HashSet<&str> = edits.iter().map(|edit| edit.edit.row.as_str()).collect();
        self.shared.extend(known.keys().filter(|row| heads.contains(list::head_of(row))).cloned());
        for edits in lists {
            let Some(BatchEdit { index, edit, change, schema }) = edits.first() else { continue };
            let Some(of) = schema.index_at(*index) else { continue };
            let list = List { index: of, partition, row: &edit.row, now: context.now };
            let own = edits.iter().map(|other| &other.edit);
            let writes = list.writes(own, known);
            for (row, action) in writes.map_err(|error| error.of(schema.entity_type).in_operation(*change))? {
                let action = self.outgrown(of, &RowKey::new(partition, row.clone()), action, |key| fresh(schema, key));
                self.shared.insert(row.clone());
                let planned = PlannedRow { row, action, role: Role::List(*index) };
                self.rows.push(BatchRow { planned, change: *change, schema }, "", known)?;
            }
        }
        Ok(())
    }

    /// The write of a row of a list, without the keys that are to stand in a blob.
    fn outgrown(
        &mut self,
        index: &IndexSchema,
        key: &RowKey,
        action: Action,
        fresh: impl FnOnce(&RowKey) -> String,
    ) -> Action {
        #[cfg(feature = "blob")]
        return take_out(index, key, action, fresh, &mut self.contents);
        #[cfg(not(feature = "blob"))]
        {
            let _ = (index, key, fresh);
            action
        }
    }
}
