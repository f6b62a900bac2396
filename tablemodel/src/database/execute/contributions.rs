//! Contributions of a run: those that it reads to know what comes first, and those that its commit brings to other
//! partitions.

use std::ops::Bound;

use tablemodel_store::{Batch, KeyRange, Operation, Query, Row, RowRange, limits};

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
pub(in crate::database) type Places = Vec<(Away, Vec<Change>)>;

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
        self.take_guests(&[], &[]);
        let Some(mut prepared) = self.prepare_with_copies(changes).await? else { return Ok(None) };
        if self.take_guests(&prepared.plans().collect::<Vec<_>>(), &prepared.follows) {
            let Some(again) = self.prepare_with_copies(changes).await? else { return Ok(None) };
            prepared = again;
            if !self.is_hosted_by(&prepared.follows) {
                return Ok(None); // another changed who follows, and what was taken for them is planned by nobody
            }
        }
        let places = self.places_apart(&prepared.plans().collect::<Vec<_>>(), None);
        prepared.batches = self.join_places(places, prepared.batches).await?;
        Ok(Some(prepared))
    }

    /// Takes from the contributions of these plans those that stand where this run writes: in its own partition, or where
    /// entities follow it. They are planned with those. Tells whether they are others than before.
    pub(in crate::database) fn take_guests(&mut self, plans: &[&BatchPlan], follows: &[BatchPlan]) -> bool {
        let before = self.guests.len() + self.hosted.len();
        (self.guests, self.hosted) = (Vec::new(), Places::new());
        for (away, changes) in places(plans) {
            let table = self.db.table_name(away.table);
            if self.is_at(&away) {
                self.guests = changes;
            } else if follows.iter().any(|plan| plan.place() == (table.as_str(), away.partition.as_str())) {
                self.hosted.push((away, changes));
            }
        }
        before == 0 && !(self.guests.is_empty() && self.hosted.is_empty())
    }

    /// Whether each place whose contributions were taken is one where entities follow.
    fn is_hosted_by(&self, follows: &[BatchPlan]) -> bool {
        let is_among = |(away, _): &(Away, Vec<Change>)| {
            let place = (self.db.table_name(away.table), away.partition.as_str());
            follows.iter().any(|plan| plan.place() == (place.0.as_str(), place.1))
        };
        self.hosted.iter().all(is_among)
    }

    /// The contributions of these plans that neither this run nor the other has taken.
    pub(in crate::database) fn places_apart(&self, plans: &[&BatchPlan], other: Option<&Self>) -> Places {
        let is_taken = |run: &Self, away: &Away| run.is_at(away) || run.hosted.iter().any(|(place, _)| place == away);
        let mut places = places(plans);
        places.retain(|(away, _)| !is_taken(self, away) && !other.is_some_and(|other| is_taken(other, away)));
        places
    }

    fn is_at(&self, away: &Away) -> bool {
        away.table.eq_ignore_ascii_case(self.registered.schema.table) && away.partition == self.partition
    }

    /// Takes over the contributions that stand where this run does, which follows the other.
    pub(in crate::database) fn host(&mut self, other: &Self) {
        let here = other.hosted.iter().filter(|(away, _)| self.is_at(away));
        self.guests = here.flat_map(|(_, changes)| changes.clone()).collect();
    }

    /// How many contributions are planned with the changes and may be too many for one batch with them, since the store commits several
    /// as one: a source that changes lets all that copy it follow, and each of those may count anew what is counted here.
    pub(in crate::database) fn guests_in_pieces(&self) -> usize {
        if self.db.is_atomic() { self.guests.len() } else { 0 }
    }

    /// Reads what the contributions need that are planned with the changes.
    pub(in crate::database) async fn read_guests(&mut self) -> Result<()> {
        if !self.guests.is_empty() {
            self.read_needs(&self.guests.clone()).await?;
        }
        Ok(())
    }

    /// Plans the contributions of one commit in other partitions, each place by itself, and puts their batches behind its
    /// own.
    pub(in crate::database) async fn join_places(&mut self, places: Places, batches: Vec<Batch>) -> Result<Vec<Batch>> {
        self.places.clear();
        let mut joined = batches;
        for (away, changes) in places {
            let Some(first) = changes.first() else { continue };
            let registered = self.db.registered(first.schema())?;
            let new = Run::new(self.db, &registered, &away.partition);
            let asked = Asked { together: self.db.is_atomic(), ..self.asked };
            let mut run = Run { missing: self.missing.clone(), asked, ..new };
            let (plan, theirs) = Box::pin(run.prepare(&changes)).await.map_err(Error::alone)?;
            theirs.into_iter().for_each(|batch| append(batch, &mut joined));
            self.places.push(plan);
        }
        Ok(joined)
    }
}

/// Puts the batch behind the others. A target may be the source of a copy, and guarded already: what was read of it for both
/// is then one write, and if that is not the same, the guard alone, which fails.
fn append(mut batch: Batch, to: &mut Vec<Batch>) {
    let is_same_place = |other: &Batch| other.table == batch.table && other.partition == batch.partition;
    for other in to.iter_mut().filter(|other| is_same_place(other)) {
        let theirs = |row: &str| batch.operations.iter().find(|operation| operation.row == row);
        let is_same = |own: &Operation| {
            theirs(&own.row).is_some_and(|operation| matched(&operation.action) == matched(&own.action))
        };
        other.operations.retain(|own| !is_same(own));
        batch.operations.retain(|operation| !other.operations.iter().any(|own| own.row == operation.row));
    }
    to.push(batch);
    to.retain(|batch| !batch.operations.is_empty());
}

/// The contributions that the plans of one commit bring, by place.
fn places(plans: &[&BatchPlan]) -> Places {
    let mut places = Places::new();
    for (away, change) in plans.iter().flat_map(|plan| plan.contributions()) {
        match places.iter_mut().find(|(place, _)| place == away) {
            Some((_, changes)) => changes.push(change),
            None => places.push((away.clone(), vec![change])),
        }
    }
    places
}
