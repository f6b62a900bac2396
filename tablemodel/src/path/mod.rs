//! Typed paths: the queries that keys can answer, checked when the user's program compiles.
//!
//! Terminals stand here once; what they read is planned in `query` and executed in `read`.

pub(crate) mod explain;
pub(crate) mod field;
pub(crate) mod found;
pub(crate) mod list;
pub(crate) mod partition;
pub(crate) mod plan;
pub(crate) mod query;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod select;
pub(crate) mod state;
pub(crate) mod verified;

mod args;
mod condition;
mod given;

use std::{future::Future, pin::Pin};

pub use self::{
    args::{Fixed, KeyForm, OrderedArg, Other, PrefixOf, RangeArg, Text, Unordered},
    explain::{CostClass, Explain},
    list::ListPath,
    partition::PartitionOf,
    query::{Component, PathQuery},
    rows::ModelRows,
    scan::{EntityScan, Scan},
    select::Selected,
    verified::VerifiedPath,
};
pub use crate::read::One;
use crate::{
    cursor::{Cursor, PathPage},
    database::Database,
    error::Result,
    path::{
        found::Found,
        state::{Complete, LacksLast, PathKind, PathState, Ranged, SelectFrom},
    },
    read::{Kind, Reader},
};
use futures_core::Stream;

/// What the terminals of a path give.
type FoundBy<P> = <P as Path>::Found;

/// A terminal on its way: `Send`, and free of what it was made from.
///
/// Boxed and named, so that a path that is not ready for its terminal is one error and not one for each use of a type.
pub type Running<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// What [`Path::get_many`] gives.
pub type Many<P> = Running<Vec<Option<FoundBy<P>>>>;

/// The results of a path one by one: `Send`, and free of what it was made from.
pub type Results<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// A typed path, from its first component to its terminals; all of them beside each other: [`paths`](crate::paths).
///
/// Every terminal takes the database last, and its future is `Send + 'static`. Costs are those of
/// [`Path::explain`]; one request brings at most 1,000 rows.
///
/// # Errors
///
/// Of every terminal: `KeyOverflow`, `KeyTooLong` or `Invalid` for a value that does not fit its key, before anything is read;
/// `IndexNotReady`; `Moved` or `NotSwitched` for an entity that moves; `UnknownVersion`, `UpgradeFailed` or `Corrupt` for a row that cannot
/// be read; `Unsupported` for an entity that the store does not know yet; `Unavailable`, `Denied` and others of the store.
pub trait Path: Sized + Send + 'static {
    /// Where the path stands.
    type State: PathState;
    /// What its terminals give.
    type Found: Found;

    /// The query so far.
    fn query(&self) -> &PathQuery;

    /// The query so far.
    fn into_query(self) -> PathQuery;

    /// The entity at a full key. Cost: one point read; on an index that keeps less than a whole copy, two.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let jones = Employee::find().department("Sales").id(1).one(&db).await?;
    /// assert_eq!(*jones.unwrap(), employee(1));
    /// # Ok(())
    /// # });
    /// ```
    fn one(self, db: &Database) -> One<FoundBy<Self>>
    where
        Self::State: Complete,
    {
        One::new(db, self.into_query())
    }

    /// Whether there is an entity at a full key: whether [`Path::one`] would give one. Cost: that of `one`.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// assert!(!Employee::by_email().department("Sales").email("nobody@contoso.com").exists(&db).await?);
    /// # Ok(())
    /// # });
    /// ```
    fn exists(self, db: &Database) -> Running<bool>
    where
        Self::State: Complete,
    {
        let (query, db) = (self.into_query(), db.clone());
        Box::pin(async move { Reader::new(&db, query).await?.keys_only().has_any(Kind::of::<FoundBy<Self>>()).await })
    }

    /// The entities at many full keys that differ in their last component, in the order given; `None` where there is
    /// none. Cost: one point read each, 16 at a time; on an index that keeps less than a whole copy, two.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let some = Employee::find().department("Sales").get_many([3, 99, 1], &db).await?;
    /// assert!(some[0].is_some() && some[1].is_none() && some[2].is_some());
    /// # Ok(())
    /// # });
    /// ```
    fn get_many<A>(self, last: impl IntoIterator<Item = A>, db: &Database) -> Running<Vec<Option<FoundBy<Self>>>>
    where
        Self::State: LacksLast<A>,
    {
        let query = self.into_query();
        let queries: Vec<_> = last.into_iter().map(|value| Self::State::COMPLETE(query.clone(), value)).collect();
        let db = db.clone();
        Box::pin(async move { crate::read::many(&db, queries).await })
    }

    /// Every entity in the range, in key order. Cost: one request per 1,000 rows; on an index that keeps less than a whole copy also
    /// a point read each, 16 at a time.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let some = Employee::find().department("Sales").id_between(2..).all(&db).await?;
    /// assert_eq!(some.len(), 2);
    /// # Ok(())
    /// # });
    /// ```
    fn all(self, db: &Database) -> Running<Vec<FoundBy<Self>>>
    where
        Self::State: Ranged,
    {
        let (query, db) = (self.into_query(), db.clone());
        Box::pin(async move { Reader::new(&db, query).await?.collect::<FoundBy<Self>>(None).await })
    }

    /// The first `n` entities of the range, in key order. Cost: as [`all`](Path::all), for these.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let two = Employee::find().department("Sales").first(2, &db).await?;
    /// assert_eq!(two[1].id, 2);
    /// # Ok(())
    /// # });
    /// ```
    fn first(self, n: usize, db: &Database) -> Running<Vec<FoundBy<Self>>>
    where
        Self::State: Ranged,
    {
        let (query, db) = (self.into_query(), db.clone());
        Box::pin(async move { Reader::new(&db, query).await?.collect::<FoundBy<Self>>(Some(n)).await })
    }

    /// The entities of the range one by one, in key order; memory holds one page (of a sharded partition one of each bucket). Cost: as
    /// [`all`](Path::all). After an error it ends.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// use futures_util::TryStreamExt;
    /// let mut employees = std::pin::pin!(Employee::find().department("Sales").stream(&db));
    /// while let Some(employee) = employees.try_next().await? {
    ///     println!("{}", employee.name);
    /// }
    /// # Ok(())
    /// # });
    /// ```
    fn stream(self, db: &Database) -> Results<FoundBy<Self>>
    where
        Self::State: Ranged,
    {
        Box::pin(crate::read::stream(db.clone(), self.into_query()))
    }

    /// At most `n` entities, from the start or from where an earlier page of the same query stopped. Cost: as [`first`](Path::first) of one more.
    ///
    /// A cursor survives deletes (also of the entity it stopped at) and restarts.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let first = Employee::find().department("Sales").page(2, None, &db).await?;
    /// assert_eq!(first.items.len(), 2);
    /// let rest = Employee::find().department("Sales").page(2, first.cursor.as_ref(), &db).await?;
    /// assert_eq!((rest.items.len(), rest.cursor), (1, None));
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` for a cursor of another query, text that is no cursor, and pages of 0; those of [every terminal](Path#errors).
    fn page(self, n: usize, cursor: Option<&Cursor>, db: &Database) -> Running<PathPage<FoundBy<Self>>>
    where
        Self::State: Ranged,
    {
        let (query, db, cursor) = (self.into_query(), db.clone(), cursor.cloned());
        Box::pin(async move { Reader::new(&db, query).await?.page(n, cursor.as_ref()).await })
    }

    /// The number of entries in the range. Cost: one request per 1,000 rows, without properties.
    ///
    /// On an index path these are index rows, without a look at their entities; on a [verified](Path::verified) one those that
    /// their entities still want, at a point read each.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// assert_eq!(Employee::by_email().department("Sales").email_starts_with("mail").count(&db).await?, 3);
    /// # Ok(())
    /// # });
    /// ```
    fn count(self, db: &Database) -> Running<u64>
    where
        Self::State: Ranged,
    {
        let (query, db) = (self.into_query(), db.clone());
        Box::pin(async move { Reader::new(&db, query).await?.keys_only().count_rows().await })
    }

    /// Deletes every entity in the range with its derived rows, and gives their number. Not atomic: entity by entity.
    ///
    /// Cost: one request per 1,000 rows read, one per entity deleted. An entity that changes meanwhile is read again, and
    /// spared if it has left the range.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// assert_eq!(Employee::find().department("Sales").id_between(..3).delete_all(&db).await?, 2);
    /// assert!(db.verify().await?.is_clean());
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// The first that a deletion meets, as `Restricted`, `Unavailable` for an entity that keeps changing, or those of the store; those of
    /// [every terminal](Path#errors). What was deleted before stays so, and the call can be made again.
    fn delete_all(self, db: &Database) -> Running<u64>
    where
        Self::State: Ranged,
    {
        let (query, db) = (self.into_query().whole(), db.clone());
        Box::pin(async move { db.delete_all::<<Self::Found as Found>::Entity>(query).await })
    }

    /// Only the properties of projection `P`, from the path's own rows: at the cost of the terminal, but for rows of another version, each of
    /// which takes a point read.
    ///
    /// On an index path, the index must keep every field of `P`: checked when compiling.
    fn select<P>(self) -> Selected<P, Self::State>
    where
        P: SelectFrom<<Self::State as PathState>::Kind>
            + crate::Projection<Of = <<Self::State as PathState>::Kind as PathKind>::Entity>,
    {
        Selected::new(self.into_query())
    }

    /// The same path, with each row of an index checked against its entity: what another partition has not caught up with
    /// is left out, and a result is read from the entity itself.
    ///
    /// For an index in another partition, which follows its entity a little later; an entity that the index does not hold
    /// yet is not found by this either. Cost: one point read a result, 16 at a time; on an index that
    /// is no whole copy that is made anyway.
    fn verified(self) -> VerifiedPath<Self> {
        VerifiedPath::new(self)
    }

    /// What running this path would read: keys, condition, cost class, requests and rows. Reads nothing.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let explain = Employee::find().department("Sales").id(7).explain();
    /// assert!(explain.to_string().starts_with("point query on Company: PartitionKey eq 'Sales' and RowKey eq 'empid_000007'"));
    /// # Ok(())
    /// # });
    /// ```
    fn explain(&self) -> Explain {
        self.query().explain()
    }
}
