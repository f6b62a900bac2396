//! Repair: puts right what a walk found, by the normal ways of writing.
//!
//! An entity is written once more as it is, with every derived row; what nobody wants is taken away if it is still as it
//! was read. What cannot be read is left to the user.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    future::IntoFuture,
    pin::Pin,
};

use tablemodel_store::{Action, Batch, Condition, ETag, RowKey, StoreErrorKind};

use super::{Checkpoint, Verified, Verify, Violation, ViolationKind, among, mend::Mend, owners::Owners};
use crate::{
    database::{Database, outbox::due},
    error::{Error, ErrorKind, Result},
    plan::{
        change::{Change, check_told, is_primary},
        outbox::{AwayKey, Intent},
        part,
        shadow::{self, owner_as},
        system::{self, RowKind},
    },
    rooms::aggregate::{self, Recount, kept_in},
    schema::EntitySchema,
};

/// How often what could not be put right is looked at again: another mend may have changed it.
const AGAIN: usize = 3;

/// What a repair did.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "what could not be put right is reported here"]
pub struct Repaired {
    /// What the walk found.
    pub found: Verified,
    /// How many of the violations were put right. On a store that commits one partition at a time, rows of other partitions that could
    /// not be written at once are the relay's to bring, and counted here.
    pub repaired: u64,
    /// Violations that were left, with why: as they are after all else was put right.
    pub left: Vec<(Violation, String)>,
    /// Tombstones taken away that stood for the source of copies, and that nobody waits for any more. On a store that
    /// commits one partition at a time the relay sweeps those.
    pub swept: u64,
}

/// A walk that puts right what it finds. Made by [`Database::repair`]; await it to run it.
#[must_use = "nothing is repaired until it is awaited"]
#[derive(Debug)]
pub struct Repair<'a>(Verify<'a>, Database);

impl Database {
    /// Walks as [`Database::verify`] does, and puts right what it finds.
    ///
    /// An entity that lacks rows, or has stale ones, is written once more as it is (its sequence number goes up); rows that
    /// nobody wants are taken away; overdue outbox rows are delivered, and overdue moves finished. Rows that cannot be read are
    /// left, and reported, and with them all that belongs to their entities: parts, rows of indexes, unique values, what copies them.
    /// What cannot be put right at first is looked at again once all else is, up to three times.
    /// What is taken away for its age is so by the clock of the store, not by this machine's.
    /// Cost: that of the walk, up to three writes a violation, a point read for each total, and a read of each partition that is looked at again. Can run while the store is in use.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let repaired = db.repair().await?;
    /// assert_eq!((repaired.repaired, repaired.left.len()), (0, 0));
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the store while it walks. What cannot be repaired is in the report.
    pub fn repair<'a>(&self) -> Repair<'a> {
        Repair(self.verify(), self.clone())
    }
}

impl<'a> Repair<'a> {
    /// Goes on where an earlier walk stopped.
    pub fn from(self, checkpoint: Checkpoint) -> Self {
        Self(self.0.from(checkpoint), self.1)
    }

    /// Stops after about so many rows, at the end of a partition.
    pub fn rows(self, rows: u64) -> Self {
        Self(self.0.rows(rows), self.1)
    }

    /// Asks for the rows of an index that is written, and not readable yet, too.
    pub(in crate::database) fn strict(self) -> Self {
        Self(self.0.strict(), self.1)
    }

    /// Calls `report` after each partition, with what was found so far.
    pub fn progress(self, report: impl FnMut(&Verified) + Send + 'a) -> Self {
        Self(self.0.progress(report), self.1)
    }

    async fn run(self) -> Result<Repaired> {
        let Self(verify, db) = self;
        let strict = verify.strict;
        db.check_writable()?;
        let mut found = verify.await?;
        for restless in std::mem::take(&mut found.restless) {
            found.unsettled += u64::from(db.calm(&restless).await.is_err());
        }
        let mut left = db.mend_each(&found.violations).await;
        for _ in 0..AGAIN {
            // What one mend writes on its way, another finds otherwise than it was read.
            let (unmendable, changed): (Vec<_>, Vec<_>) = left.into_iter().partition(|(of, _)| of.mend == Mend::No);
            left = unmendable;
            let mut places = BTreeMap::<_, Vec<_>>::new();
            for (of, why) in changed {
                places.entry((of.table.clone(), of.key.partition.clone())).or_default().push((of, why));
            }
            for ((table, partition), changed) in places {
                match db.mendable(&table, &partition, strict).await? {
                    Some(found) => left.extend(db.mend_each(&found).await),
                    None => left.extend(changed),
                }
            }
        }
        let repaired = put_right(&found.violations, &left);
        let mut swept = 0;
        for (table, key, etag) in &found.litter {
            swept += u64::from(db.take_away(table, key, etag).await.is_ok()); // else somebody needs it by now
        }
        Ok(Repaired { repaired, left, swept, found })
    }
}

/// How many of the violations are of rows with which nothing is wrong any more.
fn put_right(found: &[Violation], left: &[(Violation, String)]) -> u64 {
    let left: HashSet<_> = left.iter().map(|(of, _)| of.row()).collect();
    found.iter().filter(|of| !left.contains(&of.row())).count() as u64
}

impl<'a> IntoFuture for Repair<'a> {
    type Output = Result<Repaired>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Repaired>> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Display for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} violations put right", self.repaired, self.found.violations.len())
    }
}

/// Why it is left. What another program reads is not damaged.
fn unmendable(kind: ViolationKind) -> Error {
    match kind {
        ViolationKind::UnknownVersion => Error::new(
            ErrorKind::UnknownVersion,
            "nothing need be wrong with the row: repair with the newer program, or with one that names its version, and do not delete it",
        ),
        _ => Error::corrupt("what was meant cannot be told: mend the row by hand, or delete it"),
    }
}

impl Database {
    /// Writes an entity once more, whatever is wrong with it by now.
    async fn calm(&self, violation: &Violation) -> Result<()> {
        match &violation.mend {
            Mend::Rewrite(_, entity, owner) => self.touch(self.known(entity)?, owner, Vec::new()).await,
            _ => self.mend(violation).await,
        }
    }

    /// Puts right what can be; gives the others, each with why.
    async fn mend_each(&self, violations: &[Violation]) -> Vec<(Violation, String)> {
        let (mut touched, mut left) = (HashSet::new(), Vec::new());
        for violation in violations {
            let touches = violation.mend.touches();
            if touches.is_some_and(|entity| touched.contains(&entity)) {
                continue;
            }
            let mended = match self.check_counted(&violation.mend).await {
                Ok(()) => self.mend(violation).await,
                Err(error) => Err(error),
            };
            match mended {
                Ok(()) => touched.extend(touches),
                Err(error) => left.push((violation.clone(), error.to_string())),
            }
        }
        left
    }

    /// That all who count in a cell are known, as the store says by now: one that came since the states were looked at is in the cell, and not
    /// in what its sources were found to come to. Cost: a point read.
    async fn check_counted(&self, mend: &Mend) -> Result<()> {
        let Mend::Recount(recount) = mend else { return Ok(()) };
        // Where there was no cell, whoever counted since has made one.
        let (Recount::Cell { cell: Some(cell), .. } | Recount::Stray(cell)) = &**recount else { return Ok(()) };
        let RowKind::Derived { entity, name, .. } = system::kind(&cell.properties) else { return Ok(()) };
        let Some(target) = self.entity_of(entity) else { return Ok(()) };
        if !self.is_atomic() {
            self.hold_lease().await?; // who has none, or had it lapse, reads the states anew
            self.look_at_states().await?;
        }
        match self.is_told(target, name.trim_start_matches('~'), true)? {
            true => Ok(()),
            false => Err(Error::unsupported("others count in this by now: what it comes to cannot be told")
                .of(target.entity_type)),
        }
    }

    /// What is wrong in a partition as it is now, and can be put right; none while that is something else each time.
    ///
    /// A partition is read page by page, beside writers: what is wrong both times was so at one moment.
    async fn mendable(&self, table: &str, partition: &str, strict: bool) -> Result<Option<Vec<Violation>>> {
        let Some(table) = self.entity_tables().into_iter().find(|known| *known == table) else { return Ok(None) };
        let mut before: Option<Vec<Violation>> = None;
        for _ in 0..2 {
            let rows = self.read_partition(table, partition).await?;
            let mut found = self.check_partition(table, rows, strict, &Owners::default()).await?.violations;
            found.retain(|violation| violation.mend != Mend::No);
            if found.iter().all(among(before.as_deref().unwrap_or_default())) {
                return Ok(Some(found)); // or there are none
            }
            before = Some(found);
        }
        Ok(None)
    }

    pub(in crate::database) async fn mend(&self, violation: &Violation) -> Result<()> {
        match &violation.mend {
            Mend::No => Err(unmendable(violation.kind)),
            Mend::Touch(entity, owner, _) => self.touch(self.known(entity)?, owner, Vec::new()).await,
            Mend::Recopy(entity, holder, _) => self.recopy(self.known(entity)?, vec![holder.clone()]).await,
            Mend::Rewrite(etag, entity, owner) => {
                self.take_away(&violation.table, &violation.key, etag).await?;
                self.touch(self.known(entity)?, owner, Vec::new()).await
            }
            Mend::Relist(relist) => self.relist(violation, relist).await,
            Mend::Recount(recount) => self.recount(violation, recount).await,
            Mend::Remove(etag) => self.take_away(&violation.table, &violation.key, etag).await,
            Mend::RemoveAfter(etag, time) => self.take_away_after(violation, etag, *time).await,
            Mend::Deliver(entity) => self.deliver_overdue(self.known(entity)?, &violation.key).await,
            Mend::Release { entity, index, owner, sequence } => {
                let (table, key) = (violation.table.clone(), violation.key.clone());
                let entry = AwayKey { index: index.clone(), table, key, version: 0 };
                self.release(self.known(entity)?, owner, *sequence, entry).await
            }
        }
    }

    /// Every write of a source changes the cell, but for one that only moves it in its partition: one that was read before the sources, and is
    /// as it was, has those. That the sources were the same twice tells that none was met at two keys.
    async fn recount(&self, violation: &Violation, recount: &Recount) -> Result<()> {
        let (entity, row, total, cell, is_live) = match recount {
            Recount::Cell { entity, row, total, cell, is_live, .. } => (entity, row, total, cell, is_live),
            Recount::Stray(cell) => return self.take_away(&violation.table, &violation.key, &cell.etag).await,
            Recount::Target(..) => return Ok(()),
        };
        let schema = self.known(entity)?;
        let Some(into) = kept_in(schema, row, &violation.key.row) else { return Ok(()) };
        let now = self.environment().clock.now().ticks();
        let action =
            into.write(total, cell.as_ref(), *is_live, now).map_err(|error| error.at_key(violation.key.clone()))?;
        if let Some(action) = action {
            let partition = violation.key.partition.clone();
            let batch = Batch::new(self.table_name(&violation.table), partition).with(into.cell(), action);
            self.commit_store(&[batch], 0).await?;
        }
        if !into.is_held() {
            return Ok(()); // the target says nothing of it
        }
        self.touch(schema, &RowKey::new(violation.key.partition.clone(), row.clone()), Vec::new()).await
    }

    /// The target and the property of the aggregate whose cell, which is counted, is wrong.
    pub(super) fn cell_of(&self, violation: &Violation) -> Option<(&'static EntitySchema, &'static str)> {
        let Mend::Recount(recount) = &violation.mend else { return None };
        let Recount::Cell { entity, row, cell: Some(cell), .. } = &**recount else { return None };
        let schema = self.known(entity).ok().filter(|_| !aggregate::is_unbuilt(cell))?;
        kept_in(schema, row, &violation.key.row).map(|into| (schema, into.property.property))
    }

    pub(super) fn known(&self, entity: &'static str) -> Result<&'static EntitySchema> {
        let schema = self.entity_of(entity);
        schema.ok_or_else(|| Error::unsupported("the opened model does not list this entity").of(entity))
    }

    /// Writes the entity once more, with every derived row. Nothing to do where it is gone.
    pub(in crate::database) async fn touch(
        &self,
        schema: &'static EntitySchema,
        owner: &RowKey,
        strays: Vec<AwayKey>,
    ) -> Result<()> {
        let registered = self.registered(schema)?;
        for _ in 0..crate::database::calls::ATTEMPTS {
            let primary = self.read_owner(schema, &registered.table, owner).await?;
            let Some(old) = primary.filter(|rows| is_primary(schema, &rows.head)) else { return Ok(()) };
            let change = Change::Touch { schema, old, strays: strays.clone() };
            match self.write_one(&registered, change).await {
                Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. } | ErrorKind::NotFound) => {}
                other => return other.map(drop),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the entity keeps changing")
            .of(schema.entity_type)
            .at_key(owner.clone()))
    }

    pub(super) async fn take_away(&self, table: &str, key: &RowKey, etag: &ETag) -> Result<()> {
        let Some(there) = self.get_row(&self.table_name(table), key).await? else { return Ok(()) };
        if there.etag == *etag && self.uncount(&there).await? {
            return Ok(());
        }
        if there.etag == *etag && shadow::owner(&there).is_some() && part::has_parts(&there.properties) {
            return self.remove_shadow(&self.table_name(table), &there).await;
        }
        let action = Action::Delete(Condition::Match(etag.clone()));
        let batch = Batch::new(self.table_name(table), key.partition.clone()).with(key.row.clone(), action);
        self.commit_store(&[batch], 0).await?;
        Ok(())
    }

    /// Takes a row of another partition away that names `owner`: through the outbox, so that what is still under way is
    /// fenced off, or at once where nothing can be. Whoever comes to want the row meanwhile writes it, and it stays.
    async fn release(
        &self,
        schema: &'static EntitySchema,
        owner: &RowKey,
        sequence: i64,
        entry: AwayKey,
    ) -> Result<()> {
        let registered = self.registered(schema)?;
        let table = self.table_name(&entry.table);
        let there = self.get_row(&table, &entry.key).await?;
        let Some(there) = there.filter(|row| owner_as(&entry.index, row).as_ref() == Some(owner)) else {
            return Ok(());
        };
        if self.is_atomic() && entry.claimed(schema).is_some() {
            let since = self.since();
            return self.settle_claim(schema, owner, &entry, since).await;
        }
        let primary = self.get_row(&registered.table, owner).await?;
        primary.iter().try_for_each(|row| check_told(schema, row))?;
        if primary.is_some_and(|row| is_primary(schema, &row)) {
            return self.touch(schema, owner, vec![entry]).await;
        }
        if self.is_atomic() {
            // Read before the entity: one that comes now writes the row anew.
            return match self.uncount(&there).await? {
                true => Ok(()),
                false => self.remove_shadow(&table, &there).await,
            };
        }
        self.mark_dirty(schema, &owner.partition).await?;
        let row = self.put_release(schema, owner, sequence, &entry).await?;
        self.deliver_row(schema, row).await
    }

    /// Puts the outbox row of a release, at the first sequence number of the owner's that is free: another row of the owner may
    /// have been released before, and its outbox row sweeps that one's tombstone.
    async fn put_release(
        &self,
        schema: &'static EntitySchema,
        owner: &RowKey,
        sequence: i64,
        entry: &AwayKey,
    ) -> Result<RowKey> {
        let table = self.table_name(schema.table);
        for sequence in sequence.saturating_add(1).. {
            let (owner_row, entries) = (owner.row.clone(), vec![entry.clone()]);
            let intent = Intent { owner: owner_row, sequence, entries, ..Intent::default() };
            let properties = intent.properties(schema, due(self.environment().clock.now()));
            let row = RowKey::new(owner.partition.clone(), intent.row());
            let batch = Batch::new(&table, row.partition.clone()).with(row.row.clone(), Action::Insert(properties));
            match self.commit_store(&[batch], 0).await {
                Ok(_) => return Ok(row),
                Err(error) if error.kind() == StoreErrorKind::RowExists => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::new(ErrorKind::Overflow, "there is no sequence number left").at_key(owner.clone()))
    }
}
