//! Waiting until every live program knows how far indexes are: what those do for whom it is waited, and when they are taken
//! for gone.
//!
//! Leases are read here, and those of the gone taken away; states are moved in `states`.

use std::{collections::HashMap, time::Duration};

use tablemodel_store::{ETag, Row};

use super::{patience::Patience, record, rows::Rows, states::Owned};
use crate::{
    database::{
        leases::{GONE, INSTANCE, REQUEST, told_on},
        registry::{self, index_row},
    },
    error::{Error, ErrorKind, Result},
};

/// For whom a change of states waits, beside those who do not know the last one.
pub(super) struct Waiting<'a> {
    /// The indexes of the migration.
    pub(super) indexes: &'a [(String, String)],
    /// Whether a live program must have them in its model, or must not; or whether that is all the same.
    pub(super) knows: Option<bool>,
    /// What those do who are waited for.
    pub(super) what: &'static str,
    /// For how long.
    pub(super) time: Duration,
}

impl Waiting<'_> {
    fn lets(&self, row: &Row) -> bool {
        let Some(wanted) = self.knows else { return true };
        let known = told_on(row);
        let mut rows = self.indexes.iter().map(|(entity, index)| index_row(entity, index));
        rows.all(|row| known.contains(&row) == wanted)
    }
}

impl Owned {
    /// Waits until every live program knows the states as they are now, and no write is under way that was planned before.
    pub(super) async fn settle(&self, allowed: &Waiting<'_>) -> Result<()> {
        let (mut patience, mut seen) = (Patience::new(self.db.environment(), allowed.time), HashMap::new());
        loop {
            self.db.hold_lease().await?;
            let epoch = self.db.0.registry.enter().epoch;
            let behind = self.behind(epoch, allowed, &mut seen).await?;
            if behind.is_empty() {
                break;
            }
            if !patience.lasts().await {
                let detail = format!(
                    "programs are alive that {}: {}; end them, or call `{}` again later",
                    allowed.what,
                    behind.join(", "),
                    self.call
                );
                return Err(Error::new(ErrorKind::Unavailable, detail));
            }
            self.go_on().await?;
        }
        if !self.db.is_atomic() {
            self.db.environment().others.sleep(REQUEST).await;
        }
        self.keep().await
    }

    /// The programs that must be waited for. One whose lease has not changed for long enough is gone.
    async fn behind(
        &self,
        epoch: i64,
        allowed: &Waiting<'_>,
        seen: &mut HashMap<String, (ETag, Duration)>,
    ) -> Result<Vec<String>> {
        let mut behind = Vec::new();
        if self.db.0.registry.oldest() < epoch {
            behind.push("this one".to_owned());
        }
        if self.db.is_atomic() {
            return Ok(behind);
        }
        // A lease stood there no longer than until it was read, and not before this: what is read may be as new as its answer.
        let (asked, own) = (self.db.environment().clock.monotonic(), self.db.instance());
        let rows = Rows::read(&self.db).await?.0;
        let read = self.db.environment().clock.monotonic();
        for (key, row) in rows {
            let Some(id) = key.strip_prefix(INSTANCE).filter(|id| *id != own) else { continue };
            let (etag, since) = seen.entry(id.to_owned()).or_insert_with(|| (row.etag.clone(), read));
            if *etag != row.etag {
                (*etag, *since) = (row.etag.clone(), read);
            }
            let is_gone = asked.saturating_sub(*since) >= GONE;
            if is_gone {
                record::remove(&self.db, &row).await?;
            } else if registry::epoch_of(&row) < epoch || !allowed.lets(&row) {
                behind.push(id.to_owned());
            }
        }
        behind.sort_unstable();
        Ok(behind)
    }
}
