//! When the backend is synced: at once, or, where a commit leaves its sync, by whoever first needs it to be over; and where a file
//! has only grown, by who next writes.
//!
//! Writes nothing, and changes the order of nothing: between a sync that was put off and its end the writer writes nothing.

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
use crate::embedded::engine::LeftSync;

/// The syncs of one backend.
#[derive(Debug)]
pub(super) struct Syncs {
    backend: Arc<dyn StorageBackend>,
    /// Whether the commit that is being made leaves its sync.
    leaves: AtomicBool,
    last: Mutex<Last>,
    ended: Condvar,
}

/// The sync that was put off last. All before it are over.
#[derive(Debug)]
struct Last {
    number: u64,
    left: Left,
    /// The last one that a commit left.
    of_commit: u64,
}

/// What became of it.
#[derive(Debug, Clone)]
enum Left {
    /// It is over, or there was none.
    Nothing,
    Due,
    /// It is of the file's length alone: who writes makes it, and nobody else waits for it.
    Owed,
    Running,
    /// It failed, and with it all that would be written after it.
    Failed(io::ErrorKind, String),
}

impl Syncs {
    pub(super) fn new(backend: Arc<dyn StorageBackend>) -> Self {
        let last = Mutex::new(Last { number: 0, left: Left::Nothing, of_commit: 0 });
        Self { backend, leaves: AtomicBool::new(false), last, ended: Condvar::new() }
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
        let mut last = self.last();
        let number = last.number + 1;
        *last = Last { number, left: Left::Due, of_commit: number };
        Ok(())
    }

    /// Puts a sync off until something is written: the file has grown, and nothing else has happened. One that is put off already is
    /// the same.
    pub(super) fn owe(&self) -> io::Result<()> {
        let mut last = self.last();
        loop {
            match &last.left {
                Left::Nothing | Left::Owed => break,
                Left::Failed(kind, words) => return Err(io::Error::new(*kind, words.clone())),
                // One that is on its way may not see the length of now.
                Left::Due | Left::Running => {
                    drop(last);
                    self.finish()?;
                    last = self.last();
                }
            }
        }
        (last.number, last.left) = (last.number + 1, Left::Owed);
        Ok(())
    }

    /// Whether a sync is put off until something is written.
    pub(super) fn is_owed(&self) -> bool {
        matches!(self.last().left, Left::Owed)
    }

    /// Which sync a commit left last. Behind its header redb may let the file grow once more, whose sync is no commit's.
    pub(super) fn left(&self) -> LeftSync {
        LeftSync(self.last().of_commit)
    }

    /// Whether a sync of a commit is left that is not over.
    pub(super) fn is_left(&self) -> bool {
        matches!(self.last().left, Left::Due | Left::Running)
    }

    /// Returns once this one is over.
    pub(super) fn finish_one(&self, LeftSync(number): LeftSync) -> io::Result<()> {
        self.finish_up_to(number)
    }

    /// Returns once no sync is left or owed. To be called before anything is written.
    pub(super) fn finish(&self) -> io::Result<()> {
        self.finish_up_to(u64::MAX)
    }

    /// Returns once the sync with this number, and all before it, are over: makes the last one here, unless another thread does.
    fn finish_up_to(&self, number: u64) -> io::Result<()> {
        let mut last = self.last();
        loop {
            if last.number > number {
                return Ok(()); // another was put off since
            }
            match &last.left {
                Left::Nothing => return Ok(()),
                Left::Failed(kind, words) => return Err(io::Error::new(*kind, words.clone())),
                Left::Running => last = self.ended.wait(last).unwrap_or_else(PoisonError::into_inner),
                Left::Due | Left::Owed => break,
            }
        }
        last.left = Left::Running;
        drop(last);
        let synced = catch_unwind(AssertUnwindSafe(|| self.backend.sync_data()));
        let synced = synced.unwrap_or_else(|panic| Err(io::Error::other(words_of(panic.as_ref()))));
        self.last().left = match &synced {
            Ok(()) => Left::Nothing,
            Err(failure) => Left::Failed(failure.kind(), failure.to_string()),
        };
        self.ended.notify_all();
        synced
    }

    // No assignment is half done after a panic.
    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
