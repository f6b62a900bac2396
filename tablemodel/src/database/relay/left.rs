//! Outbox rows that a relay leaves to programs which have what it lacks: its own part of each is not done again in every round.
//!
//! Kept in memory alone. Such a row is the others' to write: neither is it postponed for them, nor are its failures counted.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tablemodel_store::{ETag, Row, RowKey, clock::Clock};

use super::LONGEST_PAUSE;
use crate::database::since::Since;

/// Rows remembered; beyond that their part is done again.
const REMEMBERED: usize = 100_000;

/// Those that were seen to, by table and key: as they were, and when.
#[derive(Clone, Default)]
pub(super) struct Left(Arc<Mutex<Rows>>);

type Rows = HashMap<(String, RowKey), (ETag, Since)>;

impl Left {
    /// Whether the row, as it is, was seen to not long ago.
    pub(super) fn is_seen_to(&self, table: &str, row: &Row, clock: &dyn Clock) -> bool {
        let rows = self.rows();
        let seen_to = rows.get(&(table.to_owned(), row.key.clone()));
        seen_to.is_some_and(|(etag, since)| *etag == row.etag && since.elapsed(clock) < LONGEST_PAUSE)
    }

    /// The row is seen to, as far as this program can.
    pub(super) fn remember(&self, table: &str, row: &Row, since: Since) {
        let mut rows = self.rows();
        if rows.len() >= REMEMBERED {
            rows.clear();
        }
        rows.insert((table.to_owned(), row.key.clone()), (row.etag.clone(), since));
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
