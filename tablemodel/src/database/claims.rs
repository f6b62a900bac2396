//! Claims of values that are unique over several partitions: taken before the entity is written, confirmed or released
//! after it, and taken over from programs that died in between.
//!
//! What a claim says and what is to become of it is `rooms::unique`'s. Every write of a claim rests on its ETag.

mod put;

pub(super) use self::put::Put;

use std::time::Duration;

use tablemodel_store::{Action, Batch, Condition, DateTime, ETag, Properties, Receipts, Row, RowKey, StoreError};

use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, in_vain, is_transient},
        outbox::{due, is_race, later},
        since::Since,
    },
    error::Result,
    plan::{
        batch::BatchAway,
        change::is_primary,
        group::Group,
        image::Image,
        outbox::{AwayKey, Intent, is_tombstone, targets},
        system,
    },
    rooms::{
        self,
        rekey::Reservation,
        unique::{self, Claim, Stage},
    },
    schema::{EntitySchema, IndexSchema},
};

/// How long another waits for a claim whose entity is not written yet. Short, since what is taken over from a program
/// that is only slow makes its write fail, and does no harm.
pub(super) const CLAIM_TIME: Duration = Duration::from_secs(60);

/// What became of an attempt to take a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is claimed for the entity.
    Held,
    /// The entity is not as its image was read.
    Stale,
}

/// A value that an entity is about to take.
struct Wish<'a> {
    schema: &'static EntitySchema,
    index: &'static IndexSchema,
    table: String,
    key: RowKey,
    owner: RowKey,
    /// The claim as it will be.
    confirmed: &'a Properties,
}

impl<'a> Wish<'a> {
    fn of(db: &Database, away: &'a BatchAway, partition: &str) -> Option<Self> {
        Some(Self {
            schema: away.schema,
            index: away.claimed()?,
            table: db.table_name(away.row.away.table),
            key: RowKey::new(away.row.away.partition.clone(), away.row.row.clone()),
            owner: RowKey::new(partition, away.row.owner.clone()),
            confirmed: away.row.want.as_ref()?,
        })
    }

    fn read(&self, row: &Row) -> Result<Claim> {
        unique::read(self.index, row).ok_or_else(|| unique::foreign(self.schema, self.index, &self.key))
    }
}

impl Database {
    /// That no other entity has the value, by one point read: before anything is written.
    pub(super) async fn judge_claim(&self, away: &BatchAway, partition: &str) -> Result<()> {
        let Some(wish) = Wish::of(self, away, partition) else { return Ok(()) };
        let Some(row) = self.get_row(&wish.table, &wish.key).await? else { return Ok(()) };
        let claim = wish.read(&row)?;
        self.refuse(&wish, &claim)
    }

    /// The error where another has the value, or is about to take it.
    fn refuse(&self, wish: &Wish<'_>, claim: &Claim) -> Result<()> {
        match claim.stage {
            _ if claim.owner == wish.owner => Ok(()),
            Stage::Confirmed => Err(unique::taken(wish.schema, wish.index, &wish.key, claim.owner.clone())),
            Stage::Pending(expires) if self.environment().clock.now() < expires => {
                Err(unique::busy(wish.schema, wish.index, &wish.key, &claim.owner))
            }
            Stage::Pending(_) => Ok(()),
        }
    }

    /// Writes the claim of the value as pending for its entity, whose image was read before at this ETag.
    ///
    /// Cost: a point read and a write; two more of each where a program died over the value.
    pub(super) async fn take_claim(
        &self,
        away: &BatchAway,
        partition: &str,
        image: Option<&ETag>,
        since: Since,
        put: &mut Put,
    ) -> Result<Taken> {
        let Some(wish) = Wish::of(self, away, partition) else { return Ok(Taken::Held) };
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            let there = self.get_row(&wish.table, &wish.key).await?;
            let mut is_anothers_too = false;
            let condition = match &there {
                None => None,
                Some(row) => {
                    let claim = wish.read(row)?;
                    self.refuse(&wish, &claim)?;
                    let is_own = claim.owner == wish.owner;
                    if is_own && claim.stage == Stage::Confirmed {
                        // The entity may have the value by now: then the image is old, or nothing is new.
                        if let Some(taken) = self.confirmed_before(&wish, image).await? {
                            return Ok(taken);
                        }
                    } else if is_own {
                        is_anothers_too = !put.left(&wish.table, &wish.key, &row.etag);
                    }
                    if !is_own && !self.displace(&wish, row, &claim.owner, attempt, since).await? {
                        continue;
                    }
                    Some(Condition::Match(row.etag.clone()))
                }
            };
            let pending = unique::pending(wish.confirmed, later(self.environment().clock.now(), CLAIM_TIME));
            let action = match condition {
                None => Action::Insert(pending),
                Some(condition) => Action::Replace(pending, condition),
            };
            self.check_held(since)?;
            let batch = Batch::new(&wish.table, wish.key.partition.clone()).with(wish.key.row.clone(), action);
            match self.race(batch, attempt).await? {
                Ok(receipts) => {
                    put.note(&wish.table, &wish.key, if is_anothers_too { &[] } else { &receipts });
                    return Ok(Taken::Held);
                }
                Err(lost) => last = Some(lost),
            }
        }
        let error = in_vain("the claim of the value", last).within(&format!("unique index `{}`", wish.index.name));
        Err(error.of_index(Some(wish.index.name)).of(wish.schema.entity_type).at_key(wish.key))
    }

    /// What the entity's own confirmed claim means for a write on this image; `None`: its last value is not released yet.
    async fn confirmed_before(&self, wish: &Wish<'_>, image: Option<&ETag>) -> Result<Option<Taken>> {
        let primary = self.read_entity(wish.schema, &self.table_name(wish.schema.table), &wish.owner).await?;
        if primary.as_ref().map(|rows| &rows.head.etag) != image {
            return Ok(Some(Taken::Stale));
        }
        let has = primary.is_some_and(|rows| wants(wish.schema, wish.index, &rows, &wish.key).unwrap_or(false));
        Ok(has.then_some(Taken::Held))
    }

    /// Sees to it that the owner of an expired claim has not got the value and cannot get it any more by a write under
    /// way. `false`: something changed, look again.
    async fn displace(&self, wish: &Wish<'_>, claim: &Row, owner: &RowKey, attempt: u32, since: Since) -> Result<bool> {
        let (schema, table) = (wish.schema, self.table_name(wish.schema.table));
        let primary = self.read_owner(schema, &table, owner).await?;
        let Some(rows) = &primary else { return self.bury(wish, owner, None, attempt, since).await };
        let row = &rows.head;
        if is_primary(schema, row) {
            if wants(schema, wish.index, rows, &wish.key)? {
                self.confirm_for(wish, claim, rows, attempt).await?;
                return Err(unique::taken(schema, wish.index, &wish.key, owner.clone()));
            }
            self.check_held(since)?;
            return self.touch_row(schema, Some(row)).await;
        }
        if let Some(reservation) = Reservation::of(row) {
            return self.stop_arrival(schema, &reservation).await;
        }
        match is_tombstone(row) {
            // The entity has left, and has the value until it has arrived.
            true if self.finish_moves_of(schema, owner).await? => Ok(false),
            true => self.bury(wish, owner, Some(row), attempt, since).await,
            false => Ok(true), // another's row: nothing of the owner's can be written there
        }
    }

    /// Sees to it that the entity that a key is reserved for has not left its old key and cannot leave it by a write
    /// under way. `false`: it has left, and was let arrive; look again.
    async fn stop_arrival(&self, schema: &'static EntitySchema, reservation: &Reservation) -> Result<bool> {
        let old = self.get_row(&self.table_name(schema.table), &reservation.from).await?;
        match self.intent(schema, &reservation.intent_key()).await? {
            Some(moving) => self.finish_move(&moving).await.map(|_| false),
            None => self.touch_row(schema, old.as_ref()).await,
        }
    }

    /// Puts a tombstone where an owner is not, and the outbox row by which it is swept once the fence has passed.
    async fn bury(
        &self,
        wish: &Wish<'_>,
        owner: &RowKey,
        dead: Option<&Row>,
        attempt: u32,
        since: Since,
    ) -> Result<bool> {
        let schema = wish.schema;
        self.mark_dirty(schema, &owner.partition).await?;
        let now = self.environment().clock.now();
        let sequence = dead.map_or(now.ticks(), |row| system::sequence(&row.properties).saturating_add(1));
        let tombstone = system::tombstone(schema, sequence, None);
        let action = match dead {
            None => Action::Insert(tombstone),
            Some(row) => Action::Replace(tombstone, Condition::Match(row.etag.clone())),
        };
        let entries = AwayKey::new(wish.index, &wish.key).into_iter().collect();
        let intent = Intent { owner: owner.row.clone(), sequence, entries, ..Intent::default() };
        let outbox = Action::Insert(intent.properties(schema, due(now)));
        self.check_held(since)?;
        let batch = Batch::new(self.table_name(schema.table), owner.partition.clone());
        self.commit_racing(batch.with(owner.row.clone(), action).with(intent.row(), outbox), attempt).await
    }

    async fn confirm_for(&self, wish: &Wish<'_>, claim: &Row, primary: &Group, attempt: u32) -> Result<()> {
        let Some(confirmed) = self.wanted_claim(wish.schema, wish.index, &wish.key, primary)? else { return Ok(()) };
        let action = Action::Replace(confirmed, Condition::Match(claim.etag.clone()));
        let batch = Batch::new(&wish.table, wish.key.partition.clone()).with(wish.key.row.clone(), action);
        self.commit_racing(batch, attempt).await.map(drop)
    }

    /// The confirmed claim that the entity in this row wants there.
    fn wanted_claim(
        &self,
        schema: &'static EntitySchema,
        index: &'static IndexSchema,
        key: &RowKey,
        primary: &Group,
    ) -> Result<Option<Properties>> {
        let registered = self.registered(schema)?;
        let entries = AwayKey::new(index, key).into_iter().collect();
        let intent = Intent { owner: primary.key().row.clone(), sequence: 0, entries, ..Intent::default() };
        let targets = targets(schema, &registered.setting, &intent, primary.key(), Some(primary))?;
        Ok(targets.into_iter().find(|target| target.is_live).map(|target| target.properties))
    }

    /// Makes a claim that an intent names what its entity wants now: confirmed, or released. Another's is left alone.
    ///
    /// Cost: two point reads and at most one write, again while others write it.
    pub(super) async fn settle_claim(
        &self,
        schema: &'static EntitySchema,
        owner: &RowKey,
        entry: &AwayKey,
        since: Since,
    ) -> Result<()> {
        let Some(index) = entry.claimed(schema) else { return Ok(()) };
        let (table, mut last) = (self.table_name(&entry.table), None);
        for attempt in 0..ATTEMPTS {
            let there = self.get_row(&table, &entry.key).await?;
            let primary = self.read_owner(schema, &self.table_name(schema.table), owner).await?;
            let live = primary.as_ref().filter(|rows| is_primary(schema, &rows.head));
            let wanted = live.map(|rows| self.wanted_claim(schema, index, &entry.key, rows)).transpose()?.flatten();
            let action = match (&there, &wanted) {
                (None, None) => return Ok(()),
                // Lost. Claimed anew as any value is, so that nothing stays behind if the entity gives it up meanwhile.
                (None, Some(wanted)) => Action::Insert(unique::pending(wanted, DateTime::MIN)),
                (Some(row), _) => {
                    let claim = unique::read(index, row).ok_or_else(|| unique::foreign(schema, index, &entry.key))?;
                    let ours = (claim.owner == *owner).then(|| unique::settled(&claim, row, wanted.as_ref()));
                    let Some(action) = ours.flatten() else { return Ok(()) };
                    action
                }
            };
            // An entity that has left its key has its values until it has arrived at another.
            if wanted.is_none()
                && primary.as_ref().is_some_and(|rows| is_tombstone(&rows.head))
                && self.is_moving_with(schema, index, owner, &entry.key).await?
            {
                return Ok(());
            }
            self.check_held(since)?;
            let is_last = there.is_some();
            let batch = Batch::new(&table, entry.key.partition.clone()).with(entry.key.row.clone(), action);
            match self.race(batch, attempt).await? {
                Ok(_) if is_last => return Ok(()),
                written => last = written.err(),
            }
        }
        Err(in_vain("the claim of a unique value", last).at_key(entry.key.clone()))
    }

    async fn is_moving_with(
        &self,
        schema: &'static EntitySchema,
        index: &IndexSchema,
        owner: &RowKey,
        key: &RowKey,
    ) -> Result<bool> {
        for moving in self.moves_of(schema, owner).await? {
            if moving.wants(index, key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The claim, if it belongs to one of `ours`.
    pub(super) async fn own_claim(&self, away: &BatchAway, ours: impl Fn(&RowKey) -> bool) -> Result<Option<Row>> {
        let table = self.table_name(away.row.away.table);
        let key = RowKey::new(away.row.away.partition.clone(), away.row.row.clone());
        let row = self.get_row(&table, &key).await?;
        Ok(row.filter(|row| system::owner(row).is_some_and(|owner| ours(&owner))))
    }

    /// The claim, if it belongs to one of `ours` or to nobody who has the value: where no other program is at work.
    pub(super) async fn takeable_claim(&self, away: &BatchAway, ours: impl Fn(&RowKey) -> bool) -> Result<Option<Row>> {
        let Some(wish) = Wish::of(self, away, "") else { return Ok(None) };
        let Some(row) = self.get_row(&wish.table, &wish.key).await? else { return Ok(None) };
        let claim = wish.read(&row)?;
        if ours(&claim.owner) {
            return Ok(Some(row));
        }
        let owner = match claim.stage {
            Stage::Confirmed => true,
            Stage::Pending(_) => match self.primary_rows(wish.schema, &claim.owner).await? {
                Some(primary) => wants(wish.schema, wish.index, &primary, &wish.key)?,
                None => false,
            },
        };
        if owner { Err(unique::taken(wish.schema, wish.index, &wish.key, claim.owner)) } else { Ok(Some(row)) }
    }

    /// One write that others may be faster with: whether it was carried out.
    pub(super) async fn commit_racing(&self, batch: Batch, attempt: u32) -> Result<bool> {
        Ok(self.race(batch, attempt).await?.is_ok())
    }

    /// The same: what it left, or what was in its way.
    pub(super) async fn race(&self, batch: Batch, attempt: u32) -> Result<Result<Vec<Receipts>, StoreError>> {
        let raced = self.commit_store(&[batch], attempt).await;
        match &raced {
            Err(error) if is_transient(error) => self.pause(attempt).await,
            Err(error) if !is_race(error.kind()) => return Err(error.clone().into()),
            _ => {}
        }
        Ok(raced)
    }
}

/// Whether the entity in this row wants the claim at `key`.
fn wants(schema: &'static EntitySchema, index: &IndexSchema, primary: &Group, key: &RowKey) -> Result<bool> {
    if !is_primary(schema, &primary.head) {
        return Ok(false);
    }
    let image = Image::written(schema, primary)?;
    let position = image.schema.indexes.iter().position(|other| other.name == index.name);
    match position {
        Some(position) => rooms::index::wants(&image, position, &key.partition, &key.row),
        None => Ok(false),
    }
}
