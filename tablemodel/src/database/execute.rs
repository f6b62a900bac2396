//! Execution: reads what planning needs, commits the plan, and turns what the store answers into decisions.
//!
//! Nothing is planned here. Retries are bounded, and only where the same plan cannot do harm twice.

mod after;
mod ahead;
mod asked;
pub(super) mod company;
mod contributions;
mod current;
pub(super) mod doubt;
mod given;
mod one;
mod outcome;
mod reads;
mod sizes;
pub(super) mod waits;

pub(crate) use self::outcome::Outcome;
pub(super) use self::reads::{has_moving_blobs, is_read_alone};
pub(super) use self::{asked::Asked, contributions::Places, outcome::outcomes};
use self::{
    current::Current,
    outcome::own_outcomes,
    sizes::{check_count, check_sizes},
    waits::Waits,
};

use std::{collections::HashSet, sync::Arc};

use tablemodel_store::{Batch, DateTime, RowKey, StoreError};

use crate::{
    database::{
        Database, Registered,
        claims::Put,
        followers::{Copying, Prepared},
        outbox,
        registry::Generation,
        shadows::guarded,
        since::Since,
        staging::Staging,
        turns::Meeting,
    },
    error::{Error, ErrorKind, Result},
    plan::{
        batch::{BatchPlan, Missing},
        change::{Change, Context},
        entries::Away,
        known::Known,
        system::OperationId,
    },
    rooms::unique::KnownClaims,
};

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
        self.run(registered, partition, changes, Asked::JOINING, &mut Waits::default()).await
    }

    /// Writes changes of one partition as one batch, for who may have turns already.
    pub(super) async fn run(
        &self,
        registered: &Registered,
        partition: &str,
        changes: &[Change],
        asked: Asked,
        waits: &mut Waits,
    ) -> Result<Vec<Outcome>> {
        let carried_out = self.carry_out(registered, partition, changes, asked, waits).await;
        carried_out.map_err(|error| error.among(changes.len())).map_err(|error| match changes {
            [change] if error.entity().is_none_or(|entity| entity == change.schema().entity_type) => {
                error.of(change.schema().entity_type).at_key(change.key().clone())
            }
            _ => error, // of several, or of another that would go with it
        })
    }

    async fn carry_out(
        &self,
        registered: &Registered,
        partition: &str,
        changes: &[Change],
        asked: Asked,
        waits: &mut Waits,
    ) -> Result<Vec<Outcome>> {
        if !asked.together {
            check_count(changes)?;
        }
        check_sizes(changes)?;
        #[cfg(feature = "blob")]
        let placed = self.over_placed(changes).await?;
        #[cfg(feature = "blob")]
        let changes = placed.as_deref().unwrap_or(changes);
        let mut run = Run { asked, waits: waits.resumed(), ..Run::new(self, registered, partition) };
        #[cfg(not(feature = "blob"))]
        super::links::check_changes(changes)?;
        #[cfg(feature = "blob")]
        let settled;
        #[cfg(feature = "blob")]
        let changes = match self.upload_blobs(changes).await? {
            None => changes,
            Some((changes, uploaded)) => {
                (settled, run.uploaded) = (changes, uploaded);
                settled.as_slice()
            }
        };
        let result = run.attempts(changes).await;
        run.clean_up(&result).await;
        if result.is_ok() && !run.copying.late.is_empty() {
            Box::pin(run.follow_late()).await;
        }
        let result = result.map_err(|error| run.settled(error));
        *waits = std::mem::take(&mut run.waits);
        if result.as_ref().is_err_and(|error| *error.kind() != ErrorKind::OutcomeUnknown) {
            Box::pin(self.withdraw(run.copying)).await;
            Box::pin(self.give_claims_back(run.put)).await;
        }
        result
    }

    /// As [`Database::write`], for a caller who does not ask what became of each.
    pub(super) async fn write_untold(
        &self,
        registered: &Registered,
        partition: &str,
        changes: &[Change],
        asked: Asked,
    ) -> Result<()> {
        self.run(registered, partition, changes, asked, &mut Waits::default()).await.map(drop)
    }
}

/// One batch on its way through its attempts.
pub(super) struct Run<'a> {
    pub(super) db: &'a Database,
    pub(super) registered: Current<'a>,
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
    /// Claims that it wrote, for whatever image.
    put: Put,
    /// When the first row was read.
    since: Since,
    operation: Option<OperationId>,
    /// What its plans take for the time.
    now: DateTime,
    /// An attempt may have been carried out without our knowing.
    ambiguous: bool,
    last: Option<StoreError>,
    /// How often a plan came out wrong.
    doubts: u32,
    pub(super) asked: Asked,
    /// Contributions of the same commit to aggregates of this partition.
    guests: Vec<Change>,
    /// The same, of partitions whose entities follow in the commit.
    hosted: Places,
    /// What the commit writes for contributions in other partitions.
    pub(super) places: Vec<BatchPlan>,
    /// The parts of an entity that is too large for one batch.
    pub(super) staging: Staging,
    /// The next plan is asked for, whatever its batches are.
    keeps_plan: bool,
    /// Its attempts, and the turns that it waited for.
    waits: Waits,
    /// What is uploaded that nothing links yet.
    #[cfg(feature = "blob")]
    pub(super) uploaded: super::blobs::Uploaded,
}

impl<'a> Run<'a> {
    pub(super) fn new(db: &'a Database, registered: &'a Registered, partition: &'a str) -> Self {
        let operation = db.0.capabilities.may_lose_reply.then(|| db.operation_id());
        Self {
            db,
            registered: Current::Given(registered),
            partition,
            known: Known::new(),
            copying: Copying::default(),
            missing: Missing::new(),
            claims: KnownClaims::new(),
            from: None,
            held: HashSet::new(),
            put: Put::default(),
            since: Since::now(&*db.environment().clock),
            operation,
            now: db.environment().clock.now(),
            ambiguous: false,
            last: None,
            doubts: 0,
            asked: Asked::TOLD,
            guests: Vec::new(),
            hosted: Places::new(),
            places: Vec::new(),
            staging: Staging::default(),
            keeps_plan: false,
            waits: Waits::default(),
            #[cfg(feature = "blob")]
            uploaded: super::blobs::Uploaded::default(),
        }
    }

    async fn attempts(&mut self, changes: &[Change]) -> Result<Vec<Outcome>> {
        while let Some(attempt) = self.next_attempt() {
            let states = self.enter().await?;
            let prepared = match self.prepare_all(changes).await {
                Err(error) => Box::pin(self.doubt(error, changes)).await.map(|()| None)?,
                Ok(prepared) => prepared,
            };
            let Some(mut prepared) = prepared else { continue };
            let Prepared { plan, follows, batches, .. } = &mut prepared;
            if batches.iter().all(|batch| batch.operations.is_empty()) {
                return Ok(changes.iter().map(|_| None).collect());
            }
            self.check_registered()?;
            let of_others = follows.iter().map(|plan| (plan.place().1, plan));
            let guarded = guarded(std::iter::once((self.partition, &*plan)).chain(of_others));
            if !guarded.is_empty() {
                Box::pin(self.db.guard_shadows(guarded, batches)).await?;
            }
            #[cfg(feature = "blob")]
            self.put_lists(std::iter::once(&*plan).chain(&*follows)).await?;
            #[cfg(feature = "blob")]
            self.check_uploaded().await?;
            self.mark(changes, plan).await?;
            if let Some(next) = self.take_claims(plan).await? {
                self.held.clear();
                match next {
                    Next::Done(outcomes) => return Ok(outcomes),
                    Next::Again | Next::Later => continue,
                }
            }
            if let Some(told) = self.go_along_where_crowded(changes, batches).await {
                return told;
            }
            let committed = self.commit(&states, changes, &mut prepared).await?;
            let Prepared { plan, follows, batches, own } = prepared;
            let outcomes = match committed {
                Ok(_) if !self.asked.told => Vec::new(),
                Ok(receipts) => self.staging.noted(own_outcomes(self.partition, &plan, &receipts)),
                Err(error) if self.is_refused_together(&error, &batches) => return Err(error.into()),
                Err(error) => {
                    let met = Meeting::of(&error, &batches);
                    let pauses = match Box::pin(self.after(error, &plan, &follows, own)).await? {
                        Next::Again => {
                            self.held.clear(); // what is planned anew is claimed anew
                            None
                        }
                        Next::Later => Some(attempt),
                        Next::Done(outcomes) => return Ok(self.over(outcomes, changes, &plan).await),
                    };
                    match self.go_along_or_wait(changes, met, pauses).await {
                        Some(told) => return told,
                        None => continue,
                    }
                }
            };
            return Ok(self.over(outcomes, changes, &plan).await);
        }
        Err(self.exhausted())
    }

    /// What became of the changes, of those that the plan was made of; what it leaves to be done elsewhere is.
    async fn over(&mut self, mut outcomes: Vec<Outcome>, changes: &[Change], plan: &BatchPlan) -> Vec<Outcome> {
        self.give_turns_back();
        self.db.deliver_written(self.partition, plan).await;
        outcomes.truncate(changes.len());
        outcomes
    }

    /// Sees to it that relays find what the batch leaves to them: outbox rows, or the intent of an entity that leaves.
    async fn mark(&self, changes: &[Change], plan: &BatchPlan) -> Result<()> {
        if plan.outgoing.is_empty() && !changes.iter().any(|change| matches!(change, Change::Leave { .. })) {
            return Ok(());
        }
        self.db.mark_dirty(self.registered.schema, self.partition).await
    }

    /// The states of indexes that an attempt is planned on, held until it is over.
    pub(super) async fn enter(&mut self) -> Result<Arc<Generation>> {
        self.db.hold_lease().await?;
        let states = self.db.0.registry.enter();
        if self.asked.epoch.is_some_and(|epoch| epoch != states.epoch) {
            let detail = "the states of indexes that this was for have changed; call it again";
            return Err(Error::new(ErrorKind::Unavailable, detail));
        }
        if self.registered.epoch != states.epoch {
            self.registered = Current::Newer(self.db.registered(self.registered.schema)?);
        }
        self.db.give_notice().await?; // also where nobody has leases, and of what is new in these states
        Ok(states)
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
        self.read_guests().await?;
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

    /// The table and index states of the change's own entity: a batch may hold several types.
    pub(super) fn registered(&self, change: &Change) -> Result<Current<'a>> {
        if change.schema().entity_type == self.registered.entity_type {
            self.registered.check_open()?;
            return Ok(self.registered.clone());
        }
        let registered = self.db.registered(change.schema())?;
        registered.check_open()?;
        Ok(Current::Newer(registered))
    }

    pub(super) fn context(&self) -> Context {
        let (fresh, due) = (self.staging.generation, outbox::due(self.now));
        Context { now: self.now.ticks(), operation: self.operation, fresh, due }
    }

    /// Lets the next plans have the time of now; not once rows may have been written by a plan: by its sequence numbers it
    /// is known again.
    pub(super) fn look_at_clock(&mut self) {
        if !self.ambiguous && self.staging.generation.is_none() {
            self.now = self.db.environment().clock.now();
        }
    }

    pub(super) fn plan<'c>(&'c self, changes: impl IntoIterator<Item = &'c Change>) -> Result<BatchPlan> {
        let context = self.context();
        let changes = changes.into_iter().chain(&self.guests);
        let mut plan = BatchPlan::of(changes.size_hint().0);
        for change in changes {
            let registered = self.registered(change)?;
            registered.check_version()?;
            plan.add(change, &self.known, &registered.setting, context)?;
        }
        let setting =
            |schema| self.db.registered(schema).map(|registered| (registered.schema, registered.setting.clone()));
        plan.close_cells(self.partition, &self.known, context, setting)?;
        plan.close(self.partition, &self.known, context, |schema, key| self.db.list_blob(schema, key))?;
        plan.check_unique(&self.known)?;
        Ok(plan)
    }
}
