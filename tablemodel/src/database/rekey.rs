//! Moving entities between partitions: in one commit where the store can, else by a reservation at the new key, a batch
//! that takes the entity from the old one and leaves an intent, and its arrival, which a relay finishes after a crash.
//!
//! What the rows of a move say is `rooms::rekey`'s. Once the entity has left, the move is decided and only goes on.

mod at_once;
mod values;

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};
use tablemodel_store::{
    Action, Batch, Condition, DateTime, ETag, KeyRange, Properties, PropertyName, Query, Row, RowKey, StoreError,
};

use self::values::claimed;
use crate::{
    database::{
        Database, Registered,
        calls::{ATTEMPTS, is_transient},
        claims::{CLAIM_TIME, Taken},
        execute::{Run, operation_id},
        outbox::{due, is_race, later},
        write::no_row,
    },
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    key::beginning_with,
    plan::{
        change::{Change, is_primary, next_sequence, reserved, violation},
        entries::entries,
        group::Group,
        image::Image,
        known::Known,
        outbox::{Intent, is_tombstone},
        system,
        version::Old,
    },
    rooms::{
        copy,
        rekey::{Held, Move, Reservation, intents_of},
    },
    schema::EntitySchema,
    stored::Stored,
};

impl Database {
    /// Writes a changed entity back under a changed key, in whatever partition, if it is still as it was read;
    /// afterwards `entity` is current again. With an unchanged partition it is a [`save`](Database::save).
    ///
    /// Cost: where the store commits several partitions atomically, one read and one request. Else about ten requests, and
    /// between two of them the entity is found at neither key; see [the page](crate::rooms::rekey).
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let mut jones = Employee::find().department("Sales").id(1).one(&db).await?.unwrap();
    /// jones.department = "Marketing".into();
    /// db.rekey(&mut jones).await?;
    /// assert!(Employee::find().department("Marketing").id(1).exists(&db).await?);
    /// assert!(!Employee::find().department("Sales").id(1).exists(&db).await?);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if an entity has the new key, `UniqueViolation`, `Conflict` if another wrote it meanwhile,
    /// `NotFound` if it is gone, `Unavailable` if another entity is on its way to the key: it is then at its old key and
    /// `entity` as the caller left it. `OutcomeUnknown` where it is decided that it moves, and a relay finishes it, or
    /// where a reply was lost.
    pub async fn rekey<E: TableEntity>(&self, entity: &mut Stored<E>) -> Result<()> {
        let _states = self.0.registry.enter(); // held until the move is over
        let registered = self.writable(E::SCHEMA).await?;
        let (old, mut to) = (entity.rows().clone(), Image::of::<E>(entity)?);
        let was = Old::of(E::SCHEMA, &old)?;
        to.keep_unknown(&was.now().fields);
        for copy in E::SCHEMA.copies {
            copy::carry(&mut to, copy, was.now())?;
        }
        let stays = old.key().partition == to.key.partition;
        let row = if *old.key() == to.key || (stays && (self.is_atomic() || !E::SCHEMA.has_claims())) {
            self.write_one(&registered, Change::Save { old, new: to }).await?.ok_or_else(no_row)?
        } else {
            self.check_movable(&old, &to)?;
            #[cfg(feature = "blob")]
            let until = self.move_blobs(&mut to, was.now()).await?;
            #[cfg(not(feature = "blob"))]
            let until = None;
            match self.is_atomic() {
                true => self.move_at_once(&registered, old, to, until).await?,
                false => self.move_in_steps(&registered, old, to, until).await?,
            }
        };
        entity.set_rows(row);
        Ok(())
    }

    /// That nothing stands in the way of a move, by what the entity is.
    fn check_movable(&self, old: &Group, to: &Image) -> Result<()> {
        let detail = if to.schema.copies.iter().any(|copy| !copy.optional) && !self.is_atomic() {
            "an entity with a copy that is no `Option` moves only where the store commits several partitions atomically, since its source may go meanwhile; insert it anew and delete the old one"
        } else if (to.schema.shape.is_some() || !old.parts.is_empty()) && !self.is_atomic() {
            "an entity of several rows moves only where the store commits several partitions atomically; insert it anew and delete the old one"
        } else {
            return Ok(());
        };
        Err(Error::unsupported(detail).of(to.schema.entity_type).at_key(to.key.clone()))
    }

    /// Reserves the new key, takes the entity from the old one, and lets it arrive.
    async fn move_in_steps(
        &self,
        registered: &Registered,
        old: Group,
        to: Image,
        until: Option<DateTime>,
    ) -> Result<Group> {
        let (schema, since) = (registered.schema, self.environment().clock.monotonic());
        let id = operation_id(self).0.iter().map(|byte| format!("{byte:02x}")).collect();
        let moving = Move { id, from: old.key().clone(), to };
        let was = Image::written(schema, &old)?;
        self.check_fits(registered, &moving).await?;
        self.mark_moving(schema, &moving.from.partition).await?;
        self.mark_moving(schema, &moving.to.key.partition).await?;
        let reserved = self.reserve(registered, &moving, &was).await?;
        let left = match self.check_blobs(until) {
            Ok(()) => self.leave(registered, &moving, old, &was, &reserved, since).await,
            late => late,
        };
        if let Err(error) = left {
            let is_known = *error.kind() != ErrorKind::OutcomeUnknown;
            let has_left = !is_known && self.intent(schema, &moving.intent_key()).await?.is_some();
            if is_known {
                self.give_back(registered, &moving, &reserved).await;
            }
            if !has_left {
                return Err(error);
            }
        }
        let arrived = self.finish_move(&moving).await;
        match arrived {
            Ok(Some(row)) => Ok(row),
            Ok(None) => match self.primary_rows(schema, &moving.to.key).await {
                Ok(Some(row)) => Ok(row),
                Ok(None) => Err(undecided(&moving, "the entity moved, and is gone from its new key already")),
                Err(error) => Err(undecided(&moving, "the entity moved; read it at its new key").caused_by(error)),
            },
            Err(error) => {
                Err(undecided(&moving, "the entity has left its old key, and a relay lets it arrive").caused_by(error))
            }
        }
    }

    /// That what was uploaded for the move cannot have been collected yet.
    fn check_blobs(&self, until: Option<DateTime>) -> Result<()> {
        #[cfg(feature = "blob")]
        return self.check_uploaded(until);
        #[cfg(not(feature = "blob"))]
        {
            let _ = until;
            Ok(())
        }
    }

    /// As [`Database::mark_dirty`], also for a model that has no rows elsewhere, and therefore no table of markers yet.
    async fn mark_moving(&self, schema: &'static EntitySchema, partition: &str) -> Result<()> {
        match self.mark_dirty(schema, partition).await {
            Err(error) if *error.kind() == ErrorKind::NotFound => {
                self.create_missing(&self.dirty_table()).await?;
                self.mark_dirty(schema, partition).await
            }
            other => other,
        }
    }

    /// That the arrival is a batch within the limits, and what it adds to aggregates within their range, before anything is
    /// written.
    async fn check_fits(&self, registered: &Registered, moving: &Move) -> Result<()> {
        let now = self.environment().clock.now();
        let row = |row: &str, properties| Row {
            key: RowKey::new(moving.to.key.partition.clone(), row),
            etag: crate::plan::change::stale_etag(),
            timestamp: now,
            properties,
        };
        let at = &moving.to.key.row;
        let mut known: Known = [(at.clone(), Some(row(at, moving.reservation(now.ticks(), now, &[]))))].into();
        for held in moving.held()? {
            let holding = row(&held.row, held.properties);
            known.insert(held.row, Some(holding));
        }
        let mut run = Run::new(self, registered, &moving.to.key.partition).knowing(known);
        run.prepare(&[Change::Arrive(Box::new(moving.clone()))]).await.map(drop).map_err(Error::alone)
    }

    /// Reserves the new key for the move, and with it the values of unique indexes in its partition.
    async fn reserve(&self, registered: &Registered, moving: &Move, was: &Image) -> Result<ETag> {
        let (schema, key) = (registered.schema, &moving.to.key);
        let held = moving.newly_held(was)?;
        for attempt in 0..ATTEMPTS {
            let there = self.get_row(&registered.table, key).await?;
            let now = self.environment().clock.now();
            let sequence = there.as_ref().map_or(0, |row| system::sequence(&row.properties) + 1).max(now.ticks());
            let reservation = moving.reservation(sequence, later(now, CLAIM_TIME), &held);
            let action = match &there {
                None => Action::Insert(reservation),
                Some(row) => match Reservation::of(row) {
                    Some(other) if other.id == moving.id => return Ok(row.etag.clone()),
                    Some(_) => {
                        self.clear_reservation(schema, row).await?;
                        continue;
                    }
                    None if is_tombstone(row) => {
                        if schema.has_claims() && self.finish_moves_of(schema, key).await? {
                            continue;
                        }
                        Action::Replace(reservation, Condition::Match(row.etag.clone()))
                    }
                    None => return Err(exists(schema, key)),
                },
            };
            let batch = Batch::new(&registered.table, key.partition.clone()).with(key.row.clone(), action);
            let insert = |held: &Held| Action::Insert(held.properties.clone());
            let batch = held.iter().fold(batch, |batch, held| batch.with(held.row.clone(), insert(held)));
            match self.commit_store(&[batch], attempt).await {
                Ok(receipts) => {
                    let etag = receipts.into_iter().flatten().next().and_then(|written| written.etag);
                    return etag.ok_or_else(no_row);
                }
                Err(error) if is_transient(&error) => self.pause(attempt).await,
                Err(error) if is_race(error.kind()) => self.check_holder(schema, key, &held, &error).await?,
                Err(error) => return Err(Error::from(error).of(schema.entity_type).at_key(key.clone())),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the new key keeps changing").of(schema.entity_type).at_key(key.clone()))
    }

    /// The violation where a unique value in the new partition is another's.
    async fn check_holder(
        &self,
        schema: &'static EntitySchema,
        key: &RowKey,
        held: &[Held],
        error: &StoreError,
    ) -> Result<()> {
        let failed = error.failed_at().and_then(|at| at.operation.checked_sub(1));
        let Some(held) = failed.and_then(|at| held.get(at)) else { return Ok(()) };
        let key = RowKey::new(key.partition.clone(), held.row.clone());
        let holder = self.get_row(&self.table_name(schema.table), &key).await?;
        match (holder, schema.index_at(held.index)) {
            (Some(holder), Some(index)) => Err(violation(schema, index, &holder)),
            _ => Ok(()),
        }
    }

    /// Claims the values that the entity has only at its new key, then takes it from the old one.
    async fn leave(
        &self,
        registered: &Registered,
        moving: &Move,
        old: Group,
        was: &Image,
        reserved: &ETag,
        since: Duration,
    ) -> Result<()> {
        let before = entries(was)?;
        for away in claimed(&moving.to)? {
            let stays =
                before.iter().any(|entry| entry.row == away.row.row && entry.away.as_ref() == Some(&away.row.away));
            if stays {
                continue;
            }
            if self.take_claim(&away, &moving.to.key.partition, Some(reserved), since).await? == Taken::Stale {
                return Err(Error::new(ErrorKind::Unavailable, "another program wants the new key; try again"));
            }
        }
        self.write_one(registered, Change::Leave { old, to: Box::new(moving.clone()) }).await.map(drop)
    }

    /// Takes back a reservation whose move is known not to have begun. What fails is left to whoever wants the key.
    async fn give_back(&self, registered: &Registered, moving: &Move, reserved: &ETag) {
        let row = self.get_row(&registered.table, &moving.to.key).await.ok().flatten();
        let row = row.filter(|row| row.etag == *reserved);
        let Some((row, reservation)) = row.and_then(|row| Reservation::of(&row).map(|of| (row, of))) else { return };
        if let Err(error) = self.end_reservation(registered, &row, &reservation).await {
            tracing::warn!(entity = registered.entity_type, %error, "a reserved key is free again in a minute");
        }
    }

    /// Puts a plain tombstone in place of a reservation, or nothing where entities leave none.
    async fn end_reservation(&self, registered: &Registered, row: &Row, reservation: &Reservation) -> Result<()> {
        let (schema, key) = (registered.schema, &row.key);
        let as_read = Condition::Match(row.etag.clone());
        let batch = Batch::new(&registered.table, key.partition.clone());
        let batch = if registered.setting.tombstones {
            self.mark_dirty(schema, &key.partition).await?;
            let sequence = system::sequence(&row.properties).saturating_add(1);
            // By its outbox row it is swept once the fence has passed.
            let intent = Intent { owner: key.row.clone(), sequence, ..Intent::default() };
            let outbox = Action::Insert(intent.properties(schema, due(self.environment().clock.now())));
            let tombstone = Action::Replace(system::tombstone(schema, sequence, None), as_read);
            batch.with(key.row.clone(), tombstone).with(intent.row(), outbox)
        } else {
            batch.with(key.row.clone(), Action::Delete(as_read))
        };
        let batch = reservation
            .held
            .iter()
            .fold(batch, |batch, held| batch.with(held.clone(), Action::Delete(Condition::Exists)));
        self.commit_racing(batch, 0).await.map(drop)
    }

    /// Clears a key of a reservation: by finishing its move if the entity has left its old key, else, once it has
    /// expired, by seeing to it that it cannot leave any more. Then look again.
    pub(super) async fn clear_reservation(&self, schema: &'static EntitySchema, row: &Row) -> Result<()> {
        let Some(reservation) = Reservation::of(row) else { return Ok(()) };
        let registered = self.registered(schema)?;
        // The old key before the intent, so that an entity which leaves in between is seen by one of them.
        let old = self.get_row(&registered.table, &reservation.from).await?;
        if let Some(moving) = self.intent(schema, &reservation.intent_key()).await? {
            return self.finish_move(&moving).await.map(drop);
        }
        if self.environment().clock.now() < reservation.expires && !self.is_atomic() {
            return Err(reserved(schema, row));
        }
        if !self.touch_row(schema, old.as_ref()).await? {
            return Ok(());
        }
        self.end_reservation(&registered, row, &reservation).await
    }

    /// Changes an entity's row as it was read, so that no write under way that rests on it succeeds. `false`: another was
    /// faster.
    pub(super) async fn touch_row(&self, schema: &'static EntitySchema, row: Option<&Row>) -> Result<bool> {
        let Some(row) = row.filter(|row| is_primary(schema, row)) else { return Ok(true) };
        let mut touch = Properties::new();
        let sequence = next_sequence(&row.properties, self.environment().clock.now().ticks());
        touch.insert(PropertyName::from_static(system::SEQUENCE), sequence);
        let action = Action::Merge(touch, Condition::Match(row.etag.clone()));
        let batch =
            Batch::new(self.table_name(schema.table), row.key.partition.clone()).with(row.key.row.clone(), action);
        self.commit_racing(batch, 0).await
    }

    pub(super) async fn intent(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<Option<Move>> {
        let row = self.get_row(&self.table_name(schema.table), key).await?;
        row.map(|row| Move::read(schema, &row)).transpose()
    }

    /// The moves that have taken an entity from this key and are not finished. One range query.
    pub(super) async fn moves_of(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<Vec<Move>> {
        let range = KeyRange::rows(key.partition.clone(), beginning_with(&intents_of(&key.row)));
        let mut query = Query::new(self.table_name(schema.table), range);
        let mut moves = Vec::new();
        loop {
            let page = self.query_page(&query).await?;
            let of_type =
                page.rows.iter().filter(|row| system::kind(&row.properties).entity() == Some(schema.entity_type));
            for row in of_type {
                moves.push(Move::read(schema, row)?);
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => break,
            }
        }
        moves.retain(|moving| moving.from == *key);
        Ok(moves)
    }

    /// Finishes what moves have taken an entity from this key; whether there was one.
    pub(super) async fn finish_moves_of(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<bool> {
        let moves = self.moves_of(schema, key).await?;
        for moving in &moves {
            self.finish_move(moving).await?;
        }
        Ok(!moves.is_empty())
    }

    /// Lets the entity arrive, unless it has; hands it the values that its old key's claims name; removes the intent.
    /// Gives the row at its new key, if this call wrote it.
    ///
    /// Boxed, since a write may have to finish a move first, and a move ends in a write.
    pub(super) fn finish_move<'a>(&'a self, moving: &'a Move) -> BoxFuture<'a, Result<Option<Group>>> {
        self.arrive(moving).boxed()
    }

    async fn arrive(&self, moving: &Move) -> Result<Option<Group>> {
        let since = self.environment().clock.monotonic();
        let schema = moving.to.schema;
        let registered = self.registered(schema)?;
        if self.is_atomic() {
            self.hand_over(moving, since).await?; // else the claims of the old key would be in the way of the one commit
        }
        let arrived = match self.waits(moving).await? {
            false => None,
            true => match self.write_one(&registered, Change::Arrive(Box::new(moving.clone()))).await {
                Err(error) if *error.kind() == ErrorKind::NotFound && !self.waits(moving).await? => None,
                other => other?,
            },
        };
        if !self.is_atomic() {
            self.hand_over(moving, since).await?;
        }
        if let Some(row) = self.get_row(&registered.table, &moving.intent_key()).await? {
            self.remove_row(&registered.table, &row).await?;
        }
        Ok(arrived)
    }

    /// Whether the new key is still reserved for the move. Anything else there means that the entity has arrived.
    async fn waits(&self, moving: &Move) -> Result<bool> {
        let there = self.get_row(&self.table_name(moving.to.schema.table), &moving.to.key).await?;
        Ok(there.as_ref().and_then(Reservation::of).is_some_and(|reservation| reservation.id == moving.id))
    }
}

fn exists(schema: &'static EntitySchema, key: &RowKey) -> Error {
    let detail = "an entity with this key exists; nothing was moved";
    Error::new(ErrorKind::AlreadyExists, detail).of(schema.entity_type).at_key(key.clone())
}

fn undecided(moving: &Move, detail: &str) -> Error {
    Error::new(ErrorKind::OutcomeUnknown, detail).of(moving.to.schema.entity_type).at_key(moving.to.key.clone())
}
