//! When the backend is synced: at once, or, where a commit leaves its sync, by whoever first needs it to be over.
//!
//! Writes nothing, and changes the order of nothing: between a sync that was left and its end nothing is written.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::StorageBackend;

use super::error::words_of;

/// The syncs of one backend.
#[derive(Debug)]
pub(super) struct Syncs {
    backend: Arc<dyn StorageBackend>,
    /// Whether the commit that is being made leaves its sync.
    leaves: AtomicBool,
    left: Mutex<Left>,
    ended: Condvar,
}

/// What became of the sync that was left last.
#[derive(Debug, Clone)]
enum Left {
    /// It is over, or there was none.
    Nothing,
    Due,
    Running,
    /// It failed, and with it all that would be written after it.
    Failed(io::ErrorKind, String),
}

impl Syncs {
    pub(super) fn new(backend: Arc<dyn StorageBackend>) -> Self {
        Self { backend, leaves: AtomicBool::new(false), left: Mutex::new(Left::Nothing), ended: Condvar::new() }
    }

    /// From now on syncs are left, or not.
    pub(super) fn leave(&self, leaves: bool) {
        self.leaves.store(leaves, Ordering::Release);
    }

    /// Brings to the disk what was written, or leaves that to who [finishes](Self::finish) it.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.finish()?;
        if !self.leaves.load(Ordering::Acquire) {
            return self.backend.sync_data();
        }
        *self.left() = Left::Due;
        Ok(())
    }

    /// Returns once no sync is left: makes it here, unless another thread does. To be called before anything is written.
    pub(super) fn finish(&self) -> io::Result<()> {
        let mut left = self.left();
        loop {
            match &*left {
                Left::Nothing => return Ok(()),
                Left::Failed(kind, words) => return Err(io::Error::new(*kind, words.clone())),
                Left::Running => left = self.ended.wait(left).unwrap_or_else(PoisonError::into_inner),
                Left::Due => break,
            }
        }
        *left = Left::Running;
        drop(left);
        let synced = catch_unwind(AssertUnwindSafe(|| self.backend.sync_data()));
        let synced = synced.unwrap_or_else(|panic| Err(io::Error::other(words_of(panic.as_ref()))));
        *self.left() = match &synced {
            Ok(()) => Left::Nothing,
            Err(failure) => Left::Failed(failure.kind(), failure.to_string()),
        };
        self.ended.notify_all();
        synced
    }

    // No assignment is half done after a panic.
    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
