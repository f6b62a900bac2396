//! Contributions in partitions of their own: written with the cell and the target in one batch there, after their source.
//!
//! What a contribution says, and what follows from it, is `rooms::aggregate`'s.

use futures_util::{FutureExt, future::BoxFuture};
use tablemodel_store::Row;

use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, Haste, is_transient},
        execute::Run,
        outbox::Met,
        registry::Generation,
        since::Since,
        turns::Meeting,
    },
    error::{Error, ErrorKind, Result},
    plan::{
        change::Change,
        forms,
        outbox::Target,
        system::{self, RowKind},
    },
    rooms::aggregate::{Contribution, Wish},
    schema::{AggregateSchema, EntitySchema},
};

impl Database {
    /// The aggregate in this property of the target, if its sources do not keep it yet, or no more; if `strict`, one that is to be
    /// complete soon is kept.
    pub(super) fn not_kept(
        &self,
        target: &'static EntitySchema,
        property: &str,
        strict: bool,
    ) -> Result<Option<&'static AggregateSchema>> {
        for source in self.model().iter().copied() {
            let is_it = |of: &AggregateSchema| of.target.entity_type == target.entity_type && of.into == property;
            let first = source.indexes.len() + source.copies.len();
            if let Some(at) = source.aggregates.iter().position(is_it)
                && !self.registered(source)?.setting.is_complete(first + at, strict)
            {
                return Ok(source.aggregates.get(at));
            }
        }
        Ok(None)
    }

    /// Whether what this property of the target should say can be told: all that count in it are known, and keep it.
    pub(super) fn is_told(&self, target: &'static EntitySchema, property: &str, strict: bool) -> Result<bool> {
        let is_beyond = self.registered(target)?.counted_beyond.iter().any(|beyond| beyond == property);
        Ok(!is_beyond && self.not_kept(target, property, strict)?.is_none())
    }

    /// The aggregate in this property of the target, if rows that may be left of older versions of a source add to it otherwise.
    pub(super) fn mixed_in(&self, target: &EntitySchema, property: &str) -> Result<Option<&'static AggregateSchema>> {
        for source in self.model().iter().copied().filter(|source| !source.aggregates.is_empty()) {
            let registered = self.registered(source)?;
            let mut mixed = registered.mixed.iter();
            let is_it = |of: &&&AggregateSchema| of.target.entity_type == target.entity_type && of.into == property;
            if let Some(aggregate) = mixed.find(is_it) {
                return Ok(Some(aggregate));
            }
        }
        Ok(None)
    }

    /// Brings the contributions of one source to what it wants: all of a partition in one batch. A partition that cannot follow does not
    /// hold up the others.
    pub(super) async fn settle_contributions(
        &self,
        schema: &'static EntitySchema,
        targets: Vec<Target>,
        states: &Generation,
        since: Since,
    ) -> Result<()> {
        let (mut left, mut met) = (targets, Met::default());
        while let Some(first) = left.first() {
            let (table, partition) = (first.entry.table.clone(), first.entry.key.partition.clone());
            let is_there = |target: &Target| target.entry.table == table && target.entry.key.partition == partition;
            let (here, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_there);
            let contributions = here.into_iter().filter_map(|target| {
                let (of, key) = (target.entry.aggregate(schema)?, target.entry.key.clone());
                Some(Change::Contribute(Contribution { of, key, wish: Wish::Over(Box::new(target)) }))
            });
            met.note(self.contribute(&contributions.collect::<Vec<_>>(), states, Some(since)).await)?;
            left = others;
        }
        met.first()
    }

    /// Takes away a contribution that is as it was read, and what it adds. `false`: the row is none, or adds nothing.
    pub(super) async fn uncount(&self, row: &Row) -> Result<bool> {
        let RowKind::Derived { entity, name, .. } = system::kind(&row.properties) else { return Ok(false) };
        let source = self.entity_of(entity);
        let position = source.and_then(|schema| schema.derived_position(name));
        let aggregate = source
            .zip(position)
            .and_then(|(schema, position)| schema.aggregate(position).filter(|aggregate| !aggregate.is_beside(schema)));
        let adds = !system::is_dead(&row.properties) && !forms::is_of_other_in(&self.model(), &row.properties);
        let Some(of) = aggregate.filter(|_| adds) else { return Ok(false) };
        let change = Contribution { of, key: row.key.clone(), wish: Wish::Gone(row.etag.clone()) };
        self.hold_lease().await?;
        let states = self.0.registry.enter();
        self.contribute(&[Change::Contribute(change)], &states, None).await?;
        Ok(true)
    }

    /// Writes contributions of one partition, as often as another comes between, unless the states have moved on too far. `since` is when
    /// what they say was read.
    async fn contribute(&self, changes: &[Change], states: &Generation, since: Option<Since>) -> Result<()> {
        let Some(first) = changes.first() else { return Ok(()) };
        let (registered, partition) = (self.registered(first.schema())?, &first.key().partition);
        let mut run = Run::new(self, &registered, partition);
        for attempt in 0..ATTEMPTS {
            let (plan, batches) = match run.prepare(changes).await {
                Ok(prepared) => prepared,
                Err(error) => {
                    Box::pin(run.doubt(error, changes)).await.map_err(Error::alone)?;
                    continue;
                }
            };
            if batches.iter().all(|batch| batch.operations.is_empty()) {
                return Ok(());
            }
            run.put_lists([&plan]).await?;
            if !plan.outgoing.is_empty() {
                self.mark_dirty(registered.schema, partition).await?;
            }
            if let Some(since) = since {
                self.check_held(since)?;
            }
            self.hold_lease().await?;
            self.give_notice().await?; // also where nobody has leases: the target is written
            run.wait_where_crowded(&batches).await;
            let mut met = None;
            match self.commit_planned(states, &batches, attempt, Haste::Now).await {
                Ok(_) => {
                    drop(run);
                    self.deliver_boxed(partition, &plan).await;
                    return Ok(());
                }
                // What was written tells by its sequence number that it was.
                Err(error) if is_transient(&error) => run = Run::new(self, &registered, partition),
                Err(error) => {
                    met = Meeting::of(&error, &batches);
                    drop(run.after_failure(error, &plan, &[]).await.map_err(Error::alone)?);
                }
            }
            run.wait(met, attempt).await;
        }
        let detail = "an aggregate keeps changing";
        Err(Error::new(ErrorKind::Unavailable, detail).of(registered.entity_type).at_key(first.key().clone()))
    }

    /// Boxed, since what is delivered may hold contributions.
    fn deliver_boxed<'a>(&'a self, partition: &'a str, plan: &'a crate::plan::batch::BatchPlan) -> BoxFuture<'a, ()> {
        self.deliver_written(partition, plan).boxed()
    }
}
