//! Reservations: what keeps a new key, and unique values in its partition, for an entity that is about to move there; how
//! they are put, given back and taken over.

use tablemodel_store::{Action, Batch, Condition, ETag, Properties, PropertyName, Row, RowKey, StoreError};

use super::exists;
use crate::{
    database::{
        Database, Registered,
        calls::{ATTEMPTS, in_vain, is_transient},
        claims::CLAIM_TIME,
        outbox::{due, is_race, later},
        write::no_row,
    },
    error::{Error, Result},
    plan::{
        bonds::{Bond, bonds},
        change::{is_primary, next_sequence, reserved, violation},
        entries::Entry,
        image::Image,
        outbox::{Intent, is_tombstone},
        system,
    },
    rooms::rekey::{Held, Move, Reservation, is_held},
    schema::EntitySchema,
};

impl Database {
    /// Reserves the new key for the move, and with it the values of unique indexes in its partition.
    pub(super) async fn reserve(&self, registered: &Registered, moving: &Move, was: &Image) -> Result<ETag> {
        let (schema, key) = (registered.schema, &moving.to.key);
        let mut held = moving.newly_held(was)?;
        let (unique, expires) = (held.len(), later(self.environment().clock.now(), self.0.fence.saturating_mul(2)));
        let bonds: Vec<_> = bonds(&moving.to, &registered.setting)?.into_iter().filter(Bond::is_beside).collect();
        let bound = |bond: &Bond| {
            let Entry { index, row, .. } = &bond.entry;
            Held { index: *index, row: row.clone(), properties: bond.pending(schema, expires) }
        };
        held.extend(bonds.iter().map(bound));
        let mut last = None;
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
            let put = |(at, held): (usize, &Held)| match at < unique {
                true => (held.row.clone(), Action::Insert(held.properties.clone())),
                false => (held.row.clone(), Action::InsertOrReplace(held.properties.clone())),
            };
            let sources = self.held_sources(&moving.to, &bonds).await?;
            let beside = held.iter().enumerate().map(put).chain(sources);
            let batch = beside.fold(batch, |batch, (row, action)| batch.with(row, action));
            match self.commit_store(&[batch], attempt).await {
                Ok(receipts) => {
                    let etag = receipts.into_iter().flatten().next().and_then(|written| written.etag);
                    return etag.ok_or_else(no_row);
                }
                Err(error) if is_transient(&error) => {
                    self.pause(attempt).await;
                    last = Some(error);
                }
                Err(error) if is_race(error.kind()) => {
                    self.check_holder(schema, key, &held, &error).await?;
                    last = Some(error);
                }
                Err(error) => return Err(Error::from(error).of(schema.entity_type).at_key(key.clone())),
            }
        }
        Err(in_vain("the new key", last).of(schema.entity_type).at_key(key.clone()))
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
            (Some(holder), Some(_)) if Box::pin(self.clear_held(schema, &holder)).await? => Ok(()),
            (Some(holder), Some(index)) => Err(violation(schema, index, &holder)),
            _ => Ok(()),
        }
    }

    /// Takes back a reservation whose move is known not to have begun. What fails is left to whoever wants the key.
    pub(super) async fn give_back(&self, registered: &Registered, moving: &Move, reserved: &ETag) {
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
    pub(in crate::database) async fn clear_reservation(&self, schema: &'static EntitySchema, row: &Row) -> Result<()> {
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

    /// The same of the key for which a row is held; `false` where no reservation holds it: then an entity has what it keeps.
    pub(in crate::database) async fn clear_held(&self, schema: &'static EntitySchema, held: &Row) -> Result<bool> {
        let Some(owner) = system::owner_row(&held.properties).filter(|_| is_held(held)) else { return Ok(false) };
        let key = RowKey::new(held.key.partition.clone(), owner);
        match self.get_row(&self.table_name(schema.table), &key).await? {
            Some(row) if is_primary(schema, &row) => Ok(false),
            Some(row) => self.clear_reservation(schema, &row).await.map(|()| true), // or it was given back meanwhile
            None => Ok(true),
        }
    }

    /// Changes an entity's row as it was read, so that no write under way that rests on it succeeds. `false`: another was
    /// faster.
    pub(in crate::database) async fn touch_row(
        &self,
        schema: &'static EntitySchema,
        row: Option<&Row>,
    ) -> Result<bool> {
        let Some(row) = row.filter(|row| is_primary(schema, row)) else { return Ok(true) };
        let mut touch = Properties::new();
        let sequence = next_sequence(&row.properties, self.environment().clock.now().ticks());
        touch.insert(PropertyName::from_static(system::SEQUENCE), sequence);
        let action = Action::Merge(touch, Condition::Match(row.etag.clone()));
        let batch =
            Batch::new(self.table_name(schema.table), row.key.partition.clone()).with(row.key.row.clone(), action);
        self.commit_racing(batch, 0).await
    }
}
