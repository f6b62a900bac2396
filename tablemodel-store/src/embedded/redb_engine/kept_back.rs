//! A storage backend that keeps back what may not be written yet, and hands the header page to the disk last.
//!
//! What is written when is for `syncs` to say.

use std::{io, ops::Bound, sync::Arc};

use redb::{BackendError, StorageBackend};

use super::syncs::Syncs;

/// A backend that is written in the order of its [`Syncs`].
///
/// redb publishes a commit by the header at offset 0. So long as that page has not been handed down, a failure
/// (a full disk above all) has certainly not committed.
#[derive(Debug)]
pub(super) struct KeptBack {
    inner: Arc<dyn StorageBackend>,
    syncs: Arc<Syncs>,
}

impl KeptBack {
    pub(super) fn new(inner: Arc<dyn StorageBackend>, syncs: Arc<Syncs>) -> Self {
        Self { inner, syncs }
    }
}

impl StorageBackend for KeptBack {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.syncs.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.syncs.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.syncs.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.syncs.write(offset, data)
    }

    /// What is still kept back is of commits that failed or that no header names: it must not be seen.
    fn close(&self) -> io::Result<()> {
        let synced = self.syncs.finish();
        self.inner.close().and(synced)
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
