//! The backend against one that is written directly, and what is on the disk when.

use proptest::prelude::*;

use super::*;

const PAGE: usize = 4;
const PAGES: usize = 6;

/// A disk that remembers what it held at each sync.
#[derive(Debug, Default)]
struct Disk(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    at_syncs: Vec<Vec<u8>>,
    /// The length that is on the disk, and the one that has to be before anything is written.
    length: usize,
    owed: usize,
}

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        out.copy_from_slice(&self.state().bytes[offset as usize..][..out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        state.bytes.resize(len as usize, 0);
        state.owed = state.owed.min(len as usize);
        state.length = state.length.min(len as usize);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        let bytes = state.bytes.clone();
        state.length = bytes.len();
        state.at_syncs.push(bytes);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        assert!(state.length >= state.owed, "the length is not on the disk");
        state.bytes[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }
}

fn kept_back(len: usize) -> (Arc<Disk>, Arc<Syncs>, KeptBack) {
    let disk = Arc::new(Disk::default());
    disk.set_len(len as u64).unwrap();
    disk.state().length = len;
    let syncs = Arc::new(Syncs::new(Arc::<Disk>::clone(&disk)));
    let kept = KeptBack::new(Arc::<Disk>::clone(&disk), Arc::clone(&syncs), Arc::default());
    (disk, syncs, kept)
}

#[derive(Debug, Clone)]
enum Step {
    /// So many pages from this one.
    Write(usize, usize, u8),
    Resize(usize),
    /// Whether it is left.
    Sync(bool),
    Finish,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..PAGES, 1..3_usize, any::<u8>()).prop_map(|(page, pages, byte)| Step::Write(page, pages, byte)),
        1 => (2..PAGES + 1).prop_map(Step::Resize),
        3 => any::<bool>().prop_map(Step::Sync),
        2 => Just(Step::Finish),
    ]
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written_and_each_sync_of_more_than_a_length_finds_what_was_written_before_it(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let (disk, syncs, kept) = kept_back(2 * PAGE);
        let plain = Disk::default();
        plain.set_len(2 * PAGE as u64).unwrap();
        // Whether nothing has happened since the file grew, but that the header was written.
        let (mut has_grown, mut has_header, mut growths) = (false, false, 0);
        for step in steps {
            let before = disk.state().bytes.clone();
            let is_left = syncs.is_left();
            match step {
                Step::Write(page, pages, byte) => {
                    let len = plain.len().unwrap() as usize;
                    let end = if page == 0 { PAGE } else { len.min((page + pages) * PAGE) };
                    let bytes = vec![byte; end.saturating_sub(page * PAGE)];
                    if !bytes.is_empty() {
                        has_header |= page == 0;
                        has_grown &= page == 0;
                        kept.write((page * PAGE) as u64, &bytes).unwrap();
                        plain.write((page * PAGE) as u64, &bytes).unwrap();
                    }
                    prop_assert!(!is_left || disk.state().bytes == before, "something was written beside a sync");
                }
                Step::Resize(pages) => {
                    let grows = pages * PAGE > plain.state().bytes.len();
                    has_grown = grows;
                    growths += usize::from(grows);
                    kept.set_len((pages * PAGE) as u64).unwrap();
                    plain.set_len((pages * PAGE) as u64).unwrap();
                }
                Step::Sync(leaves) => {
                    syncs.leave(leaves);
                    let made = disk.state().at_syncs.len();
                    kept.sync_data().unwrap();
                    if !has_grown || has_header {
                        plain.sync_data().unwrap();
                        has_header = false;
                        let state = disk.state();
                        let is_made = state.at_syncs.len() > made && state.at_syncs.last() == Some(&state.bytes);
                        prop_assert!(is_made || (leaves && syncs.is_left()));
                    } else {
                        let len = plain.state().bytes.len();
                        disk.state().owed = len;
                    }
                    has_grown = false;
                }
                Step::Finish => syncs.finish().unwrap(),
            }
            let mut read = vec![0; plain.len().unwrap() as usize];
            kept.read(0, &mut read).unwrap();
            prop_assert_eq!(&read, &plain.state().bytes);
            let mut part = vec![0; PAGE + 1];
            kept.read(PAGE as u64 - 1, &mut part).unwrap();
            prop_assert_eq!(&part, &plain.state().bytes[PAGE - 1..2 * PAGE]);
        }
        syncs.finish().unwrap();
        let (at_syncs, asked) = (&disk.state().at_syncs, &plain.state().at_syncs);
        prop_assert!(at_syncs.len() <= asked.len() + growths);
        let mut at_syncs = at_syncs.iter();
        prop_assert!(asked.iter().all(|asked| at_syncs.any(|at| at == asked)));
    }
}

#[test]
fn a_file_that_grows_again_and_again_is_synced_once_before_it_is_written() {
    let (disk, _, kept) = kept_back(PAGE);
    for pages in 2..=4 {
        kept.set_len((pages * PAGE) as u64).unwrap();
        kept.sync_data().unwrap();
        assert!(disk.state().at_syncs.is_empty());
    }
    for page in [2, 3, 0] {
        kept.write((page * PAGE) as u64, &[1; PAGE]).unwrap();
        assert_eq!(disk.state().at_syncs, [vec![0; 4 * PAGE]]);
    }
    kept.sync_data().unwrap();
    assert_eq!(disk.state().at_syncs.len(), 2);
    // Before the header alone, too.
    kept.set_len((5 * PAGE) as u64).unwrap();
    kept.sync_data().unwrap();
    kept.write(0, &[2; PAGE]).unwrap();
    kept.sync_data().unwrap();
    let at_syncs: Vec<_> = disk.state().at_syncs.iter().map(|at| (at.len() / PAGE, at[0])).collect();
    assert_eq!(at_syncs, [(4, 0), (4, 1), (5, 1), (5, 2)]);
    // One that was written to since is synced at once.
    kept.set_len((6 * PAGE) as u64).unwrap();
    kept.write(PAGE as u64, &[3; PAGE]).unwrap();
    kept.sync_data().unwrap();
    assert_eq!(disk.state().at_syncs.len(), 5);
}

#[test]
fn the_sync_of_a_length_that_is_owed_after_a_commit_is_not_the_commits() {
    let (disk, syncs, kept) = kept_back(PAGE);
    syncs.leave(true);
    kept.write(0, &[1; PAGE]).unwrap();
    kept.sync_data().unwrap();
    kept.set_len(2 * PAGE as u64).unwrap(); // makes the sync that was left
    kept.sync_data().unwrap();
    let left = syncs.left();
    syncs.leave(false);
    syncs.finish_one(left).unwrap();
    assert_eq!(disk.state().at_syncs, [vec![1; PAGE]]);
    kept.write(PAGE as u64, &[2; PAGE]).unwrap();
    assert_eq!(disk.state().at_syncs.len(), 2);
}

#[test]
fn who_writes_more_than_is_kept_back_waits_for_the_sync() {
    const LARGE: usize = MAX_KEPT_BYTES / 2;
    let (disk, syncs, kept) = kept_back(4 * LARGE);
    syncs.leave(true);
    kept.sync_data().unwrap();
    for number in 1..=3_u8 {
        assert!(disk.state().at_syncs.is_empty(), "{number}");
        kept.write(usize::from(number) as u64 * LARGE as u64, &vec![number; LARGE]).unwrap();
    }
    let state = disk.state();
    assert_eq!(state.at_syncs, [vec![0; 4 * LARGE]]);
    assert_eq!([1, 2, 3].map(|number| state.bytes[number * LARGE]), [1, 2, 3]);
}

/// A disk whose first syncs fail.
#[derive(Debug)]
struct Broken(Arc<Disk>, Mutex<usize>);

impl StorageBackend for Broken {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut left = self.1.lock().unwrap();
        if *left == 0 {
            return self.0.sync_data();
        }
        *left -= 1;
        Err(io::Error::other("planted"))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

fn broken(syncs: usize) -> (Arc<Disk>, Arc<Syncs>, KeptBack) {
    let disk = Arc::new(Disk::default());
    disk.set_len(16).unwrap();
    let broken = Arc::new(Broken(Arc::clone(&disk), Mutex::new(syncs)));
    let syncs = Arc::new(Syncs::new(Arc::<Broken>::clone(&broken)));
    let kept = KeptBack::new(broken, Arc::clone(&syncs), Arc::default());
    (disk, syncs, kept)
}

#[test]
fn after_a_sync_that_failed_nothing_is_written() {
    let (disk, syncs, kept) = broken(usize::MAX);
    syncs.leave(true);
    kept.sync_data().unwrap();
    let left = syncs.left();
    kept.write(4, &[1; 4]).unwrap();
    kept.write(0, &[1; 4]).unwrap();
    assert!(syncs.finish_one(left).is_err());
    for failed in [kept.write(8, &[1; 4]), kept.set_len(8), kept.sync_data(), kept.close()] {
        assert!(failed.unwrap_err().to_string().contains("planted"));
    }
    assert_eq!(disk.state().bytes, [0; 16]);
}

/// Whoever met the failure may not have told of it: a reader that makes room in the cache does not.
#[test]
fn after_a_failure_to_sync_a_length_nothing_is_written_though_the_disk_is_well_again() {
    let (disk, _, kept) = broken(1);
    kept.write(4, &[1; 4]).unwrap();
    kept.set_len(20).unwrap();
    kept.sync_data().unwrap();
    for failed in [kept.write(8, &[2; 4]), kept.write(12, &[2; 4]), kept.set_len(24), kept.sync_data()] {
        assert!(failed.unwrap_err().to_string().contains("planted"));
    }
    kept.write(0, &[3; 4]).unwrap(); // kept back
    assert!(kept.sync_data().is_err() && kept.close().is_err());
    assert_eq!(disk.state().bytes[..12], [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]);
    assert!(disk.state().at_syncs.is_empty());
}
