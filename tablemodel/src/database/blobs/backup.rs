//! Backup and restore of the folder of blobs beside a database's file.
//!
//! Blobs in other places are those places' own to back up.

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::{BuildHasher, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use tablemodel_store::clock::Clock;

use super::failed;
use crate::{
    blob::{
        folder_beside, local,
        name::{self, Named},
    },
    database::{Database, since::Since},
    error::{Error, ErrorKind, Result},
};

/// Files that are copied together.
const CONCURRENT: usize = 4;

/// The copy of a folder of blobs, if there is one: under a name of its own until it is whole, and taken away again unless it is kept.
pub(in crate::database) struct FolderCopy {
    from: PathBuf,
    to: PathBuf,
    /// How long nothing can be collected that the copied rows link.
    grace: Option<Grace>,
    /// The folders that are this copy's own, and beside nothing yet.
    unkept: Vec<PathBuf>,
}

/// A time that began.
struct Grace {
    clock: Arc<dyn Clock>,
    since: Since,
    length: Duration,
}

impl Grace {
    fn new(clock: Arc<dyn Clock>, length: Duration) -> Self {
        Self { since: Since::now(&*clock), clock, length }
    }

    fn is_over(&self) -> bool {
        self.since.elapsed(&*self.clock) >= self.length
    }
}

impl Database {
    /// The folder of blobs beside this database's file, whether or not its model has any, to that beside `to`. To be asked
    /// for before the rows are copied: what they link stays for a grace period from then on.
    pub(in crate::database) fn blobs_to(&self, to: &Path) -> Result<FolderCopy> {
        let Some(beside) = &self.0.beside else { return FolderCopy::new(PathBuf::new(), to) };
        let grace = Grace::new(self.environment().clock.clone(), beside.grace);
        let mut copy = FolderCopy::new(beside.folder.clone(), to)?;
        copy.grace = Some(grace);
        Ok(copy)
    }

    /// The folder of blobs beside a backup.
    pub(in crate::database) fn blobs_of(backup: &Path, to: &Path) -> Result<FolderCopy> {
        FolderCopy::new(folder_beside(backup), to)
    }
}

impl FolderCopy {
    /// Refuses to write over blobs.
    fn new(from: PathBuf, beside: &Path) -> Result<Self> {
        let to = folder_beside(beside);
        match to.exists() {
            true => Err(exists(&to)),
            false => Ok(Self { from, to, grace: None, unkept: Vec::new() }),
        }
    }

    /// Makes a folder: who made it alone writes it, or takes it away.
    fn claim(&mut self, folder: PathBuf) -> Result<()> {
        fs::create_dir(&folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => exists(&folder),
            _ => unmade(&folder, error),
        })?;
        self.unkept.push(folder);
        Ok(())
    }

    /// Lets the whole copy appear. The name of the folder comes to the disk with that of the file beside it.
    fn appear(&mut self, partial: &Path) -> Result<()> {
        self.claim(self.to.clone())?;
        // Elsewhere not even an empty folder gives way.
        let made_way = if cfg!(unix) { Ok(()) } else { fs::remove_dir(&self.to) };
        made_way.and_then(|()| fs::rename(partial, &self.to)).map_err(|error| unmade(&self.to, error))
    }

    /// The same, once all is copied. After the rows were.
    pub(in crate::database) async fn copied(mut self) -> Result<Self> {
        if !self.from.is_dir() {
            return Ok(self);
        }
        let partial = format!("blobs.{:016x}.partial", RandomState::new().build_hasher().finish());
        let partial = self.to.with_file_name(partial);
        self.claim(partial.clone())?;
        copy(local(&self.from)?, local(&partial)?).await?;
        if self.grace.as_ref().is_some_and(Grace::is_over) {
            let detail =
                "copying the blobs took longer than the grace period, and some may have been collected meanwhile";
            return Err(Error::new(ErrorKind::Unavailable, format!("{detail}; set a longer `blob_grace`")));
        }
        self.appear(&partial)?;
        Ok(self)
    }

    /// The rows are there that link what was copied.
    pub(in crate::database) fn keep(mut self) {
        self.unkept.clear();
    }
}

impl Drop for FolderCopy {
    fn drop(&mut self) {
        for folder in &self.unkept {
            let _ = fs::remove_dir_all(folder); // no file stands beside it; the one may have become the other
        }
    }
}

fn unmade(folder: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Denied, format!("{} cannot be made", folder.display())).caused_by(error)
}

fn exists(folder: &Path) -> Error {
    Error::new(ErrorKind::Denied, format!("{} exists; give another path, or move it away", folder.display()))
}

async fn copy(from: Arc<dyn ObjectStore>, to: Arc<dyn ObjectStore>) -> Result<()> {
    let is_mark = |meta: &ObjectMeta| matches!(name::parse(meta.location.as_ref()), Some(Named::Gone(_)));
    let objects = from.list(None).map_err(failed);
    let objects = objects.try_filter(|meta| std::future::ready(!is_mark(meta)));
    let copies = objects.map(|meta| async { copy_one(&from, &to, meta?).await }).buffer_unordered(CONCURRENT);
    copies.try_collect().await
}

/// Copies one object piece by piece; one that was collected meanwhile is linked by no row of the copy.
async fn copy_one(from: &Arc<dyn ObjectStore>, to: &Arc<dyn ObjectStore>, meta: ObjectMeta) -> Result<()> {
    let found = match from.get(&meta.location).await {
        Err(object_store::Error::NotFound { .. }) => return Ok(()),
        other => other.map_err(failed)?,
    };
    let mut pieces = found.into_stream();
    let mut upload = to.put_multipart(&meta.location).await.map_err(failed)?;
    while let Some(piece) = pieces.try_next().await.map_err(failed)? {
        upload.put_part(piece.into()).await.map_err(failed)?;
    }
    upload.complete().await.map(drop).map_err(failed)
}
