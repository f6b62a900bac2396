//! Moving entities between partitions: in one commit where the store can, else by a reservation at the new key, a batch
//! that takes the entity from the old one and leaves an intent, and its arrival, which a relay finishes after a crash.
//!
//! What the rows of a move say is `rooms::rekey`'s. Once the entity has left, the move is decided and only goes on.

mod arrival;
mod at_once;
mod bonds;
mod old_claims;
mod reservation;
mod values;

use tablemodel_store::{ETag, Row, RowKey};

use self::values::{claimed, keeps};
use crate::{
    database::{
        Database, Registered,
        claims::{Put, Taken},
        execute::Run,
        followers::Copying,
        since::Since,
        write::no_row,
    },
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    plan::{
        batch::BatchAway,
        change::{Change, stale_etag},
        entries::told,
        group::Group,
        image::Image,
        known::Known,
        states::IndexState,
        version::Old,
    },
    rooms::{copy, rekey::Move},
    schema::EntitySchema,
    stored::{Rows, Stored},
};

impl Database {
    /// Writes a changed entity back under a changed key, in whatever partition, if it is still as it was read;
    /// afterwards `entity` is current again. With an unchanged partition it is a [`save`](Database::save).
    ///
    /// Cost: where the store commits several partitions atomically, that of a save. Else about ten requests, and
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
    /// `NotFound` if it is gone, `KeyTooLong` where the keys have no room for what a move notes, `Restricted` while another entity keeps a copy which forbids it, `Unsupported` where one entity follows both
    /// keys, or where a blob that the program does not know would be left behind, `Unavailable` if another entity is on its way to the key: it is then at its old key and
    /// `entity` as the caller left it. `OutcomeUnknown` where it is decided that it moves, and a relay finishes it, or
    /// where a reply was lost.
    pub async fn rekey<E: TableEntity>(&self, entity: &mut Stored<E>) -> Result<()> {
        let to = Image::of::<E>(entity);
        let rows = self.rekey_rows(E::SCHEMA, entity.rows_mut(), to).await?;
        entity.set_rows(rows);
        Ok(())
    }

    /// The rows of an entity once they are at their keys; it rests on `entity` until then.
    async fn rekey_rows(&self, schema: &'static EntitySchema, entity: &mut Rows, to: Result<Image>) -> Result<Group> {
        self.hold_lease().await?;
        let _states = self.0.registry.enter(); // held until the move is over
        let registered = self.writable(schema).await?;
        self.give_notice().await?; // also where nobody has leases
        let mut to = to?;
        Box::pin(self.let_claims_go(entity, &to)).await?;
        let old = entity.group().clone();
        let was = Old::of(schema, &old)?;
        to = to.keeping_unknown(&was.now().fields).into_owned();
        for copy in schema.copies {
            copy::carry(&mut to, copy, was.now())?;
        }
        let stays = old.key().partition == to.key.partition;
        if *old.key() == to.key || (stays && (self.is_atomic() || !schema.has_claims())) {
            return self.write_one(&registered, Change::Save { old, new: to }).await?.ok_or_else(no_row);
        }
        #[cfg(feature = "blob")]
        let uploaded = self.move_blobs(&mut to, was.now(), &old).await?;
        #[cfg(not(feature = "blob"))]
        super::links::check_none(&old, &to)?;
        #[cfg(not(feature = "blob"))]
        let uploaded = None;
        match self.is_atomic() {
            true => self.move_at_once(&registered, old, to, uploaded).await,
            false => self.move_in_steps(&registered, old, to, uploaded).await,
        }
    }

    /// Reserves the new key, takes the entity from the old one, and lets it arrive.
    async fn move_in_steps(
        &self,
        registered: &Registered,
        old: Group,
        to: Image,
        uploaded: Option<Since>,
    ) -> Result<Group> {
        let (schema, since) = (registered.schema, self.since());
        let id = self.operation_id().0.iter().map(|byte| format!("{byte:02x}")).collect();
        let partition = to.key.partition.clone();
        let mut moving = Move { id, from: old.key().clone(), to };
        let was = Image::written(schema, &old)?;
        self.check_fits(registered, &moving, &old).await?;
        self.mark_moving(schema, &moving.from.partition).await?;
        self.mark_moving(schema, &moving.to.key.partition).await?;
        let reserved = self.reserve(registered, &moving, &was).await?;
        let (mut bound, mut put) = (Run::new(self, registered, &partition), Put::default());
        let left = match self.bind(&mut bound, &mut moving.to).await.and_then(|()| self.check_blobs(uploaded)) {
            Ok(()) => self.leave(registered, &moving, old, &was, (&reserved, since), &mut put).await,
            Err(error) => {
                self.stay(registered, &moving, &reserved, bound.copying, put).await;
                return Err(error);
            }
        };
        if let Err(error) = left {
            let is_known = *error.kind() != ErrorKind::OutcomeUnknown;
            let has_left = match is_known {
                true => false,
                false => match self.intent(schema, &moving.intent_key()).await {
                    Ok(intent) => intent.is_some(),
                    Err(cause) => return Err(error.caused_by(cause)),
                },
            };
            if is_known {
                self.stay(registered, &moving, &reserved, bound.copying, put).await;
            }
            if !has_left {
                return Err(error);
            }
        }
        let arrived = self.finish_move(&moving).await;
        match arrived {
            Ok(Some(row)) => Ok(row),
            Ok(None) => match self.primary_rows(schema, &moving.to.key).await {
                Ok(Some(rows)) => Ok(as_moved(&moving, rows)),
                Ok(None) => Err(undecided(&moving, "the entity moved, and is gone from its new key already")),
                Err(error) => Err(undecided(&moving, "the entity moved; read it at its new key").caused_by(error)),
            },
            Err(error) => {
                Err(undecided(&moving, "the entity has left its old key, and a relay lets it arrive").caused_by(error))
            }
        }
    }

    /// Takes back what was put at the new key, or for it, for a move that has not begun.
    async fn stay(&self, registered: &Registered, moving: &Move, reserved: &ETag, bound: Copying, put: Put) {
        self.give_claims_back(put).await;
        self.give_back(registered, moving, reserved).await;
        self.withdraw(bound).await;
    }

    /// That what was uploaded for the move cannot have been collected yet.
    fn check_blobs(&self, uploaded: Option<Since>) -> Result<()> {
        #[cfg(feature = "blob")]
        return self.check_uploaded(uploaded);
        #[cfg(not(feature = "blob"))]
        {
            let _ = uploaded;
            Ok(())
        }
    }

    /// As [`Database::mark_dirty`], also for a model that has no rows elsewhere, and therefore no table of markers yet.
    pub(super) async fn mark_moving(&self, schema: &'static EntitySchema, partition: &str) -> Result<()> {
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
    async fn check_fits(&self, registered: &Registered, moving: &Move, old: &Group) -> Result<()> {
        let is_over = |error: &Error| *error.kind() == ErrorKind::Overflow;
        let arrive = Change::Arrive(Box::new(moving.clone()));
        let alone = self.check_moving(registered, moving, std::slice::from_ref(&arrive)).await;
        if !moving.stays() || moving.to.schema.aggregates.is_empty() {
            alone?;
            return moving.check_intent();
        }
        // Within its partition it has left the totals that it comes to; but the two are no one batch.
        let leave = Change::Leave { old: old.clone(), to: Box::new(moving.clone()) };
        match (alone, self.check_moving(registered, moving, &[leave, arrive]).await) {
            (_, Err(error)) if is_over(&error) => Err(error),
            (Err(error), both) if both.is_err() || !is_over(&error) => Err(error),
            _ => moving.check_intent(),
        }
    }

    /// What is told of these changes of a move before it begins.
    async fn check_moving(&self, registered: &Registered, moving: &Move, changes: &[Change]) -> Result<()> {
        let run = Run::new(self, registered, &moving.to.key.partition);
        run.knowing(self.reserved(moving)?).check(changes).await.map_err(Error::alone)
    }

    /// The new key as it is once it is reserved.
    fn reserved(&self, moving: &Move) -> Result<Known> {
        let now = self.environment().clock.now();
        let row = |row: &str, properties| Row {
            key: RowKey::new(moving.to.key.partition.clone(), row),
            etag: stale_etag(),
            timestamp: now,
            properties,
        };
        let at = &moving.to.key.row;
        let mut known: Known = [(at.clone(), Some(row(at, moving.reservation(now.ticks(), now, &[]))))].into();
        for held in moving.held()? {
            let holding = row(&held.row, held.properties);
            known.insert(held.row, Some(holding));
        }
        Ok(known)
    }

    /// Claims the values that the entity has only at its new key, then takes it from the old one.
    async fn leave(
        &self,
        registered: &Registered,
        moving: &Move,
        old: Group,
        was: &Image,
        (reserved, since): (&ETag, Since),
        put: &mut Put,
    ) -> Result<()> {
        let before = told(was, |_| false).entries;
        let stays = |away: &BatchAway| keeps(&before, away);
        // Of an index that is not written nobody has a value.
        let is_written = |away: &BatchAway| registered.setting.of(away.row.index) >= IndexState::WriteOnly;
        for away in claimed(&moving.to)?.into_iter().filter(|away| is_written(away) && !stays(away)) {
            let partition = &moving.to.key.partition;
            if self.take_claim(&away, partition, Some(reserved), since, put).await? == Taken::Stale {
                return Err(Error::new(ErrorKind::Unavailable, "another program wants the new key; try again"));
            }
        }
        self.write_one(registered, Change::Leave { old, to: Box::new(moving.clone()) }).await.map(drop)
    }
}

/// What another let arrive, as it is now: outdated, unless it still is what was moved.
fn as_moved(moving: &Move, rows: Group) -> Group {
    let schema = moving.to.schema;
    let copied: Vec<_> = schema.copies.iter().flat_map(|copy| copy.all_stored()).collect();
    let is_own = |name: &&str| !copied.contains(name);
    let own = schema.properties().filter(|property| !property.aggregate).map(|property| property.property);
    let own: Vec<_> = own.filter(is_own).collect();
    let now = Image::written(schema, &rows);
    let is = |now: &Image, name| now.fields.get_constant(name) == moving.to.fields.get_constant(name);
    match now.is_ok_and(|now| own.iter().all(|name| is(&now, name))) {
        true => rows,
        false => Group { head: Row { etag: stale_etag(), ..rows.head }, ..rows },
    }
}

fn exists(schema: &'static EntitySchema, key: &RowKey) -> Error {
    let detail = "an entity with this key exists; nothing was moved";
    Error::new(ErrorKind::AlreadyExists, detail).of(schema.entity_type).at_key(key.clone())
}

fn undecided(moving: &Move, detail: &str) -> Error {
    Error::new(ErrorKind::OutcomeUnknown, detail).of(moving.to.schema.entity_type).at_key(moving.to.key.clone())
}
