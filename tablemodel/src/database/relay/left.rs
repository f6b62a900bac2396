//! Outbox rows that a relay leaves to programs which have what it lacks: its own part of each is not done again in every round.
//!
//! Kept in memory alone. Such a row is the others' to write: neither is it postponed for them, nor are failures noted on it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tablemodel_store::{ETag, Row, RowKey, clock::Clock};

use super::{LONGEST_PAUSE, pause_after};
use crate::database::since::Since;

/// Rows remembered; beyond that their part is done again.
const REMEMBERED: usize = 100_000;

/// Those of which this program's part was done or tried, by table and key.
#[derive(Clone, Default)]
pub(super) struct Left(Arc<Mutex<Rows>>);

type Rows = HashMap<(String, RowKey), Tried>;

/// A row, as it was when this program's part was last done or tried.
struct Tried {
    etag: ETag,
    since: Since,
    /// How often in a row the part failed in a way that may pass; none where all was done that this program can.
    failures: u32,
}

impl Tried {
    /// How long the part is not tried again.
    fn pause(&self) -> Duration {
        match self.failures {
            0 => LONGEST_PAUSE,
            failures => pause_after(failures),
        }
    }
}

impl Left {
    /// Whether it is too early to do the part of the row, as it is, once more.
    pub(super) fn is_seen_to(&self, table: &str, row: &Row, clock: &dyn Clock) -> bool {
        let rows = self.rows();
        let tried = rows.get(&(table.to_owned(), row.key.clone()));
        tried.is_some_and(|tried| tried.etag == row.etag && tried.since.elapsed(clock) < tried.pause())
    }

    /// The part of the row was done, as far as this program can, or has `failed` in a way that may pass.
    pub(super) fn remember(&self, table: &str, row: &Row, since: Since, failed: bool) {
        let mut rows = self.rows();
        if rows.len() >= REMEMBERED {
            rows.clear();
        }
        let key = (table.to_owned(), row.key.clone());
        let before = rows.get(&key).filter(|tried| tried.etag == row.etag).map_or(0, |tried| tried.failures);
        let failures = if failed { before.saturating_add(1) } else { 0 };
        rows.insert(key, Tried { etag: row.etag.clone(), since, failures });
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
