//! Updates: an entity is read, changed and saved, and that again where another wrote it meanwhile.
//!
//! What a write means is planned elsewhere; here it is only seen to who is next.

pub(super) mod chain;

use std::{any::TypeId, sync::Arc};

use futures_util::future::{Either, select};
use tablemodel_store::RowKey;

use self::chain::{Chain, Link, Made, Upon};
use super::{
    Database, Registered,
    execute::waits::{Rounds, Waits},
    seat::{Seat, Waiting},
    turns::{LONGEST, Meeting},
    write::{EntityOf, no_row, not_found},
};
use crate::{
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    path::{Path, query::PathQuery, state::Complete},
    plan::image::Image,
    read::One,
    stored::Stored,
};

/// How often an `update_or_insert` looks, where it inserts what another has inserted meanwhile.
const INSERTS: u32 = 8;

impl Database {
    /// Reads an entity, lets `change` change it, and saves it; repeated when another wrote it meanwhile.
    ///
    /// Cost: one point read, on an index path two, and one batch a round; at most 17 rounds, besides those that
    /// [waited for a turn](crate::writing) after they had read. `change` may run several times. Tasks that update one entity at the same
    /// time are saved together by one batch, each upon what the one before it left.
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
        let mut update = Update {
            db: self,
            query,
            of: TypeId::of::<E>(),
            rounds: Rounds::default(),
            missed: None,
            upon: None,
            is_alone: false,
        };
        loop {
            if let Some(upon) = update.upon.take() {
                match upon.make(&mut change).await {
                    Made::Saved(entity) => return Ok(Some(entity)),
                    Made::Refused(error) => return Err(error),
                    Made::Alone => update.is_alone = true,
                    Made::Again(error) => update.look_again(error)?,
                }
            }
            // An index is read anew too: another entity may have the value by now.
            let Some(mut entity) = One::<Stored<E>>::new(self, query.clone()).await? else { return Ok(None) };
            if update.waited_where_crowded(entity.key()).await {
                continue; // those who were there before have changed it
            }
            change(&mut entity)?;
            let saved = update.save(&mut entity).await;
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
    /// The type that it changes.
    of: TypeId,
    rounds: Rounds,
    /// Where an index said that the entity is, and it was not.
    missed: Option<RowKey>,
    /// What another left it, to be made upon.
    upon: Option<Upon>,
    /// It is not made upon others any more.
    is_alone: bool,
}

impl Update<'_> {
    fn meeting(&self, key: &RowKey) -> Meeting {
        Meeting::at(&self.db.table_name(self.query.schema().table), &key.partition, &key.row)
    }

    /// Waits before the entity is looked at again, where others are and this has no turn yet; whether it did.
    async fn waited_where_crowded(&mut self, key: &RowKey) -> bool {
        !self.rounds.has_turns() && self.db.is_crowded(self.meeting(key)) && self.wait(key).await
    }

    /// Waits for a turn, unless this has it, or for what another leaves it; whether it did.
    async fn wait(&mut self, key: &RowKey) -> bool {
        let at = self.meeting(key);
        if self.is_alone || self.query.index().is_some() {
            return self.rounds.take_turn(self.db, at, None).await;
        }
        let (link, given) = Link::of(self.of, key.clone());
        let seat = Seat::of(link);
        let waiting = Waiting::Update(seat.clone());
        let ended = match select(Box::pin(self.rounds.take_turn(self.db, at, Some(&waiting))), given).await {
            Either::Left((waited, given)) => Either::Left((waited, given)),
            Either::Right((upon, _)) => Either::Right(upon),
        };
        let upon = match ended {
            Either::Left((waited, _)) if seat.leave().is_some() => return waited,
            Either::Left((_, given)) => given.await,
            Either::Right(upon) => upon,
        };
        self.rounds.waits.turns().clear();
        self.upon = upon.ok(); // none where whoever had the turn has gone
        true
    }

    /// What it was made upon is not stored, for this reason; fails where that is the end.
    fn look_again(&mut self, error: Option<Error>) -> Result<()> {
        self.rounds.waited_in_vain();
        let is_another_left = self.rounds.is_another_left();
        match error {
            Some(error) if *error.kind() == ErrorKind::OutcomeUnknown => Err(error),
            Some(error) if is_of_a_race(&error) && !is_another_left => Err(error),
            error => {
                self.is_alone |= !is_another_left || error.is_some_and(|error| !is_of_a_race(&error));
                Ok(())
            }
        }
    }

    /// Saves what it has changed, with what those make of it who wait for its turn.
    async fn save<E: TableEntity>(&mut self, entity: &mut Stored<E>) -> Result<()> {
        if let Some((registered, chain)) = self.chain(entity).await? {
            let waits = Waits::with(std::mem::take(self.rounds.waits.turns()));
            match chain.save(self.db, registered, waits).await {
                Ok(rows) => {
                    entity.set_rows(rows.ok_or_else(no_row)?);
                    return Ok(());
                }
                Err(error) if *error.kind() == ErrorKind::OutcomeUnknown || is_of_a_race(&error) => return Err(error),
                Err(_) => {} // whose change it was is told to whoever makes it alone
            }
        }
        self.db.save_in_turn(entity, &mut self.rounds.waits).await
    }

    /// What those make of the entity who wait for its turn; none where nobody does.
    async fn chain<E: TableEntity>(&mut self, entity: &Stored<E>) -> Result<Option<(Arc<Registered>, Chain)>> {
        if self.is_alone || !self.rounds.has_turns() || entity.version() != Some(E::SCHEMA.version) {
            return Ok(None);
        }
        let at = self.meeting(entity.key());
        let seats = self.db.links(self.rounds.waits.turns(), at);
        if seats.is_empty() {
            return Ok(None);
        }
        let registered = self.db.writable(E::SCHEMA).await?;
        let new = Image::of::<E>(entity)?;
        if !(self.db.is_one_write(&registered) && E::SCHEMA.copies.is_empty() && new.key == *entity.key()) {
            return Ok(None);
        }
        let mut chain = Chain::of::<E>(entity.rows().clone(), new);
        let patience = self.db.environment().turn.sleep(LONGEST);
        select(Box::pin(chain.hand_around(seats)), patience).await;
        Ok((!chain.is_of_one()).then_some((registered, chain)))
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
        self.wait(key).await;
        Ok(false)
    }
}

/// Whether the entity was not as it was read.
fn is_of_a_race(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict { .. } | ErrorKind::NotFound)
}
