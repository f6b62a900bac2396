//! Holders that follow their source: many are read at a time, and those of which only their own row changes are written over
//! as they were read, without a plan of each.
//!
//! Which those are, and what is written of them, is `plan::follow`'s to say.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::Bound,
    sync::Arc,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{Batch, KeyRange, Operation, Page, Query, Row, RowKey, RowRange, Shown, key::compare, limits};
use tokio::task::yield_now;

use crate::{
    database::{
        Database, Registered,
        execute::{Run, is_read_alone},
        followers::Followers,
    },
    error::Result,
    plan::{
        batch::{BatchPlan, matched, split},
        change::{Change, Context, Role},
        follow::{self, Held, Holder},
    },
    schema::EntitySchema,
};

/// Rows of one partition from which on a query is tried before each is read.
const WORTH_A_QUERY: usize = 4;
/// Rows that such a query may give for each that is wanted.
const ROWS_EACH: usize = 3;
/// Partitions, or holders of one, that are seen to before others may use the thread: what a store shows is not waited for.
const IN_ONE_GO: usize = 256;
/// Rows read at the same time.
const CONCURRENT_READS: usize = 16;

/// Holders of one entity of which only their own row changes.
pub(super) struct Holders {
    registered: Arc<Registered>,
    keys: Vec<RowKey>,
}

impl Holders {
    /// The row keys of those at this table and partition.
    pub(super) fn keys_at(&self, (table, partition): (&str, &str)) -> impl Iterator<Item = &str> {
        let keys = if self.registered.table == table { self.keys.as_slice() } else { &[] };
        keys.iter().filter(move |key| key.partition == partition).map(|key| key.row.as_str())
    }
}

impl Followers {
    /// Adds a holder of which only its own row changes.
    pub(super) fn add_alone(&mut self, registered: &Arc<Registered>, key: RowKey) {
        let mut known = self.alone.iter_mut();
        match known.find(|holders| holders.registered.entity_type == registered.entity_type) {
            Some(holders) => holders.keys.push(key),
            None => self.alone.push(Holders { registered: Arc::clone(registered), keys: vec![key] }),
        }
    }
}

impl Run<'_> {
    /// How the holder is registered, if only its own row changes with its copies, and is to be written without a plan.
    pub(super) fn alone(&self, holder: &'static EntitySchema) -> Option<Arc<Registered>> {
        let registered = self.db.registered(holder).ok().filter(|_| !self.copying.plans_each)?;
        follow::is_alone(holder, &registered.setting).then_some(registered)
    }

    /// Reads the holders among the changes, if they are many.
    pub(super) async fn read_holders(&mut self, changes: &[Change]) -> Result<()> {
        let recopied = changes.iter().filter(|change| matches!(change, Change::Recopy { .. }));
        let single = recopied.filter(|change| is_read_alone(change.schema()));
        let rows = single.map(|change| change.key().row.as_str()).filter(|row| !self.known.contains_key(*row));
        let rows: Vec<_> = rows.collect::<BTreeSet<_>>().into_iter().collect(); // one may copy several of the sources
        if rows.len() < WORTH_A_QUERY {
            return Ok(());
        }
        let found = self.db.rows_at(&self.registered.table, self.partition, rows).await?;
        for (row, found) in found {
            self.known.is_of_copies(row);
            self.known.insert(row.to_owned(), found);
        }
        Ok(())
    }

    /// Notes the holders that were to follow apart and of which the plan writes a row itself, but for sources that it guards:
    /// two plans of one row would not know of each other. Tells whether there are any.
    pub(super) fn take_along(&mut self, plan: &BatchPlan, follows: &[BatchPlan], followers: &Followers) -> bool {
        let here = (self.registered.table.as_str(), self.partition);
        let writes = |row: &str| plan.planned(row).is_some_and(|planned| planned.role != Role::Source);
        let alone = followers.alone.iter().flat_map(|holders| holders.keys_at(here));
        let mut along: Vec<String> = alone.filter(|row| writes(row)).map(str::to_owned).collect();
        let is_here = |(table, partition): &(&str, String)| {
            table.eq_ignore_ascii_case(self.registered.schema.table) && partition == self.partition
        };
        let changes = followers.apart.iter().find(|(place, _)| is_here(place)).map_or(&[][..], |(_, changes)| changes);
        let rows = follows.iter().filter(|plan| plan.place() == here).flat_map(|plan| plan.rows.iter());
        let met = rows.filter(|row| writes(&row.planned.row)).filter_map(|row| changes.get(row.change));
        along.extend(met.map(|change| change.key().row.clone()));
        let is_met = !along.is_empty();
        self.copying.along.extend(along);
        is_met
    }

    /// Puts the writes of the holders of which only their own row changes behind the batches of the commit.
    pub(super) async fn append_alone(
        &mut self,
        plan: &BatchPlan,
        mut followers: Followers,
        to: &mut Vec<Batch>,
    ) -> Result<()> {
        let (own, context) = (to.len(), self.context());
        let alone = std::mem::take(&mut followers.alone);
        self.copying.alone_from = Some(own).filter(|_| !alone.is_empty());
        let sources = self.sources_left(plan, &followers);
        for Holders { registered, mut keys } in alone {
            let held = Held::all(registered.schema, &sources)?;
            keys.sort_unstable_by(|a, b| a.partition.cmp(&b.partition).then_with(|| a.row.cmp(&b.row)));
            keys.dedup();
            let batches = self.db.all_followed(&registered, keys, &held, context).await?;
            batches.into_iter().for_each(|batch| join(batch, own, to));
        }
        Ok(())
    }
}

impl Registered {
    fn holder<'h>(&'h self, key: &'h RowKey) -> Holder<'h> {
        Holder { schema: self.schema, columns: &self.copies, key }
    }
}

impl Database {
    /// The batches that bring these holders, which are in order, to what they are to hold: one for each partition.
    async fn all_followed(
        &self,
        registered: &Registered,
        keys: Vec<RowKey>,
        held: &[Held],
        context: Context,
    ) -> Result<Vec<Batch>> {
        let mut batches = Vec::with_capacity(keys.len());
        let mut keys = keys.into_iter().peekable();
        while let Some(first) = keys.next() {
            if batches.len() % IN_ONE_GO == IN_ONE_GO - 1 {
                yield_now().await;
            }
            if keys.peek().is_none_or(|next| next.partition != first.partition) {
                batches.push(self.followed_alone(registered, first, held, context).await?);
                continue;
            }
            let partition = first.partition.clone();
            let mut mates = vec![first];
            mates.extend(std::iter::from_fn(|| keys.next_if(|key| key.partition == partition)));
            batches.push(self.followed(registered, &mates, held, context).await?);
        }
        Ok(batches)
    }

    /// The batch that brings these holders of one partition to what they are to hold.
    async fn followed(
        &self,
        registered: &Registered,
        keys: &[RowKey],
        held: &[Held],
        context: Context,
    ) -> Result<Batch> {
        let partition = keys.first().map_or("", |key| &key.partition);
        let mut batch = Batch::new(registered.table.as_str(), partition);
        let rows = keys.iter().map(|key| key.row.as_str()).collect();
        for (number, (row, found)) in (1..).zip(self.rows_at(&registered.table, partition, rows).await?) {
            if number % IN_ONE_GO == 0 {
                yield_now().await;
            }
            let Some(found) = found else { continue };
            if let Some(action) = follow::write(registered.holder(&found.key), &Shown::new(&found), held, context)? {
                batch.operations.push(Operation { row: row.to_owned(), action });
            }
        }
        Ok(batch)
    }

    /// The batch that brings one holder to what it is to hold: its row is looked at where it lies, if the store shows it.
    async fn followed_alone(
        &self,
        registered: &Registered,
        key: RowKey,
        held: &[Held],
        context: Context,
    ) -> Result<Batch> {
        let (holder, mut action) = (registered.holder(&key), Ok(None));
        let see = &mut |row: &Shown<'_>| action = follow::write(holder, row, held, context);
        let action = match self.show_row_in_passing(&registered.table, (&key.partition, &key.row), see) {
            Some(was_shown) => was_shown.and(action)?,
            None => match self.get_row(&registered.table, &key).await? {
                Some(found) => follow::write(holder, &Shown::new(&found), held, context)?,
                None => None,
            },
        };
        // Each batch is one of many: it has room for one operation, and not for those that `extend` would make room for.
        let operations = action.map_or_else(Vec::new, |action| vec![Operation { row: key.row, action }]);
        Ok(Batch { operations, ..Batch::new(registered.table.as_str(), key.partition) })
    }

    /// The rows of one partition at these row keys: by one query as far as they stand close together, the others one by one.
    pub(super) async fn rows_at<'k>(
        &self,
        table: &str,
        partition: &str,
        mut rows: Vec<&'k str>,
    ) -> Result<Vec<(&'k str, Option<Row>)>> {
        rows.sort_unstable_by(|a, b| compare(a, b));
        let mut found = Vec::with_capacity(rows.len());
        if rows.len() >= WORTH_A_QUERY {
            let page = self.query_page(&close_together(table, partition, &rows)).await?;
            found = told(page, &mut rows);
        }
        let others: Vec<_> = rows.into_iter().map(|row| self.row_at(table, partition, row)).collect();
        let others: Vec<_> = stream::iter(others).buffered(CONCURRENT_READS).try_collect().await?;
        found.extend(others);
        Ok(found)
    }

    async fn row_at<'k>(&self, table: &str, partition: &str, row: &'k str) -> Result<(&'k str, Option<Row>)> {
        Ok((row, self.get_row(table, &RowKey::new(partition, row)).await?))
    }
}

/// From the first of the rows to the last, but not many more than there are of them.
fn close_together(table: &str, partition: &str, rows: &[&str]) -> Query {
    let end = |row: Option<&&str>| row.map_or(Bound::Unbounded, |row| Bound::Included((*row).to_owned()));
    let range = RowRange { lower: end(rows.first()), upper: end(rows.last()) };
    let limit = (rows.len() * ROWS_EACH).min(limits::MAX_PAGE_ROWS);
    Query::new(table, KeyRange::rows(partition, range)).limited(limit)
}

/// Takes from the rows, which are in order, those of which the page tells: whether they are there, and what they hold.
fn told<'k>(page: Page, rows: &mut Vec<&'k str>) -> Vec<(&'k str, Option<Row>)> {
    let reached = match (&page.continuation, page.rows.last()) {
        (None, _) => rows.len(),
        (Some(_), last) => last.map_or(0, |last| rows.partition_point(|row| compare(row, &last.key.row).is_le())),
    };
    let rest = rows.split_off(reached);
    let mut given = page.rows.into_iter().peekable();
    let told = std::mem::replace(rows, rest).into_iter().map(|row| {
        while given.next_if(|given| compare(&given.key.row, row).is_lt()).is_some() {}
        (row, given.next_if(|given| given.key.row == row))
    });
    told.collect()
}

/// Puts a batch of those that follow behind the others, of which the first are the `own` ones of the changes.
///
/// A source that is guarded may be a holder that follows: what was read of it for both is then one write, and if that is not
/// the same, the guard alone, which fails.
pub(super) fn join(mut batch: Batch, own: usize, to: &mut Vec<Batch>) {
    let is_same_place = |other: &&mut Batch| other.partition == batch.partition && other.table == batch.table;
    let others: Vec<_> = to.iter_mut().take(own).filter(is_same_place).collect();
    if !others.is_empty() {
        let follow: HashMap<_, _> = batch.operations.iter().map(|follows| (follows.row.as_str(), follows)).collect();
        let mut met = HashSet::new();
        for guard in others.into_iter().flat_map(|other| &mut other.operations) {
            let Some(follows) = follow.get(guard.row.as_str()) else { continue };
            let read = matched(&guard.action);
            if read.is_some() && read == matched(&follows.action) {
                guard.action = follows.action.clone();
            }
            met.insert(guard.row.as_str());
        }
        batch.operations.retain(|operation| !met.contains(operation.row.as_str()));
    }
    if !batch.operations.is_empty() {
        split(batch, to);
    }
}
