//! Reading: executes a read plan page by page, and makes entities of the rows.
//!
//! Nothing is planned here; which ranges, which condition and which rows are merged is the plan's.

pub(crate) mod columns;
pub(crate) mod fields;
mod groups;
pub(crate) mod list;
mod many;
mod model;
mod one;
mod results;
mod rows;
mod shown;

use std::sync::Arc;

use futures_core::Stream;
use futures_util::{StreamExt, TryStreamExt, stream as futures_stream};
use tablemodel_store::{Row, RowKey};

pub use self::one::One;
use self::results::{Resolved, Results};
pub(crate) use self::{
    groups::{Assembly, Groups},
    many::{at_keys, many},
    model::RunningRows,
    results::Kind,
    rows::Rows,
};
use crate::{
    cursor::{Cursor, Paged, PathPage},
    database::{Database, Registered},
    error::{Error, ErrorKind, Result},
    path::{
        found::{self, Found},
        plan::ReadPlan,
        query::PathQuery,
    },
    plan::{group::Group, image},
    rooms::{self, index::Named},
    schema::EntitySchema,
};

/// Point reads in flight for one query.
const CONCURRENT_READS: usize = 16;
/// Rounds in which a changing entity is read again.
const RELOADS: usize = 16;

/// How often a row that changes under our hands is read again.
pub(crate) const fn load_limit() -> usize {
    RELOADS
}

/// A query being read.
pub(crate) struct Reader {
    db: Database,
    rows: Groups,
    index: Option<usize>,
    /// Whether a result of an index row is read from its entity, also where the row would do.
    verified: bool,
}

impl Reader {
    /// Plans the query; an index that is not readable is refused.
    pub(crate) async fn new(db: &Database, query: PathQuery) -> Result<Self> {
        let plan = query.plan()?; // errors in the values are met before anything is read
        let registered = readable(db, &query).await?;
        let (index, verified) = (plan.index, query.is_verified());
        let rows = Groups::new(db.clone(), &registered, plan);
        Ok(Self { db: db.clone(), rows, index, verified })
    }

    /// What the path reads.
    pub(crate) fn schema(&self) -> &'static EntitySchema {
        self.rows.plan().schema
    }

    /// Without properties, but for the discriminator and the owner.
    pub(crate) fn keys_only(mut self) -> Self {
        self.rows.keys_only();
        self
    }

    /// Rows as they stand, whatever their entities want by now.
    pub(crate) fn unverified(mut self) -> Self {
        self.verified = false;
        self
    }

    /// One result of a full key, of the first row that gives one. All rows of an entity that may be several are asked for at once.
    async fn first_found(mut self, kind: Kind) -> Result<Option<Resolved>> {
        let wanted = if self.rows.plan().is_cut() { usize::MAX } else { 1 };
        while let Some(row) = self.rows.next(wanted).await? {
            if let Some(found) = self.resolve(kind, row).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The results, at most `limit`.
    pub(crate) async fn collect<F: Found>(self, limit: Option<usize>) -> Result<Vec<F>> {
        let mut results = Vec::new();
        self.collect_to(limit, &mut results).await?;
        results.shrink_to_fit();
        Ok(results)
    }

    async fn collect_to(mut self, limit: Option<usize>, results: &mut dyn Results) -> Result<()> {
        while limit.is_none_or(|limit| results.count() < limit) {
            let wanted = limit.map_or(usize::MAX, |limit| limit - results.count());
            if self.rows.show(wanted, results)?.is_some() {
                tokio::task::yield_now().await;
                continue;
            }
            let rows = self.rows.some(wanted).await?;
            if rows.is_empty() {
                break;
            }
            self.resolve_all(rows, results).await?;
        }
        Ok(())
    }

    /// Whether [`Reader::first_found`] would give something; the path's own row is not read as an entity.
    pub(crate) async fn has_any(mut self, kind: Kind) -> Result<bool> {
        while let Some(row) = self.rows.next(1).await? {
            match self.index {
                Some(index) if kind.of_primary || self.verified || !kind.is_shown_by(Some(index), &row.head) => {
                    if load(&self.db, kind.schema, index, row.head).await?.is_some() {
                        return Ok(true);
                    }
                }
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// One page of results.
    pub(crate) async fn page<F: Found>(self, n: usize, cursor: Option<&Cursor>) -> Result<PathPage<F>> {
        let mut items = Vec::new();
        let cursor = self.page_to(n, cursor, &mut items).await?;
        Ok(PathPage { items, cursor })
    }

    /// Gives the cursor behind the page.
    async fn page_to(mut self, n: usize, cursor: Option<&Cursor>, items: &mut dyn Results) -> Result<Option<Cursor>> {
        let query = Paged::path(self.rows.plan());
        if let Some((place, key)) = query.begin(n, cursor)? {
            self.rows.resume_after(place, &key);
        }
        self.rows.look_ahead();
        let mut last = None;
        while items.count() < n {
            let rows = self.rows.some(n - items.count()).await?;
            let Some(end) = rows.last().map(|row| row.key().clone()) else { return Ok(None) };
            last = Some(end);
            self.resolve_all(rows, items).await?;
        }
        match last {
            Some(key) if self.rows.has_more().await? => Ok(Some(Cursor::after(&query, &key))),
            _ => Ok(None),
        }
    }

    /// The number of rows; of a verified path over an index, of those that their entities still want.
    pub(crate) async fn count_rows(mut self) -> Result<u64> {
        let mut count = 0;
        loop {
            let rows = self.rows.some(usize::MAX).await?;
            if rows.is_empty() {
                return Ok(count);
            }
            count += match self.index.filter(|_| self.verified) {
                Some(index) => self.wanted(index, rows).await?,
                None => rows.len() as u64,
            };
        }
    }

    /// How many of these rows of an index their entities still want.
    async fn wanted(&self, index: usize, rows: Vec<Group>) -> Result<u64> {
        let schema = self.schema();
        let loads = rows.into_iter().map(|row| load(&self.db, schema, index, row.head));
        let loads = futures_stream::iter(loads).buffered(CONCURRENT_READS);
        loads.try_fold(0, |count, found| std::future::ready(Ok(count + u64::from(found.is_some())))).await
    }

    /// The path's next row, with the parts of its entity.
    pub(crate) async fn next_row(&mut self) -> Result<Option<Group>> {
        self.rows.next(usize::MAX).await
    }

    /// The entity of a row that the path gave, as it was read with the row.
    pub(crate) async fn entity(&self, row: &Group) -> Result<Option<Group>> {
        let found = self.resolve(Kind::primary(self.schema()), row.clone()).await?;
        Ok(found.map(|(_, rows)| rows))
    }

    /// The same; where it wants that row of an index no more, as it is now, if it wants another in the path's ranges.
    pub(crate) async fn entity_in_range(&self, row: &Group) -> Result<Option<Group>> {
        match (self.entity(row).await?, self.index) {
            (None, Some(index)) => self.moved_in_range(index, &row.head).await,
            (found, _) => Ok(found),
        }
    }

    async fn moved_in_range(&self, index: usize, row: &Row) -> Result<Option<Group>> {
        let schema = self.schema();
        let owner = found::owner(schema, row)?;
        let Some(primary) = self.db.primary_now(schema, &owner).await? else { return Ok(None) };
        let (ranges, mut is_in) = (&self.rows.plan().ranges, false);
        rooms::index::each_key(&image::Stored::of(schema, &primary)?, index, |partition, row| {
            is_in |= ranges.iter().any(|range| range.contains(&RowKey::new(partition, row)));
        })?;
        Ok(is_in.then_some(primary))
    }

    /// The entity of a row that the path gave, as it is now; none if it is gone, or out of the path's ranges. A row of an index may name
    /// another by now: the same under another key.
    pub(crate) async fn entity_now(&self, row: &Group) -> Result<Option<Group>> {
        if self.index.is_none() {
            return self.db.own_rows(self.schema(), row.key()).await;
        }
        let now = self.db.get_row(self.rows.table(), row.key()).await?.filter(|now| self.rows.plan().owns(now));
        rows::still_ready(&self.db, self.rows.plan()).await?;
        match (now, self.index) {
            (Some(now), _) => self.entity_in_range(&Group::from(now)).await,
            (None, Some(index)) => self.moved_in_range(index, &row.head).await,
            (None, None) => Ok(None),
        }
    }

    /// Whether rows of the path name entities that may stand elsewhere by now.
    pub(crate) const fn is_over_index(&self) -> bool {
        self.index.is_some()
    }

    /// A page's worth of results, loads in parallel.
    async fn next_results<F: Found>(&mut self) -> Result<Option<Vec<F>>> {
        let mut results = Vec::new();
        self.next_to(&mut results).await?;
        Ok((!results.is_empty()).then_some(results))
    }

    /// Puts none at the end.
    async fn next_to(&mut self, results: &mut dyn Results) -> Result<()> {
        while results.count() == 0 {
            if self.rows.show(usize::MAX, results)?.is_some() {
                tokio::task::yield_now().await;
                continue;
            }
            let rows = self.rows.some(usize::MAX).await?;
            if rows.is_empty() {
                break;
            }
            self.resolve_all(rows, results).await?;
        }
        Ok(())
    }

    async fn resolve(&self, kind: Kind, row: Group) -> Result<Option<Resolved>> {
        resolve(&self.db, kind, self.index, self.verified, row).await
    }

    async fn resolve_all(&self, rows: Vec<Group>, to: &mut dyn Results) -> Result<()> {
        let (kind, index) = (to.kind(), self.index);
        let is_shown = |rows: &[Group]| rows.iter().all(|row| kind.is_shown_by(index, &row.head));
        if (index.is_none() || !(kind.of_primary || self.verified)) && is_shown(&rows) {
            to.reserve(rows.len());
            return rows.into_iter().try_for_each(|row| to.put((index, row)));
        }
        let loads = rows.into_iter().map(|row| self.resolve(kind, row));
        let mut loads = futures_stream::iter(loads).buffered(CONCURRENT_READS);
        while let Some(found) = loads.next().await {
            found?.into_iter().try_for_each(|rows| to.put(rows))?;
        }
        Ok(())
    }
}

/// The entity as the store keeps it; that the query's index is readable, by states that were looked at not long ago.
async fn readable(db: &Database, query: &PathQuery) -> Result<Arc<Registered>> {
    let registered = db.readable(query.schema(), query.rests_on_states()).await?;
    if query.check_ready(&registered.setting.states).is_ok() {
        return Ok(registered);
    }
    db.look_at_states().await?;
    let registered = db.registered(query.schema())?;
    query.check_ready(&registered.setting.states).map(|()| registered)
}

/// The entities of a plan that was made elsewhere, and not over an index.
pub(crate) async fn groups_of(db: &Database, plan: ReadPlan) -> Result<Groups> {
    let registered = db.readable(plan.schema, plan.schema.moves()).await?;
    Ok(Groups::new(db.clone(), &registered, plan))
}

/// What one row gives: itself, or the entity it names, unless that no longer wants the row.
async fn resolve(
    db: &Database,
    kind: Kind,
    index: Option<usize>,
    verified: bool,
    row: Group,
) -> Result<Option<Resolved>> {
    let of_primary = |primary: Option<Group>| primary.map(|primary| (None, primary));
    match index {
        // Boxed: the futures of primary reads stay small, which is cheaper to make.
        Some(index) if kind.of_primary || verified || !kind.is_shown_by(Some(index), &row.head) => {
            Ok(of_primary(Box::pin(load(db, kind.schema, index, row.head)).await?))
        }
        None if !kind.is_shown_by(None, &row.head) => {
            Ok(of_primary(Box::pin(db.primary_now(kind.schema, row.key())).await?))
        }
        _ => Ok(Some((index, row))),
    }
}

/// The rows of the entity that an index row names, if its image still wants the row.
async fn load(db: &Database, schema: &'static EntitySchema, index: usize, row: Row) -> Result<Option<Group>> {
    let owner = found::owner(schema, &row)?;
    let Some(primary) = db.primary_now(schema, &owner).await? else { return Ok(None) };
    Ok(wants(schema, index, &row, &primary)?.then_some(primary))
}

/// Whether the entity wants the row of its index.
fn wants(schema: &'static EntitySchema, index: usize, row: &Row, primary: &Group) -> Result<bool> {
    rooms::index::wants(&image::Stored::of(schema, primary)?, index, &row.key.partition, &row.key.row)
}

/// The results one by one.
pub(crate) fn stream<F: Found>(db: Database, query: PathQuery) -> impl Stream<Item = Result<F>> + Send + 'static {
    futures_stream::once(async move { Reader::new(&db, query).await })
        .map_ok(|reader| {
            futures_stream::try_unfold(reader, |mut reader| async move {
                let results = reader.next_results::<F>().await?;
                Ok::<_, Error>(results.map(|results| (futures_stream::iter(results.into_iter().map(Ok)), reader)))
            })
            .try_flatten()
        })
        .try_flatten()
}

/// The primary key behind a full key: the key itself; or the owner of the index row, with what that row says.
pub(crate) async fn primary_key(db: &Database, query: PathQuery) -> Result<(RowKey, Option<Named>)> {
    let schema = query.schema();
    let mut reader = Reader::new(db, query.clone()).await?;
    match (reader.index, reader.rows.plan().point()) {
        (None, Some(key)) => Ok((key, None)),
        (None, None) if reader.rows.plan().is_cut() => Ok((query.exact_key()?, None)),
        (index, _) => match (reader.rows.next(1).await?, index) {
            (Some(row), Some(index)) => {
                Ok((found::owner(schema, &row.head)?, Some(Named { index, row: row.head.key })))
            }
            (Some(row), None) => Ok((row.head.key, None)),
            (None, _) => Err(Error::new(ErrorKind::NotFound, "no such entity").of(schema.entity_type)),
        },
    }
}
