//! The engine on redb: one file, one redb table per space.
//!
//! The only place of the crate that names redb's types, beside the backend that a builder takes.

mod error;
mod group;
mod kept_back;
mod open;
mod snapshot;
mod syncs;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use redb::{Database, Durability, ReadOnlyDatabase, ReadableDatabase, StorageError, TableDefinition, WriteTransaction};

use self::{error::Failure, group::RedbGroup, snapshot::RedbSnapshot, syncs::Syncs};
use super::engine::{Applied, Engine, LeftSync, Space, Sync};
use crate::{StoreError, StoreErrorKind};

pub(crate) use self::{
    error::{disk_failure, was_not_closed_cleanly, words_of},
    open::{Access, open_backend, open_file, unmade},
};

/// A redb database.
pub(crate) struct RedbEngine {
    /// Present until the engine is dropped.
    database: Option<Handle>,
    file: FileSize,
    /// Raised by the backend when the page that publishes a commit is about to be written.
    published: Arc<AtomicBool>,
    /// Those of a database that is written.
    syncs: Option<Arc<Syncs>>,
    repaired: bool,
}

enum Handle {
    ReadWrite(Database),
    ReadOnly(ReadOnlyDatabase),
}

/// How to ask for the size of the file.
type FileSize = Box<dyn Fn() -> std::io::Result<u64> + Send + std::marker::Sync>;

type Definition<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;

/// The name of a space's redb table.
fn table_name(space: Space) -> String {
    match space {
        Space::Meta => "meta".to_owned(),
        Space::Tables => "tables".to_owned(),
        Space::Dropped => "dropped".to_owned(),
        Space::Names => "names".to_owned(),
        Space::Shapes => "shapes".to_owned(),
        Space::Rows(id) => format!("e/{:016x}", id.0),
    }
}

impl RedbEngine {
    fn begin(&self, sync: Sync) -> Result<WriteTransaction, Failure> {
        let Some(Handle::ReadWrite(database)) = &self.database else {
            return Err(Failure::ReadOnly);
        };
        let mut transaction = database.begin_write()?;
        match sync {
            Sync::Deferred => transaction.set_durability(Durability::None)?,
            Sync::Disk => {}
            Sync::RecoveryPoint => transaction.set_quick_repair(true),
        }
        Ok(transaction)
    }

    /// A commit that fails before its header page was handed to the disk has certainly not happened.
    ///
    /// Gives the sync that it left, if it was to.
    fn commit(&self, transaction: WriteTransaction, leaves_sync: bool) -> Result<Option<LeftSync>, StoreError> {
        self.published.store(false, Ordering::Release);
        let leave = |leaves| self.syncs.iter().for_each(|syncs| syncs.leave(leaves));
        leave(leaves_sync);
        let committed = error::guarded(|| Ok(transaction.commit()?));
        leave(false);
        match committed {
            Err(failure) if self.published.load(Ordering::Acquire) => Err(unknown(failure)),
            Err(failure) => Err(failure),
            Ok(()) => Ok(self.syncs.as_ref().filter(|_| leaves_sync).map(|syncs| syncs.left())),
        }
    }
}

/// The error of a commit that may have reached the disk.
fn unknown(failure: StoreError) -> StoreError {
    let detail = "the disk failed while it was committing; open the store again and read what it holds";
    StoreError::new(StoreErrorKind::OutcomeUnknown, detail).caused_by(failure)
}

impl Drop for RedbEngine {
    /// Closes the database, which writes: on a damaged file that may fail, and the file is left for the next open. One that is only
    /// read is closed too where somebody still reads, which ends with an error.
    fn drop(&mut self) {
        let _ = error::guarded(|| {
            match self.database.take() {
                Some(Handle::ReadOnly(database)) => drop(database.close()),
                other => drop(other),
            }
            Ok(())
        });
    }
}

impl Engine for RedbEngine {
    type Snapshot = RedbSnapshot;
    type Group<'t> = RedbGroup<'t>;

    fn snapshot(&self) -> Result<RedbSnapshot, StoreError> {
        let transaction = error::guarded(|| match &self.database {
            Some(Handle::ReadWrite(database)) => Ok(database.begin_read()?),
            Some(Handle::ReadOnly(database)) => Ok(database.begin_read()?),
            None => Err(Failure::Storage(StorageError::DatabaseClosed)),
        })?;
        Ok(RedbSnapshot::new(transaction))
    }

    fn apply<T>(
        &self,
        sync: Sync,
        work: impl FnOnce(&mut RedbGroup<'_>) -> Result<T, StoreError>,
    ) -> Result<Applied<T>, StoreError> {
        let transaction = self.begin(sync)?;
        let mut group = RedbGroup::new(&transaction);
        // A panic of redb on a damaged page must not end the thread; the transaction is given up.
        let result = error::guarded(|| Ok(work(&mut group))).flatten();
        let leaves_sync = group.leaves_sync;
        let closed = group.finish();
        match result.and_then(|result| Ok((result, closed?))) {
            Ok((result, true)) => {
                let left = self.commit(transaction, leaves_sync)?;
                Ok(Applied { result, committed: true, left })
            }
            unchanged => {
                let aborted = error::guarded(|| Ok(transaction.abort()?));
                unchanged.and_then(|(result, _)| aborted.map(|()| Applied { result, committed: false, left: None }))
            }
        }
    }

    fn sync(&self, sync: Sync) -> Result<(), StoreError> {
        let transaction = self.begin(sync)?;
        self.commit(transaction, false).map(drop)
    }

    fn finish_sync(&self, left: LeftSync) -> Result<(), StoreError> {
        let finished = self.syncs.as_ref().map_or(Ok(()), |syncs| syncs.finish_one(left));
        finished.map_err(|failure| unknown(disk_failure(&failure)))
    }

    fn was_repaired(&self) -> bool {
        self.repaired
    }

    fn file_bytes(&self) -> Result<u64, StoreError> {
        (self.file)().map_err(|failure| disk_failure(&failure))
    }
}
