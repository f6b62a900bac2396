//! Reading every type of a model: derived rows and tombstones of its entities are left out, rows of unknown types come as they are.

use std::{collections::VecDeque, marker::PhantomData, ops::Bound};

use tablemodel_store::{KeyRange, PropertyName, Query, Row, RowRange, limits};

use super::rows::each_of;
use crate::{
    cursor::{Cursor, Paged, PathPage},
    database::Database,
    entity::{ModelRow, TableModel},
    error::Result,
    plan::{
        change::adopter,
        part,
        system::{self, RowKind},
    },
    read::Assembly,
    schema::EntitySchema,
};

/// A query whose rows come.
pub(crate) struct RunningRows<M> {
    db: Database,
    schema: &'static EntitySchema,
    /// The full name.
    table: String,
    partition: String,
    asked: RowRange,
    /// What is still to be read.
    query: Option<Query>,
    /// How many rows its last page had for each that is given: as many are asked for where one is wanted.
    rows_each: usize,
    assembly: Assembly,
    /// Those that are complete, without what is left out.
    ready: VecDeque<ModelRow>,
    model: PhantomData<fn() -> M>,
}

impl<M: TableModel> RunningRows<M> {
    /// Begins to read those that are asked for, of a partition of this entity's table.
    pub(crate) async fn new(
        db: &Database,
        schema: &'static EntitySchema,
        partition: Result<String>,
        asked: RowRange,
    ) -> Result<Self> {
        for schema in moving::<M>(schema.table) {
            db.readable(schema, true).await?;
        }
        let (db, table) = (db.clone(), db.readable(schema, false).await?.table.clone());
        let partition = partition?;
        // The parts of the last entity stand behind it, perhaps among others that are not asked for.
        let rows = RowRange { lower: asked.lower.clone(), upper: part::with_parts(asked.clone()).upper };
        let query = Some(Query::new(&*table, KeyRange::rows(&*partition, rows)));
        let (rows_each, assembly, ready) = (rows_each::<M>(&db, schema.table), Assembly::default(), VecDeque::new());
        Ok(Self { db, schema, table, partition, asked, query, rows_each, assembly, ready, model: PhantomData })
    }

    /// The entities that are read at a time; `None` at the end.
    pub(crate) async fn next_page(&mut self) -> Result<Option<Vec<M>>> {
        let rows = self.some(usize::MAX).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut found = Vec::with_capacity(rows.len());
        self.read(rows, &mut found).await?;
        Ok(Some(found))
    }

    /// The first `limit` entities.
    pub(crate) async fn collect(mut self, limit: usize) -> Result<Vec<M>> {
        let mut found = Vec::new();
        while found.len() < limit {
            let rows = self.some(limit - found.len()).await?;
            if rows.is_empty() {
                break;
            }
            self.read(rows, &mut found).await?;
        }
        Ok(found)
    }

    /// One page of entities.
    pub(crate) async fn page(mut self, n: usize, cursor: Option<&Cursor>) -> Result<PathPage<M>> {
        let range = KeyRange::rows(&*self.partition, self.asked.clone());
        let paged = Paged::rows(self.schema, range);
        if let Some((_, key)) = paged.begin(n, cursor)? {
            self.resume_after(key.row);
        }
        let mut items = Vec::new();
        let mut last = None;
        while items.len() < n {
            let rows = self.some(n - items.len()).await?;
            let Some(end) = rows.last().map(|row| row.rows.key().clone()) else {
                return Ok(PathPage { items, cursor: None });
            };
            last = Some(end);
            self.read(rows, &mut items).await?;
        }
        let cursor = match last {
            Some(key) if self.has_more().await? => Some(Cursor::after(&paged, &key)),
            _ => None,
        };
        Ok(PathPage { items, cursor })
    }

    /// The number of entities; a row of no known type is an error where the model has no place for it.
    pub(crate) async fn count(mut self) -> Result<u64> {
        // Whether an entity takes another program's row over is told by all that this holds.
        let takes_over = |schema: &&EntitySchema| schema.adopt && schema.table.eq_ignore_ascii_case(self.schema.table);
        if !M::ENTITIES.iter().any(takes_over)
            && let Some(query) = &mut self.query
        {
            query.select = Some(vec![PropertyName::from_static(system::ENTITY_TYPE)]);
        }
        let mut count = 0;
        loop {
            let rows = self.some(usize::MAX).await?;
            if rows.is_empty() {
                return Ok(count);
            }
            count += rows.len() as u64;
            for row in rows.into_iter().filter(|row| row.schema.is_none()) {
                M::from_row(row)?;
            }
        }
    }

    /// Only rows behind this one. Its own parts are nobody's then; others may stand between it and these.
    fn resume_after(&mut self, row: String) {
        if let Some(Query { range: KeyRange::Partition { rows, .. }, .. }) = &mut self.query {
            rows.lower = Bound::Excluded(row);
        }
    }

    /// Some rows that are not left out, with their parts, at most `wanted`; none at the end.
    async fn some(&mut self, wanted: usize) -> Result<Vec<ModelRow>> {
        while self.ready.is_empty() && self.read_page(wanted).await? {}
        let count = self.ready.len().min(wanted);
        Ok(self.ready.drain(..count).collect())
    }

    /// Whether another entity follows.
    async fn has_more(&mut self) -> Result<bool> {
        loop {
            if !self.ready.is_empty() || self.is_open().await? {
                return Ok(true);
            }
            if !self.read_page(1).await? {
                return Ok(false);
            }
        }
    }

    /// Whether there is an entity whose parts may not all be read yet.
    async fn is_open(&self) -> Result<bool> {
        match self.assembly.open().filter(|head| self.asked.contains(&head.key.row)) {
            Some(head) => Ok(is_of::<M>(&self.db, self.schema.table, head).await?.is_some()),
            None => Ok(false),
        }
    }

    /// Reads a page for `wanted` entities; whether there was one. Which entity is complete only the row behind it tells.
    async fn read_page(&mut self, wanted: usize) -> Result<bool> {
        let Some(mut query) = self.query.take() else { return Ok(false) };
        let (of, home) = (self.schema.entity_type, self.schema.table);
        query.limit = wanted.saturating_mul(self.rows_each).saturating_add(1).min(limits::MAX_PAGE_ROWS);
        let page = self.db.query_page(&query).await.map_err(|error| error.of(of))?;
        for schema in moving::<M>(home) {
            self.db.readable(schema, true).await?; // the store may have kept it waiting for long
        }
        let (read, before) = (page.rows.len(), self.ready.len());
        let mut complete = Vec::new();
        for row in page.rows {
            let is_part = is_known_part::<M>(home, &row);
            complete.extend(self.assembly.take(row, is_part));
        }
        match page.continuation {
            Some(next) => self.query = Some(Query { continuation: Some(next), ..query }),
            None => complete.extend(self.assembly.finish()),
        }
        for rows in complete.into_iter().filter(|rows| self.asked.contains(&rows.head.key.row)) {
            if let Some(schema) = is_of::<M>(&self.db, home, &rows.head).await? {
                self.ready.push_back(ModelRow { rows, schema });
            }
        }
        self.rows_each = each_of(read, self.ready.len() - before, self.rows_each);
        Ok(true)
    }

    /// Adds what the rows are; nothing where their entity is gone by now.
    async fn read(&self, rows: Vec<ModelRow>, to: &mut Vec<M>) -> Result<()> {
        for ModelRow { rows, schema } in rows {
            let rows = match schema {
                Some(schema) if schema.is_joined() => self.db.settled(schema, &self.table, rows).await?,
                _ => Some(rows),
            };
            to.extend(rows.map(|rows| M::from_row(ModelRow { rows, schema })).transpose()?);
        }
        Ok(())
    }
}

/// The rows of one entity in the table, of those that are the most.
fn rows_each<M: TableModel>(db: &Database, table: &str) -> usize {
    let here = M::ENTITIES.iter().copied().filter(|schema| schema.table.eq_ignore_ascii_case(table));
    here.filter_map(|schema| db.registered(schema).ok()).map(|registered| registered.rows).max().unwrap_or(1)
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

/// The entity that a row is of; of none that is known, what it is stays as it is. `None` where it is left out.
async fn is_of<M: TableModel>(db: &Database, table: &str, head: &Row) -> Result<Option<Option<&'static EntitySchema>>> {
    let known = |entity: &str| known::<M>(table, entity);
    let schema = match system::kind(&head.properties) {
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
        RowKind::Foreign => adopter(M::ENTITIES, table, head),
        _ => None,
    };
    Ok(Some(schema))
}
