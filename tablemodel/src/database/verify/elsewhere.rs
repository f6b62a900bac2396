//! What several partitions show together: entities and their rows in other partitions, outbox rows, and tombstones that
//! nothing sweeps.
//!
//! What an outbox row still names is on its way, and not reported.

mod outbox;
mod owner;

use std::borrow::Cow;

use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{DateTime, KeyRange, Query, Row, RowKey};

use self::owner::Standing;
use super::{
    Violation, ViolationKind,
    check::Check,
    mend::Mend,
    owners::Owners,
    wanted::{Guest, Wanted, WantedAway},
};
use crate::{
    database::Database,
    error::{Error, ErrorKind, Result},
    key::beginning_with,
    plan::{
        entries::{places, wants},
        part::Torn,
        shadow,
        states::IndexState,
        system,
    },
    rooms::{copy, rekey::is_reserved, unique},
    schema::EntitySchema,
};

/// Rows of other partitions read at the same time.
const CONCURRENT_READS: usize = 16;
/// Rows collected before they are looked at, of one partition or of several: an index partition may be of any size.
const CHUNK: usize = 1_024;
/// Moves that one entity may have made, one after the other, before the first of them is over.
const MOVES: usize = 8;

/// What is to be looked at of each check, with its number.
fn gathered<T>(checks: &mut [Check], of: impl Fn(&mut Check) -> &mut Vec<T>) -> Vec<(usize, T)> {
    let mut gathered = Vec::new();
    for (number, check) in checks.iter_mut().enumerate() {
        gathered.extend(std::mem::take(of(check)).into_iter().map(|one| (number, one)));
    }
    gathered
}

impl Database {
    /// Checks what partitions of one table want of others, and what they hold for others.
    pub(super) async fn check_elsewhere(&self, checks: &mut [Check], owners: &Owners) -> Result<()> {
        let Some((table, strict)) = checks.first().map(|check| (check.table, check.strict)) else { return Ok(()) };
        for check in checks.iter_mut() {
            self.check_outbox(check).await?;
        }
        for chunk in gathered(checks, |check| &mut check.away).chunks(CHUNK) {
            let found: Vec<_> = chunk.iter().map(|(of, wanted)| (*of, self.check_wanted(wanted))).collect();
            self.collect(found, checks).await?;
        }
        for chunk in gathered(checks, |check| &mut check.guests).chunks(CHUNK) {
            let found: Vec<_> = chunk.iter().map(|(of, guest)| (*of, self.check_guest(table, guest, owners))).collect();
            self.collect(found, checks).await?;
        }
        for chunk in gathered(checks, |check| &mut check.holders).chunks(CHUNK) {
            let found: Vec<_> = chunk.iter().map(|(of, holder)| (*of, self.check_copies(holder, strict))).collect();
            self.collect(found, checks).await?;
        }
        let dead = gathered(checks, |check| &mut check.dead);
        for (of, (schema, row)) in dead.iter().filter(|_| self.is_atomic()) {
            if !self.is_awaited(schema, row).await?
                && !self.has_outbox_rows(schema, &row.key, |_| true).await?
                && let Some(check) = checks.get_mut(*of)
            {
                check.litter.push((row.key.clone(), row.etag.clone()));
            }
        }
        let found: Vec<_> = dead.iter().map(|(of, (schema, row))| (*of, self.check_dead(schema, row))).collect();
        self.collect(found, checks).await
    }

    /// Looks at these, so many at a time: each tells what is wrong with something of the check with that number.
    async fn collect(
        &self,
        found: Vec<(usize, impl Future<Output = Result<Option<Violation>>>)>,
        checks: &mut [Check],
    ) -> Result<()> {
        let each = found.into_iter().map(|(of, found)| async move { Ok::<_, Error>((of, found.await?)) });
        let each: Vec<_> = each.collect();
        let found: Vec<_> = stream::iter(each).buffered(CONCURRENT_READS).try_collect().await?;
        for (of, violation) in found {
            if let Some(check) = checks.get_mut(of) {
                check.violations.extend(violation);
            }
        }
        Ok(())
    }

    /// A row that an entity wants in another partition.
    async fn check_wanted(&self, away: &WantedAway) -> Result<Option<Violation>> {
        let wanted = &away.wanted;
        let table = self.table_name(away.table);
        let there = match wanted.form() {
            None => self.get_row(&table, &away.key).await?,
            Some(form) => match self.whole_shadow(form, &table, &away.key).await?.transpose() {
                Ok(there) => there,
                Err(torn) => return self.check_torn(away, torn).await,
            },
        };
        let there = there.filter(|row| !system::is_dead(&row.properties));
        let (kind, detail, mend) = match &there {
            None if wanted.required => (ViolationKind::Missing, wanted.missing(), wanted.touch()),
            None => return Ok(None),
            Some(row) => match wanted.misfits(row).first() {
                Some(_) if self.is_claimed_by_another(wanted, row).await? => {
                    let detail = format!("{} has this unique value too: change one of them", wanted.owner);
                    (ViolationKind::Stale, detail, Mend::No)
                }
                Some(detail) => (ViolationKind::Stale, (*detail).to_owned(), wanted.rewrite(row)),
                None => return Ok(None),
            },
        };
        if self.is_pending(wanted.schema, &wanted.owner).await? || self.is_brought(wanted, there.as_ref()).await? {
            return Ok(None);
        }
        let (table, key) = (away.table.to_owned(), away.key.clone());
        Ok(Some(Violation { table, key, kind, detail, mend }))
    }

    /// A row of several, of which one is missing or altered.
    async fn check_torn(&self, away: &WantedAway, torn: Torn) -> Result<Option<Violation>> {
        let WantedAway { table, key, wanted } = away;
        if self.is_pending(wanted.schema, &wanted.owner).await? {
            return Ok(None);
        }
        let kind = if torn.key == *key { ViolationKind::Stale } else { ViolationKind::Missing };
        let (table, detail) = ((*table).to_owned(), torn.detail.into_owned());
        Ok(Some(Violation { table, key: torn.key, kind, detail, mend: wanted.touch() }))
    }

    /// Whether the row is the claim that the entity has at a key from which it has just come, in one move or several, and is about to
    /// take over; or has taken over, and is about to confirm.
    async fn is_brought(&self, wanted: &Wanted, row: Option<&Row>) -> Result<bool> {
        let Some(row) = row.filter(|_| wanted.kind.unique) else { return Ok(false) };
        let Some(owner) = system::owner(row) else { return Ok(false) };
        if owner == wanted.owner {
            return Ok(unique::expires(&row.properties).is_some_and(|expires| self.environment().clock.now() < expires));
        }
        let mut place = owner;
        for _ in 0..MOVES {
            let moves = match self.moves_of(wanted.schema, &place).await {
                Err(error) if *error.kind() == ErrorKind::Corrupt => return Ok(true), // it may well be
                moves => moves?,
            };
            let Some(moving) = moves.into_iter().next() else { return Ok(false) };
            place = moving.to.key;
            if place == wanted.owner {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the row is the claim of another entity, which has the value.
    async fn is_claimed_by_another(&self, wanted: &Wanted, row: &Row) -> Result<bool> {
        let owner = system::owner(row).filter(|owner| wanted.kind.unique && *owner != wanted.owner);
        let (Some(owner), Some(index)) = (owner, wanted.schema.derived_position(&wanted.kind.name)) else {
            return Ok(false);
        };
        match self.entity_at(wanted.schema, &owner).await? {
            Standing::Read(old) => wants(&old.written, index, &row.key.partition, &row.key.row),
            Standing::Untold => Ok(true), // it may well have
            Standing::Gone => Ok(false),
        }
    }

    /// A row of an entity of another partition: that the entity wants it. Whether it holds the right properties is looked
    /// at from the entity's side.
    async fn check_guest(&self, table: &'static str, guest: &Guest, owners: &Owners) -> Result<Option<Violation>> {
        let Guest { schema, index, row } = guest;
        let name = schema.derived(*index).map_or(Cow::Borrowed(""), |kind| kind.name).into_owned();
        let report = |kind, detail: String, mend| {
            Ok(Some(Violation { table: table.to_owned(), key: row.key.clone(), kind, detail, mend }))
        };
        let is_whole = |_: &RowKey| schema.is_shadow(*index) || row.properties.get(system::OWNER_PARTITION).is_some();
        let Some(owner) = shadow::owner_as(&name, row).filter(is_whole) else {
            return report(
                ViolationKind::Dangling,
                "it does not name its entity".to_owned(),
                Mend::Remove(row.etag.clone()),
            );
        };
        let is_dead = system::is_dead(&row.properties);
        let expires = copy::expires(&row.properties).filter(|_| schema.copy(*index).is_some());
        if self.may_change(guest, expires) {
            return Ok(None);
        }
        let own = self.table_name(schema.table);
        if expires.is_some() && self.get_row(&own, &owner).await?.is_some_and(|row| is_reserved(&row)) {
            return Ok(None); // ..or it is on its way
        }
        let Some(is_wanted) = self.is_wanted(table, guest, &owner, owners).await? else { return Ok(None) };
        if (is_wanted && !is_dead) || self.is_pending(schema, &owner).await? || self.is_unkept(guest)? {
            return Ok(None);
        }
        match (is_dead, is_wanted, expires) {
            // That it is missing is reported from the entity's side.
            (true, true, _) => Ok(None),
            // A relay sweeps it with what was delivered; that one finds this is looked at where it stands.
            (true, false, _) if self.has_outbox_rows(schema, &owner, |_| true).await? => Ok(None),
            (true, false, _) => report(
                ViolationKind::Leftover,
                format!("a tombstone of {owner} that nothing sweeps"),
                self.removal_after_fences(row),
            ),
            (false, _, Some(expires)) => report(
                ViolationKind::Dangling,
                format!("it was put for {owner}, which was never written so"),
                Mend::RemoveAfter(row.etag.clone(), expires),
            ),
            (false, _, None) => report(
                ViolationKind::Dangling,
                format!("{owner} does not want this row, or is not there"),
                Mend::Release {
                    entity: schema.entity_type,
                    index: name,
                    sequence: system::sequence(&row.properties),
                    owner,
                },
            ),
        }
    }

    /// Whether the rows are of no meaning, and no write follows them: a `rollback` or `contract` has yet to take them away.
    fn is_unkept(&self, Guest { schema, index, .. }: &Guest) -> Result<bool> {
        Ok(!schema.is_shadow(*index) && self.registered(schema)?.setting.of(*index) == IndexState::Absent)
    }

    /// Whether a row of another partition's entity is not to be judged yet.
    fn may_change(&self, Guest { schema, index, row }: &Guest, expires: Option<DateTime>) -> bool {
        // A claim before its entity: reads pass over it, and who wants the value takes it over.
        let is_claim = schema.copy(*index).is_none() && system::is_pending(&row.properties);
        let is_expected = expires.is_some_and(|expires| self.environment().clock.now() <= expires); // its holder may still be written
        let is_new = system::is_dead(&row.properties) && !self.is_older_than_fences(row, 2);
        is_claim || is_expected || is_new
    }

    /// Whether its entity wants the row; none where that cannot be told, which is reported where the entity stands.
    async fn is_wanted(
        &self,
        table: &'static str,
        guest: &Guest,
        owner: &RowKey,
        owners: &Owners,
    ) -> Result<Option<bool>> {
        let Guest { schema, index, row } = guest;
        let place = (row.key.partition.clone(), row.key.row.clone());
        if let Some(places) = owners.places(schema, *index, owner) {
            return Ok(Some(places.contains(&place)));
        }
        let image = match self.entity_at(schema, owner).await? {
            Standing::Read(old) => old.written,
            Standing::Untold => return Ok(None),
            Standing::Gone => return Ok(Some(false)),
        };
        if let Some(copy) = schema.copy(*index) {
            let is_told = !image.is_untold(copy);
            return is_told.then(|| copy::wants(&image, *index, table, &row.key)).transpose();
        }
        // One that cannot have a row of the index wants none.
        let places = places(&image, *index).unwrap_or_default();
        let is_wanted = places.contains(&place);
        owners.keep(schema, *index, owner, places);
        Ok(Some(is_wanted))
    }

    /// A tombstone of an entity: something must be left to sweep it.
    async fn check_dead(&self, schema: &'static EntitySchema, row: &Row) -> Result<Option<Violation>> {
        if self.is_atomic() {
            return Ok(None); // left for whoever waits, or waited in a release before, for the entity to come; a repair takes those of nobody
        }
        if !self.is_older_than_fences(row, 2) || self.has_outbox_rows(schema, &row.key, |_| true).await? {
            return Ok(None);
        }
        Ok(Some(Violation {
            table: schema.table.to_owned(),
            key: row.key.clone(),
            kind: ViolationKind::Leftover,
            detail: "the tombstone of an entity that nothing sweeps".to_owned(),
            mend: self.removal_after_fences(row),
        }))
    }

    /// Whether somebody who copies the entity waits for it to come. Whoever comes to do so changes its tombstone.
    async fn is_awaited(&self, schema: &'static EntitySchema, row: &Row) -> Result<bool> {
        let references = beginning_with(&copy::references_to(&row.key.row));
        let range = KeyRange::rows(row.key.partition.clone(), references);
        let page = self.query_page(&Query::new(self.table_name(schema.table), range)).await?;
        Ok(page.continuation.is_some() || page.rows.iter().any(|row| !system::is_dead(&row.properties)))
    }
}
