//! What redb's errors mean to a user of the store.
//!
//! No path and no operation is named here: the caller adds what it knows.

use std::{
    io::{self, ErrorKind},
    panic::{AssertUnwindSafe, catch_unwind},
};

use redb::{CommitError, CursorError, DatabaseError, SetDurabilityError, StorageError, TableError, TransactionError};

use crate::{StoreError, StoreErrorKind};

/// A failure of redb, or of the way it was used.
pub(super) enum Failure {
    /// A write to a store opened read-only.
    ReadOnly,
    Database(DatabaseError),
    Storage(StorageError),
    /// A structure of the file is not what it must be.
    Damaged(String),
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Storage(storage) => Self::Storage(storage),
            other => Self::Database(other),
        }
    }
}

impl From<TransactionError> for Failure {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::Storage(storage) => Self::Storage(storage),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Storage(storage) => Self::Storage(storage),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<CommitError> for Failure {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Storage(storage) => Self::Storage(storage),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<CursorError> for Failure {
    fn from(error: CursorError) -> Self {
        match error {
            CursorError::Storage(storage) => Self::Storage(storage),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<SetDurabilityError> for Failure {
    fn from(error: SetDurabilityError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::ReadOnly => Self::new(StoreErrorKind::Denied, "the store was opened read-only"),
            Failure::Damaged(what) => damaged(&what),
            Failure::Database(error) => database(error),
            Failure::Storage(error) => storage(error),
        }
    }
}

fn damaged(what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, format!("the file of the store is damaged: {what}; restore a backup"))
}

fn database(error: DatabaseError) -> StoreError {
    let (kind, detail) = match &error {
        DatabaseError::DatabaseAlreadyOpen => (
            StoreErrorKind::Denied,
            "the store is open elsewhere; close the other opener, or share one open store".to_owned(),
        ),
        DatabaseError::RepairAborted => (
            StoreErrorKind::Denied,
            "the store was not closed cleanly; open it once for writing, then read-only".to_owned(),
        ),
        DatabaseError::UpgradeRequired(version) => (
            StoreErrorKind::Unsupported,
            format!("the file has redb's format {version}, which this program does not read"),
        ),
        other => (StoreErrorKind::Corrupt, format!("the file of the store cannot be opened: {other}")),
    };
    StoreError::new(kind, detail).caused_by(error)
}

/// Whether this is what redb says where only an opening for writing can go on.
pub(crate) fn was_not_closed_cleanly(source: &(dyn std::error::Error + 'static)) -> bool {
    matches!(source.downcast_ref(), Some(DatabaseError::RepairAborted))
}

fn storage(error: StorageError) -> StoreError {
    let (kind, detail) = match &error {
        StorageError::Corrupted(what) => return damaged(what).caused_by(error),
        StorageError::Io(failure) => io(failure),
        StorageError::ValueTooLarge(bytes) => (StoreErrorKind::TooLarge, format!("a value of {bytes} bytes")),
        StorageError::DatabaseClosed => (StoreErrorKind::Closed, "the store is closed; open it again".to_owned()),
        other => (StoreErrorKind::Closed, format!("the store stopped after a failure ({other}); open it again")),
    };
    StoreError::new(kind, detail).caused_by(error)
}

/// The error for a failure of the disk, or of the file system.
pub(crate) fn disk_failure(failure: &io::Error) -> StoreError {
    let (kind, detail) = io(failure);
    StoreError::new(kind, detail).caused_by(io::Error::new(failure.kind(), failure.to_string()))
}

fn io(failure: &io::Error) -> (StoreErrorKind, String) {
    match failure.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            (StoreErrorKind::Denied, format!("no room on the disk ({failure}); free some, then open the store again"))
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            (StoreErrorKind::Denied, format!("no permission ({failure}); allow it, or open the store read-only"))
        }
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData => {
            (StoreErrorKind::Corrupt, format!("the file is foreign or damaged ({failure}); restore a backup"))
        }
        _ => (StoreErrorKind::Closed, format!("the disk failed ({failure}); open the store again")),
    }
}

/// Runs `work`; a panic in it becomes an error.
///
/// redb trusts the structure of the pages that it reads: on a damaged page it may index out of bounds.
/// Snapshots hold nothing that a panic could leave half done.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(StoreError::from),
        Err(panic) => Err(damaged(&words_of(panic.as_ref()))),
    }
}

/// The message of a panic.
pub(crate) fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unreadable page".to_owned())
}
