//! The sources of cells counted, beside writers: for a migration that adds an aggregate.
//!
//! What they come to is told by the same check as everywhere. Nothing is written here.

use std::collections::BTreeMap;

use tablemodel_store::ETag;

use super::{Violation, check::Check, mend::Mend};
use crate::{database::Database, error::Result, rooms::aggregate::Recount};

impl Database {
    /// What makes cells of one partition say what their sources come to, of those that are in this state still: row keys, and the ETags
    /// that were read before this. Nothing where a source cannot be read: the walks tell which.
    ///
    /// The cells were read first, the sources are after them, and each is to be written if it is still as it was: every write of a source
    /// changes it. Cost: a read of the partition.
    pub(in crate::database) async fn uncounted(
        &self,
        table: &'static str,
        partition: &str,
        cells: &BTreeMap<String, ETag>,
    ) -> Result<Vec<Violation>> {
        let rows = self.read_partition(table, partition).await?;
        let mut found = Check::of(self, table, self.with_readable_keys(table, rows).await?, true)?.violations;
        let is_it = |mend: &Mend, read: &ETag| match mend {
            Mend::Recount(of) => {
                matches!(&**of, Recount::Cell { cell: Some(cell), .. } | Recount::Stray(cell) if cell.etag == *read)
            }
            _ => false,
        };
        found.retain(|found| cells.get(&found.key.row).is_some_and(|read| is_it(&found.mend, read)));
        Ok(found)
    }
}
