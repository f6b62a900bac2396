//! After a commit that failed: what the failed row was, and what that means for the run.
//!
//! Rows are read again here; nothing is written.

use tablemodel_store::{Action, Properties, Row, RowKey, StoreError, StoreErrorKind};

use super::{Next, Outcome, Run};
use crate::{
    database::older::Copies,
    error::{Error, ErrorKind, Result},
    plan::{
        batch::{BatchPlan, BatchRow, Left, matched},
        change::{Role, exists, stale_etag, violation},
        group::Group,
        known::Known,
        part::Marks,
        system::{self, RowKind},
    },
    rooms::{aggregate::is_contribution, unique::nets},
};

impl Run<'_> {
    pub(super) async fn after(
        &mut self,
        error: StoreError,
        plan: &BatchPlan,
        follows: &[BatchPlan],
        own: usize,
    ) -> Result<Next> {
        self.last = Some(error.clone());
        match error.kind() {
            StoreErrorKind::Unavailable => return Ok(Next::Later),
            StoreErrorKind::OutcomeUnknown if self.operation.is_some() => {
                self.ambiguous = true;
                return Ok(Next::Later);
            }
            StoreErrorKind::RowExists | StoreErrorKind::RowNotFound | StoreErrorKind::ConditionNotMet => {}
            _ => return Err(self.typed(error, plan)),
        }
        if self.ambiguous {
            return self.recognise(plan).await.map(Next::Done);
        }
        if let Some(at) = error.failed_at().filter(|at| at.batch > 0) {
            self.copying.refused(at.batch, own);
            return self.after_away(error, plan, follows).await;
        }
        let Some(failed) = failed_row(&error, plan) else { return self.after_away(error, plan, follows).await };
        if plan.shared.contains(&failed.planned.row) {
            plan.shared.iter().for_each(|row| drop(self.known.remove(row)));
            return Ok(Next::Later); // another changed a row that several entities meet in
        }
        match failed.planned.role {
            Role::Primary => self.after_primary(&error, failed, plan).await,
            // The row's key holds the sequence of the change: another wrote the entity at the same moment.
            Role::Outbox | Role::List(_) | Role::Cell => Ok(Next::Later),
            Role::Source | Role::Holder => {
                self.held.clear(); // read again, and copied and claimed anew
                Ok(Next::Later)
            }
            Role::Part => match plan.head_of(failed) {
                Some(head) => self.after_primary(&error, head, plan).await,
                None => Err(error.into()),
            },
            Role::Index(index) => self.after_index(&error, failed, index, plan).await,
        }
    }

    /// A refused primary row: a tombstone is written over, anything else is the caller's to decide.
    pub(super) async fn after_primary(
        &mut self,
        error: &StoreError,
        failed: &BatchRow,
        plan: &BatchPlan,
    ) -> Result<Next> {
        let (schema, change) = (failed.schema, failed.change);
        let expected_absent = matches!(failed.planned.action, Action::Insert(_));
        let was_needed = self.was_needed(failed);
        let key = self.key(&failed.planned.row);
        if was_needed {
            self.known = Known::new(); // nothing that was read with it is true any longer
        }
        let found = self.learn_entity(schema, &failed.planned.row, Copies::AreToFollow).await?.cloned();
        let dead = found.as_ref().is_some_and(|row| matches!(system::kind(&row.properties), RowKind::Tombstone { .. }));
        let raced = expected_absent && found.is_none();
        if expected_absent && dead {
            self.learn_places(plan).await?; // each refusal tells of one alone
        }
        if was_needed || raced || (expected_absent && dead) {
            return Ok(Next::Again); // the plan rested on a read that is no longer true, or did not know of the tombstone
        }
        let current = found.filter(|_| !dead);
        let kind = match (error.kind(), current) {
            (StoreErrorKind::RowExists, Some(row)) => {
                return Err(exists(schema, key, &row).in_operation(change).caused_by(error.clone()));
            }
            (StoreErrorKind::RowExists, None) => ErrorKind::AlreadyExists,
            (_, None) => ErrorKind::NotFound,
            (_, Some(row)) => ErrorKind::Conflict { current: Some(Box::new(row)) },
        };
        let detail = match kind {
            ErrorKind::AlreadyExists => "an entity with this key exists",
            ErrorKind::NotFound => "the entity is gone: it was deleted, or moved to another key",
            _ => "the entity changed since it was read; read it again and decide anew",
        };
        Err(Error::new(kind, detail).of(schema.entity_type).at_key(key).in_operation(change).caused_by(error.clone()))
    }

    /// Learns what stands where the plan puts entities, as far as that is not known.
    async fn learn_places(&mut self, plan: &BatchPlan) -> Result<()> {
        let puts = plan.rows.iter().map(|row| &row.planned);
        let puts = puts.filter(|row| row.role == Role::Primary && matches!(row.action, Action::Insert(_)));
        let rows = puts.map(|row| row.row.as_str()).filter(|row| !self.known.contains_key(*row)).collect();
        let found = self.db.rows_at(&self.registered.table, self.partition, rows).await?;
        self.known.extend(found.into_iter().map(|(row, found)| (row.to_owned(), found)));
        Ok(())
    }

    /// Whether the write rested on a row that this run read, and not on one that the caller had read.
    pub(super) fn was_needed(&self, failed: &BatchRow) -> bool {
        match (self.known.get(&failed.planned.row), matched(&failed.planned.action)) {
            _ if !self.known.rests_on(&failed.planned.row) => false,
            (Some(Some(known)), Some(etag)) => known.etag == *etag,
            _ => true,
        }
    }

    /// A refused index row: a violation, or drift, which is repaired by planning with the rows as they are.
    pub(super) async fn after_index(
        &mut self,
        error: &StoreError,
        failed: &BatchRow,
        at: usize,
        plan: &BatchPlan,
    ) -> Result<Next> {
        let (schema, change) = (failed.schema, failed.change);
        let key = self.key(&failed.planned.row);
        let found = self.learn(&failed.planned.row).await?.cloned();
        if let (Some(row), Some(index)) = (&found, schema.index_at(at).filter(|index| index.unique))
            && !plan.rows.iter().any(|mine| system::owner_row(&row.properties) == Some(mine.planned.row.as_str()))
        {
            // An entity that is on its way may not come.
            let is_held =
                Box::pin(self.db.clear_held(schema, row)).await.map_err(|error| error.in_operation(change))?;
            if is_held {
                self.known.remove(&failed.planned.row);
                return Ok(Next::Again);
            }
            return Err(violation(schema, index, row).in_operation(change).caused_by(error.clone()));
        }
        tracing::warn!(entity = schema.entity_type, key = %key, "an index row was not as its entity says; repaired");
        for row in plan.rows.iter().filter(|row| matches!(row.planned.role, Role::Index(_))) {
            self.learn(&row.planned.row).await?;
        }
        Ok(Next::Again)
    }

    /// A refused row of another partition: it was not there, as its entity says it is; or a claim that was.
    pub(super) async fn after_away(
        &mut self,
        error: StoreError,
        plan: &BatchPlan,
        follows: &[BatchPlan],
    ) -> Result<Next> {
        let (missing, claims) = (self.missing.len(), std::mem::take(&mut self.claims));
        for plan in follows.iter().chain([plan]) {
            for net in nets(&plan.away)? {
                self.read_claim(&net, plan).await?;
            }
        }
        let mut rows = Vec::new();
        for plan in follows.iter().chain([plan]).chain(&self.places) {
            let plain = plan.away.iter().filter(|away| away.claimed().is_none() && away.aggregate().is_none());
            rows.extend(plain.map(|away| (away.clone(), plan.state_of(&away.row.owner))));
        }
        for (away, state) in rows {
            let key = RowKey::new(away.row.away.partition.clone(), away.row.row.clone());
            let there = self.db.get_row(&self.db.table_name(away.row.away.table), &key).await?;
            if there.is_none() && self.missing.insert((away.row.away, away.row.row, state)) && away.row.was {
                tracing::warn!(entity = away.schema.entity_type, key = %key, "an index row was not as its entity says; repaired");
            }
        }
        let rests_on_copies = !plan.guards.is_empty() || !follows.is_empty() || self.copying.alone_from.is_some();
        let contributes = follows.iter().chain([plan]).any(|plan| plan.contributions().next().is_some());
        let moves = self.registered.setting.moving; // another took the key of a shadow, or left it
        // One that is there by now was written with its entity meanwhile.
        let is_back = error.kind() == StoreErrorKind::RowNotFound;
        match self.missing.len() > missing || self.claims != claims || rests_on_copies || moves {
            true => Ok(Next::Again),
            false if contributes || is_back => Ok(Next::Later), // another changed an aggregate there
            false => Err(error.into()),
        }
    }

    /// After a lost reply: whether the rows carry this run's operation id.
    pub(in crate::database) async fn recognise(&mut self, plan: &BatchPlan) -> Result<Vec<Outcome>> {
        let Some(operation) = self.operation else { return Err(self.unknown()) };
        let mut outcomes = Vec::with_capacity(plan.left.len());
        let mut ours = false;
        for left in plan.left.iter() {
            // What a later change of the batch took away again proves nothing, unless by a tombstone; nor does what follows.
            if written(plan, &left.row).is_none_or(is_contribution) {
                outcomes.push(None);
                continue;
            }
            let found = self.learn(&left.row).await?.cloned();
            if is_follower(plan, left) {
                // Others may have written it since: that it is not ours proves nothing, where the rest of the batch is.
                ours |= found.is_some_and(|row| system::was_written_by(&row.properties, operation));
                outcomes.push(None);
                continue;
            }
            let Some(found) = found.filter(|row| system::was_written_by(&row.properties, operation)) else {
                return Err(self.unknown());
            };
            ours = true;
            let Some(planned) = left.properties.as_ref() else {
                outcomes.push(None);
                continue;
            };
            let marks = |properties| (system::sequence(properties), Marks::read(properties));
            let moved_on = marks(&found.properties) != marks(planned);
            let etag = if moved_on { stale_etag() } else { found.etag.clone() };
            let parts = if moved_on { left.parts.clone() } else { self.parts_now(left).await? };
            outcomes.push(Some(Group::of(Row { etag, properties: planned.clone(), ..found }, parts)));
        }
        if ours { Ok(outcomes) } else { Err(self.unknown()) }
    }

    /// The parts that a change left, with the ETags that they have in the store.
    pub(super) async fn parts_now(&mut self, left: &Left) -> Result<Vec<Row>> {
        let mut parts = Vec::with_capacity(left.parts.len());
        for part in &left.parts {
            let found = self.learn(&part.key.row).await?.filter(|row| row.properties == part.properties);
            parts.push(found.cloned().unwrap_or_else(|| part.clone()));
        }
        Ok(parts)
    }

    pub(super) fn typed(&self, error: StoreError, plan: &BatchPlan) -> Error {
        match failed_row(&error, plan) {
            Some(row) => row.refused(self.partition, error),
            None if error.kind() == StoreErrorKind::TooLarge => {
                plan.away.iter().find_map(|away| away.check().err()).unwrap_or_else(|| Error::from(error))
            }
            None => Error::from(error),
        }
    }
}

/// Whether the row is written because of what the caller changed, and not by itself: a target, or the holder of a copy.
fn is_follower(plan: &BatchPlan, left: &Left) -> bool {
    plan.shared.contains(&left.row) || plan.planned(&left.row).is_some_and(|row| row.role == Role::Holder)
}

/// The write of the entities' own batch that failed.
pub(super) fn failed_row<'p>(error: &StoreError, plan: &'p BatchPlan) -> Option<&'p BatchRow> {
    error.failed_at().filter(|at| at.batch == 0).and_then(|at| plan.rows.get(at.operation))
}

/// The properties that the batch leaves in the row, where it writes it.
pub(super) fn written<'p>(plan: &'p BatchPlan, row: &str) -> Option<&'p Properties> {
    plan.planned(row)?.action.properties()
}
