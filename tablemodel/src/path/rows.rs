//! Queries over every type of a model in one partition: one request, several types, in key order.
//!
//! Derived rows and tombstones of the model's entities are left out; rows of unknown types come as they are.

use std::{marker::PhantomData, ops::Bound};

use tablemodel_store::{KeyRange, Query, Row, RowRange};

use crate::{
    database::Database,
    entity::{ModelRow, TableEntity, TableModel},
    error::Result,
    key::beginning_with,
    path::{
        explain::{CostClass, Explain},
        partition::PartitionOf,
    },
    plan::{
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

    /// Only rows whose key begins with this text, as it is stored.
    pub fn row_starts_with(mut self, prefix: &str) -> Self {
        self.rows = beginning_with(prefix);
        self
    }

    /// Only rows whose key lies between these texts, as they are stored.
    pub fn row_between(mut self, range: impl std::ops::RangeBounds<String>) -> Self {
        self.rows = RowRange { lower: range.start_bound().cloned(), upper: range.end_bound().cloned() };
        self
    }

    /// Every entity in the range, in key order. Cost: one request per 1,000 rows; derived rows in the range are read
    /// and left out.
    pub async fn all(self, db: &Database) -> Result<Vec<M>> {
        for schema in moving::<M>(self.schema.table) {
            db.readable(schema, true).await?;
        }
        let registered = db.readable(self.schema, false).await?;
        let asked = self.rows.clone();
        // The parts of the last entity stand behind it, perhaps among others that are not asked for.
        let rows = RowRange { lower: self.rows.lower.clone(), upper: part::with_parts(self.rows).upper };
        let mut query = Query::new(registered.table.clone(), KeyRange::rows(self.partition?, rows));
        let (mut found, mut assembly) = (Vec::new(), Assembly::default());
        loop {
            let page = db.query_page(&query).await.map_err(|error| error.of(self.schema.entity_type))?;
            let is_last = page.continuation.is_none();
            let mut complete = Vec::new();
            for row in page.rows {
                let is_part = is_known_part::<M>(self.schema.table, &row);
                complete.extend(assembly.take(row, is_part));
            }
            let complete = complete.into_iter().chain(if is_last { assembly.finish() } else { None });
            for rows in complete.filter(|rows| asked.contains(&rows.head.key.row)) {
                found.extend(read(db, &registered.table, self.schema.table, rows).await?);
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok(found),
            }
        }
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

fn known<M: TableModel>(table: &str, entity: &str) -> Option<&'static EntitySchema> {
    M::ENTITIES.iter().copied().find(|s| s.entity_type == entity && s.table.eq_ignore_ascii_case(table))
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
                db.kept(schema).await?;
                if schema.is_of_other_form(version) {
                    return Ok(None); // what the entity is in that form the other row tells
                }
                Some(schema)
            }
            other => other,
        },
        RowKind::Derived { entity, .. } | RowKind::Tombstone { entity } if known(entity).is_some() => return Ok(None),
        _ => None,
    };
    let rows = match schema {
        Some(schema) if schema.is_joined() => db.settled(schema, full, rows).await?,
        _ => Some(rows),
    };
    rows.map(|rows| M::from_row(ModelRow { rows, schema })).transpose()
}
