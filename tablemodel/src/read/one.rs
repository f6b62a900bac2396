//! One result at a full key, read without a plan where the key names one row.
//!
//! A store that shows its rows is asked where the future is polled, and then nothing is awaited. Ranges, filters and
//! merging are the reader's.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tablemodel_store::{Row, RowKey, Shown};

use super::{
    Reader,
    columns::InRow,
    fields::OfShown,
    results::{Kind, Resolved, Results},
};
use crate::{
    database::{Database, Registered},
    error::{Error, Result},
    key::NO_VALUES,
    path::{
        Running,
        found::{self, Found, InKeys},
        plan::owns,
        query::{PathQuery, PointKey},
    },
    plan::{change::is_primary, group::Group, image},
    rooms,
    schema::EntitySchema,
};

/// What [`Path::one`](crate::Path::one) gives: the result at a full key, on its way. `Send`, and free of what it was made from. Not to be
/// polled after its end.
#[must_use = "nothing is read until it is awaited"]
pub struct One<F> {
    db: Database,
    query: PathQuery,
    /// Once the store has to be waited for.
    waiting: Option<Running<Option<Resolved>>>,
    result: PhantomData<fn() -> F>,
}

impl<F> One<F> {
    /// The result of this query, which names one key.
    #[inline]
    pub(crate) fn new(db: &Database, query: PathQuery) -> Self {
        Self { db: db.clone(), query, waiting: None, result: PhantomData }
    }
}

/// Without the key: what stands in it may be nobody else's business.
impl<F> fmt::Debug for One<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("One").field("entity", &self.query.schema().entity_type).finish_non_exhaustive()
    }
}

impl<F: Found> Future for One<F> {
    type Output = Result<Option<F>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { db, query, waiting, .. } = self.get_mut();
        // Put where it is given back: it may be large.
        let mut answer = Poll::Ready(Ok(None));
        if waiting.is_none()
            && let Poll::Ready(Ok(found)) = &mut answer
        {
            match shown(db, query, found) {
                Some(Ok(())) => {}
                Some(Err(error)) => answer = Poll::Ready(Err(error)),
                None => *waiting = Some(Box::pin(waited(db.clone(), query.clone(), Kind::of::<F>()))),
            }
        }
        if let Some(waiting) = waiting {
            answer = waiting.as_mut().poll(context).map(|rows| read(rows?));
        }
        answer
    }
}

/// The result of these rows.
fn read<F: Found>(rows: Option<Resolved>) -> Result<Option<F>> {
    rows.map(|(index, rows)| F::read(index, rows)).transpose()
}

/// Finds the result, where the store shows its rows.
pub(super) fn shown(db: &Database, query: &PathQuery, to: &mut dyn Results) -> Option<Result<()>> {
    match Point::of(db, query) {
        Ok(point) => point?.shown(to),
        Err(error) => Some(Err(error)),
    }
}

/// The rows of the result, of a store that has to be waited for.
pub(super) async fn waited(db: Database, query: PathQuery, kind: Kind) -> Result<Option<Resolved>> {
    match Point::of(&db, &query)? {
        Some(point) => point.found(kind).await,
        None => Reader::new(&db, query).await?.first_found(kind).await,
    }
}

/// One row in the partition of its entity, to be read by its key.
struct Point<'q> {
    db: &'q Database,
    registered: Arc<Registered>,
    query: &'q PathQuery,
    key: PointKey,
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

    fn shown(&self, to: &mut dyn Results) -> Option<Result<()>> {
        match self.query.index() {
            None => self.shown_primary(to),
            Some(index) => self.shown_by_index(index, to),
        }
    }

    fn shown_primary(&self, to: &mut dyn Results) -> Option<Result<()>> {
        let mut read = Ok(());
        let was_shown = self.db.show_row(&self.registered.table, self.key.parts(), &mut |row| {
            read = self.of_primary(row, to);
        })?;
        Some(was_shown.and(read).map_err(|error| self.failed(error, self.key.to_row_key())))
    }

    #[inline]
    fn of_primary(&self, row: &Shown<'_>, to: &mut dyn Results) -> Result<()> {
        let schema = self.query.schema();
        if !is_in_one_row(schema) {
            return self.of_own(row, to);
        }
        self.registered.columns.read_entity(row, InKeys::asked(self.query, &self.key), |read| {
            if !read.is_of(schema.discriminator) {
                return self.of_own(row, to);
            }
            to.put_shown(read)
        })
    }

    /// What a row of another version comes to, or one that is none of the entity's.
    #[cold]
    fn of_own(&self, row: &Shown<'_>, to: &mut dyn Results) -> Result<()> {
        let row = row.row()?;
        if owns(self.query.schema(), None, &row) {
            to.put((None, row.into()))?;
        }
        Ok(())
    }

    /// The entity that a row of the index names; only where that is what the path gives.
    fn shown_by_index(&self, index: usize, to: &mut dyn Results) -> Option<Result<()>> {
        let schema = self.query.schema();
        let discriminator = schema.indexes.get(index).filter(|_| to.kind().of_primary)?.discriminator;
        let mut owner = None;
        let was_shown = self.db.show_row(&self.registered.table, self.key.parts(), &mut |row| {
            owner = Some(self.registered.owners.read(row, |read| match read.is_of(discriminator) {
                true => self.owner_of(read).map(Some),
                false => self.owner_of_other(row),
            }));
        })?;
        let owner = was_shown.and(owner.unwrap_or(Ok(None)));
        match owner.map_err(|error| self.failed(error, self.key.to_row_key())) {
            Ok(Some(owner)) => self.shown_owner(index, owner, to),
            Ok(None) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        }
    }

    fn owner_of(&self, row: &InRow<'_>) -> Result<RowKey> {
        match row.owner(self.key.parts().0) {
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
    fn shown_owner(&self, index: usize, owner: RowKey, to: &mut dyn Results) -> Option<Result<()>> {
        let (mut read, place) = (Ok(Ok(())), (&*owner.partition, &*owner.row));
        let was_shown = self.db.show_row(&self.registered.table, place, &mut |row| {
            read = self.of_owner(index, &owner, row, to);
        })?;
        Some(was_shown.and(read).map_err(|error| self.failed(error, owner)).and_then(|read| read))
    }

    /// The outer error is one of the row.
    fn of_owner(&self, index: usize, owner: &RowKey, row: &Shown<'_>, to: &mut dyn Results) -> Result<Result<()>> {
        let schema = self.query.schema();
        let other = |to: &mut dyn Results| {
            let found = self.of_entity(index, Some(row.row()?));
            Ok(found.and_then(|found| found.into_iter().try_for_each(|rows| to.put(rows))))
        };
        if !is_in_one_row(schema) {
            return other(to);
        }
        let keys = image::key_values(schema, owner);
        let in_keys = keys.as_ref().unwrap_or(&NO_VALUES);
        self.registered.columns.read_entity(row, InKeys::read(in_keys), |row| {
            if !row.is_of(schema.discriminator) || row.is_read_otherwise() {
                return other(to);
            }
            keys.as_ref().map_err(Error::clone)?;
            let fields = OfShown { schema, key: owner, keys: in_keys, row };
            let (partition, own) = self.key.parts();
            match rooms::index::wants(&fields, index, partition, own) {
                Ok(true) => to.put_shown(row).map(Ok),
                wants => Ok(wants.map(drop)),
            }
        })
    }

    async fn found(&self, kind: Kind) -> Result<Option<Resolved>> {
        let (schema, index) = (self.query.schema(), self.query.index());
        let row = self.get(&self.key.to_row_key()).await?;
        if self.query.rests_on_states() {
            // The store may have kept it waiting for long.
            let registered = Box::pin(self.db.readable(schema, true)).await?;
            self.query.check_ready(&registered.setting.states)?;
        }
        let Some(row) = row else { return Ok(None) };
        if !owns(schema, index, &row) {
            return Ok(None);
        }
        match index {
            None => Ok(Some((None, row.into()))),
            Some(index) if kind.of_primary || self.query.is_verified() || !kind.is_shown_by(Some(index), &row) => {
                let primary = self.get(&found::owner(schema, &row)?).await?;
                Box::pin(self.db.readable(schema, schema.moves())).await?; // that read may have waited, too
                self.of_entity(index, primary)
            }
            _ => Ok(Some((index, row.into()))),
        }
    }

    async fn get(&self, key: &RowKey) -> Result<Option<Row>> {
        let row = Box::pin(self.db.get_row(&self.registered.table, key)).await;
        row.map_err(|error| self.failed(error, key.clone()))
    }

    /// The entity that an index row names, if it wants the row.
    fn of_entity(&self, index: usize, primary: Option<Row>) -> Result<Option<Resolved>> {
        let schema = self.query.schema();
        let Some(primary) = primary.filter(|primary| is_primary(schema, primary)).map(Group::from) else {
            return Ok(None);
        };
        let (partition, row) = self.key.parts();
        let wants = rooms::index::wants(&image::Stored::of(schema, &primary)?, index, partition, row)?;
        Ok(wants.then_some((None, primary)))
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
