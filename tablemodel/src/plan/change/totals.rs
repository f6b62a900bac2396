//! What changes mean for aggregates: those that an entity adds to, and those that it holds.
//!
//! How cells are written is decided where a batch is closed.

use std::borrow::Cow;

use tablemodel_store::{Properties, PropertyName, RowKey, Value};

use super::{
    Planned, PlannedRow, Planner, Role, is_primary,
    needs::{holds, says},
    next_sequence,
};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{image::Image, shape, version::Old},
    rooms::aggregate::{self, Contribution},
    schema::EntitySchema,
};

impl Planner<'_> {
    /// What the change means for the aggregates that the entity adds to.
    pub(in crate::plan) fn cells(&self, old: Option<&Image>, new: Option<&Image>) -> Result<Vec<aggregate::Edit>> {
        if [old, new].into_iter().flatten().all(|image| image.schema.aggregates.is_empty()) {
            return Ok(Vec::new());
        }
        aggregate::edits(old, new, |at| self.setting.of(at))
    }

    /// Gives a new entity the aggregates that it holds; their cells say from now on that it is there.
    pub(super) fn take_totals(&self, image: &mut Cow<'_, Image>) -> Result<Vec<aggregate::Edit>> {
        let mut edits = Vec::new();
        if !image.schema.holds_aggregates() {
            return Ok(edits);
        }
        for into in aggregate::held(image.schema, &image.key.row.clone()) {
            let cell = self.before.row(&into.cell()).flatten();
            let value = into.value(&into.total(cell.as_deref())?)?;
            set(&mut image.to_mut().fields, into.property.property, value);
            edits.push(aggregate::Edit::of_target(into));
        }
        Ok(edits)
    }

    /// Aggregates are not the caller's to change: they stay as they are stored.
    ///
    /// One that the version before did not hold, or a row of another program does not, is taken from its cell.
    pub(in crate::plan) fn keep_totals(&self, old: &Old, new: &mut Cow<'_, Image>) -> Result<Vec<aggregate::Edit>> {
        let mut edits = Vec::new();
        if !new.schema.holds_aggregates() {
            return Ok(edits);
        }
        for into in aggregate::held(new.schema, &new.key.row.clone()) {
            let property = into.property.property;
            let is_new = !says(&old.written, into.property);
            let value = match old.now().fields.get(property).filter(|_| !is_new) {
                Some(value) => Some(value.to_value()),
                None if is_new => into.value(&into.total(self.before.row(&into.cell()).flatten().as_deref())?)?,
                None => into.value(&aggregate::Total::none(into.property))?,
            };
            set(&mut new.to_mut().fields, property, value);
            if is_new {
                edits.push(aggregate::Edit::of_target(into));
            }
        }
        Ok(edits)
    }

    pub(super) fn contribute(&self, contribution: &Contribution) -> Result<Planned> {
        let there = self.before.row(&contribution.key.row).flatten();
        let Some((action, edit)) = contribution.over(there.as_deref())? else { return Ok(Planned::default()) };
        let row = PlannedRow { row: contribution.key.row.clone(), action, role: Role::Cell };
        Ok(Planned { rows: vec![row], cells: edit.into_iter().collect(), ..Planned::default() })
    }

    /// Sets the aggregates of an entity: in the form of the version that wrote it, since nothing was read
    /// that a newer one needs.
    pub(super) fn refresh(
        &self,
        schema: &'static EntitySchema,
        key: &RowKey,
        sets: &[(&'static str, Option<Value>)],
    ) -> Result<Planned> {
        let over = match self.before.row(&key.row) {
            Some(Some(row)) if is_primary(schema, &row) => shape::known(schema, row.into_owned(), self.before)?,
            _ => {
                return Err(Error::new(ErrorKind::NotFound, "no such entity")
                    .of(schema.entity_type)
                    .at_key(key.clone()));
            }
        };
        let sequence = next_sequence(&over.head.properties, self.context.now);
        let old = Image::written(schema, &over)?;
        let held = sets.iter().filter(|(property, _)| holds(old.schema, property)).cloned();
        let new = old.clone().with_sets(held);
        // No list is made from an aggregate: what stands in them of the entity stays.
        Ok(Planned { lists: Vec::new(), ..self.put(Some(&old), &new, sequence, Some(&over), None)? })
    }
}

pub(super) fn set(fields: &mut Properties, property: &'static str, value: Option<Value>) {
    match value {
        Some(value) => drop(fields.insert(PropertyName::from_static(property), value)),
        None => drop(fields.remove(property)),
    }
}

/// That an entity with aggregates goes away from its key.
pub(super) fn left_cells(image: &Image) -> impl Iterator<Item = aggregate::Edit> + '_ {
    aggregate::held(image.schema, &image.key.row).map(aggregate::Edit::of_target)
}
