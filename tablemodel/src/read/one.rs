//! One result at a full key: read without a plan where the key names one row.
//!
//! A store that shows its rows is asked where the future is polled, and then nothing is awaited. Ranges, filters and
//! merging are the reader's.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{Row, RowKey, Shown};

use super::{CONCURRENT_READS, Reader, columns::InRow, fields::OfShown};
use crate::{
    database::{Database, Registered},
    error::{Error, Result},
    path::{
        Running,
        found::{self, Found, InKeys},
        plan::owns,
        query::PathQuery,
    },
    plan::{change::is_primary, group::Group, image},
    rooms,
    schema::EntitySchema,
};

/// A read at a full key, on its way. Polled after its end it would read again.
struct One<F> {
    db: Database,
    query: PathQuery,
    /// Once the store has to be waited for.
    waiting: Option<Running<Option<F>>>,
}

/// The result at a full key, on its way.
pub(crate) fn one<F: Found>(db: &Database, query: PathQuery) -> Running<Option<F>> {
    Box::pin(One { db: db.clone(), query, waiting: None })
}

/// The results of several point queries, in their order.
pub(crate) async fn many<F: Found>(db: &Database, queries: Vec<PathQuery>) -> Result<Vec<Option<F>>> {
    // Errors in the values are met before anything is read.
    queries.iter().try_for_each(|query| query.point().map(drop))?;
    let reads = queries.into_iter().map(|query| one::<F>(db, query));
    stream::iter(reads).buffered(CONCURRENT_READS).try_collect().await
}

impl<F: Found> Future for One<F> {
    type Output = Result<Option<F>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { db, query, waiting } = self.get_mut();
        if let Some(waiting) = waiting {
            return waiting.as_mut().poll(context);
        }
        match shown(db, query) {
            Some(found) => Poll::Ready(found),
            None => waiting.insert(Box::pin(waited(db.clone(), query.clone()))).as_mut().poll(context),
        }
    }
}

/// The result, where the store shows its rows.
fn shown<F: Found>(db: &Database, query: &PathQuery) -> Option<Result<Option<F>>> {
    match Point::of(db, query) {
        Ok(point) => point?.shown(),
        Err(error) => Some(Err(error)),
    }
}

/// The result of a store that has to be waited for.
async fn waited<F: Found>(db: Database, query: PathQuery) -> Result<Option<F>> {
    match Point::of(&db, &query)? {
        Some(point) => point.found().await,
        None => Reader::new(&db, query).await?.first_found().await,
    }
}

/// One row in the partition of its entity, to be read by its key.
struct Point<'q> {
    db: &'q Database,
    registered: Arc<Registered>,
    query: &'q PathQuery,
    key: RowKey,
}

impl<'q> Point<'q> {
    /// None where the key has several places to be looked for, or it is to be looked first how the entity is kept.
    fn of(db: &'q Database, query: &'q PathQuery) -> Result<Option<Self>> {
        let Ok(registered) = db.registered(query.schema()) else { return Ok(None) };
        let is_ready =
            !query.rests_on_states() || (query.check_ready(&registered.setting.states).is_ok() && !db.may_have_moved());
        let key = query.point()?;
        Ok(key.filter(|_| is_ready).map(|key| Self { db, registered, query, key }))
    }

    fn shown<F: Found>(&self) -> Option<Result<Option<F>>> {
        match self.query.index() {
            None => self.shown_primary(),
            Some(index) => self.shown_by_index(index),
        }
    }

    fn shown_primary<F: Found>(&self) -> Option<Result<Option<F>>> {
        let mut found = Ok(None);
        let was_shown = self.db.show_row(&self.registered.table, &self.key, &mut |row| {
            found = self.of_primary(row);
        })?;
        Some(was_shown.and(found).map_err(|error| self.failed(error, self.key.clone())))
    }

    #[inline]
    fn of_primary<F: Found>(&self, row: &Shown<'_>) -> Result<Option<F>> {
        let schema = self.query.schema();
        if !is_in_one_row(schema) {
            return self.of_own(row);
        }
        self.registered.columns.read(row, |read| match read.is_of(schema.discriminator) {
            true => F::read_shown(read, &self.query.asked()).map(Some),
            false => self.of_own(row),
        })
    }

    /// What a row of another version comes to, or one that is none of the entity's.
    #[cold]
    fn of_own<F: Found>(&self, row: &Shown<'_>) -> Result<Option<F>> {
        let row = row.row()?;
        if owns(self.query.schema(), None, &row) { F::read(None, row.into()).map(Some) } else { Ok(None) }
    }

    /// The entity that a row of the index names; only where that is what the path gives.
    fn shown_by_index<F: Found>(&self, index: usize) -> Option<Result<Option<F>>> {
        let schema = self.query.schema();
        let discriminator = schema.indexes.get(index).filter(|_| F::OF_PRIMARY)?.discriminator;
        let mut owner = None;
        let was_shown = self.db.show_row(&self.registered.table, &self.key, &mut |row| {
            owner = Some(self.registered.owners.read(row, |read| match read.is_of(discriminator) {
                true => self.owner_of(read).map(Some),
                false => self.owner_of_other(row),
            }));
        })?;
        let owner = was_shown.and(owner.unwrap_or(Ok(None)));
        match owner.map_err(|error| self.failed(error, self.key.clone())) {
            Ok(Some(owner)) => self.shown_owner(index, owner),
            Ok(None) => Some(Ok(None)),
            Err(error) => Some(Err(error)),
        }
    }

    fn owner_of(&self, row: &InRow<'_>) -> Result<RowKey> {
        match row.owner(&self.key.partition) {
            Some(owner) => Ok(owner),
            None => found::owner(self.query.schema(), &row.row()?),
        }
    }

    #[cold]
    fn owner_of_other(&self, row: &Shown<'_>) -> Result<Option<RowKey>> {
        let (schema, row) = (self.query.schema(), row.row()?);
        if owns(schema, self.query.index(), &row) { found::owner(schema, &row).map(Some) } else { Ok(None) }
    }

    /// The entity at `owner`, if it wants the row of its index.
    fn shown_owner<F: Found>(&self, index: usize, owner: RowKey) -> Option<Result<Option<F>>> {
        let mut found = Ok(Ok(None));
        let was_shown = self.db.show_row(&self.registered.table, &owner, &mut |row| {
            found = self.of_owner(index, &owner, row);
        })?;
        Some(was_shown.and(found).map_err(|error| self.failed(error, owner)).and_then(|found| found))
    }

    /// The outer error is one of the row.
    fn of_owner<F: Found>(&self, index: usize, owner: &RowKey, row: &Shown<'_>) -> Result<Result<Option<F>>> {
        let schema = self.query.schema();
        let other = || Ok(self.of_entity(index, Some(row.row()?)));
        if !is_in_one_row(schema) {
            return other();
        }
        self.registered.columns.read(row, |row| {
            if !row.is_of(schema.discriminator) {
                return other();
            }
            let keys = InKeys(image::key_values(schema, owner)?);
            let fields = OfShown { schema, key: owner, keys: &keys.0, row };
            match rooms::index::wants(&fields, index, &self.key.partition, &self.key.row) {
                Ok(true) => F::read_shown(row, &keys).map(|found| Ok(Some(found))),
                other => Ok(other.map(|_| None)),
            }
        })
    }

    async fn found<F: Found>(&self) -> Result<Option<F>> {
        let Some(row) = self.get(&self.key).await? else { return Ok(None) };
        let (schema, index) = (self.query.schema(), self.query.index());
        if !owns(schema, index, &row) {
            return Ok(None);
        }
        match index {
            None => F::read(None, row.into()).map(Some),
            Some(index) if F::OF_PRIMARY || self.query.is_verified() || !found::is_shown_by::<F>(Some(index), &row) => {
                let owner = found::owner(schema, &row)?;
                self.of_entity(index, self.get(&owner).await?)
            }
            _ => F::read(index, row.into()).map(Some),
        }
    }

    async fn get(&self, key: &RowKey) -> Result<Option<Row>> {
        let row = Box::pin(self.db.get_row(&self.registered.table, key)).await;
        row.map_err(|error| self.failed(error, key.clone()))
    }

    /// The entity that an index row names, if it wants the row.
    fn of_entity<F: Found>(&self, index: usize, primary: Option<Row>) -> Result<Option<F>> {
        let schema = self.query.schema();
        let Some(primary) = primary.filter(|primary| is_primary(schema, primary)).map(Group::from) else {
            return Ok(None);
        };
        let wants = {
            let fields = image::Stored::of(schema, &primary)?;
            rooms::index::wants(&fields, index, &self.key.partition, &self.key.row)?
        };
        if wants { F::read(None, primary).map(Some) } else { Ok(None) }
    }

    fn failed(&self, error: Error, key: RowKey) -> Error {
        error.of(self.query.schema().entity_type).at_key(key)
    }
}

/// Whether a row of the entity's type, as programs of this version write it, is all of the entity.
#[inline]
pub(super) fn is_in_one_row(schema: &EntitySchema) -> bool {
    !schema.adopt && schema.shape.is_none()
}
