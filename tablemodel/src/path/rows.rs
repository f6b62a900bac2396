//! Queries over every type of a model in one partition: one request, several types, in key order.
//!
//! What comes of its rows is `read`'s to tell.

use std::{cmp::Ordering, marker::PhantomData, ops::Bound};

use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{KeyRange, RowRange, key::compare};

use crate::{
    cursor::{Cursor, PathPage},
    database::Database,
    entity::{TableEntity, TableModel},
    error::{Error, Result},
    key::beginning_with,
    path::{
        Results, Running,
        explain::{CostClass, Explain},
        partition::PartitionOf,
    },
    read::RunningRows,
    schema::EntitySchema,
};

/// Rows of one partition, as the variants of model `M`. Made by the generated `M::rows(..)`.
#[must_use]
pub struct ModelRows<M> {
    schema: &'static EntitySchema,
    partition: Result<String>,
    rows: RowRange,
    model: PhantomData<fn() -> M>,
}

impl<M> std::fmt::Debug for ModelRows<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelRows").field("partition", &self.partition).field("rows", &self.rows).finish()
    }
}

impl<M: TableModel> ModelRows<M> {
    /// Every row of the partition. For generated code.
    #[doc(hidden)]
    pub fn new<E: TableEntity>(partition: PartitionOf<E>) -> Self {
        Self { schema: E::SCHEMA, partition: partition.key(), rows: RowRange::all(), model: PhantomData }
    }

    /// Only rows whose key begins with this text, as it is stored; of those that were asked for before.
    pub fn row_starts_with(mut self, prefix: &str) -> Self {
        self.rows = both(self.rows, beginning_with(prefix));
        self
    }

    /// Only rows whose key lies between these texts, as they are stored; of those that were asked for before.
    pub fn row_between(mut self, range: impl std::ops::RangeBounds<String>) -> Self {
        let range = RowRange { lower: range.start_bound().cloned(), upper: range.end_bound().cloned() };
        self.rows = both(self.rows, range);
        self
    }

    /// Every entity in the range, in key order. Cost: one request per 1,000 rows; derived rows in the range are read
    /// and left out.
    ///
    /// # Errors
    ///
    /// `Invalid` or `KeyTooLong` for a value that is no part of a key; `Unsupported` for a row of a type that the model does not list, where it
    /// has no variant for such; those of [every terminal](crate::Path#errors).
    pub fn all(self, db: &Database) -> Running<Vec<M>> {
        self.first(usize::MAX, db)
    }

    /// The first `n` entities in the range, in key order. Cost: as [`ModelRows::all`], until they are found.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let two = Company::rows(Employee::in_partition("Sales")).first(2, &db).await?;
    /// assert!(matches!(&two[..], [Company::Employee(first), Company::Employee(_)] if first.id == 1));
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`ModelRows::all`].
    pub fn first(self, n: usize, db: &Database) -> Running<Vec<M>> {
        let db = db.clone();
        Box::pin(async move { self.run(&db).await?.collect(n).await })
    }

    /// The entities in the range one by one, in key order; memory holds one page. Cost: as [`ModelRows::all`].
    ///
    /// # Errors
    ///
    /// Those of [`ModelRows::all`]; after one it ends.
    pub fn stream(self, db: &Database) -> Results<M> {
        let db = db.clone();
        let running = stream::once(async move { self.run(&db).await });
        let pages = running.map_ok(|running| {
            stream::try_unfold(running, |mut running| async move {
                let page = running.next_page().await?;
                Ok::<_, Error>(page.map(|page| (stream::iter(page.into_iter().map(Ok)), running)))
            })
        });
        pages.try_flatten().try_flatten().boxed()
    }

    /// At most `n` entities, from the start or from where an earlier page of the same rows stopped: of the same table, partition and range,
    /// whichever entity they are asked by. Cost: as [`ModelRows::first`]; behind a page that is full, derived rows are read up to the next
    /// entity, or to the end.
    ///
    /// A cursor may name a row of any type. It survives deletes (also of what it stopped at) and restarts.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let rows = || Company::rows(Employee::in_partition("Sales"));
    /// let first = rows().page(2, None, &db).await?;
    /// assert_eq!(first.items.len(), 2);
    /// let rest = rows().page(2, first.cursor.as_ref(), &db).await?;
    /// assert_eq!((rest.items.len(), rest.cursor), (1, None));
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` for a cursor of another query, text that is no cursor, and pages of 0; those of [`ModelRows::all`].
    pub fn page(self, n: usize, cursor: Option<&Cursor>, db: &Database) -> Running<PathPage<M>> {
        let (db, cursor) = (db.clone(), cursor.cloned());
        Box::pin(async move { self.run(&db).await?.page(n, cursor.as_ref()).await })
    }

    /// The number of entities in the range, rows of unknown types among them. Cost: one request per 1,000 rows, derived rows too; without
    /// properties, unless an entity of the table takes rows of other programs over (`adopt`).
    ///
    /// Entities are not read: one that cannot be read counts as well.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// assert_eq!(Company::rows(Employee::in_partition("Sales")).count(&db).await?, 3);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`ModelRows::all`], but for what only reading an entity tells.
    pub fn count(self, db: &Database) -> Running<u64> {
        let db = db.clone();
        Box::pin(async move { self.run(&db).await?.count().await })
    }

    async fn run(self, db: &Database) -> Result<RunningRows<M>> {
        RunningRows::new(db, self.schema, self.partition, self.rows).await
    }

    /// What running this would read. Reads nothing.
    pub fn explain(&self) -> Explain {
        let partition = match &self.partition {
            Ok(partition) => partition.clone(),
            Err(error) => return Explain::failed(self.schema, error.clone()),
        };
        let whole = matches!((&self.rows.lower, &self.rows.upper), (Bound::Unbounded, Bound::Unbounded));
        let class = if whole { CostClass::PartitionScan } else { CostClass::Range };
        Explain::of_range(self.schema, KeyRange::rows(partition, self.rows.clone()), class)
    }
}

/// What lies in both ranges.
fn both(a: RowRange, b: RowRange) -> RowRange {
    RowRange { lower: tighter(a.lower, b.lower, Ordering::Greater), upper: tighter(a.upper, b.upper, Ordering::Less) }
}

/// The bound that leaves less; of two texts, the one that lies on this side of the other.
fn tighter(a: Bound<String>, b: Bound<String>, side: Ordering) -> Bound<String> {
    let text = |bound: &Bound<String>| match bound {
        Bound::Included(text) | Bound::Excluded(text) => Some(text.clone()),
        Bound::Unbounded => None,
    };
    match (text(&a), text(&b)) {
        (None, _) => b,
        (_, None) => a,
        (Some(own), Some(other)) => match compare(&own, &other) {
            Ordering::Equal if matches!(a, Bound::Excluded(_)) => a,
            Ordering::Equal => b,
            order if order == side => a,
            _ => b,
        },
    }
}
