//! Updates: an entity is read, changed and saved, and that again where another wrote it meanwhile.
//!
//! What a write means is planned elsewhere; here it is only seen to who is next.

use tablemodel_store::RowKey;

use super::{
    Database,
    execute::waits::Rounds,
    turns::Meeting,
    write::{EntityOf, not_found},
};
use crate::{
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    path::{Path, query::PathQuery, state::Complete},
    read::One,
    stored::Stored,
};

/// How often an `update_or_insert` looks, where it inserts what another has inserted meanwhile.
const INSERTS: u32 = 8;

impl Database {
    /// Reads an entity, lets `change` change it, and saves it; repeated when another wrote it meanwhile.
    ///
    /// Cost: one point read, on an index path two, and one batch a round; at most 17 rounds, besides those that
    /// [waited for a turn](crate::writing) after they had read. `change` may run several times.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let path = Employee::find().department("Sales").id(1);
    /// let older = db.update(path, |e| { e.age += 1; Ok(()) }).await?;
    /// assert_eq!(older.age, 31);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `NotFound`, also where an index names an entity that no longer has what it says; whatever `change` returns, and those of
    /// [`Database::save`]; `Conflict` after the last round.
    pub async fn update<P>(
        &self,
        path: P,
        mut change: impl FnMut(&mut EntityOf<P>) -> Result<()>,
    ) -> Result<Stored<EntityOf<P>>>
    where
        P: Path,
        P::State: Complete,
    {
        let query = path.into_query();
        self.update_at(&query, &mut change)
            .await?
            .ok_or_else(|| query.exact_key().into_iter().fold(not_found(query.schema()), Error::at_key))
    }

    /// As [`Database::update`], of an entity that may not be there: then `new` gives one, which `change` changes too, and it is inserted.
    ///
    /// For a counter, say, whose first count makes it. Where another inserts it meanwhile that one is changed, so that of many who call at
    /// once each has its say. Cost: that of an update, and one batch more where it was not there; at most 8 times, while others keep
    /// inserting and deleting it. `new` and `change` may run several times. What `new` gives has to be at the key of the path.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// for _ in 0..2 {
    ///     let path = Employee::find().department("Sales").id(9);
    ///     db.update_or_insert(path, || Employee { age: 0, ..employee(9) }, |e| { e.age += 1; Ok(()) }).await?;
    /// }
    /// assert_eq!(Employee::find().department("Sales").id(9).one(&db).await?.unwrap().age, 2);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Whatever `change` returns; those of [`Database::save`] and [`Database::insert`]: `AlreadyExists` where `new` gives an entity of
    /// another key, and one is there.
    pub async fn update_or_insert<P>(
        &self,
        path: P,
        mut new: impl FnMut() -> EntityOf<P>,
        mut change: impl FnMut(&mut EntityOf<P>) -> Result<()>,
    ) -> Result<Stored<EntityOf<P>>>
    where
        P: Path,
        P::State: Complete,
    {
        let query = path.into_query();
        let mut rounds = 1..INSERTS;
        loop {
            let is_last = rounds.next().is_none();
            match self.update_at(&query, &mut change).await {
                Ok(Some(entity)) => return Ok(entity),
                Ok(None) => {}
                // Deleted since it was read.
                Err(error) if *error.kind() == ErrorKind::NotFound && !is_last => continue,
                Err(error) => return Err(error),
            }
            let mut entity = new();
            change(&mut entity)?;
            match self.insert(&entity).await {
                Err(error) if is_there_by_now(&error, &query) && !is_last => {}
                inserted => return inserted,
            }
        }
    }

    /// None where nothing was there to be changed.
    async fn update_at<E: TableEntity>(
        &self,
        query: &PathQuery,
        mut change: impl FnMut(&mut E) -> Result<()>,
    ) -> Result<Option<Stored<E>>> {
        let mut update = Update { db: self, query, rounds: Rounds::default(), missed: None };
        loop {
            // An index is read anew too: another entity may have the value by now.
            let Some(mut entity) = One::<Stored<E>>::new(self, query.clone()).await? else { return Ok(None) };
            if update.waited_where_crowded(entity.key()).await {
                continue; // those who were there before have changed it
            }
            change(&mut entity)?;
            let saved = self.save_in_turn(&mut entity, &mut update.rounds.waits).await;
            if update.is_over(saved, entity.key()).await? {
                return Ok(Some(entity));
            }
        }
    }
}

/// Whether what was inserted may be found by the query by now.
fn is_there_by_now(error: &Error, query: &PathQuery) -> bool {
    match error.kind() {
        ErrorKind::AlreadyExists => true,
        ErrorKind::UniqueViolation { index, .. } => query.index_schema().is_some_and(|asked| asked.name == *index),
        _ => false,
    }
}

/// An update under way.
struct Update<'u> {
    db: &'u Database,
    query: &'u PathQuery,
    rounds: Rounds,
    /// Where an index said that the entity is, and it was not.
    missed: Option<RowKey>,
}

impl Update<'_> {
    fn meeting(&self, key: &RowKey) -> Meeting {
        Meeting::at(&self.db.table_name(self.query.schema().table), &key.partition, &key.row)
    }

    async fn waited_where_crowded(&mut self, key: &RowKey) -> bool {
        self.rounds.wait_where_crowded(self.db, self.meeting(key)).await
    }

    /// Whether no other round follows this one, which was in vain if it did not save. Waits for a turn at the next one.
    async fn is_over(&mut self, saved: Result<()>, key: &RowKey) -> Result<bool> {
        match saved {
            Ok(()) => return Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) && self.rounds.is_another_left() => {}
            // Gone, or under another key, which the index says by now.
            Err(error)
                if *error.kind() == ErrorKind::NotFound
                    && self.query.index().is_some()
                    && self.missed.as_ref() != Some(key) =>
            {
                self.missed = Some(key.clone());
            }
            Err(error) => return Err(error),
        }
        self.rounds.take_turn(self.db, self.meeting(key)).await;
        Ok(false)
    }
}
