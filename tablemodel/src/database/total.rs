//! What aggregates come to, asked of their cells alone.
//!
//! Nothing is written here.

use std::ops::Bound;

use tablemodel_store::{KeyRange, Query, RowKey, RowRange, Value};

use super::{
    Database,
    write::{EntityOf, not_found},
};
use crate::{
    entity::{FieldError, TableEntity},
    error::{Error, ErrorKind, Result},
    path::{
        Path,
        field::{Field, HoldsAggregate},
        query::PathQuery,
        state::Complete,
    },
    plan::image,
    property::Property,
    read,
    rooms::aggregate::{self, Into, Total},
    schema::EntitySchema,
};

impl Database {
    /// What the sources of an aggregate come to, whether the entity that holds it is there or not: a view of the sources
    /// alone. Cost: one point read, of the aggregate's cell; of a `sharded` one a query of 16 rows at most; by an index, its row and
    /// the entity before that; of a program that only reads, once a minute a look at the states.
    ///
    /// Of a `sharded` one, what is written while it is read may be in the sum or not, each source by itself.
    ///
    /// # Errors
    ///
    /// `NotFound` where an index names no entity, or one that no longer has what it says; `IndexNotReady` until an aggregate that was added later is built, or one that means another thing
    /// than in older versions has no rows of those left; `Corrupt` if a cell cannot be read;
    /// `Overflow` where the parts of a `sharded` one come to more than its type holds, and else never, since such a write was refused.
    pub async fn total<P, T, M>(&self, path: P, field: Field<EntityOf<P>, T, M>) -> Result<T>
    where
        P: Path,
        P::State: Complete,
        T: Property,
        M: HoldsAggregate,
    {
        let (schema, property) = (<EntityOf<P>>::SCHEMA, field.property());
        let value = self.total_value(schema, path.into_query(), property).await?;
        let read = T::from_value(value.as_ref().map(|value| value.as_ref()));
        read.map_err(|error| image::invalid(schema, FieldError { property, error }))
    }

    async fn total_value(
        &self,
        schema: &'static EntitySchema,
        query: PathQuery,
        property: &'static str,
    ) -> Result<Option<Value>> {
        let registered = self.readable(schema, true).await?; // whether it is kept is told by the states
        let (key, named) = read::primary_key(self, query).await?;
        if let Some(named) = named {
            let there = self.primary_rows(schema, &key).await?;
            let there = there.ok_or_else(|| not_found(schema).at_key(key.clone()))?;
            if !named.is_wanted(&image::Stored::of(schema, &there)?)? {
                return Err(not_found(schema).at_key(key));
            }
        }
        if self.check_told(schema, property).is_err() {
            Box::pin(self.look_at_states()).await?; // another program may have built it
        }
        self.check_told(schema, property).map_err(|error| error.at_key(key.clone()))?;
        let (into, total) = self.total_of(schema, &registered.table, &key, property).await?;
        if self.may_have_moved() {
            Box::pin(self.look_at_states()).await?; // the store kept it waiting for long
            self.check_told(schema, property).map_err(|error| error.at_key(key.clone()))?;
        }
        into.value(&total).map_err(|error| error.of(schema.entity_type).at_key(key))
    }

    /// That the aggregate is complete, and means one thing.
    fn check_told(&self, schema: &'static EntitySchema, property: &str) -> Result<()> {
        let (aggregate, detail) = match self.not_kept(schema, property, false)? {
            Some(aggregate) => (aggregate, "the aggregate is not built; see `db.migrations()`"),
            None => match self.mixed_in(schema, property)? {
                Some(aggregate) => {
                    (aggregate, "rows of other versions add to the aggregate otherwise; see `db.migrations()`")
                }
                None => return Ok(()),
            },
        };
        Err(Error::new(ErrorKind::IndexNotReady { index: aggregate.into }, detail).of(schema.entity_type))
    }

    /// What the aggregate in this property comes to, by its cell or cells.
    async fn total_of(
        &self,
        schema: &'static EntitySchema,
        table: &str,
        key: &RowKey,
        property: &str,
    ) -> Result<(Into, Total)> {
        if let Some(parts) = aggregate::parts_of(schema, &key.row, property) {
            return self.sum_of_parts(table, &key.partition, parts.collect()).await;
        }
        let into = aggregate::held(schema, &key.row).find(|into| into.property.property == property);
        let into = into.ok_or_else(|| no_aggregate(schema))?;
        let cell = self.get_row(table, &RowKey::new(key.partition.clone(), into.cell())).await?;
        let total = into.total(cell.as_ref())?;
        Ok((into, total))
    }

    async fn sum_of_parts(&self, table: &str, partition: &str, parts: Vec<Into>) -> Result<(Into, Total)> {
        let (Some(first), Some(last)) = (parts.first().cloned(), parts.last()) else {
            return Err(Error::unsupported("an aggregate without parts"));
        };
        let range = RowRange { lower: Bound::Included(first.cell()), upper: Bound::Included(last.cell()) };
        let mut query = Query::new(table, KeyRange::rows(partition, range));
        let mut total = Total::none(first.property);
        loop {
            let page = self.query_store(&query).await?;
            for row in &page.rows {
                if let Some(part) = parts.iter().find(|part| part.cell() == row.key.row) {
                    total.join(&part.total(Some(row))?);
                }
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok((first, total)),
            }
        }
    }
}

fn no_aggregate(schema: &EntitySchema) -> Error {
    Error::unsupported("the field holds no aggregate").of(schema.entity_type)
}
