//! Typed paths: the queries that keys can answer, checked when the user's program compiles.
//!
//! Terminals stand here once; what they read is planned in `query` and executed in `read`.

pub(crate) mod explain;
pub(crate) mod field;
pub(crate) mod found;
pub(crate) mod partition;
pub(crate) mod query;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod select;
pub(crate) mod state;

mod args;

use std::future::Future;

use futures_core::Stream;
use tablemodel_store::RowKey;

pub use self::{
    args::{Fixed, KeyForm, Other, PrefixOf, RangeArg, Text},
    explain::{CostClass, Explain},
    partition::PartitionOf,
    query::{Component, PathQuery},
    rows::ModelRows,
    scan::{EntityScan, Scan},
    select::Selected,
};
use crate::{
    cursor::{Cursor, PathPage},
    database::Database,
    error::Result,
    key::KeyArg,
    path::{
        found::Found,
        state::{Complete, LacksLast, PathKind, PathState, Ranged, SelectFrom},
    },
    plan::change::Change,
    read::{Reader, load_limit},
    stored::Stored,
};

/// What the terminals of a path give.
type FoundBy<P> = <P as Path>::Found;

/// A typed path, from its first component to its terminals.
///
/// Every terminal takes the database last, and its future is `Send + 'static`. Costs are those of
/// [`Path::explain`]; one request brings at most 1,000 rows.
pub trait Path: Sized + Send + 'static {
    /// Where the path stands.
    type State: PathState;
    /// What its terminals give.
    type Found: Found<Entity = <<Self::State as PathState>::Kind as PathKind>::Entity>;

    /// The query so far.
    fn query(&self) -> &PathQuery;

    /// The query so far.
    fn into_query(self) -> PathQuery;

    /// The entity at a full key. Cost: one point read; on an index that keeps less than a whole copy, two.
    fn one(self, db: &Database) -> impl Future<Output = Result<Option<FoundBy<Self>>>> + Send + 'static
    where
        Self::State: Complete,
    {
        let (query, db) = (self.into_query(), db.clone());
        async move { Reader::new(&db, query)?.first_found::<FoundBy<Self>>().await }
    }

    /// Whether there is an entity at a full key. Cost: one point read, without properties.
    fn exists(self, db: &Database) -> impl Future<Output = Result<bool>> + Send + 'static
    where
        Self::State: Complete,
    {
        let (query, db) = (self.into_query(), db.clone());
        async move { Ok(Reader::new(&db, query)?.keys_only().count_rows(Some(1)).await? > 0) }
    }

    /// The entities at many full keys that differ in their last component, in the order given; `None` where there is
    /// none. Cost: one point read each, 16 at a time.
    fn get_many<A>(
        self,
        last: impl IntoIterator<Item = A>,
        db: &Database,
    ) -> impl Future<Output = Result<Vec<Option<FoundBy<Self>>>>> + Send + 'static
    where
        Self::State: LacksLast,
        A: KeyArg<<Self::State as LacksLast>::Last>,
    {
        let query = self.into_query();
        let queries: Vec<_> = last.into_iter().map(|value| query.clone().given(value)).collect();
        let db = db.clone();
        async move { crate::read::many(&db, queries).await }
    }

    /// Every entity in the range, in key order. Cost: one request per 1,000 rows.
    fn all(self, db: &Database) -> impl Future<Output = Result<Vec<FoundBy<Self>>>> + Send + 'static
    where
        Self::State: Ranged,
    {
        let (query, db) = (self.into_query(), db.clone());
        async move { Reader::new(&db, query)?.collect::<FoundBy<Self>>(None).await }
    }

    /// The first `n` entities of the range, in key order. Cost: one request per 1,000 rows.
    fn first(self, n: usize, db: &Database) -> impl Future<Output = Result<Vec<FoundBy<Self>>>> + Send + 'static
    where
        Self::State: Ranged,
    {
        let (query, db) = (self.into_query(), db.clone());
        async move { Reader::new(&db, query)?.collect::<FoundBy<Self>>(Some(n)).await }
    }

    /// The entities of the range one by one, in key order; memory holds one page.
    fn stream(self, db: &Database) -> impl Stream<Item = Result<FoundBy<Self>>> + Send + 'static
    where
        Self::State: Ranged,
    {
        crate::read::stream(db.clone(), self.into_query())
    }

    /// At most `n` entities, from the start or from where an earlier page of the same query stopped.
    ///
    /// A cursor survives deletes (also of the entity it stopped at) and restarts.
    ///
    /// # Errors
    ///
    /// `Invalid` for a cursor of another query.
    fn page(
        self,
        n: usize,
        cursor: Option<&Cursor>,
        db: &Database,
    ) -> impl Future<Output = Result<PathPage<FoundBy<Self>>>> + Send + 'static
    where
        Self::State: Ranged,
    {
        let (query, db, cursor) = (self.into_query(), db.clone(), cursor.cloned());
        async move { Reader::new(&db, query)?.page(n, cursor.as_ref()).await }
    }

    /// The number of entries in the range. Cost: one request per 1,000 rows, without properties.
    ///
    /// On an index path these are index rows, without a look at their entities.
    fn count(self, db: &Database) -> impl Future<Output = Result<u64>> + Send + 'static
    where
        Self::State: Ranged,
    {
        let (query, db) = (self.into_query(), db.clone());
        async move { Reader::new(&db, query)?.keys_only().count_rows(None).await }
    }

    /// Deletes every entity in the range with its derived rows, and gives their number. Not atomic: entity by entity.
    ///
    /// Cost: one request per 1,000 rows read, one per entity deleted. An entity that changes meanwhile is read again.
    fn delete_all(self, db: &Database) -> impl Future<Output = Result<u64>> + Send + 'static
    where
        Self::State: Ranged,
    {
        let (query, db) = (self.into_query(), db.clone());
        async move {
            let mut deleted = 0;
            let mut pages = Reader::new(&db, query)?;
            while let Some(found) = pages.next_stored::<<Self::Found as Found>::Entity>().await? {
                deleted += u64::from(delete_current(&db, found).await?);
            }
            Ok(deleted)
        }
    }

    /// Only the properties of projection `P`, from the path's own rows, in one request.
    ///
    /// On an index path, the index must keep every field of `P`: checked when compiling.
    fn select<P>(self) -> Selected<P, Self::State>
    where
        P: SelectFrom<<Self::State as PathState>::Kind>
            + crate::Projection<Of = <<Self::State as PathState>::Kind as PathKind>::Entity>,
    {
        Selected::new(self.into_query())
    }

    /// What running this path would read: keys, condition, cost class, requests and rows. Reads nothing.
    fn explain(&self) -> Explain {
        self.query().explain()
    }

    /// The primary key of the entity at a full key; on an index path, by one point read.
    #[doc(hidden)]
    fn primary_key(self, db: &Database) -> impl Future<Output = Result<RowKey>> + Send + 'static
    where
        Self::State: Complete,
    {
        let (query, db) = (self.into_query(), db.clone());
        async move { crate::read::primary_key(&db, query).await }
    }
}

async fn delete_current<E: crate::TableEntity>(db: &Database, mut entity: Stored<E>) -> Result<bool> {
    let registered = db.registered(E::SCHEMA)?;
    for _ in 0..load_limit() {
        let key = entity.key().clone();
        let change = Change::Delete { schema: E::SCHEMA, old: entity.into_rows() };
        match db.write_one(&registered, change).await {
            Ok(_) => return Ok(true),
            Err(error) if matches!(error.kind(), crate::ErrorKind::NotFound) => return Ok(false),
            Err(error) if matches!(error.kind(), crate::ErrorKind::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
        match db.read_primary::<E>(&key).await? {
            Some(current) => entity = current,
            None => return Ok(false),
        }
    }
    Err(crate::Error::new(crate::ErrorKind::Unavailable, "the entity keeps changing").of(E::SCHEMA.entity_type))
}
