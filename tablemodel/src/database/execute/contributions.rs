//! Contributions of a run: those that it reads to know what comes first, and those that its commit brings to other
//! partitions.

use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::Entry},
    ops::Bound,
};

use tablemodel_store::{Batch, KeyRange, Query, Row, RowRange, limits};

use super::{Asked, Run};
use crate::{
    database::followers::Prepared,
    error::{Error, Result},
    plan::{
        batch::{BatchPlan, matched},
        change::Change,
        entries::Away,
        forms, system,
    },
    rooms::aggregate::{FIRST_BEGINS, FIRST_ENDS, rank_behind},
    schema::EntitySchema,
};

/// Contributions by the place where their targets stand.
pub(in crate::database) type Places = BTreeMap<Away, Vec<Change>>;

impl Run<'_> {
    /// Learns the first contributions behind `prefix`: one more than the changes of a batch may take away. Those that are
    /// gone, and only wait to be swept, do not count, nor do those of a form that their source is not kept in.
    pub(super) async fn learn_first(&mut self, prefix: String, changes: usize) -> Result<()> {
        let limit = (changes + 1).min(limits::MAX_PAGE_ROWS);
        let lower = Bound::Included(format!("{prefix}{FIRST_BEGINS}"));
        let upper = Bound::Excluded(format!("{prefix}{FIRST_ENDS}"));
        let range = KeyRange::rows(self.partition, RowRange { lower, upper });
        let (mut query, mut live) = (Query::new(&self.registered.table, range).limited(limit), 0);
        let model = self.db.model();
        loop {
            let page = self.db.query_page(&query).await?;
            let is_kept = |row: &Row| !forms::is_of_other_in(&model, &row.properties);
            let found = page.rows.into_iter().filter(|row| rank_behind(&prefix, &row.key.row).is_some());
            for row in found.filter(is_kept) {
                live += usize::from(!system::is_dead(&row.properties));
                self.known.insert(row.key.row.clone(), Some(row));
            }
            match page.continuation.filter(|_| live <= changes) {
                // Many are gone, and only wait to be swept.
                Some(next) => (query.limit, query.continuation) = (limits::MAX_PAGE_ROWS, Some(next)),
                None => break,
            }
        }
        self.known.insert(prefix, None);
        Ok(())
    }

    /// An entity that the change concerns, as this program writes it: an older version of the change's own may know an older
    /// one of another.
    pub(super) fn newest(&self, change: &Change, schema: &'static EntitySchema) -> Result<&'static EntitySchema> {
        match schema.entity_type == change.schema().entity_type {
            true => Ok(change.schema()),
            false => Ok(self.db.registered(schema)?.schema),
        }
    }

    /// As `prepare_with_copies`, with what the same commit writes elsewhere for aggregates there.
    pub(super) async fn prepare_all(&mut self, changes: &[Change]) -> Result<Option<Prepared>> {
        let Some(mut prepared) = self.prepare_with_guests(changes).await? else { return Ok(None) };
        let places = self.places_apart(&prepared.plans().collect::<Vec<_>>(), None);
        prepared.batches = self.join_places(places, prepared.batches).await?;
        Ok(Some(prepared))
    }

    /// As `prepare_with_copies`, with those contributions of its plans that stand where it writes.
    pub(in crate::database) async fn prepare_with_guests(&mut self, changes: &[Change]) -> Result<Option<Prepared>> {
        self.take_guests(&[], &[]);
        let Some(mut prepared) = self.prepare_with_copies(changes).await? else { return Ok(None) };
        if self.take_guests(&prepared.plans().collect::<Vec<_>>(), &prepared.follows) {
            let Some(again) = self.prepare_with_copies(changes).await? else { return Ok(None) };
            prepared = again;
            if !self.is_hosted_by(&prepared.follows) {
                return Ok(None); // another changed who follows, and what was taken for them is planned by nobody
            }
        }
        Ok(Some(prepared))
    }

    /// Takes from the contributions of these plans those that stand where this run writes: in its own partition, or where
    /// entities follow it. They are planned with those. Tells whether they are others than before.
    pub(in crate::database) fn take_guests(&mut self, plans: &[&BatchPlan], follows: &[BatchPlan]) -> bool {
        let before = self.guests.len() + self.hosted.len();
        (self.guests, self.hosted) = (Vec::new(), Places::new());
        let follows: HashSet<_> = follows.iter().map(BatchPlan::place).collect();
        for (away, changes) in places(plans) {
            let table = self.db.table_name(away.table);
            if self.is_at(&away) {
                self.guests = changes;
            } else if follows.contains(&(table.as_str(), away.partition.as_str())) {
                self.hosted.insert(away, changes);
            }
        }
        before == 0 && !(self.guests.is_empty() && self.hosted.is_empty())
    }

    /// Whether each place whose contributions were taken is one where entities follow.
    fn is_hosted_by(&self, follows: &[BatchPlan]) -> bool {
        let follows: HashSet<_> = follows.iter().map(BatchPlan::place).collect();
        let is_among =
            |away: &Away| follows.contains(&(self.db.table_name(away.table).as_str(), away.partition.as_str()));
        self.hosted.keys().all(is_among)
    }

    /// The contributions of these plans that neither this run nor the other has taken.
    pub(in crate::database) fn places_apart(&self, plans: &[&BatchPlan], other: Option<&Self>) -> Places {
        let is_taken = |run: &Self, away: &Away| run.is_at(away) || run.hosted.contains_key(away);
        let mut places = places(plans);
        places.retain(|away, _| !is_taken(self, away) && !other.is_some_and(|other| is_taken(other, away)));
        places
    }

    fn is_at(&self, away: &Away) -> bool {
        away.table.eq_ignore_ascii_case(self.registered.schema.table) && away.partition == self.partition
    }

    /// Takes over the contributions that stand where this run does, which follows the other.
    pub(in crate::database) fn host(&mut self, other: &Self) {
        let here = Away { table: self.registered.schema.table, partition: self.partition.to_owned() };
        self.guests = other.hosted.get(&here).cloned().unwrap_or_default();
    }

    /// How many contributions are planned with the changes and may be too many for one batch with them, since the store commits several
    /// as one: a source that changes lets all that copy it follow, and each of those may count anew what is counted here.
    pub(in crate::database) fn guests_in_pieces(&self) -> usize {
        if self.db.is_atomic() { self.guests.len() } else { 0 }
    }

    /// Reads what the contributions need that are planned with the changes.
    pub(in crate::database) async fn read_guests(&mut self) -> Result<()> {
        if !self.guests.is_empty() {
            self.read_needs(&self.guests.clone()).await.map_err(Error::alone)?;
        }
        Ok(())
    }

    /// Plans the contributions of one commit in other partitions, each place by itself, and puts their batches behind its
    /// own.
    pub(in crate::database) async fn join_places(&mut self, places: Places, batches: Vec<Batch>) -> Result<Vec<Batch>> {
        self.places.clear();
        let (own, mut joined) = (batches.len(), batches);
        for (away, changes) in places {
            let Some(first) = changes.first() else { continue };
            let registered = self.db.registered(first.schema())?;
            let new = Run::new(self.db, &registered, &away.partition);
            let asked = Asked { together: self.db.is_atomic(), told: true, ..self.asked };
            let mut run = Run { missing: self.missing.clone(), asked, ..new };
            let (plan, theirs) = Box::pin(run.prepare(&changes)).await.map_err(Error::alone)?;
            joined.extend(theirs);
            self.places.push(plan);
        }
        if joined.len() > own {
            fold_guards(&mut joined, own);
        }
        Ok(joined)
    }
}

/// Lets each row be written once by these batches, of which the first `own` ones were there before. A target may be the source of a copy,
/// and guarded already: what was read of it for both is then one write, and if that is not the same, the guard alone, which fails.
fn fold_guards(batches: &mut Vec<Batch>, own: usize) {
    let (mut rows, mut folded) = (HashMap::new(), HashSet::new());
    for (number, batch) in batches.iter().enumerate() {
        for (at, operation) in batch.operations.iter().enumerate() {
            let write = ((number, at), matched(&operation.action));
            match rows.entry((&batch.table, &batch.partition, &operation.row)) {
                Entry::Vacant(free) => drop(free.insert(write)),
                Entry::Occupied(_) if number < own => {}
                Entry::Occupied(mut first) if first.get().1 == write.1 => {
                    let (guard, _) = first.insert(write);
                    folded.insert(guard);
                }
                Entry::Occupied(_) => drop(folded.insert((number, at))),
            }
        }
    }
    for (number, batch) in batches.iter_mut().enumerate().filter(|_| !folded.is_empty()) {
        let mut places = 0..;
        batch.operations.retain(|_| places.next().is_none_or(|at| !folded.contains(&(number, at))));
    }
    batches.retain(|batch| !batch.operations.is_empty());
}

/// The contributions that the plans of one commit bring, by place.
fn places(plans: &[&BatchPlan]) -> Places {
    let mut places = Places::new();
    for (away, change) in plans.iter().flat_map(|plan| plan.contributions()) {
        places.entry(away.clone()).or_default().push(change);
    }
    places
}
