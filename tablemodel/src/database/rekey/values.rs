//! The unique values of an entity that moves: their claims name the old key, and go over to the new one.

use tablemodel_store::{Action, Batch, Condition, Row, RowKey};

use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, in_vain},
        claims::CLAIM_TIME,
        outbox::later,
        since::Since,
    },
    error::Result,
    plan::{
        batch::BatchAway,
        entries::{Entry, entries},
        image::Image,
        outbox::{AwayKey, AwayRow},
    },
    rooms::{rekey::Move, unique},
    schema::{EntitySchema, IndexSchema},
};

impl Database {
    /// Makes the claims that name the old key those of the new one, where the entity keeps the values.
    pub(super) async fn hand_over(&self, moving: &Move, since: Since) -> Result<()> {
        for away in claimed(&moving.to)? {
            let Some(index) = away.claimed() else { continue };
            let key = RowKey::new(away.row.away.partition.clone(), away.row.row.clone());
            if !self.hand_over_claim(moving, &away, index, &key, since).await? {
                return Ok(()); // another has finished the move
            }
            let Some(entry) = AwayKey::new(index, &key) else { continue };
            self.settle_claim(moving.to.schema, &moving.to.key, &entry, since).await?;
        }
        Ok(())
    }

    async fn hand_over_claim(
        &self,
        moving: &Move,
        away: &BatchAway,
        index: &'static IndexSchema,
        key: &RowKey,
        since: Since,
    ) -> Result<bool> {
        let (table, mut last) = (self.table_name(away.row.away.table), None);
        for attempt in 0..ATTEMPTS {
            let Some(row) = self.get_row(&table, key).await? else { return Ok(true) };
            let owner = unique::read(index, &row).map(|claim| claim.owner);
            let Some(owner) = owner.filter(|owner| *owner != moving.to.key) else { return Ok(true) };
            if owner != moving.from {
                match self.is_on_its_way(moving.to.schema, &table, &row, &owner).await? {
                    true => continue,
                    false => return Ok(true),
                }
            }
            // Read after the claim: once the intent is gone, the old key may have another life, and its claim is that one's.
            if self.intent(moving.to.schema, &moving.intent_key()).await?.is_none() {
                return Ok(false);
            }
            let Some(wanted) = &away.row.want else { return Ok(true) };
            let pending = unique::pending(wanted, later(self.environment().clock.now(), CLAIM_TIME));
            self.check_held(since)?;
            let action = Action::Replace(pending, Condition::Match(row.etag));
            let batch = Batch::new(&table, key.partition.clone()).with(key.row.clone(), action);
            match self.race(batch, attempt).await? {
                Ok(_) => return Ok(true),
                Err(lost) => last = Some(lost),
            }
        }
        Err(in_vain("the claim of a unique value", last).at_key(key.clone()))
    }

    /// Whether the claim, which was this owner's, may be another's by now: that of an entity that moves on before its first move is
    /// over still names the first key. Such a move is finished here.
    async fn is_on_its_way(
        &self,
        schema: &'static EntitySchema,
        table: &str,
        claim: &Row,
        owner: &RowKey,
    ) -> Result<bool> {
        if self.finish_moves_of(schema, owner).await? {
            return Ok(true);
        }
        // Read after the intents: another may have finished the move since the claim was read.
        let there = self.get_row(table, &claim.key).await?;
        Ok(there.is_some_and(|there| there.etag != claim.etag))
    }
}

/// Whether an entity that wants these rows keeps the value.
pub(super) fn keeps(wanted: &[Entry], away: &BatchAway) -> bool {
    wanted.iter().any(|entry| entry.row == away.row.row && entry.away.as_ref() == Some(&away.row.away))
}

/// The claims that the image wants.
pub(super) fn claimed(image: &Image) -> Result<Vec<BatchAway>> {
    let schema = image.schema;
    let away = |entry: Entry| {
        let row = AwayRow::wanted(image, entry, 0, false)?;
        let away = row.map(|row| BatchAway { row, change: 0, schema });
        Ok(away.filter(|away| away.claimed().is_some()))
    };
    entries(image)?.into_iter().filter_map(|entry| away(entry).transpose()).collect()
}
