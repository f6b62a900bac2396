//! How many batches are under way at a time, where none rests on another.
//!
//! What is sent, and what becomes of it, is its caller's.

use crate::database::Database;

/// Batches in flight to a store behind a network.
const CONCURRENT_BATCHES: usize = 32;
/// Batches in flight to a store of this process, which commits what waits together: the more there is, the fewer pages
/// it writes for each row. Twice what the embedded store takes into one commit, so that the next one is planned meanwhile.
const CONCURRENT_BATCHES_WITHIN: usize = 1024;
/// Bytes in flight from which on nothing more is sent.
pub(super) const BYTES_IN_FLIGHT: usize = 64 * 1024 * 1024;

impl Database {
    /// Batches in flight at a time.
    pub(super) fn concurrent_batches(&self) -> usize {
        if self.0.capabilities.may_lose_reply { CONCURRENT_BATCHES } else { CONCURRENT_BATCHES_WITHIN }
    }
}
