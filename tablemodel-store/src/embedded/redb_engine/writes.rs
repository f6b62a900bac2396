//! Writes that wait for their turn, in memory.
//!
//! Writes nothing itself.

use std::collections::VecDeque;

/// Bytes of pages that are kept at most.
pub(super) const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Pages in the order in which they came, and the header page, which goes last.
#[derive(Debug, Default)]
pub(super) struct Writes {
    header: Option<Vec<u8>>,
    pages: VecDeque<Page>,
    bytes: usize,
}

/// Bytes for a place in the file.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

impl Writes {
    pub(super) fn set_header(&mut self, bytes: &[u8]) {
        let header = self.header.get_or_insert_default();
        header.truncate(0);
        header.extend_from_slice(bytes);
    }

    /// Keeps these bytes, if there is room; whether it does.
    pub(super) fn add(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let has_room = self.bytes.saturating_add(bytes.len()) <= MOST_BYTES;
        if has_room {
            self.bytes += bytes.len();
            self.pages.push_back(Page { offset, bytes: bytes.to_vec() });
        }
        has_room
    }

    /// The page that came first.
    pub(super) fn first(&self) -> Option<&Page> {
        self.pages.front()
    }

    /// Lets go of it once it is written.
    pub(super) fn forget_first(&mut self) {
        let forgotten = self.pages.pop_front().map_or(0, |page| page.bytes.len());
        self.bytes = self.bytes.saturating_sub(forgotten);
    }

    pub(super) fn header(&self) -> Option<&[u8]> {
        self.header.as_deref()
    }

    pub(super) fn forget_header(&mut self) {
        self.header = None;
    }

    /// What is kept for a part of so many bytes from this offset: where in it, and which. Newer ones later.
    pub(super) fn within(&self, from: u64, len: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let pages = self.pages.iter().map(|page| (page.offset, &*page.bytes));
        let kept = pages.chain(self.header().map(|header| (0, header)));
        kept.filter_map(move |(offset, bytes)| {
            let begin = usize::try_from(offset.saturating_sub(from)).ok().filter(|begin| *begin < len)?;
            let skipped = usize::try_from(from.saturating_sub(offset)).ok()?;
            let bytes = bytes.get(skipped..).filter(|bytes| !bytes.is_empty())?;
            Some((begin, bytes))
        })
    }
}
