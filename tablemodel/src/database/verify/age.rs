//! The age of rows: by this machine's clock where it is only told, by the store's where a row is taken away for it.
//!
//! Timestamps are the store's, and a machine's clock may be hours ahead.

use tablemodel_store::{Action, Batch, DateTime, ETag, Properties, Row, StoreErrorKind};

use super::{Violation, mend::Mend};
use crate::{
    database::{Database, outbox},
    error::{Error, ErrorKind, Result},
    plan::system,
};

/// Where the store's clock is read; the same row as the relays'.
const CLOCK: &str = "clock";

impl Database {
    pub(super) fn is_older_than_fences(&self, row: &Row, fences: u32) -> bool {
        outbox::later(row.timestamp, self.0.fence.saturating_mul(fences)) < self.environment().clock.now()
    }

    /// What takes away the row, written at its timestamp, once two fences have passed.
    pub(super) fn removal_after_fences(&self, row: &Row) -> Mend {
        Mend::RemoveAfter(row.etag.clone(), outbox::later(row.timestamp, self.0.fence.saturating_mul(2)))
    }

    /// Takes the row away if the store's clock is past `time`.
    pub(super) async fn take_away_after(&self, violation: &Violation, etag: &ETag, time: DateTime) -> Result<()> {
        if self.store_time().await? <= time {
            let detail =
                "by the clock of the store it is too young to be taken away: this machine's clock is ahead of it";
            return Err(Error::new(ErrorKind::Unavailable, detail));
        }
        self.take_away(&violation.table, &violation.key, etag).await
    }

    /// The store's time, by a write.
    pub(in crate::database) async fn store_time(&self) -> Result<DateTime> {
        let mut properties = Properties::new();
        system::stamp(&mut properties, "~clock@1", self.environment().clock.now().ticks(), None);
        let batch = [Batch::new(self.dirty_table(), CLOCK).with(CLOCK, Action::InsertOrReplace(properties))];
        let receipts = match self.commit_store(&batch, 0).await {
            Err(error) if error.kind() == StoreErrorKind::TableNotFound => {
                self.create_missing(&self.dirty_table()).await?;
                self.commit_store(&batch, 0).await?
            }
            other => other?,
        };
        let written = receipts.first().and_then(|batch| batch.first());
        let written = written.ok_or_else(|| Error::corrupt("the store acknowledged a write without a receipt"))?;
        Ok(written.timestamp)
    }
}
