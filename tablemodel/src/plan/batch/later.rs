//! What other partitions are to follow later: an outbox row beside the entity says so, in its own batch.
//!
//! Nothing is delivered here.

use std::borrow::Cow;

use tablemodel_store::{Action, RowKey, validate};

use super::{BatchAway, BatchPlan, BatchRow, is_live};
use crate::{
    error::{Error, Result},
    plan::{
        change::{Context, Planned, PlannedRow, Role},
        copies::Guard,
        known::Known,
        outbox::{AwayRow, Intent, check_keys, intents, look_again},
        shadow,
        system::{self, RowKind},
    },
    schema::EntitySchema,
};

/// What a change says of its entity to those who follow it later.
pub(super) struct Later {
    /// The tombstone that it leaves: its row key and sequence number.
    buried: Option<(String, i64)>,
    /// The row key and sequence number of an entity whose sources are to be looked at again.
    looks_again: Option<(String, i64)>,
}

impl Later {
    /// What this plan of a change says.
    pub(super) fn of(planned: &Planned) -> Self {
        let looks_again = planned.guards.iter().any(|guard| matches!(guard, Guard::Again));
        // Where the entity leaves its key, the tombstone there is a primary row too.
        let is_owner = |row: &&PlannedRow| row.role == Role::Primary && is_live(row) && buried(row).is_none();
        let owner = planned.rows.iter().find(is_owner).filter(|_| looks_again).map(|row| row.row.clone());
        let looks_again = owner.zip(planned.after.as_ref().map(system::sequence));
        Self { buried: planned.rows.iter().find_map(buried), looks_again }
    }
}

impl BatchAway {
    /// That a store takes the row: what follows later could never come.
    pub(crate) fn check(&self) -> Result<()> {
        let AwayRow { index, away, row, want, .. } = &self.row;
        let Some(properties) = want else { return Ok(()) };
        validate::row(&away.partition, row, properties).map_err(|error| {
            let name = self.schema.derived(*index).map_or(Cow::Borrowed(""), |kind| kind.name);
            let within = format!("a row of `{name}` in table `{}` cannot be stored; let it keep less", away.table);
            let key = RowKey::new(away.partition.clone(), row.clone());
            let told =
                Error::from(error).within(&within).of_index(self.schema.index_at(*index).map(|index| index.name));
            told.of(self.schema.entity_type).at_key(key).in_operation(self.change)
        })
    }
}

impl BatchPlan {
    /// Puts an outbox row beside the entity for the rows elsewhere that are to follow, and for the entities whose copies may
    /// have to.
    pub(super) fn defer(
        &mut self,
        later: Later,
        away: Vec<BatchAway>,
        copied: Vec<Intent>,
        (change, schema, partition, owner): (usize, &'static EntitySchema, &str, &str),
        known: &Known,
        context: Context,
    ) -> Result<()> {
        // Where the entity's own row is too large as well, that says more.
        let fits = away.iter().try_for_each(BatchAway::check);
        fits.or_else(|error| self.check_rows(partition).and(Err(error)))?;
        let mut intents = intents(schema, away.iter().map(|away| &away.row), copied);
        if let Some((owner, sequence)) = later.looks_again {
            look_again(&mut intents, owner, sequence);
        }
        // A tombstone is swept by its outbox row, also where nothing else is to follow.
        let nothing_follows = |(row, _): &(String, i64)| intents.iter().all(|intent| intent.owner != *row);
        if let Some((owner, sequence)) = later.buried.filter(nothing_follows) {
            intents.push(Intent { owner, sequence, ..Intent::default() });
        }
        for intent in intents {
            let entity = (partition, intent.owner.as_str());
            check_keys(schema, entity, &intent.row(), "what follows it elsewhere")
                .map_err(|error| error.in_operation(change))?;
            let action = Action::Insert(intent.properties(schema, context.due));
            let planned = PlannedRow { row: intent.row(), action, role: Role::Outbox };
            self.outgoing.push((intent.row(), schema));
            self.rows.push(BatchRow { planned, change, schema }, owner, known)?;
        }
        let shadows = away.iter().filter(|away| shadow::is_primary(schema, away.row.index));
        self.shadows.extend(shadows.cloned());
        self.claims.extend(away.into_iter().filter(|away| away.claimed().is_some()));
        Ok(())
    }
}

/// Where the row is the tombstone of an entity: its row key and sequence number.
fn buried(row: &PlannedRow) -> Option<(String, i64)> {
    let properties = row.action.properties().filter(|_| row.role == Role::Primary)?;
    let is_dead = matches!(system::kind(properties), RowKind::Tombstone { .. });
    is_dead.then(|| (row.row.clone(), system::sequence(properties)))
}
