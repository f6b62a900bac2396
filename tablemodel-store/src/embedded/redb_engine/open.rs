//! Opening a redb file, or a backend in its place.
//!
//! Knows nothing of what the file must hold.

use std::{
    fs::{self, File, OpenOptions},
    io::ErrorKind,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{Builder, StorageBackend, backends::FileBackend};

use super::{
    Handle, RedbEngine,
    error::{Failure, disk_failure, guarded},
    kept_back::KeptBack,
    syncs::Syncs,
};
use crate::{StoreError, StoreErrorKind};

/// What an opener may do with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Write, and create the file if there is none.
    Create,
    /// Write to a file that is there.
    Write,
    /// Read, beside other readers, a file that was closed cleanly.
    Read,
}

/// Opens the file at `path`. The caller names it in errors.
pub(crate) fn open_file(path: &Path, access: Access, cache_bytes: usize) -> Result<RedbEngine, StoreError> {
    match access {
        Access::Read => open_to_read(path, cache_bytes),
        Access::Write | Access::Create => open_to_write(path, access, cache_bytes),
    }
}

/// Opens what a backend holds; an empty one becomes an empty database.
pub(crate) fn open_backend(backend: Box<dyn StorageBackend>, cache_bytes: usize) -> Result<RedbEngine, StoreError> {
    let backend: Arc<dyn StorageBackend> = Arc::from(backend);
    let published = Arc::new(AtomicBool::new(false));
    let syncs = Arc::new(Syncs::new(Arc::clone(&backend)));
    let kept_back = KeptBack::new(Arc::clone(&backend), Arc::clone(&syncs), Arc::clone(&published));
    let repaired = Arc::new(AtomicBool::new(false));
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes).set_repair_callback({
        let repaired = Arc::clone(&repaired);
        move |_| repaired.store(true, Ordering::Release)
    });
    let database = guarded(|| Ok(builder.create_with_backend(kept_back)?))?;
    Ok(RedbEngine {
        database: Some(Handle::ReadWrite(database)),
        file: Box::new(move || backend.len()),
        published,
        syncs: Some(syncs),
        repaired: repaired.load(Ordering::Acquire),
    })
}

fn open_to_write(path: &Path, access: Access, cache_bytes: usize) -> Result<RedbEngine, StoreError> {
    let create = access == Access::Create;
    let opened = OpenOptions::new().read(true).write(true).create(create).truncate(false).open(path);
    let file = opened.map_err(|failure| unopened(path, &failure))?;
    if !create {
        refuse_empty(&file)?;
    }
    let backend = FileBackend::new(file).map_err(Failure::from)?;
    open_backend(Box::new(backend), cache_bytes)
}

fn open_to_read(path: &Path, cache_bytes: usize) -> Result<RedbEngine, StoreError> {
    // redb's own errors for a path that cannot be opened, or is one of a directory, do not say what to do.
    let file = File::open(path).map_err(|failure| unopened(path, &failure))?;
    if path.is_dir() {
        return Err(unopened(path, &ErrorKind::IsADirectory.into()));
    }
    refuse_empty(&file)?;
    let database = guarded(|| Ok(Builder::new().set_cache_size(cache_bytes).open_read_only(path)?))?;
    let path = path.to_owned();
    Ok(RedbEngine {
        database: Some(Handle::ReadOnly(database)),
        file: Box::new(move || Ok(fs::metadata(&path)?.len())),
        published: Arc::default(),
        syncs: None,
        repaired: false,
    })
}

/// That redb makes no database of an empty file, nor says it in other words.
fn refuse_empty(file: &File) -> Result<(), StoreError> {
    match file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        true => Err(StoreError::new(
            StoreErrorKind::Corrupt,
            "the file is empty; restore a backup, or remove it and create a store",
        )),
        false => Ok(()),
    }
}

/// The error for a path at which no file could be made.
pub(crate) fn unmade(path: &Path, failure: &std::io::Error) -> StoreError {
    match failure.kind() {
        ErrorKind::NotFound if !parent_is_missing(path) && !path.is_symlink() => {
            StoreError::new(StoreErrorKind::Denied, "no file can be made at this path; give another")
        }
        _ => unopened(path, failure),
    }
}

fn parent_is_missing(path: &Path) -> bool {
    path.parent().is_some_and(|parent| !parent.as_os_str().is_empty() && !parent.exists())
}

/// The error for a path at which no file could be opened.
fn unopened(path: &Path, failure: &std::io::Error) -> StoreError {
    let denied = |detail: &str| StoreError::new(StoreErrorKind::Denied, detail);
    match failure.kind() {
        ErrorKind::NotFound if parent_is_missing(path) => denied("its directory does not exist; create it first"),
        ErrorKind::NotFound if path.is_symlink() => {
            denied("this is a link to a file that is not there; create that first")
        }
        ErrorKind::NotFound => denied("there is no such file; create the store first"),
        ErrorKind::NotADirectory => denied("its directory is a file; give another path"),
        ErrorKind::InvalidFilename => denied("this is no name of a file, or it is too long; give another"),
        _ if path.is_dir() => denied("this is a directory; give the path of a file"),
        _ => disk_failure(failure),
    }
}
