//! When a backend is written and synced: at once, or, where a commit leaves its sync, by whoever first needs it to be over.
//!
//! Changes no byte, and no order that matters: what was written between two syncs gets to the backend between them, the header
//! page last.

use std::{
    io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::StorageBackend;

use super::{error::words_of, writes::Writes};
use crate::embedded::engine::LeftSync;

/// The writes and the syncs of one backend.
///
/// redb writes under locks that its readers take, and readers write too, to make room in the cache: if a write waited for a
/// sync, they would. So it is kept until its turn comes.
#[derive(Debug)]
pub(super) struct Syncs {
    backend: Arc<dyn StorageBackend>,
    /// Whether the commit that is being made leaves its sync.
    leaves: AtomicBool,
    last: Mutex<Last>,
    ended: Condvar,
    kept: Mutex<Kept>,
    /// Raised when the header is written of a commit that does not leave its sync.
    published: Arc<AtomicBool>,
}

/// What is not written yet.
#[derive(Debug, Default)]
struct Kept {
    /// What the sync is to bring to the disk that was left.
    left: Writes,
    /// What came after it.
    next: Writes,
}

/// The sync that was left last. All before it are over.
#[derive(Debug)]
struct Last {
    number: u64,
    left: Left,
}

/// What became of it.
#[derive(Debug, Clone)]
enum Left {
    /// It is over, or there was none.
    Nothing,
    Due,
    Running,
    /// It failed, and with it all that would be written after it.
    Failed(Failed),
}

/// How a sync failed.
#[derive(Debug, Clone)]
struct Failed {
    kind: io::ErrorKind,
    words: String,
    /// Whether what it was to bring to the disk may be there.
    is_unknown: bool,
}

impl Failed {
    fn new(failure: &io::Error, is_unknown: bool) -> Self {
        Self { kind: failure.kind(), words: failure.to_string(), is_unknown }
    }

    fn error(&self) -> io::Error {
        io::Error::new(self.kind, self.words.clone())
    }
}

impl Syncs {
    pub(super) fn new(backend: Arc<dyn StorageBackend>, published: Arc<AtomicBool>) -> Self {
        let last = Mutex::new(Last { number: 0, left: Left::Nothing });
        let (leaves, ended, kept) = (AtomicBool::new(false), Condvar::new(), Mutex::default());
        Self { backend, leaves, last, ended, kept, published }
    }

    /// From now on syncs are left, or not.
    pub(super) fn leave(&self, leaves: bool) {
        self.leaves.store(leaves, Ordering::Release);
    }

    fn leaves(&self) -> bool {
        self.leaves.load(Ordering::Acquire)
    }

    /// Which sync was left last.
    pub(super) fn left(&self) -> LeftSync {
        LeftSync(self.last().number)
    }

    /// Reads what was written.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let kept = self.kept();
        if kept.within(offset, out.len()).next().is_none() {
            drop(kept);
            return self.backend.read(offset, out);
        }
        // Under the lock: a page that is written meanwhile would be found in neither place.
        self.backend.read(offset, out)?;
        for (begin, bytes) in kept.within(offset, out.len()) {
            out.iter_mut().skip(begin).zip(bytes).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    /// Writes a page, or keeps it: beside a sync, for one that will be left, and the header page until the next one.
    pub(super) fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset == 0 {
            self.kept().next.set_header(data);
            return Ok(());
        }
        if (self.leaves() || self.is_left()) && self.kept().next.add(offset, data) {
            return Ok(());
        }
        self.catch_up()?;
        self.backend.write(offset, data)
    }

    /// Sets the length of the file, after all that was written before.
    pub(super) fn set_len(&self, len: u64) -> io::Result<()> {
        self.catch_up()?;
        self.backend.set_len(len)
    }

    /// Brings to the disk what was written, or leaves that to who [finishes](Self::finish) it.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.finish()?;
        if self.leaves() {
            let mut kept = self.kept();
            kept.left = mem::take(&mut kept.next);
            drop(kept);
            let mut last = self.last();
            *last = Last { number: last.number + 1, left: Left::Due };
            return Ok(());
        }
        self.write_pages(Kept::next)?;
        self.write_header(Kept::next, &self.published)?;
        self.backend.sync_data()
    }

    /// Returns once this one is over. The error, and whether what it was to bring to the disk may be there.
    pub(super) fn finish_one(&self, LeftSync(number): LeftSync) -> Result<(), (io::Error, bool)> {
        let is_over = self.last().number > number;
        if is_over {
            return Ok(());
        }
        self.finish().map_err(|failure| {
            let is_unknown = match &self.last().left {
                Left::Failed(failed) => failed.is_unknown,
                Left::Nothing | Left::Due | Left::Running => true,
            };
            (failure, is_unknown)
        })
    }

    /// Returns once no sync is left: makes it here, unless another thread does.
    pub(super) fn finish(&self) -> io::Result<()> {
        let mut last = self.last();
        loop {
            match &last.left {
                Left::Nothing => return Ok(()),
                Left::Failed(failed) => return Err(failed.error()),
                Left::Running => last = self.ended.wait(last).unwrap_or_else(PoisonError::into_inner),
                Left::Due => break,
            }
        }
        last.left = Left::Running;
        drop(last);
        let is_unknown = AtomicBool::new(false);
        let made = catch_unwind(AssertUnwindSafe(|| {
            self.write_pages(Kept::left)?;
            self.write_header(Kept::left, &is_unknown)?;
            self.backend.sync_data()
        }));
        let made = made.unwrap_or_else(|panic| Err(io::Error::other(words_of(panic.as_ref()))));
        self.last().left = match &made {
            Ok(()) => Left::Nothing,
            Err(failure) => Left::Failed(Failed::new(failure, is_unknown.into_inner())),
        };
        self.ended.notify_all();
        made
    }

    /// Whether a sync is left that is not over.
    fn is_left(&self) -> bool {
        matches!(self.last().left, Left::Due | Left::Running)
    }

    /// Writes what was kept beside a sync, but for the header.
    fn catch_up(&self) -> io::Result<()> {
        self.finish()?;
        self.write_pages(Kept::next)
    }

    /// One at a time: readers take the lock too.
    fn write_pages(&self, which: fn(&mut Kept) -> &mut Writes) -> io::Result<()> {
        loop {
            let mut kept = self.kept();
            let writes = which(&mut kept);
            let Some(page) = writes.first() else { return Ok(()) };
            self.backend.write(page.offset, &page.bytes)?;
            writes.forget_first();
        }
    }

    /// Raises `published` before a header is written.
    fn write_header(&self, which: fn(&mut Kept) -> &mut Writes, published: &AtomicBool) -> io::Result<()> {
        let mut kept = self.kept();
        let writes = which(&mut kept);
        if let Some(page) = writes.header() {
            published.store(true, Ordering::Release);
            self.backend.write(0, page)?;
            writes.forget_header();
        }
        Ok(())
    }

    // No assignment is half done after a panic.
    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    const fn left(&mut self) -> &mut Writes {
        &mut self.left
    }

    const fn next(&mut self) -> &mut Writes {
        &mut self.next
    }

    fn within(&self, from: u64, len: usize) -> impl Iterator<Item = (usize, &[u8])> {
        self.left.within(from, len).chain(self.next.within(from, len))
    }
}

#[cfg(test)]
mod tests;
