//! Execution: reads what planning needs, commits the plan, and turns what the store answers into decisions.
//!
//! Nothing is planned here. Retries are bounded, and only where the same plan cannot do harm twice.

mod ahead;
mod doubt;

use std::{borrow::Cow, collections::HashSet, time::Duration};

use tablemodel_store::{Action, Batch, Properties, Receipts, Row, RowKey, StoreError, StoreErrorKind, Written, limits};

use crate::{
    database::{
        Database, Registered,
        calls::ATTEMPTS,
        followers::{Copying, Prepared},
        outbox,
        staging::Staging,
    },
    error::{Error, ErrorKind, Result},
    plan::{
        batch::{BatchPlan, BatchRow, Left, Missing, matched},
        change::{Change, Context, Role, needs, stale_etag, violation},
        entries::Away,
        group::Group,
        known::Known,
        shape,
        system::{self, OperationId, RowKind},
    },
    rooms::unique::{KnownClaims, nets},
    schema::EntitySchema,
};

/// What became of one change: the rows of the entity as they are now; `None` after a delete.
pub(crate) type Outcome = Option<Group>;

/// What to do after a failed attempt.
enum Next {
    /// Plan again with what is now known, and try again.
    Again,
    /// Wait, then try again.
    Later,
    /// The write had happened: here is what it left.
    Done(Vec<Outcome>),
}

impl Database {
    /// Writes changes of one partition as one batch.
    pub(crate) async fn write(
        &self,
        registered: &Registered,
        partition: &str,
        changes: &[Change],
    ) -> Result<Vec<Outcome>> {
        self.run(registered, partition, changes, Asked { told: true, together: false }).await
    }

    async fn run(
        &self,
        registered: &Registered,
        partition: &str,
        changes: &[Change],
        asked: Asked,
    ) -> Result<Vec<Outcome>> {
        if !asked.together {
            check_count(changes)?;
        }
        check_sizes(changes)?;
        let mut run = Run { asked, ..Run::new(self, registered, partition) };
        #[cfg(feature = "blob")]
        let settled;
        #[cfg(feature = "blob")]
        let changes = match self.upload_blobs(changes).await? {
            None => changes,
            Some((uploaded, until)) => {
                (settled, run.until) = (uploaded, Some(until));
                settled.as_slice()
            }
        };
        let result = run.attempts(changes).await;
        run.clean_up(&result).await;
        let result = result.map_err(|error| run.settled(error));
        if result.as_ref().is_err_and(|error| *error.kind() != ErrorKind::OutcomeUnknown) {
            self.withdraw(run.copying).await;
        }
        result
    }

    /// As [`Database::write`], for a caller who does not ask what became of each. `together`: where the changes are more than
    /// one batch can be, they are one commit of several; a row that is not as expected is then an error, and not looked into.
    pub(crate) async fn write_untold(
        &self,
        registered: &Registered,
        partition: &str,
        changes: &[Change],
        together: bool,
    ) -> Result<()> {
        self.run(registered, partition, changes, Asked { told: false, together }).await.map(drop)
    }

    /// One change.
    pub(crate) async fn write_one(&self, registered: &Registered, change: Change) -> Result<Outcome> {
        let outcomes = self.write(registered, &change.key().partition, std::slice::from_ref(&change)).await;
        let outcomes = outcomes.map_err(Error::alone)?;
        Ok(outcomes.into_iter().next().flatten())
    }
}

/// What a caller asks of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    /// Whether what became of each change is asked for.
    told: bool,
    /// Whether the changes may be several batches of one commit.
    pub(super) together: bool,
}

/// One batch on its way through its attempts.
pub(super) struct Run<'a> {
    pub(super) db: &'a Database,
    pub(super) registered: &'a Registered,
    pub(super) partition: &'a str,
    pub(super) known: Known,
    /// How copies follow in the same commit.
    pub(super) copying: Copying,
    /// Rows of other partitions that a commit expected and did not find.
    pub(super) missing: Missing,
    /// Claims that a commit found otherwise than expected, and may overwrite.
    pub(super) claims: KnownClaims,
    /// Where the entity comes from that this run lets arrive: its claims may be overwritten.
    from: Option<RowKey>,
    /// Claims that this run wrote for the image it is about to commit.
    held: HashSet<(Away, String)>,
    /// When the first row was read, by the monotonic clock.
    since: Duration,
    operation: Option<OperationId>,
    /// An attempt may have been carried out without our knowing.
    ambiguous: bool,
    last: Option<StoreError>,
    /// How often a plan came out wrong.
    doubts: u32,
    pub(super) asked: Asked,
    /// The parts of an entity that is too large for one batch.
    pub(super) staging: Staging,
    /// No attempt is made after this.
    #[cfg(feature = "blob")]
    until: Option<tablemodel_store::DateTime>,
}

impl<'a> Run<'a> {
    pub(super) fn new(db: &'a Database, registered: &'a Registered, partition: &'a str) -> Self {
        let operation = db.0.capabilities.may_lose_reply.then(|| operation_id(db));
        Self {
            db,
            registered,
            partition,
            known: Known::new(),
            copying: Copying::default(),
            missing: Missing::new(),
            claims: KnownClaims::new(),
            from: None,
            held: HashSet::new(),
            since: db.environment().clock.monotonic(),
            operation,
            ambiguous: false,
            last: None,
            doubts: 0,
            asked: Asked { told: true, together: false },
            staging: Staging::default(),
            #[cfg(feature = "blob")]
            until: None,
        }
    }

    async fn attempts(&mut self, changes: &[Change]) -> Result<Vec<Outcome>> {
        for attempt in 0..ATTEMPTS {
            let prepared = match self.prepare_with_copies(changes).await {
                Err(error) => self.doubt(error, changes).await.map(|()| None)?,
                Ok(prepared) => prepared,
            };
            let Some(Prepared { plan, follows, batches, own }) = prepared else { continue };
            if batches.iter().all(|batch| batch.operations.is_empty()) {
                return Ok(changes.iter().map(|_| None).collect());
            }
            self.check_registered()?;
            #[cfg(feature = "blob")]
            self.db.check_uploaded(self.until)?;
            if !plan.outgoing.is_empty() {
                self.db.mark_dirty(self.registered.schema, self.partition).await?;
            }
            if let Some(next) = self.take_claims(&plan).await? {
                self.held.clear();
                match next {
                    Next::Done(outcomes) => return Ok(outcomes),
                    Next::Again | Next::Later => continue,
                }
            }
            let outcomes = match self.db.commit_store(&batches, attempt).await {
                Ok(_) if !self.asked.told => Vec::new(),
                Ok(receipts) => self.staging.noted(outcomes(self.partition, &plan, receipts)),
                Err(error) if self.is_refused_together(&error, &batches) => return Err(error.into()),
                Err(error) => match self.after(error, &plan, &follows, own).await? {
                    Next::Again => {
                        self.held.clear(); // what is planned anew is claimed anew
                        continue;
                    }
                    Next::Later => {
                        self.db.pause(attempt).await;
                        continue;
                    }
                    Next::Done(outcomes) => outcomes,
                },
            };
            self.db.deliver_written(self.partition, &plan).await;
            return Ok(outcomes.into_iter().take(changes.len()).collect());
        }
        Err(self.exhausted())
    }

    /// The same, with rows that are taken as read.
    pub(super) fn knowing(self, known: Known) -> Self {
        Self { known, ..self }
    }

    /// The same, as the second half of a commit that takes the entity from another partition.
    pub(super) fn joining(self, other: &Self, from: &RowKey) -> Self {
        Self { operation: other.operation, from: Some(from.clone()), ..self }
    }

    /// The plan over what is known, and its batches.
    pub(super) async fn prepare(&mut self, changes: &[Change]) -> Result<(BatchPlan, Vec<Batch>)> {
        self.read_needs(changes).await?;
        self.laid_out(changes).await
    }

    pub(super) fn is_ambiguous(&self) -> bool {
        self.ambiguous
    }

    /// What a refused commit means: nothing, where it is to be tried again.
    pub(super) async fn after_failure(
        &mut self,
        error: StoreError,
        plan: &BatchPlan,
        follows: &[BatchPlan],
    ) -> Result<Option<Vec<Outcome>>> {
        let own = if follows.is_empty() { usize::MAX } else { 1 };
        match self.after(error, plan, follows, own).await? {
            Next::Again | Next::Later => Ok(None),
            Next::Done(outcomes) => Ok(Some(outcomes)),
        }
    }

    fn key(&self, row: &str) -> RowKey {
        RowKey::new(self.partition, row)
    }

    pub(super) async fn learn(&mut self, row: &str) -> Result<Option<&Row>> {
        let found = self.db.get_row(&self.registered.table, &self.key(row)).await?;
        Ok(self.known.entry(row.to_owned()).insert_entry(found).into_mut().as_ref())
    }

    /// As `learn`, of an entity's head: its parts are learnt too.
    async fn learn_entity(&mut self, schema: &'static EntitySchema, row: &str) -> Result<Option<&Row>> {
        if schema.shape.is_none() {
            return self.learn(row).await;
        }
        let found = self.db.read_entity(schema, &self.registered.table, &self.key(row)).await?;
        let (head, parts) = found.map_or((None, Vec::new()), |found| (Some(found.head), found.parts));
        self.known.extend(parts.into_iter().map(|part| (part.key.row.clone(), Some(part))));
        Ok(self.known.entry(row.to_owned()).insert_entry(head).into_mut().as_ref())
    }

    pub(super) async fn read_needs(&mut self, changes: &[Change]) -> Result<()> {
        for change in changes {
            if matches!(change, Change::Recopy { .. }) {
                self.known.is_of_copies(&change.key().row);
            }
            let registered = self.registered(change)?;
            loop {
                let needs = needs(change, &registered.setting, &self.known)?;
                if needs.is_empty() {
                    break;
                }
                for need in needs {
                    match need.head {
                        true => self.learn_entity(change.schema(), &need.row).await?,
                        false => self.learn(&need.row).await?,
                    };
                }
            }
            self.clear_way(change).await?;
        }
        self.read_sources(changes).await
    }

    /// The table and index states of the change's own entity: a batch may hold several types.
    pub(super) fn registered(&self, change: &Change) -> Result<Cow<'a, Registered>> {
        if change.schema().entity_type == self.registered.entity_type {
            return Ok(Cow::Borrowed(self.registered));
        }
        self.db.registered(change.schema()).map(|registered| Cow::Owned(Registered::clone(&registered)))
    }

    pub(super) fn context(&self) -> Context {
        let now = self.db.environment().clock.now();
        let (fresh, due) = (self.staging.generation, outbox::due(now));
        Context { now: now.ticks(), operation: self.operation, fresh, due }
    }

    pub(super) fn plan<'c>(&self, changes: impl IntoIterator<Item = &'c Change>) -> Result<BatchPlan> {
        let context = self.context();
        let mut plan = BatchPlan::default();
        for change in changes {
            let registered = self.registered(change)?;
            plan.add(change.clone(), &self.known, &registered.setting, context)?;
        }
        let setting = |schema| self.db.registered(schema).map(|registered| registered.setting.clone());
        plan.close_cells(self.partition, &self.known, context, setting)?;
        plan.close(self.partition, &self.known, context)?;
        plan.check_unique(&self.known)?;
        Ok(plan)
    }

    /// Whether a row of the partition itself was not as expected by changes that are several batches: which of the changes
    /// that concerns is found by making them apart.
    fn is_refused_together(&self, error: &StoreError, batches: &[Batch]) -> bool {
        let failed = error.failed_at().and_then(|at| batches.get(at.batch));
        let is_own = failed.is_some_and(|b| b.partition == self.partition && b.table == self.registered.table);
        self.asked.together && !self.ambiguous && is_own
    }

    async fn after(&mut self, error: StoreError, plan: &BatchPlan, follows: &[BatchPlan], own: usize) -> Result<Next> {
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
            self.copying.repair |= at.batch >= own;
            return self.after_away(error, plan, follows).await;
        }
        let Some(failed) = failed_row(&error, plan) else { return Err(error.into()) };
        if plan.shared.contains(&failed.planned.row) {
            plan.shared.iter().for_each(|row| drop(self.known.remove(row)));
            return Ok(Next::Later); // another changed a row that several entities meet in
        }
        match failed.planned.role {
            Role::Primary => self.after_primary(&error, failed).await,
            // The row's key holds the sequence of the change: another wrote the entity at the same moment.
            Role::Outbox | Role::List(_) | Role::Cell => Ok(Next::Later),
            // Read again, and copied anew.
            Role::Source | Role::Holder => Ok(Next::Again),
            Role::Part => match plan.head_of(failed) {
                Some(head) => self.after_primary(&error, head).await,
                None => Err(error.into()),
            },
            Role::Index(index) => self.after_index(&error, failed, index, plan).await,
        }
    }

    /// A refused primary row: a tombstone is written over, anything else is the caller's to decide.
    async fn after_primary(&mut self, error: &StoreError, failed: &BatchRow) -> Result<Next> {
        let (schema, change) = (failed.schema, failed.change);
        let expected_absent = matches!(failed.planned.action, Action::Insert(_));
        let was_needed = self.was_needed(failed);
        let key = self.key(&failed.planned.row);
        let found = self.learn_entity(schema, &failed.planned.row).await?.cloned();
        let dead = found.as_ref().is_some_and(|row| matches!(system::kind(&row.properties), RowKind::Tombstone { .. }));
        let raced = expected_absent && found.is_none();
        if was_needed || raced || (expected_absent && dead) {
            return Ok(Next::Again); // the plan rested on a read that is no longer true, or did not know of the tombstone
        }
        let current = found.filter(|_| !dead);
        let kind = match (error.kind(), current) {
            (StoreErrorKind::RowExists, _) => ErrorKind::AlreadyExists,
            (_, None) => ErrorKind::NotFound,
            (_, Some(row)) => ErrorKind::Conflict { current: Some(Box::new(row)) },
        };
        let detail = match kind {
            ErrorKind::AlreadyExists => "an entity with this key exists",
            ErrorKind::NotFound => "the entity is gone; another program deleted it",
            _ => "the entity changed since it was read; read it again and decide anew",
        };
        Err(Error::new(kind, detail).of(schema.entity_type).at_key(key).in_operation(change).caused_by(error.clone()))
    }

    /// Whether the write rested on a row that this run read, and not on one that the caller had read.
    fn was_needed(&self, failed: &BatchRow) -> bool {
        match (self.known.get(&failed.planned.row), matched(&failed.planned.action)) {
            _ if !self.known.rests_on(&failed.planned.row) => false,
            (Some(Some(known)), Some(etag)) => known.etag == *etag,
            _ => true,
        }
    }

    /// A refused index row: a violation, or drift, which is repaired by planning with the rows as they are.
    async fn after_index(
        &mut self,
        error: &StoreError,
        failed: &BatchRow,
        at: usize,
        plan: &BatchPlan,
    ) -> Result<Next> {
        let (schema, change) = (failed.schema, failed.change);
        let key = self.key(&failed.planned.row);
        let found = self.learn(&failed.planned.row).await?.cloned();
        if let (Some(row), Some(index)) = (&found, schema.indexes.get(at).filter(|index| index.unique))
            && !plan.rows.iter().any(|mine| system::owner_row(&row.properties) == Some(mine.planned.row.as_str()))
        {
            return Err(violation(schema, index, row).in_operation(change).caused_by(error.clone()));
        }
        tracing::warn!(entity = schema.entity_type, key = %key, "an index row was not as its entity says; repaired");
        for row in plan.rows.iter().filter(|row| matches!(row.planned.role, Role::Index(_))) {
            self.learn(&row.planned.row).await?;
        }
        Ok(Next::Again)
    }

    /// A refused row of another partition: it was not there, as its entity says it is; or a claim that was.
    async fn after_away(&mut self, error: StoreError, plan: &BatchPlan, follows: &[BatchPlan]) -> Result<Next> {
        let (missing, claims) = (self.missing.len(), std::mem::take(&mut self.claims));
        for plan in follows.iter().chain([plan]) {
            for net in nets(&plan.away)? {
                self.read_claim(&net, plan).await?;
            }
        }
        let all = follows.iter().chain([plan]).flat_map(|plan| &plan.away);
        for away in all.filter(|away| away.claimed().is_none()) {
            let (place, row) = (&away.row.away, &away.row.row);
            let table = self.db.table_name(place.table);
            let key = RowKey::new(place.partition.clone(), row.clone());
            if self.db.get_row(&table, &key).await?.is_none()
                && self.missing.insert((place.clone(), row.clone()))
                && away.row.was
            {
                tracing::warn!(entity = away.schema.entity_type, key = %key, "an index row was not as its entity says; repaired");
            }
        }
        let rests_on_copies = !plan.guards.is_empty() || !follows.is_empty();
        let has_learnt = self.missing.len() > missing || self.claims != claims;
        if has_learnt || rests_on_copies { Ok(Next::Again) } else { Err(error.into()) }
    }

    /// After a lost reply: whether the rows carry this run's operation id.
    async fn recognise(&mut self, plan: &BatchPlan) -> Result<Vec<Outcome>> {
        let Some(operation) = self.operation else { return Err(self.unknown()) };
        let mut outcomes = Vec::with_capacity(plan.left.len());
        let mut ours = false;
        for left in &plan.left {
            // What a later change of the batch took away again proves nothing, unless by a tombstone.
            if written(plan, &left.row).is_none() {
                outcomes.push(None);
                continue;
            }
            let found = self.learn(&left.row).await?.cloned();
            let Some(found) = found.filter(|row| system::was_written_by(&row.properties, operation)) else {
                return Err(self.unknown());
            };
            ours = true;
            let Some(planned) = left.properties.as_ref() else {
                outcomes.push(None);
                continue;
            };
            let moved_on = system::sequence(&found.properties) != system::sequence(planned);
            let etag = if moved_on { stale_etag() } else { found.etag.clone() };
            let parts = if moved_on { left.parts.clone() } else { self.parts_now(left).await? };
            outcomes.push(Some(Group { head: Row { etag, properties: planned.clone(), ..found }, parts }));
        }
        if ours { Ok(outcomes) } else { Err(self.unknown()) }
    }

    /// The parts that a change left, with the ETags that they have in the store.
    async fn parts_now(&mut self, left: &Left) -> Result<Vec<Row>> {
        let mut parts = Vec::with_capacity(left.parts.len());
        for part in &left.parts {
            let found = self.learn(&part.key.row).await?.filter(|row| row.properties == part.properties);
            parts.push(found.cloned().unwrap_or_else(|| part.clone()));
        }
        Ok(parts)
    }

    /// No error but `OutcomeUnknown` is true once an attempt may have been carried out.
    pub(super) fn settled(&self, error: Error) -> Error {
        if self.ambiguous && *error.kind() != ErrorKind::OutcomeUnknown { self.unknown() } else { error }
    }

    fn unknown(&self) -> Error {
        let detail = "a reply of the store was lost, and whether the write happened cannot be told; read the entity before writing again";
        let error = Error::new(ErrorKind::OutcomeUnknown, detail);
        match &self.last {
            Some(last) => error.caused_by(last.clone()),
            None => error,
        }
    }

    pub(super) fn exhausted(&self) -> Error {
        if self.ambiguous {
            return self.unknown();
        }
        let error = Error::new(
            ErrorKind::Unavailable,
            format!("gave up after {ATTEMPTS} attempts; the store is busy or the rows keep changing"),
        );
        match &self.last {
            Some(last) => error.caused_by(last.clone()),
            None => error,
        }
    }

    fn typed(&self, error: StoreError, plan: &BatchPlan) -> Error {
        let failed = failed_row(&error, plan);
        let typed = Error::from(error);
        match failed {
            Some(row) => typed.of(row.schema.entity_type).at_key(self.key(&row.planned.row)).in_operation(row.change),
            None => typed,
        }
    }
}

/// The write of the entities' own batch that failed.
fn failed_row<'p>(error: &StoreError, plan: &'p BatchPlan) -> Option<&'p BatchRow> {
    error.failed_at().filter(|at| at.batch == 0).and_then(|at| plan.rows.get(at.operation))
}

pub(super) fn operation_id(db: &Database) -> OperationId {
    let random = &db.environment().random;
    let mut id = [0; 16];
    let (low, high) = id.split_at_mut(8);
    low.copy_from_slice(&random.next().to_le_bytes());
    high.copy_from_slice(&random.next().to_le_bytes());
    OperationId(id)
}

/// That the entities alone are not too many, before any is read.
fn check_count(changes: &[Change]) -> Result<()> {
    if changes.len() <= limits::MAX_BATCH_OPERATIONS {
        return Ok(());
    }
    let entities: HashSet<_> = changes.iter().map(|change| change.key().row.as_str()).collect();
    if entities.len() <= limits::MAX_BATCH_OPERATIONS {
        return Ok(());
    }
    let detail = format!(
        "the batch writes {} entities, over the {} rows that one may have; use `db.bulk()` to write more",
        entities.len(),
        limits::MAX_BATCH_OPERATIONS
    );
    Err(Error::new(ErrorKind::TooMany, detail))
}

/// That what is put over something yet to be read can be stored at all.
fn check_sizes(changes: &[Change]) -> Result<()> {
    for (number, change) in changes.iter().enumerate() {
        if let Change::Upsert(image) = change
            && image.schema.shape.is_some()
        {
            shape::cut(image).map_err(|error| error.in_operation(number))?;
        }
    }
    Ok(())
}

/// The properties that the batch leaves in the row, where it writes it.
fn written<'p>(plan: &'p BatchPlan, row: &str) -> Option<&'p Properties> {
    plan.planned(row)?.action.properties()
}

fn outcomes(partition: &str, plan: &BatchPlan, receipts: Vec<Receipts>) -> Vec<Outcome> {
    let receipts = receipts.into_iter().next().unwrap_or_default();
    let receipt = |row: &str| -> Option<&Written> { receipts.get(plan.position(row)?) };
    let outcome = |left: &Left| {
        let properties = left.properties.clone()?;
        let last = system::sequence(written(plan, &left.row)?);
        let head = receipt(&left.row)?;
        // A later change of the batch wrote the entity again: what this one left is not current.
        let etag = head.etag.clone().filter(|_| last == system::sequence(&properties)).unwrap_or_else(stale_etag);
        let key = RowKey::new(partition, left.row.clone());
        let parts = left.parts.iter().map(|part| match receipt(&part.key.row) {
            Some(Written { etag: Some(etag), timestamp }) => {
                Row { etag: etag.clone(), timestamp: *timestamp, ..part.clone() }
            }
            _ => part.clone(),
        });
        let parts = parts.collect();
        Some(Group { head: Row { key, etag, timestamp: head.timestamp, properties }, parts })
    };
    plan.left.iter().map(outcome).collect()
}
