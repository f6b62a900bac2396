//! Data in and out: JSON-lines export and import of every row, backup and restore of a file.
//!
//! Rows travel as they are stored, system properties included; nothing is planned or upgraded on the way.

mod export;
mod import;

#[cfg(feature = "embedded")]
use tablemodel_store::{StoreError, StoreErrorKind};

#[cfg(feature = "embedded")]
use crate::{
    database::Database,
    error::{Error, ErrorKind, Result},
};

/// What an export or import moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Rows.
    pub rows: u64,
    /// Tables that had rows.
    pub tables: u64,
}

#[cfg(feature = "embedded")]
impl Database {
    /// Copies the file, as it is at one moment, to a new file, while writes go on; and before that file appears, the blobs
    /// beside it. Cost: the whole file is read, and written once more.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a database that is not on a file; `Denied` if `to` exists or cannot be written; `Unavailable` if
    /// copying took longer than [`blob_grace`](crate::DatabaseBuilder::blob_grace), so that blobs may have been collected
    /// meanwhile.
    pub async fn backup(&self, to: impl AsRef<std::path::Path>) -> Result<()> {
        let Some(embedded) = &self.0.embedded else {
            return Err(Error::unsupported("only a database on a file can be backed up; use `export`"));
        };
        #[cfg(feature = "blob")]
        let blobs = self.blobs_to(to.as_ref())?;
        let rows = embedded.prepare_backup(to.as_ref()).await?;
        #[cfg(feature = "blob")]
        let blobs = blobs.copied().await?;
        #[cfg(feature = "blob")]
        rows.place_then(|| blobs.keep()).await?;
        #[cfg(not(feature = "blob"))]
        rows.place().await?;
        Ok(())
    }

    /// Makes a new file of a backup, after checking that it can be read as a whole. Open it afterwards. Cost: the file is read twice and
    /// written once.
    ///
    /// # Errors
    ///
    /// `Corrupt` if `backup` is not a store or is damaged; `Denied` if `to` exists or cannot be written, or if `backup` is
    /// in use, or not a whole file (such as one cut short).
    pub async fn restore(backup: impl AsRef<std::path::Path>, to: impl AsRef<std::path::Path>) -> Result<()> {
        let opened = tablemodel_store::EmbeddedStore::builder().read_only(true).open_async(backup.as_ref()).await;
        let store = opened.map_err(|error| unrestored(backup.as_ref(), error))?;
        #[cfg(feature = "blob")]
        let blobs = Self::blobs_of(backup.as_ref(), to.as_ref())?;
        let rows = store.prepare_backup(to.as_ref()).await.map_err(|error| unrestored(backup.as_ref(), error))?;
        #[cfg(feature = "blob")]
        let blobs = blobs.copied().await?;
        #[cfg(feature = "blob")]
        rows.place_then(|| blobs.keep()).await?;
        #[cfg(not(feature = "blob"))]
        rows.place().await?;
        Ok(store.close().await?)
    }
}

/// What it means to who restores that the backup cannot be read; other errors as they are.
#[cfg(feature = "embedded")]
fn unrestored(backup: &std::path::Path, error: StoreError) -> Error {
    let told = |kind, what: &str| Error::new(kind, format!("{}: {what}", backup.display()));
    match error.kind() {
        // Without its words, which are for whoever could open the store to write, or create it.
        _ if error.is_not_closed_cleanly() => told(
            ErrorKind::Denied,
            "no whole backup: it was cut short, or copied while a program had it open; take another by `backup`",
        ),
        StoreErrorKind::Denied if !backup.exists() && !backup.is_symlink() => {
            told(ErrorKind::Denied, "there is no such file; give a backup's path")
        }
        StoreErrorKind::Corrupt => {
            told(ErrorKind::Corrupt, "the backup is damaged, or none; restore another").caused_by(error)
        }
        _ => error.into(),
    }
}
