//! Sweeping: the tombstones of what was delivered go once the fence has passed, and their outbox row with them.

use tablemodel_store::{KeyRange, Row};

use super::Relay;
use crate::{
    database::outbox::Outgoing,
    error::Result,
    key::beginning_with,
    plan::{
        change::{check_told, is_primary},
        outbox::{AwayKey, Intent, OUTBOX, Progress, is_tombstone},
        shadow::owner_as,
        system,
    },
    rooms::rekey::is_reserved,
};

/// Whether `other` is as new as the tombstone, and is swept after this outbox row: whatever relays do at once, the last one stays.
fn is_after(other: &Row, row: &Row, tombstone: &Row) -> bool {
    system::sequence(&other.properties) >= system::sequence(&tombstone.properties) && other.key.row > row.key.row
}

impl Relay {
    /// Takes away the tombstones that the intent left, the entity's own last of all, and then the outbox row. Whether it was time for that.
    pub(in crate::database) async fn sweep(&self, outgoing: &Outgoing, row: &Row) -> Result<bool> {
        let others = self.others(outgoing, row).await?;
        if !self.db.is_atomic() && others.iter().any(|other| Progress::of(other).delivered.is_none()) {
            return Ok(false); // the entity's tombstone holds until its last outbox row is delivered
        }
        if !self.db.moves_of(outgoing.schema, &outgoing.owner()).await?.is_empty() {
            return Ok(false); // ..and until it has arrived where it moves to
        }
        for entry in &outgoing.intent.entries {
            let table = self.db.table_name(&entry.table);
            let there = self.db.get_row(&table, &entry.key).await?;
            let is_newer = |row: &Row| system::sequence(&row.properties) > outgoing.intent.sequence;
            let is_left = |row: &Row| {
                let ours = owner_as(&entry.index, row) == Some(outgoing.owner());
                ours && (system::is_dead(&row.properties) || (self.db.is_atomic() && !is_newer(row)))
            };
            // Read again after the entry: a live entity's rows are not swept.
            if let Some(there) = there.filter(is_left)
                && (!is_newer(&there) || self.is_left_alone(outgoing, row, entry).await?)
                && (system::is_dead(&there.properties) || self.is_gone(outgoing).await?)
                && !self.db.uncount(&there).await?
            {
                self.db.remove_shadow(&table, &there).await?;
            }
        }
        let primary = self.db.get_row(&outgoing.table, &outgoing.owner()).await?;
        let is_left = |row: &Row| {
            let is_ours = is_tombstone(row) && !is_reserved(row);
            is_ours && system::sequence(&row.properties) <= outgoing.intent.sequence
        };
        if let Some(primary) = primary.filter(is_left) {
            if others.is_empty() {
                self.db.remove_row(&outgoing.table, &primary).await?;
            } else if !others.iter().any(|other| is_after(other, row, &primary)) {
                return Ok(false); // none of them would take the entity's tombstone away
            }
        }
        self.db.remove_row(&outgoing.table, row).await.map(|()| true)
    }

    /// The other outbox rows of the entity.
    async fn others(&self, outgoing: &Outgoing, row: &Row) -> Result<Vec<Row>> {
        let range =
            KeyRange::rows(row.key.partition.clone(), beginning_with(&format!("{OUTBOX}{}|", outgoing.intent.owner)));
        // The keys of others may begin so too.
        let is_own = |other: &Row| system::owner_row(&other.properties) == Some(outgoing.intent.owner.as_str());
        let others = self.rows(&outgoing.table, range).await?.into_iter();
        Ok(others.filter(|other| other.key != row.key && is_own(other)).collect())
    }

    /// Whether no other outbox row stands for a tombstone that was read before, and is newer than what is said to be delivered:
    /// then it is of a relay that delivered this row too, saw the entity later, and was not the one that said so.
    async fn is_left_alone(&self, outgoing: &Outgoing, row: &Row, entry: &AwayKey) -> Result<bool> {
        let others = self.others(outgoing, row).await?;
        let names = |other: &Row| {
            Intent::read(other).map_or(true, |intent| intent.entries.iter().any(|named| named.is_at(entry)))
        };
        Ok(!others.iter().any(names))
    }

    async fn is_gone(&self, outgoing: &Outgoing) -> Result<bool> {
        let primary = self.db.get_row(&outgoing.table, &outgoing.owner()).await?;
        primary.iter().try_for_each(|row| check_told(outgoing.schema, row))?;
        Ok(!primary.is_some_and(|row| is_primary(outgoing.schema, &row)))
    }
}
