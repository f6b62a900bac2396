//! What a bulk write did. Nothing is written here.

use crate::error::{Error, Result};

/// What a bulk write did.
#[derive(Debug, Default)]
#[must_use = "entities that could not be written are reported here"]
pub struct BulkReport {
    /// Entities written.
    pub written: u64,
    /// Commits: of one batch each, or of several where entities that share rows are committed together.
    pub batches: u64,
    /// What could not be written, or may not have been (`OutcomeUnknown`), each error with the entity's key, where the entity can be put together.
    /// All others were, unless it was to [stop](super::Bulk::stop_on_error).
    pub failed: Vec<Error>,
    /// Entities that were taken, and not written since it stopped at an error.
    pub skipped: u64,
}

/// What a bulk write did that wrote all of its entities: it may be dropped. Made by [`BulkReport::into_result`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkWritten {
    /// Entities written.
    pub written: u64,
    /// Commits, as [`BulkReport::batches`].
    pub batches: u64,
}

impl BulkReport {
    /// What was written, where that is all, or the first error.
    ///
    /// # Errors
    ///
    /// The first of [`BulkReport::failed`]. What is counted as written stays written.
    pub fn into_result(self) -> Result<BulkWritten> {
        match self.failed.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(BulkWritten { written: self.written, batches: self.batches }),
        }
    }
}
