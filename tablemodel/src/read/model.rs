//! Reading every type of a model: derived rows and tombstones of its entities are left out, rows of unknown types come as they are.

use std::marker::PhantomData;

use tablemodel_store::{KeyRange, Query, Row, RowRange};

use crate::{
    database::Database,
    entity::{ModelRow, TableModel},
    error::Result,
    plan::{
        change::adopter,
        group::Group,
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
    asked: RowRange,
    /// What is still to be read.
    query: Option<Query>,
    assembly: Assembly,
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
        let table = db.readable(schema, false).await?.table.clone();
        // The parts of the last entity stand behind it, perhaps among others that are not asked for.
        let rows = RowRange { lower: asked.lower.clone(), upper: part::with_parts(asked.clone()).upper };
        let query = Query::new(table, KeyRange::rows(partition?, rows));
        let (db, assembly) = (db.clone(), Assembly::default());
        Ok(Self { db, schema, asked, query: Some(query), assembly, model: PhantomData })
    }

    /// The entities that the next request completes, perhaps none; `None` at the end.
    pub(crate) async fn next_page(&mut self) -> Result<Option<Vec<M>>> {
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
