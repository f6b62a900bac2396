//! Queries over every type of a model in one partition: one request, several types, in key order.
//!
//! Derived rows and tombstones of the model's entities are left out; rows of unknown types come as they are.

use std::{cmp::Ordering, marker::PhantomData, ops::Bound};

use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{KeyRange, Query, Row, RowRange, key::compare};

use crate::{
    database::Database,
    entity::{ModelRow, TableEntity, TableModel},
    error::{Error, Result},
    key::beginning_with,
    path::{
        Results, Running,
        explain::{CostClass, Explain},
        partition::PartitionOf,
    },
    plan::{
        change::adopter,
        group::Group,
        part,
        system::{self, RowKind},
    },
    read::Assembly,
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
    /// `Invalid` or `KeyTooLong` for a value that is no part of a key; those of [every terminal](crate::Path#errors).
    pub fn all(self, db: &Database) -> Running<Vec<M>> {
        let db = db.clone();
        Box::pin(async move {
            let mut running = self.run(&db).await?;
            let mut found = Vec::new();
            while let Some(mut page) = running.next_page().await? {
                found.append(&mut page);
            }
            Ok(found)
        })
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

    async fn run(self, db: &Database) -> Result<RunningRows<M>> {
        for schema in moving::<M>(self.schema.table) {
            db.readable(schema, true).await?;
        }
        let table = db.readable(self.schema, false).await?.table.clone();
        let asked = self.rows.clone();
        // The parts of the last entity stand behind it, perhaps among others that are not asked for.
        let rows = RowRange { lower: self.rows.lower.clone(), upper: part::with_parts(self.rows).upper };
        let query = Query::new(table, KeyRange::rows(self.partition?, rows));
        let (db, assembly) = (db.clone(), Assembly::default());
        Ok(RunningRows { db, schema: self.schema, asked, query: Some(query), assembly, model: PhantomData })
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

/// A query whose rows come.
struct RunningRows<M> {
    db: Database,
    schema: &'static EntitySchema,
    asked: RowRange,
    /// What is still to be read.
    query: Option<Query>,
    assembly: Assembly,
    model: PhantomData<fn() -> M>,
}

impl<M: TableModel> RunningRows<M> {
    /// The entities that the next request completes, perhaps none; `None` at the end.
    async fn next_page(&mut self) -> Result<Option<Vec<M>>> {
        let Some(mut query) = self.query.take() else { return Ok(None) };
        let (of, home) = (self.schema.entity_type, self.schema.table);
        let page = self.db.query_page(&query).await.map_err(|error| error.of(of))?;
        for schema in moving::<M>(home) {
            self.db.readable(schema, true).await?; // the store may have kept it waiting for long
        }
        let mut complete = Vec::new();
        for row in page.rows {
            let is_part = is_known_part::<M>(home, &row);
            complete.extend(self.assembly.take(row, is_part));
        }
        if page.continuation.is_none() {
            complete.extend(self.assembly.finish());
        }
        let mut found = Vec::new();
        for rows in complete.into_iter().filter(|rows| self.asked.contains(&rows.head.key.row)) {
            found.extend(read(&self.db, &query.table, home, rows).await?);
        }
        if page.continuation.is_some() {
            query.continuation = page.continuation;
            self.query = Some(query);
        }
        Ok(Some(found))
    }
}

fn listed<M: TableModel>(entity: &str) -> Option<&'static EntitySchema> {
    M::ENTITIES.iter().copied().find(|schema| schema.entity_type == entity)
}

/// An entity that has primary rows in the table: where it is kept, or where the other form is of one that moves.
fn known<M: TableModel>(table: &str, entity: &str) -> Option<&'static EntitySchema> {
    let is_here = |schema: &EntitySchema| schema.table.eq_ignore_ascii_case(table);
    listed::<M>(entity).filter(|schema| is_here(schema) || schema.other_form().is_some_and(is_here))
}

/// The entities of the table that move: what is there of each is all of it, or none.
fn moving<M: TableModel>(table: &str) -> impl Iterator<Item = &'static EntitySchema> {
    M::ENTITIES.iter().copied().filter(move |schema| schema.moves() && schema.table.eq_ignore_ascii_case(table))
}

fn is_known_part<M: TableModel>(table: &str, row: &Row) -> bool {
    matches!(system::kind(&row.properties), RowKind::Part { entity, .. } if known::<M>(table, entity).is_some())
}

async fn read<M: TableModel>(db: &Database, full: &str, table: &str, rows: Group) -> Result<Option<M>> {
    let known = |entity: &str| known::<M>(table, entity);
    let schema = match system::kind(&rows.head.properties) {
        RowKind::Primary { entity, version } => match known(entity) {
            Some(schema) if schema.moves() => {
                let is_here = schema.table.eq_ignore_ascii_case(table);
                if is_here {
                    db.kept(schema).await?;
                }
                if schema.is_of_other_form(version) {
                    return Ok(None); // what the entity is in that form the other row tells, in whichever table
                }
                Some(schema).filter(|_| is_here)
            }
            other => other,
        },
        // They may stand in a table of others: back-references of copies, index rows.
        RowKind::Derived { entity, .. } | RowKind::Tombstone { entity } if listed::<M>(entity).is_some() => {
            return Ok(None);
        }
        RowKind::Foreign => adopter(M::ENTITIES, table, &rows.head),
        _ => None,
    };
    let rows = match schema {
        Some(schema) if schema.is_joined() => db.settled(schema, full, rows).await?,
        _ => Some(rows),
    };
    rows.map(|rows| M::from_row(ModelRow { rows, schema })).transpose()
}
