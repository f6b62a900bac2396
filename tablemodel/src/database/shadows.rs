//! The keys of shadows: each is one entity's alone. What a commit is about to write there is looked at before, and written under
//! what was read.
//!
//! What a shadow holds is planned in `plan::shadow`.

use tablemodel_store::{Action, Batch, Condition, Row, RowKey};

use crate::{
    database::Database,
    error::Result,
    plan::{
        batch::BatchPlan,
        change::is_primary,
        entries::{Away, wants},
        image::Image,
        outbox::Target,
        shadow, system,
    },
    schema::EntitySchema,
};

/// A primary row of the form that entities move to, which a commit is about to write.
pub(super) struct Guarded {
    schema: &'static EntitySchema,
    away: Away,
    row: String,
    /// Who wants it: one, or nobody where it is to go.
    takers: Vec<RowKey>,
    /// Who leaves it with the same commit.
    left: Vec<RowKey>,
}

/// Those of these plans, each with its partition.
pub(super) fn guarded(plans: &[(&str, &BatchPlan)]) -> Vec<Guarded> {
    let mut guarded: Vec<Guarded> = Vec::new();
    for (partition, plan) in plans {
        for of in plan.away.iter().chain(&plan.shadows).filter(|of| shadow::is_primary(of.schema, of.row.index)) {
            let (schema, away, row) = (of.schema, of.row.away.clone(), of.row.row.clone());
            let owner = RowKey::new(*partition, of.row.owner.clone());
            let at = guarded.iter().position(|other| other.row == row && other.away == away).unwrap_or_else(|| {
                guarded.push(Guarded { schema, away, row, takers: Vec::new(), left: Vec::new() });
                guarded.len() - 1
            });
            let Some(place) = guarded.get_mut(at) else { continue };
            match of.row.want {
                Some(_) if place.takers.contains(&owner) => {}
                Some(_) => place.takers.push(owner),
                None => place.left.push(owner),
            }
        }
    }
    guarded
}

impl Database {
    /// That no entity takes the key that another has in the form that both move to; the writes there rest on what was read.
    ///
    /// Cost: while such a form is written, a point read for each of its primary rows that is written.
    pub(super) async fn guard_shadows(&self, guarded: Vec<Guarded>, batches: &mut Vec<Batch>) -> Result<()> {
        for Guarded { schema, away, row, mut takers, left } in guarded {
            let table = self.table_name(away.table);
            let there = self.get_row(&table, &RowKey::new(away.partition.clone(), row.clone())).await?;
            let owner = there.as_ref().and_then(shadow::owner);
            let is_leaving = owner.is_some_and(|owner| left.contains(&owner));
            takers.retain(|taker| !left.contains(taker));
            match (takers.as_slice(), &there) {
                ([taker, other, ..], _) => {
                    let key = RowKey::new(away.partition.clone(), row);
                    return Err(shadow::collision(schema, taker, Some(other), &key));
                }
                ([taker], Some(there)) if !is_leaving => self.check_shadow(schema, taker, there).await?,
                _ => {}
            }
            let is_there =
                |batch: &&mut Batch| batch.table.eq_ignore_ascii_case(&table) && batch.partition == away.partition;
            for batch in batches.iter_mut().filter(is_there) {
                rest_on(batch, &row, there.as_ref(), is_leaving);
            }
        }
        batches.retain(|batch| !batch.operations.is_empty());
        Ok(())
    }

    /// That the row there, of the form that the entity moves to, may be written for it: it is its own, or of one that has left it.
    pub(super) async fn check_shadow(&self, schema: &'static EntitySchema, owner: &RowKey, there: &Row) -> Result<()> {
        let Some(other) = shadow::owner(there) else {
            return Err(shadow::collision(schema, owner, None, &there.key));
        };
        if other == *owner || system::is_dead(&there.properties) {
            return Ok(());
        }
        let row = self.get_row(&self.table_name(schema.table), &other).await?;
        let Some(row) = row.filter(|row| is_primary(schema, row)) else { return Ok(()) };
        let wants = match Image::written(schema, &row.into()) {
            Ok(image) => wants(&image, schema.first_shadow(), &there.key.partition, &there.key.row)?,
            Err(_) => true, // it may well
        };
        if wants { Err(shadow::collision(schema, owner, Some(&other), &there.key)) } else { Ok(()) }
    }

    /// The write that brings a shadow to its target over what is there; none where it is as new already.
    pub(super) async fn shadow_over(
        &self,
        schema: &'static EntitySchema,
        target: &Target,
        there: &Row,
    ) -> Result<Option<Action>> {
        let is_primary = schema.derived_position(&target.entry.index) == Some(schema.first_shadow());
        if is_primary && target.is_live {
            self.check_shadow(schema, &target.owner, there).await?;
        }
        let is_others = shadow::owner(there).as_ref() != Some(&target.owner) && !system::is_dead(&there.properties);
        if target.is_live && is_others {
            return Ok(Some(Action::Replace(target.properties.clone(), Condition::Match(there.etag.clone()))));
        }
        target.over(Some(there))
    }
}

/// Lets the write of a row rest on what was read of it; another's row stays.
fn rest_on(batch: &mut Batch, row: &str, there: Option<&Row>, is_leaving: bool) {
    let Some(at) = batch.operations.iter().position(|operation| operation.row == row) else { return };
    let Some(operation) = batch.operations.get_mut(at) else { return };
    let written = operation.action.properties().cloned();
    operation.action = match (written, there) {
        (Some(properties), Some(there)) => Action::Replace(properties, Condition::Match(there.etag.clone())),
        (Some(properties), None) => Action::Insert(properties),
        (None, Some(there)) if is_leaving => Action::Delete(Condition::Match(there.etag.clone())),
        (None, _) => {
            batch.operations.remove(at);
            return;
        }
    };
}
