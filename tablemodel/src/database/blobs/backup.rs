//! Backup and restore of the folder of blobs beside a database's file.
//!
//! Blobs in other places are those places' own to back up.

use std::{path::Path, sync::Arc};

use futures_util::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use super::failed;
use crate::{
    blob::{
        folder_beside, local,
        name::{self, Named},
    },
    database::Database,
    error::{Error, ErrorKind, Result},
};

/// Files that are copied together.
const CONCURRENT: usize = 4;

impl Database {
    /// That a backup to this file would write over no blobs.
    pub(in crate::database) fn check_backup(to: &Path) -> Result<()> {
        let folder = folder_beside(to);
        match folder.exists() {
            true => Err(Error::new(ErrorKind::Denied, format!("{} exists", folder.display()))),
            false => Ok(()),
        }
    }

    /// Copies the folder of blobs beside this database's file, if it has one, to the folder beside `to`.
    ///
    /// After the rows were copied: what they link stays for a grace period at least.
    pub(in crate::database) async fn backup_blobs(&self, to: &Path) -> Result<()> {
        let Some(place) = self.0.blobs.as_ref().filter(|place| place.is_beside) else { return Ok(()) };
        copy(place.store.clone(), local(&folder_beside(to))?).await
    }

    /// Copies the folder of blobs beside a backup, if there is one.
    pub(in crate::database) async fn restore_blobs(backup: &Path, to: &Path) -> Result<()> {
        let folder = folder_beside(backup);
        match folder.is_dir() {
            true => copy(local(&folder)?, local(&folder_beside(to))?).await,
            false => Ok(()),
        }
    }
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
