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
    plan::system::{self, RowKind},
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
        let registered = db.registered(self.schema)?;
        let mut query = Query::new(registered.table.clone(), KeyRange::rows(self.partition?, self.rows));
        let mut found = Vec::new();
        loop {
            let page = db.query_page(&query).await.map_err(|error| error.of(self.schema.entity_type))?;
            for row in page.rows {
                found.extend(read(self.schema.table, row)?);
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

fn read<M: TableModel>(table: &str, row: Row) -> Result<Option<M>> {
    let known = |entity: &str| {
        M::ENTITIES.iter().copied().find(|s| s.entity_type == entity && s.table.eq_ignore_ascii_case(table))
    };
    let schema = match system::kind(&row.properties) {
        RowKind::Primary { entity, .. } => known(entity),
        RowKind::Derived { entity, .. } | RowKind::Tombstone { entity } if known(entity).is_some() => return Ok(None),
        _ => None,
    };
    M::from_row(ModelRow { rows: row.into(), schema }).map(Some)
}
