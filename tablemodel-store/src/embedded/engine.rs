//! The narrow seam between the embedded store and the key-value engine under it.
//!
//! Nothing here knows rows, names or ETags: keys and values are bytes, spaces are numbered.

use std::ops::{Bound, ControlFlow};

use crate::StoreError;

/// The number of a table, never used twice in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TableId(pub(crate) u64);

/// One ordered map of bytes to bytes inside the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    /// What the store knows about itself.
    Meta,
    /// The tables, by lower-case name.
    Tables,
    /// Tables deleted whose rows are still to be freed, by number.
    Dropped,
    /// The property names, by number.
    Names,
    /// The shapes of rows, by number.
    Shapes,
    /// The rows of one table.
    Rows(TableId),
}

impl Space {
    /// The spaces that every file has from its first commit on.
    pub(crate) const SYSTEM: [Self; 5] = [Self::Meta, Self::Tables, Self::Dropped, Self::Names, Self::Shapes];

    /// A number that no other space of the file has.
    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Meta => 0,
            Self::Tables => 1,
            Self::Dropped => 2,
            Self::Names => 3,
            Self::Shapes => 4,
            Self::Rows(TableId(id)) => 5 + id,
        }
    }

    /// Bits that differ for each space, to be mixed into those of a key. Part of the format of the file.
    pub(crate) const fn bits(self) -> u64 {
        // An odd multiplier (a fraction of the golden ratio): a bijection of 64 bits.
        self.number().wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// What a commit waits for before it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// Nothing: a crash undoes it, unless a later commit waited.
    Deferred,
    /// Its bytes, and those of all earlier commits, are on the disk.
    Disk,
    /// As `Disk`, and a crash right after it needs no walk through the file at the next open.
    RecoveryPoint,
}

/// The sync that a commit left: each has a number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeftSync(pub(crate) u64);

/// An amount of entries: whichever of both ends first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
}

/// The range of keys of a scan.
pub(crate) type Range<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Whether a scan goes on.
pub(crate) type Visit = Result<ControlFlow<()>, StoreError>;

/// What came of a group of writes.
pub(crate) struct Applied<T> {
    /// What the work gave.
    pub(crate) result: T,
    /// Whether there was anything to commit.
    pub(crate) committed: bool,
    /// The sync that the commit left, where it [was to](Group::leave_sync).
    pub(crate) left: Option<LeftSync>,
}

/// An ordered, transactional key-value engine: any number of snapshots, one writer.
pub(crate) trait Engine: Send + std::marker::Sync + 'static {
    /// A state of the whole engine that later commits do not change.
    type Snapshot: Snapshot;
    /// The writes of one commit.
    type Group<'t>: Group;

    /// The state of the last commit.
    fn snapshot(&self) -> Result<Self::Snapshot, StoreError>;

    /// Runs `work` and commits what it wrote, all or nothing; commits nothing if it wrote nothing or failed.
    ///
    /// The error is `OutcomeUnknown` where the commit may have reached the disk although it failed.
    fn apply<T>(
        &self,
        sync: Sync,
        work: impl FnOnce(&mut Self::Group<'_>) -> Result<T, StoreError>,
    ) -> Result<Applied<T>, StoreError>;

    /// Makes all earlier commits as safe as `sync` says.
    fn sync(&self, sync: Sync) -> Result<(), StoreError>;

    /// Returns once the commit that left this sync is on the disk.
    ///
    /// To be called after such a commit, from any thread: whoever comes first makes the sync. The next commit may be begun
    /// meanwhile, and waits for it before it writes anything; after a failure nothing is written any more. The error is
    /// `OutcomeUnknown`. Readers of snapshots wait for no such sync.
    fn finish_sync(&self, left: LeftSync) -> Result<(), StoreError>;

    /// Whether opening it took a walk through the file, after a crash without a recovery point.
    fn was_repaired(&self) -> bool;

    /// The size of the file in bytes.
    fn file_bytes(&self) -> Result<u64, StoreError>;
}

/// A state of the whole engine.
pub(crate) trait Snapshot: Send + std::marker::Sync + 'static {
    /// Whether no space was ever created.
    fn is_empty(&self) -> Result<bool, StoreError>;

    /// Whether the space exists.
    fn has(&self, space: Space) -> Result<bool, StoreError>;

    /// The number of entries of a space. Cheap.
    fn len(&self, space: Space) -> Result<u64, StoreError>;

    /// What `read` makes of the value at `key`.
    fn get<T>(&self, space: Space, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, StoreError>;

    /// Calls `visit` for each entry of the range, in order of key, until it breaks.
    fn scan(&self, space: Space, range: Range<'_>, visit: impl FnMut(&[u8], &[u8]) -> Visit) -> Result<(), StoreError>;
}

/// The writes of one commit; reads see them.
pub(crate) trait Group {
    /// What `read` makes of the value at `key`.
    fn get<T>(&mut self, space: Space, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, StoreError>;

    /// Has the commit return before it is on the disk: what it waits for is left to [`Engine::finish_sync`]. Only with
    /// [`Sync::Disk`].
    fn leave_sync(&mut self);

    /// Makes an empty space.
    fn create(&mut self, space: Space) -> Result<(), StoreError>;

    /// Sets the value at `key`.
    fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes the entry at `key`, if it is there.
    fn remove(&mut self, space: Space, key: &[u8]) -> Result<(), StoreError>;

    /// Sets the value at `key`, or removes the entry; what `old` makes of the value before.
    fn swap<T>(
        &mut self,
        space: Space,
        key: &[u8],
        value: Option<&[u8]>,
        old: impl FnOnce(Option<&[u8]>) -> T,
    ) -> Result<T, StoreError>;

    /// Adds entries that come in order of key, up to the first whose key is there already; how many it added.
    ///
    /// Cheap where no other entry lies between them.
    fn insert_run<'e>(
        &mut self,
        space: Space,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])>,
    ) -> Result<usize, StoreError>;

    /// Undoes one change of the value at `key`, which was `old`: as if it had never been made.
    fn take_back(&mut self, space: Space, key: &[u8], old: Option<&[u8]>) -> Result<(), StoreError>;

    /// Removes up to `most` of the space's entries, and the space itself once it is empty; whether it is gone.
    fn shrink(&mut self, space: Space, most: Amount) -> Result<bool, StoreError>;
}
