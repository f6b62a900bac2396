//! The markers of dirty partitions that this program wrote, so that it need not write them again at once.
//!
//! Nothing is read or written here.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tablemodel_store::{RowKey, clock::Clock};

use crate::database::since::Since;

/// Markers remembered; beyond that they are written once more.
const REMEMBERED_MARKERS: usize = 100_000;

/// The markers that this program wrote, with the time from which they count: they need not be written again for half the fence.
#[derive(Debug, Default)]
pub(super) struct Markers(Mutex<Remembered>);

#[derive(Debug, Default, Clone)]
struct Remembered {
    since: HashMap<RowKey, Since>,
    /// How often all were taken away.
    drops: u64,
}

impl Markers {
    pub(super) fn is_fresh(&self, marker: &RowKey, clock: &dyn Clock, time: Duration) -> bool {
        self.remembered().since.get(marker).is_some_and(|since| since.elapsed(clock) < time)
    }

    /// The same, remembered apart from here.
    #[cfg(feature = "testing")]
    pub(super) fn forked(&self) -> Self {
        Self(Mutex::new(self.remembered().clone()))
    }

    /// Somebody takes the marker away.
    pub(super) fn forget(&self, marker: &RowKey) {
        self.remembered().since.remove(marker);
    }

    /// All were taken away.
    pub(super) fn forget_all(&self) {
        let mut remembered = self.remembered();
        remembered.since.clear();
        remembered.drops += 1;
    }

    /// How often all were taken away.
    pub(super) fn drops(&self) -> u64 {
        self.remembered().drops
    }

    /// Remembers one whose write began after so many drops: not where it was taken away before the write was answered.
    pub(super) fn remember(&self, marker: RowKey, since: Since, drops: u64) {
        let mut remembered = self.remembered();
        if remembered.drops != drops {
            return;
        }
        if remembered.since.len() >= REMEMBERED_MARKERS {
            remembered.since.clear();
        }
        remembered.since.insert(marker, since);
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
