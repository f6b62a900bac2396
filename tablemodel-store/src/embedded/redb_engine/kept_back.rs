//! A storage backend that keeps back what may not be written yet: all pages while a sync is left, and the header page until the
//! next sync.
//!
//! Changes no byte and no order of a write and a sync: between two syncs that of writes is free. When a sync is made is for `syncs` to
//! say.

use std::{
    collections::VecDeque,
    io,
    ops::Bound,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{BackendError, StorageBackend};

use super::syncs::Syncs;

/// Bytes of pages that are kept back at most: who writes more waits for the sync that is left.
const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;

/// Keeps writes back, and says when it lets the header go.
///
/// redb publishes a commit by the header at offset 0. So long as that page has not been handed down, a failure
/// (a full disk above all) has certainly not committed.
///
/// redb writes under locks that its readers take, and readers write too, to make room in the cache: if a write waited for a
/// sync, they would. So it waits only for that of a length, once where a file has grown.
#[derive(Debug)]
pub(super) struct KeptBack {
    inner: Arc<dyn StorageBackend>,
    syncs: Arc<Syncs>,
    kept: Mutex<Kept>,
    /// Whether nothing has happened since the file grew. redb syncs then, lest a header tell of a length that the file has not; in a
    /// load of a new file that is seven times in a row, for which one sync before the next write is as good.
    has_only_grown: AtomicBool,
    published: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Kept {
    header: Option<Vec<u8>>,
    pages: VecDeque<Page>,
    bytes: usize,
}

/// Bytes for a place in the file.
#[derive(Debug)]
struct Page {
    offset: u64,
    bytes: Vec<u8>,
}

impl KeptBack {
    pub(super) fn new(inner: Arc<dyn StorageBackend>, syncs: Arc<Syncs>, published: Arc<AtomicBool>) -> Self {
        Self { inner, syncs, kept: Mutex::default(), has_only_grown: AtomicBool::new(false), published }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the pages once no sync is left, in the order in which they came.
    fn release_pages(&self) -> io::Result<()> {
        self.syncs.finish()?; // before the lock, which readers take
        loop {
            let mut kept = self.kept(); // let go after each page
            let Some(page) = kept.pages.front() else { return Ok(()) };
            self.inner.write(page.offset, &page.bytes)?;
            kept.forget_first();
        }
    }

    fn release_header(&self) -> io::Result<()> {
        let mut kept = self.kept();
        if let Some(page) = kept.header.as_deref() {
            self.published.store(true, Ordering::Release);
            self.inner.write(0, page)?;
            kept.header = None;
        }
        Ok(())
    }
}

impl Kept {
    fn set_header(&mut self, bytes: &[u8]) {
        let header = self.header.get_or_insert_default();
        header.truncate(0);
        header.extend_from_slice(bytes);
    }

    /// Keeps these bytes, if there is room; whether it does.
    fn add(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let has_room = self.bytes.saturating_add(bytes.len()) <= MAX_KEPT_BYTES;
        if has_room {
            self.bytes += bytes.len();
            self.pages.push_back(Page { offset, bytes: bytes.to_vec() });
        }
        has_room
    }

    fn forget_first(&mut self) {
        let forgotten = self.pages.pop_front().map_or(0, |page| page.bytes.len());
        self.bytes = self.bytes.saturating_sub(forgotten);
    }

    /// What is kept for a part of so many bytes from this offset: where in it, and which. Newer ones later.
    fn within(&self, from: u64, len: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let pages = self.pages.iter().map(|page| (page.offset, &*page.bytes));
        let kept = pages.chain(self.header.as_deref().map(|header| (0, header)));
        kept.filter_map(move |(offset, bytes)| {
            let begin = usize::try_from(offset.saturating_sub(from)).ok().filter(|begin| *begin < len)?;
            let skipped = usize::try_from(from.saturating_sub(offset)).ok()?;
            let bytes = bytes.get(skipped..).filter(|bytes| !bytes.is_empty())?;
            Some((begin, bytes))
        })
    }
}

impl StorageBackend for KeptBack {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let kept = self.kept();
        if kept.within(offset, out.len()).next().is_none() {
            drop(kept);
            return match self.inner.read(offset, out) {
                // Whoever is led there by a damaged page is told that it is damaged; a failure of the disk would end the store.
                Err(failure) if failure.kind() == io::ErrorKind::UnexpectedEof && offset > 0 => {
                    out.fill(0);
                    Ok(())
                }
                read => read,
            };
        }
        // Under the lock: a page that is let go meanwhile would be found in neither place.
        self.inner.read(offset, out)?;
        for (begin, bytes) in kept.within(offset, out.len()) {
            out.iter_mut().skip(begin).zip(bytes).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let grows = len > self.inner.len()?;
        // A sync that is owed will see this length too.
        if !(grows && self.syncs.is_owed()) {
            self.release_pages()?;
        }
        self.inner.set_len(len)?;
        self.has_only_grown.store(grows, Ordering::Release);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let has_only_grown = self.has_only_grown.swap(false, Ordering::AcqRel);
        if has_only_grown && self.kept().header.is_none() {
            return self.syncs.owe();
        }
        self.release_pages()?;
        self.release_header()?;
        self.syncs.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset == 0 {
            self.kept().set_header(data);
            return Ok(());
        }
        if self.syncs.is_left() && self.kept().add(offset, data) {
            return Ok(());
        }
        self.has_only_grown.store(false, Ordering::Release);
        self.release_pages()?;
        self.inner.write(offset, data)
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

#[cfg(test)]
mod tests;
