//! Contributions of a run: those that it reads to know what comes first, and those that its commit brings to other
//! partitions.

use std::ops::Bound;

use tablemodel_store::{Batch, KeyRange, Query, RowRange};

use super::Run;
use crate::{
    error::{Error, Result},
    plan::{batch::BatchPlan, change::Change, entries::Away, join::join, system},
    rooms::aggregate::{FIRST_BEGINS, FIRST_ENDS},
};

/// Contributions by the place where their targets stand.
type Places = Vec<(Away, Vec<Change>)>;

impl Run<'_> {
    /// Learns the first contributions behind `prefix`: one more than the changes of a batch may take away. Those that are
    /// gone, and only wait to be swept, do not count.
    pub(super) async fn learn_first(&mut self, prefix: String, changes: usize) -> Result<()> {
        let lower = Bound::Included(format!("{prefix}{FIRST_BEGINS}"));
        let upper = Bound::Excluded(format!("{prefix}{FIRST_ENDS}"));
        let range = KeyRange::rows(self.partition, RowRange { lower, upper });
        let (mut query, mut live) = (Query::new(&self.registered.table, range).limited(changes + 1), 0);
        loop {
            let page = self.db.query_page(&query).await?;
            live += page.rows.iter().filter(|row| !system::is_dead(&row.properties)).count();
            self.known.extend(page.rows.into_iter().map(|row| (row.key.row.clone(), Some(row))));
            match page.continuation.filter(|_| live <= changes) {
                Some(next) => query.continuation = Some(next),
                None => break,
            }
        }
        self.known.insert(prefix, None);
        Ok(())
    }

    /// Takes from the contributions those that stand in this run's own partition: they are planned with its changes. Tells
    /// whether there are any.
    pub(in crate::database) fn take_guests(&mut self, places: &mut Places) -> bool {
        let table = self.registered.schema.table;
        let is_here = |away: &Away| away.table.eq_ignore_ascii_case(table) && away.partition == self.partition;
        let here = places.iter().position(|(away, _)| is_here(away)).map(|at| places.swap_remove(at));
        self.guests = here.map(|(_, changes)| changes).unwrap_or_default();
        !self.guests.is_empty()
    }

    /// Plans the contributions of one commit in other partitions, each place by itself, and joins their batches to it.
    pub(in crate::database) async fn join_places(&mut self, places: Places, batches: Vec<Batch>) -> Result<Vec<Batch>> {
        self.places.clear();
        let mut joined = batches;
        for (away, changes) in places {
            let Some(first) = changes.first() else { continue };
            let registered = self.db.registered(first.schema())?;
            let mut run = Run { missing: self.missing.clone(), ..Run::new(self.db, &registered, &away.partition) };
            let (plan, theirs) = Box::pin(run.prepare(&changes)).await.map_err(Error::alone)?;
            joined = join(joined, theirs.into_iter().filter(|batch| !batch.operations.is_empty()).collect())?;
            self.places.push(plan);
        }
        Ok(joined)
    }
}

/// The contributions that the plans of one commit bring, by place.
pub(in crate::database) fn places(plans: &[&BatchPlan]) -> Places {
    let mut places = Places::new();
    for (away, change) in plans.iter().flat_map(|plan| plan.contributions()) {
        match places.iter_mut().find(|(place, _)| place == away) {
            Some((_, changes)) => changes.push(change),
            None => places.push((away.clone(), vec![change])),
        }
    }
    places
}
