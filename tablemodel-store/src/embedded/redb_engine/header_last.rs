//! A storage backend that hands the header page to the disk last.
//!
//! Changes no byte and no sync: between two syncs the order of writes is free. When a sync is made is for `syncs` to say.

use std::{
    io,
    ops::Bound,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{BackendError, StorageBackend};

use super::syncs::Syncs;

/// Keeps back what is written to the first page until the next sync, and says when it lets it go.
///
/// redb publishes a commit by the header at offset 0. So long as that page has not been handed down, a failure
/// (a full disk above all) has certainly not committed.
#[derive(Debug)]
pub(super) struct HeaderLast {
    inner: Arc<dyn StorageBackend>,
    syncs: Arc<Syncs>,
    header: Mutex<Option<Vec<u8>>>,
    published: Arc<AtomicBool>,
}

impl HeaderLast {
    pub(super) fn new(inner: Arc<dyn StorageBackend>, syncs: Arc<Syncs>, published: Arc<AtomicBool>) -> Self {
        Self { inner, syncs, header: Mutex::new(None), published }
    }

    fn header(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.header.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release_header(&self) -> io::Result<()> {
        self.syncs.finish()?; // before the lock, which readers take
        let mut header = self.header();
        if let Some(page) = header.as_deref() {
            self.published.store(true, Ordering::Release);
            self.inner.write(0, page)?;
            *header = None;
        }
        Ok(())
    }
}

impl StorageBackend for HeaderLast {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)?;
        let Some(skip) = usize::try_from(offset).ok() else { return Ok(()) };
        if let Some(held) = self.header().as_deref().and_then(|page| page.get(skip..)) {
            out.iter_mut().zip(held).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.syncs.finish()?;
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.release_header()?;
        self.syncs.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset > 0 {
            self.syncs.finish()?;
            return self.inner.write(offset, data);
        }
        let mut header = self.header();
        let page = header.get_or_insert_default();
        page.truncate(0);
        page.extend_from_slice(data);
        Ok(())
    }

    /// A header still kept back is that of a commit which failed: it must not be seen.
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
