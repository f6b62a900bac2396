//! What a run sees to in other partitions before it commits: the values that its entities claim, and that nobody is on the
//! way to their keys.
//!
//! The claims and moves themselves are `database::claims`' and `database::rekey`'s.

use tablemodel_store::{RowKey, StoreError, StoreErrorKind};

use super::{Next, Run};
use crate::{
    database::{calls::ATTEMPTS, claims::Taken, older::Copies},
    error::{Error, ErrorKind, Result},
    plan::{
        batch::{BatchPlan, matched},
        change::{Change, Role},
        outbox::is_tombstone,
    },
    rooms::{
        rekey::is_reserved,
        unique::{Net, check_handed_over, nets},
    },
};

impl Run<'_> {
    /// Where the change puts an entity: that no other is on its way there, nor one from there that still has its values. Whether one
    /// was: then what else was read before it came is no longer true.
    pub(super) async fn clear_way(&mut self, change: &Change) -> Result<bool> {
        if !matches!(change, Change::Insert(_) | Change::Upsert(_) | Change::Save { .. }) {
            return Ok(false);
        }
        let (schema, key) = (change.schema(), change.key());
        for attempt in 0..ATTEMPTS {
            let Some(Some(row)) = self.known.get(&key.row) else { return Ok(attempt > 0) };
            let may_have_left = is_tombstone(row) && self.is_deferred_claim(change);
            let cleared = match is_reserved(row) {
                true => self.db.clear_reservation(schema, row).await.map(|()| true)?,
                false => may_have_left && self.db.finish_moves_of(schema, key).await?,
            };
            if !cleared {
                return Ok(attempt > 0);
            }
            self.learn_entity(schema, &key.row, Copies::AreToFollow).await?;
        }
        Err(Error::new(ErrorKind::Unavailable, "the key keeps changing").of(schema.entity_type).at_key(key.clone()))
    }

    fn is_deferred_claim(&self, change: &Change) -> bool {
        !self.db.is_atomic() && change.schema().has_claims()
    }

    /// Claims that a plan lets go without knowing whose they are: those of an index that is being built.
    pub(in crate::database) async fn read_claims(&mut self, plan: &BatchPlan) -> Result<()> {
        for net in nets(&plan.away)? {
            let is_known = net.known(&self.claims, &self.missing, plan).is_some();
            if net.holder.is_none() && net.taker.is_none() && !is_known {
                self.read_claim(&net, plan).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn read_claim(&mut self, net: &Net<'_>, plan: &BatchPlan) -> Result<()> {
        // An entity that is written for another reason, and has the value before and after, is none that gives it up.
        let ours = |owner: &RowKey| {
            let is_here = owner.partition == plan.partition_or(self.partition)
                && (net.is_touched_by(&owner.row) || plan.takes_away(&owner.row));
            is_here || self.from.as_ref() == Some(owner)
        };
        let found = match net.taker {
            Some(taker) => {
                self.db.takeable_claim(taker, ours).await.map_err(|error| error.in_operation(taker.change))?
            }
            None => self.db.own_claim(net.first, ours).await?,
        };
        if found.is_none() {
            self.missing.insert(net.missing(plan));
        }
        self.claims.insert(net.place(), found);
        Ok(())
    }

    /// Claims, each by a commit of its own, the values that the entities of the plan are about to take. `None`: the plan
    /// may be committed.
    pub(super) async fn take_claims(&mut self, plan: &BatchPlan) -> Result<Option<Next>> {
        let nets = nets(&plan.claims)?;
        check_handed_over(&nets, self.partition)?;
        let new: Vec<_> = nets.iter().filter(|net| net.is_new() && !self.held.contains(&net.place())).collect();
        for net in &new {
            let Some(taker) = net.taker else { continue };
            if new.len() > 1 {
                self.db.judge_claim(taker, self.partition).await.map_err(|error| error.in_operation(taker.change))?;
            }
        }
        for net in &new {
            let Some(taker) = net.taker else { continue };
            let image = plan.planned(&taker.row.owner).and_then(|planned| matched(&planned.action));
            let taken = self.db.take_claim(taker, self.partition, image, self.since, &mut self.put).await;
            match taken.map_err(|error| error.in_operation(taker.change))? {
                Taken::Held => self.held.insert(net.place()),
                Taken::Stale => return self.after_stale(&taker.row.owner, plan).await.map(Some),
            };
        }
        if !plan.claims.is_empty() {
            self.db.check_held(self.since)?;
        }
        Ok(None)
    }

    /// The entity changed since its image was read: as if its write had been refused.
    async fn after_stale(&mut self, owner: &str, plan: &BatchPlan) -> Result<Next> {
        let error = StoreError::new(StoreErrorKind::ConditionNotMet, "the entity changed since it was read");
        let refused = plan.position(owner).and_then(|at| plan.rows.get(at));
        let Some(refused) = refused else { return Err(error.into()) };
        self.last = Some(error.clone());
        if refused.planned.role == Role::Holder {
            return Ok(Next::Later); // read again, and copied anew
        }
        self.after_primary(&error, refused, plan).await
    }
}
