//! Changes of several partitions as one commit, where the store can: the source that all of them copy is then written once, and so is the
//! total that all add to, and not by each of them in its turn.
//!
//! An attempt: each partition is planned by itself, as if it were alone, and then what they all add to elsewhere. No row may be written by two
//! of the plans but a source that both leave as it is, or to which something is added. What is refused, or meets otherwise, comes out once the changes are made apart.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    sync::Arc,
};

use tablemodel_store::{Action, Batch, Operation, Receipts, StoreError};
use tokio::task::yield_now;

use crate::{
    database::{
        Database, Registered,
        calls::ATTEMPTS,
        execute::{Asked, Outcome, Places, Run, outcomes, waits::Waits},
        followers::Prepared,
        outbox::is_race,
        registry::Generation,
        shadows::guarded,
        turns::Meeting,
    },
    error::{Error, ErrorKind, Result},
    plan::{
        batch::{BatchPlan, matched, split},
        change::{Change, Role},
        copies::Place,
    },
};

/// How often they are planned, where others change what that rests on.
const TRIES: u32 = 4;
/// Partitions that are planned before others may use the thread.
const IN_ONE_GO: usize = 64;

impl Database {
    /// Whether changes of this entity in several partitions may be one commit, since they meet elsewhere.
    pub(super) fn goes_abreast(&self, registered: &Registered) -> bool {
        let schema = registered.schema;
        (schema.has_copies() || schema.has_aggregates_elsewhere()) && self.may_go_abreast(registered)
    }

    /// Whether they may, if they do meet.
    pub(super) fn may_go_abreast(&self, registered: &Registered) -> bool {
        let schema = registered.schema;
        self.is_atomic() && !schema.has_lists() && !schema.is_joined() && !registered.setting.moving
    }

    /// Makes changes, of which those of one partition stand side by side, as one commit: all or none; none where they are of no kind
    /// that can be. What became of each, where that is asked.
    pub(super) async fn write_abreast(
        &self,
        registered: &Registered,
        changes: &[Change],
        asked: Asked,
        waits: &mut Waits,
    ) -> Result<Option<Vec<Outcome>>> {
        if is_of_one(changes) {
            let partition = changes.first().map_or("", |first| &first.key().partition);
            return self.run(registered, partition, changes, asked, waits).await.map(Some);
        }
        let asked = asked.abreast();
        for _ in 0..TRIES {
            let Some(mut abreast) = self.abreast(registered, changes, asked).await? else { return Ok(None) };
            if waits.has_lost_one() {
                return Ok(None); // it may have written again what is read here
            }
            let error = match self.commit_abreast(&mut abreast).await? {
                Ok(outcomes) => {
                    let late = abreast.sides.iter_mut().map(|side| &mut side.run);
                    for run in late.filter(|run| !run.copying.late.is_empty()) {
                        Box::pin(run.follow_late()).await;
                    }
                    return Ok(Some(outcomes));
                }
                Err(error) => error,
            };
            match Meeting::of(&error, &abreast.batches) {
                Some(_) if is_taken(&error, &abreast.batches, registered) => return Err(error.into()),
                Some(met) => drop(self.turns(BTreeSet::from([met]), waits.turns()).await),
                None => return Err(error.into()),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "rows that they meet in keep changing"))
    }

    /// The plans of the changes, and what they come to; none where they cannot go together.
    async fn abreast<'a>(
        &'a self,
        registered: &'a Registered,
        changes: &'a [Change],
        asked: Asked,
    ) -> Result<Option<Abreast<'a>>> {
        let (mut joined, mut sides, mut places) = (Joined::default(), Vec::new(), Places::new());
        let mut held: Option<Arc<Generation>> = None;
        let partitions = changes.chunk_by(|a, b| a.key().partition == b.key().partition);
        for (number, changes) in (1..).zip(partitions) {
            if number % IN_ONE_GO == 0 {
                yield_now().await;
            }
            let Some(first) = changes.first() else { continue };
            let mut run = Run::new(self, registered, &first.key().partition);
            run.asked = asked;
            let states = run.enter().await?;
            if held.get_or_insert_with(|| Arc::clone(&states)).epoch != states.epoch {
                return Ok(None);
            }
            let Some(prepared) = run.prepare_with_guests(changes).await? else { return Ok(None) };
            let plans = prepared.plans().map(|plan| (plan.partition_or(run.partition), plan));
            if !guarded(plans).is_empty() || !prepared.plan.outgoing.is_empty() {
                return Ok(None); // more is to be done before the commit, or behind it
            }
            for (away, contributions) in run.places_apart(&prepared.plans().collect::<Vec<_>>(), None) {
                places.entry(away).or_default().extend(contributions);
            }
            let Prepared { plan, batches, .. } = prepared;
            let own = (registered.table.as_str(), run.partition);
            if !joined.add(way_of(self, &plan, own), batches) {
                return Ok(None);
            }
            if sides.is_empty() || asked.told || !run.copying.late.is_empty() {
                sides.push(Side { run, plan, changes: changes.len() });
            }
        }
        if let Some(Side { run, .. }) = sides.first_mut()
            && !joined.add(|_, _| Way::Added, run.join_places(places, Vec::new()).await?)
        {
            return Ok(None);
        }
        Ok(held.map(|states| Abreast { states, batches: joined.split(), sides }))
    }

    /// Commits them, again where the store is busy, or does not tell whether it has; what became of each, or what they met, if they were
    /// refused.
    async fn commit_abreast(&self, abreast: &mut Abreast<'_>) -> Result<std::result::Result<Vec<Outcome>, StoreError>> {
        let Abreast { states, batches, sides } = abreast;
        let Some((Side { run, plan, changes }, others)) = sides.split_first_mut() else { return Ok(Ok(Vec::new())) };
        for attempt in 0..ATTEMPTS {
            let error = match self.commit_planned(states, batches, attempt, run.asked.haste).await {
                Ok(receipts) => return Ok(Ok(abreast.outcomes(&receipts))),
                Err(error) => error,
            };
            if is_race(error.kind()) && !run.is_ambiguous() {
                return Ok(Err(error));
            }
            // All are written where those of one partition are.
            if let Some(mut outcomes) = run.after_failure(error, plan, &[]).await? {
                outcomes.truncate(*changes);
                for side in others.iter_mut().filter(|side| side.run.asked.told) {
                    outcomes.extend(side.run.recognise(&side.plan).await?.into_iter().take(side.changes));
                }
                return Ok(Ok(outcomes));
            }
            self.pause(attempt).await;
        }
        Err(run.exhausted())
    }
}

/// Whether all are of one partition.
pub(super) fn is_of_one(changes: &[Change]) -> bool {
    changes.first().map(|first| &first.key().partition) == changes.last().map(|last| &last.key().partition)
}

/// Changes that are to be one commit.
struct Abreast<'a> {
    /// What they are planned on.
    states: Arc<Generation>,
    batches: Vec<Batch>,
    /// The first of them, by which it is known whether they were made, and those that are not over with their commit: all, where it is
    /// asked what became of each.
    sides: Vec<Side<'a>>,
}

/// The changes of one partition among them.
struct Side<'a> {
    run: Run<'a>,
    plan: BatchPlan,
    /// How many they are; the plan may hold others that go with them.
    changes: usize,
}

impl Abreast<'_> {
    /// What became of each change, by what the store said of each batch; nothing where nobody asks.
    fn outcomes(&self, receipts: &[Receipts]) -> Vec<Outcome> {
        let told = || self.sides.iter().filter(|side| side.run.asked.told);
        let mut written = HashMap::new();
        for (batch, receipts) in self.batches.iter().zip(receipts).filter(|_| told().next().is_some()) {
            let place = |row| (batch.table.as_str(), batch.partition.as_str(), row);
            written.extend(batch.operations.iter().map(|write| place(write.row.as_str())).zip(receipts));
        }
        let of = |side: &Side<'_>| {
            let (table, partition) = (side.run.registered.table.as_str(), side.run.partition);
            let receipt = |row: &str| written.get(&(table, partition, row)).copied();
            outcomes(partition, &side.plan, receipt).into_iter().take(side.changes).collect::<Vec<_>>()
        };
        told().flat_map(of).collect()
    }
}

/// Whether the commit was refused since the key of an entity is taken: it would be again.
fn is_taken(error: &StoreError, batches: &[Batch], registered: &Registered) -> bool {
    let failed = error.failed_at().and_then(|at| Some((batches.get(at.batch)?, at.operation)));
    failed.is_some_and(|(batch, at)| {
        let action = batch.operations.get(at).map(|operation| &operation.action);
        batch.table == registered.table && matches!(action, Some(Action::Insert(_)))
    })
}

/// How a plan writes a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A source that stays as it is.
    AsItIs,
    /// For what is added to it, which nobody copies.
    Added,
    Otherwise,
}

/// The batches of several plans, each row in one of them, once.
#[derive(Default)]
struct Joined {
    batches: Vec<Batch>,
    /// By table and partition.
    places: HashMap<(String, String), usize>,
    /// The rows of each batch: where they stand in it, and how they are written.
    rows: HashMap<(usize, String), (usize, Way)>,
}

impl Joined {
    /// Adds the batches of one more plan, whose rows are written in these ways; whether they go with the others.
    fn add(&mut self, way: impl Fn(&Batch, &str) -> Way, batches: Vec<Batch>) -> bool {
        for batch in batches {
            let ways: Vec<_> = batch.operations.iter().map(|write| way(&batch, &write.row)).collect();
            let at = self.place(batch.table, batch.partition);
            if !batch.operations.into_iter().zip(ways).all(|(write, way)| self.add_row(at, write, way)) {
                return false;
            }
        }
        true
    }

    fn place(&mut self, table: String, partition: String) -> usize {
        match self.places.entry((table, partition)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let (table, partition) = new.key();
                self.batches.push(Batch::new(table.as_str(), partition.as_str()));
                *new.insert(self.batches.len() - 1)
            }
        }
    }

    /// Two plans may have a row in common only if it is a source that both leave as they have read it, or to which something is added as it
    /// was read.
    fn add_row(&mut self, at: usize, write: Operation, way: Way) -> bool {
        let Some(batch) = self.batches.get_mut(at) else { return false };
        match self.rows.entry((at, write.row.clone())) {
            Entry::Vacant(new) => {
                new.insert((batch.operations.len(), way));
                batch.operations.push(write);
                true
            }
            Entry::Occupied(mut known) => {
                let (place, was) = known.get_mut();
                let Some(first) = batch.operations.get_mut(*place) else { return false };
                match (*was, way) {
                    (Way::AsItIs, Way::AsItIs) => is_alike(&first.action, &write.action),
                    (Way::AsItIs, Way::Added) if read_alike(&first.action, &write.action) => {
                        (*first, *was) = (write, way);
                        true
                    }
                    _ => false,
                }
            }
        }
    }

    /// All of them, within the limits of each.
    fn split(self) -> Vec<Batch> {
        let mut batches = Vec::with_capacity(self.batches.len());
        self.batches.into_iter().for_each(|batch| split(batch, &mut batches));
        batches
    }
}

/// Whether both are over one state of a row that is there.
fn read_alike(a: &Action, b: &Action) -> bool {
    matched(a).is_some_and(|read| matched(b) == Some(read))
}

/// Whether two that guard a row found the same there. Where neither found one, it does not matter whose tombstone says so.
fn is_alike(a: &Action, b: &Action) -> bool {
    matches!((a, b), (Action::Insert(_), Action::Insert(_))) || a == b
}

/// In which way a plan writes a row; its own rows stand in this table, with the prefix, and partition.
fn way_of<'p>(db: &Database, plan: &'p BatchPlan, own: (&'p str, &'p str)) -> impl Fn(&Batch, &str) -> Way + 'p {
    let place = |(Place { away, row }, _): &'p (Place, Action)| {
        (db.table_name(away.table), away.partition.as_str(), row.as_str())
    };
    let away: Vec<_> = plan.guards.iter().map(place).collect();
    move |batch, row| {
        let (table, partition) = (batch.table.as_str(), batch.partition.as_str());
        let planned = if own == (table, partition) { plan.planned(row) } else { None };
        let is_guard = planned.is_some_and(|planned| planned.role == Role::Source)
            || away.iter().any(|guard| (guard.0.as_str(), guard.1, guard.2) == (table, partition, row));
        if is_guard { Way::AsItIs } else { Way::Otherwise }
    }
}
