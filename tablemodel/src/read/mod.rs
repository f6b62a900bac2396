//! Reading: executes a read plan page by page, and makes entities of the rows.
//!
//! Nothing is planned here; which ranges, which condition and which rows are merged is the plan's.

pub(crate) mod columns;
pub(crate) mod fields;
mod groups;
pub(crate) mod list;
mod model;
mod one;
mod rows;
mod shown;

use std::sync::Arc;

use futures_core::Stream;
use futures_util::{StreamExt, TryStreamExt, stream as futures_stream};
use tablemodel_store::{Row, RowKey};

pub use self::one::One;
pub(crate) use self::{
    groups::{Assembly, Groups},
    model::RunningRows,
    one::{at_keys, many},
    rows::Rows,
};
use crate::{
    cursor::{Cursor, Paged, PathPage},
    database::{Database, Registered},
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    path::{
        found::{self, Found},
        plan::ReadPlan,
        query::PathQuery,
    },
    plan::{group::Group, image},
    rooms::{self, index::Named},
    schema::EntitySchema,
    stored::Stored,
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

    /// Without properties, but for the discriminator and the owner.
    pub(crate) fn keys_only(mut self) -> Self {
        self.rows.keys_only();
        self
    }

    /// One result of a full key, of the first row that gives one. All rows of an entity that may be several are asked for at once.
    pub(crate) async fn first_found<F: Found>(mut self) -> Result<Option<F>> {
        let wanted = if self.rows.plan().is_cut() { usize::MAX } else { 1 };
        while let Some(row) = self.rows.next(wanted).await? {
            if let Some(found) = resolve(&self.db, self.index, self.verified, row).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The results, at most `limit`.
    pub(crate) async fn collect<F: Found>(mut self, limit: Option<usize>) -> Result<Vec<F>> {
        let mut results = Vec::new();
        while limit.is_none_or(|limit| results.len() < limit) {
            let wanted = limit.map_or(usize::MAX, |limit| limit - results.len());
            if self.rows.show(wanted, &mut results)?.is_some() {
                tokio::task::yield_now().await;
                continue;
            }
            let rows = self.rows.some(wanted).await?;
            if rows.is_empty() {
                break;
            }
            resolve_all(&self.db, self.index, self.verified, rows, &mut results).await?;
        }
        results.shrink_to_fit();
        Ok(results)
    }

    /// Whether [`Reader::first_found`] would give something; the path's own row is not read as an entity.
    pub(crate) async fn has_any<F: Found>(mut self) -> Result<bool> {
        while let Some(row) = self.rows.next(1).await? {
            match self.index {
                Some(index) if F::OF_PRIMARY || self.verified || !found::is_shown_by::<F>(Some(index), &row.head) => {
                    if load(&self.db, <F::Entity as TableEntity>::SCHEMA, index, row.head).await?.is_some() {
                        return Ok(true);
                    }
                }
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// One page of results.
    pub(crate) async fn page<F: Found>(mut self, n: usize, cursor: Option<&Cursor>) -> Result<PathPage<F>> {
        let query = Paged::path(self.rows.plan());
        if let Some((place, key)) = query.begin(n, cursor)? {
            self.rows.resume_after(place, &key);
        }
        self.rows.look_ahead();
        let mut items = Vec::new();
        let mut last = None;
        while items.len() < n {
            let rows = self.rows.some(n - items.len()).await?;
            let Some(end) = rows.last().map(|row| row.key().clone()) else {
                return Ok(PathPage { items, cursor: None });
            };
            last = Some(end);
            resolve_all(&self.db, self.index, self.verified, rows, &mut items).await?;
        }
        let cursor = match last {
            Some(key) if self.rows.has_more().await? => Some(Cursor::after(&query, &key)),
            _ => None,
        };
        Ok(PathPage { items, cursor })
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
        let schema = self.rows.plan().schema;
        let loads = rows.into_iter().map(|row| load(&self.db, schema, index, row.head));
        let loads = futures_stream::iter(loads).buffered(CONCURRENT_READS);
        loads.try_fold(0, |count, found| std::future::ready(Ok(count + u64::from(found.is_some())))).await
    }

    /// The path's next row, with the parts of its entity.
    pub(crate) async fn next_row(&mut self) -> Result<Option<Group>> {
        self.rows.next(usize::MAX).await
    }

    /// The entity of a row that the path gave, as it was read with the row.
    pub(crate) async fn entity<E: TableEntity>(&self, row: &Group) -> Result<Option<Stored<E>>> {
        resolve(&self.db, self.index, self.verified, row.clone()).await
    }

    /// The same; where it wants that row of an index no more, as it is now, if it wants another in the path's ranges.
    pub(crate) async fn entity_in_range<E: TableEntity>(&self, row: &Group) -> Result<Option<Stored<E>>> {
        match (self.entity(row).await?, self.index) {
            (None, Some(index)) => self.moved_in_range(index, &row.head).await,
            (found, _) => Ok(found),
        }
    }

    async fn moved_in_range<E: TableEntity>(&self, index: usize, row: &Row) -> Result<Option<Stored<E>>> {
        let owner = found::owner(E::SCHEMA, row)?;
        let Some(primary) = self.db.primary_now(E::SCHEMA, &owner).await? else { return Ok(None) };
        let (ranges, mut is_in) = (&self.rows.plan().ranges, false);
        rooms::index::each_key(&image::Stored::of(E::SCHEMA, &primary)?, index, |partition, row| {
            is_in |= ranges.iter().any(|range| range.contains(&RowKey::new(partition, row)));
        })?;
        if is_in { Stored::read(primary).map(Some) } else { Ok(None) }
    }

    /// The entity of a row that the path gave, as it is now; none if it is gone, or out of the path's ranges. A row of an index may name
    /// another by now: the same under another key.
    pub(crate) async fn entity_now<E: TableEntity>(&self, row: &Group) -> Result<Option<Stored<E>>> {
        if self.index.is_none() {
            return self.db.read_primary(row.key()).await;
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
        loop {
            let mut results = Vec::new();
            if self.rows.show(usize::MAX, &mut results)?.is_some() {
                tokio::task::yield_now().await;
                match results.is_empty() {
                    true => continue,
                    false => return Ok(Some(results)),
                }
            }
            let rows = self.rows.some(usize::MAX).await?;
            if rows.is_empty() {
                return Ok(None);
            }
            resolve_all(&self.db, self.index, self.verified, rows, &mut results).await?;
            if !results.is_empty() {
                return Ok(Some(results));
            }
        }
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
async fn resolve<F: Found>(db: &Database, index: Option<usize>, verified: bool, row: Group) -> Result<Option<F>> {
    match index {
        // Boxed: the futures of primary reads stay small, which is cheaper to make.
        Some(index) if F::OF_PRIMARY || verified || !found::is_shown_by::<F>(Some(index), &row.head) => {
            match Box::pin(load(db, <F::Entity as TableEntity>::SCHEMA, index, row.head)).await? {
                Some(primary) => F::read(None, primary).map(Some),
                None => Ok(None),
            }
        }
        None if !found::is_shown_by::<F>(None, &row.head) => {
            let primary = Box::pin(db.primary_now(<F::Entity as TableEntity>::SCHEMA, row.key())).await?;
            primary.map(|primary| F::read(None, primary)).transpose()
        }
        _ => F::read(index, row).map(Some),
    }
}

async fn resolve_all<F: Found>(
    db: &Database,
    index: Option<usize>,
    verified: bool,
    rows: Vec<Group>,
    to: &mut Vec<F>,
) -> Result<()> {
    let is_shown = |rows: &[Group]| rows.iter().all(|row| found::is_shown_by::<F>(index, &row.head));
    if (index.is_none() || !(F::OF_PRIMARY || verified)) && is_shown(&rows) {
        to.reserve(rows.len());
        for row in rows {
            to.push(F::read(index, row)?);
        }
        return Ok(());
    }
    let mut loads = futures_stream::iter(rows.into_iter().map(|row| resolve::<F>(db, index, verified, row)))
        .buffered(CONCURRENT_READS);
    while let Some(found) = loads.next().await {
        to.extend(found?);
    }
    Ok(())
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
