//! The sources of one cell counted, beside writers: for a migration that adds an aggregate.
//!
//! What they come to is told by the same check as everywhere.

use tablemodel_store::RowKey;

use super::{check::Check, repair::Mend};
use crate::{
    database::{Database, calls::ATTEMPTS},
    error::{Error, ErrorKind, Result},
    rooms::aggregate::{Recount, is_unbuilt},
};

impl Database {
    /// Counts the sources of a cell that were not counted, and has cell and target say what they come to. Nothing is done
    /// where a source cannot be read: the walks tell which.
    ///
    /// The cell is read first, its sources after it, and it is written if it is still as it was: every write of a source
    /// changes it. Cost: twice a read of the partition at most, where nobody writes it, and two or three writes.
    pub(in crate::database) async fn count(&self, table: &'static str, key: &RowKey) -> Result<()> {
        for attempt in 0..ATTEMPTS {
            let cell = self.get_row(&self.table_name(table), key).await?;
            let Some(cell) = cell.filter(is_unbuilt) else { return Ok(()) };
            let rows = self.read_partition(table, &key.partition).await?;
            let is_same = rows.iter().any(|row| row.key == *key && row.etag == cell.etag);
            if is_same {
                let check = Check::of(self, table, self.with_readable_keys(table, rows).await?, true)?;
                let is_it = |mend: &Mend| matches!(mend, Mend::Recount(of) if matches!(&**of, Recount::Cell { cell: Some(of), .. } if of.etag == cell.etag));
                let Some(found) = check.violations.into_iter().find(|found| found.key == *key && is_it(&found.mend))
                else {
                    return Ok(());
                };
                match self.mend(&found).await {
                    Err(error) if is_passing(&error) => {}
                    other => return other,
                }
            }
            self.pause(attempt).await;
        }
        let detail = "sources of an aggregate are written more often than they can be counted; apply again";
        Err(Error::new(ErrorKind::Unavailable, detail).at_key(key.clone()))
    }
}

/// Whether it may go better with what is there by now.
fn is_passing(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Conflict { .. }
            | ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::Unavailable
            | ErrorKind::OutcomeUnknown
    )
}
