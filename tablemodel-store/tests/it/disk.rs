//! A simulated disk: keeps what is written in memory, logs it, fills up on demand.
//!
//! Knows nothing of stores; what a power cut leaves of a log is computed here too.

use std::{
    collections::HashSet,
    fmt,
    io::{self, ErrorKind},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

use redb::StorageBackend;

/// The bytes that a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// Something that happened to a disk, or that the test noted meanwhile.
#[derive(Clone, Debug)]
pub(crate) enum Event<N> {
    Write(usize, Vec<u8>),
    Resize(usize),
    Sync,
    Note(N),
}

/// How long a sync takes at least: others may begin what they must not meanwhile.
const SYNC_TIME: Duration = Duration::from_micros(50);

/// A disk. Clones are one disk.
pub(crate) struct Disk<N>(Arc<Shared<N>>);

struct Shared<N> {
    state: Mutex<State<N>>,
    /// Syncs began, or may end.
    changed: Condvar,
}

struct State<N> {
    bytes: Vec<u8>,
    log: Vec<Event<N>>,
    /// Sectors that hold something, and how many more may.
    taken: HashSet<usize>,
    room: Option<usize>,
    syncs_fail: bool,
    is_syncing: bool,
    /// Syncs that were begun, and up to which they may end.
    begun: usize,
    may_end: usize,
    /// Those that a commit left to another thread than the writer's.
    aside: usize,
}

impl<N> Disk<N> {
    pub(crate) fn new() -> Self {
        Self::holding(Vec::new())
    }

    pub(crate) fn holding(bytes: Vec<u8>) -> Self {
        let taken = HashSet::new();
        let state = State {
            bytes,
            log: Vec::new(),
            taken,
            room: None,
            syncs_fail: false,
            is_syncing: false,
            begun: 0,
            may_end: usize::MAX,
            aside: 0,
        };
        Self(Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }))
    }

    /// Lets only so many more syncs end.
    pub(crate) fn let_end(&self, syncs: usize) {
        let mut state = self.0.state.lock().unwrap();
        state.may_end = if state.may_end == usize::MAX { state.begun } else { state.may_end } + syncs;
        self.0.changed.notify_all();
    }

    /// Lets all syncs end.
    pub(crate) fn let_all_end(&self) {
        self.0.state.lock().unwrap().may_end = usize::MAX;
        self.0.changed.notify_all();
    }

    /// Waits until a sync was begun that may not end.
    pub(crate) fn wait_for_sync(&self) {
        let state = self.0.state.lock().unwrap();
        drop(self.0.changed.wait_while(state, |state| state.begun <= state.may_end).unwrap());
    }

    /// How many syncs were made beside the writer.
    pub(crate) fn syncs_aside(&self) -> usize {
        self.0.state.lock().unwrap().aside
    }

    /// Logs a note of the test.
    pub(crate) fn note(&self, note: N) {
        self.0.state.lock().unwrap().log.push(Event::Note(note));
    }

    /// Lets only `bytes` more be taken; what is taken can be overwritten all the same.
    pub(crate) fn limit(&self, bytes: usize) {
        self.0.state.lock().unwrap().room = Some(bytes / SECTOR_BYTES);
    }

    /// Makes every sync fail from now on.
    pub(crate) fn fail_syncs(&self) {
        self.0.state.lock().unwrap().syncs_fail = true;
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.state.lock().unwrap().bytes.clone()
    }

    pub(crate) fn take_log(&self) -> Vec<Event<N>> {
        std::mem::take(&mut self.0.state.lock().unwrap().log)
    }
}

impl<N> Clone for Disk<N> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<N> fmt::Debug for Disk<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Disk")
    }
}

impl<N: Send + 'static> StorageBackend for Disk<N> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.state.lock().unwrap().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.0.state.lock().unwrap();
        let from = state.bytes.get(offset as usize..offset as usize + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(from);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.0.state.lock().unwrap();
        assert!(!state.is_syncing, "the order of the file's length and a sync is not known");
        state.bytes.resize(len as usize, 0);
        state.log.push(Event::Resize(len as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.0.state.lock().unwrap();
        assert!(!state.is_syncing, "two syncs at once");
        state.is_syncing = true;
        state.begun += 1;
        state.aside += usize::from(thread::current().name() == Some("tablemodel-syncer"));
        let this = state.begun;
        drop(state);
        self.0.changed.notify_all();
        thread::sleep(SYNC_TIME);
        let state = self.0.state.lock().unwrap();
        let mut state = self.0.changed.wait_while(state, |state| state.may_end < this).unwrap();
        state.is_syncing = false;
        if state.syncs_fail {
            return Err(io::Error::other("the simulated disk failed"));
        }
        state.log.push(Event::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.0.state.lock().unwrap();
        assert!(!state.is_syncing, "the order of a write and a sync is not known");
        let sectors = offset as usize / SECTOR_BYTES..(offset as usize + data.len()).div_ceil(SECTOR_BYTES);
        let more = sectors.filter(|sector| state.taken.insert(*sector)).count();
        if let Some(room) = &mut state.room {
            *room = room.checked_sub(more).ok_or(ErrorKind::StorageFull)?;
        }
        put(&mut state.bytes, offset as usize, data);
        state.log.push(Event::Write(offset as usize, data.to_vec()));
        Ok(())
    }
}

fn put(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    if bytes.len() < offset + data.len() {
        bytes.resize(offset + data.len(), 0);
    }
    bytes[offset..offset + data.len()].copy_from_slice(data);
}

/// What is on a disk while its log is replayed: what the last sync made safe, and what came after it.
pub(crate) struct Platter<N> {
    safe: Vec<u8>,
    unsynced: Vec<Event<N>>,
}

/// Which of the unsynced writes a power cut lets through.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Survivors {
    None,
    All,
    /// Each sector by chance, so that writes are torn, lost, and overtaken by later ones.
    Some,
}

impl Survivors {
    /// A different way for each of several cuts at one moment.
    pub(crate) const fn nth(cut: usize) -> Self {
        match cut {
            0 => Self::None,
            1 => Self::All,
            _ => Self::Some,
        }
    }
}

impl<N: Clone> Platter<N> {
    pub(crate) const fn holding(safe: Vec<u8>) -> Self {
        Self { safe, unsynced: Vec::new() }
    }

    /// Takes the next event; a note changes nothing.
    pub(crate) fn take(&mut self, event: &Event<N>) {
        match event {
            Event::Sync => {
                for event in std::mem::take(&mut self.unsynced) {
                    survive(&mut self.safe, &event, &mut || true);
                }
            }
            Event::Note(_) => {}
            Event::Write(..) | Event::Resize(_) => self.unsynced.push(event.clone()),
        }
    }

    /// What the disk holds after the power is cut now.
    pub(crate) fn cut(&self, survivors: Survivors, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.safe.clone();
        let chance = random.next();
        for event in &self.unsynced {
            survive(&mut bytes, event, &mut || match survivors {
                Survivors::None => false,
                Survivors::All => true,
                Survivors::Some => random.next() < chance,
            });
        }
        bytes
    }
}

fn survive<N>(bytes: &mut Vec<u8>, event: &Event<N>, survives: &mut impl FnMut() -> bool) {
    match event {
        Event::Write(offset, data) => {
            for (index, sector) in data.chunks(SECTOR_BYTES).enumerate() {
                if survives() {
                    put(bytes, offset + index * SECTOR_BYTES, sector);
                }
            }
        }
        Event::Resize(len) => {
            if survives() {
                bytes.resize(*len, 0);
            }
        }
        Event::Sync | Event::Note(_) => {}
    }
}

/// Reproducible random numbers: SplitMix64. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators".
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
