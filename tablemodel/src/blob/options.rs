//! Where blobs live: beside the file, in memory, in any object store, or at a URL.
//!
//! A place is opened here, with its database; nothing is put into it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use object_store::{ObjectStore, local::LocalFileSystem, parse_url, prefix::PrefixStore};
use url::Url;

use super::MemoryBlobs;
use crate::{
    database::DatabaseBuilder,
    environment::Environment,
    error::{Error, ErrorKind, Result},
    schema::EntitySchema,
};

/// What the builder was told of blobs.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    wanted: Option<Wanted>,
    grace: Duration,
    /// The folder beside the database's file.
    #[cfg(feature = "embedded")]
    beside: Option<PathBuf>,
}

#[derive(Debug, Clone)]
enum Wanted {
    Store(Arc<dyn ObjectStore>),
    Url(String),
    #[cfg_attr(not(feature = "embedded"), expect(dead_code, reason = "only a file has a folder beside it"))]
    Folder(PathBuf),
    Memory,
}

/// How long what no row links is kept, unless told otherwise.
const GRACE: Duration = Duration::from_secs(60 * 60);

impl Default for Options {
    fn default() -> Self {
        Self {
            wanted: None,
            grace: GRACE,
            #[cfg(feature = "embedded")]
            beside: None,
        }
    }
}

/// The blobs of an open database.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) grace: Duration,
    /// The folder, where it is one.
    pub(crate) folder: Option<PathBuf>,
}

/// The folder beside a database's file, where blobs are unless another place was named: also another program's.
#[cfg(feature = "embedded")]
#[derive(Debug, Clone)]
pub(crate) struct Beside {
    pub(crate) folder: PathBuf,
    pub(crate) grace: Duration,
}

impl DatabaseBuilder {
    /// Keeps blobs in this object store, of which the database takes folders named as its tables. One database alone
    /// may collect in one place. See [`rooms::blob`](crate::rooms::blob).
    #[must_use]
    pub fn blobs(mut self, store: Arc<dyn ObjectStore>) -> Self {
        self.blobs.wanted = Some(Wanted::Store(store));
        self
    }

    /// Keeps blobs at a URL: `file:///folder`, `memory:///`, and those of services whose feature of the `object_store`
    /// crate the program turns on. It is checked when the database is opened.
    #[must_use]
    pub fn blobs_at(mut self, url: impl Into<String>) -> Self {
        self.blobs.wanted = Some(Wanted::Url(url.into()));
        self
    }

    /// How long a blob is kept that no row links (1 hour): from its upload, and from when
    /// [`collect`](crate::Blobs::collect) first finds it so. An upload and its write must be done within half of it, and a
    /// reader fetch within the whole. All programs on one store must say the same.
    #[must_use]
    pub fn blob_grace(mut self, grace: Duration) -> Self {
        self.blobs.grace = grace;
        self
    }
}

impl Options {
    /// The folder beside the database's file, unless told otherwise.
    #[cfg(feature = "embedded")]
    pub(crate) fn or_beside(&mut self, file: &Path) {
        let folder = folder_beside(file);
        self.wanted.get_or_insert(Wanted::Folder(folder.clone()));
        self.beside = Some(folder);
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn beside(&self) -> Option<Beside> {
        self.beside.clone().map(|folder| Beside { folder, grace: self.grace })
    }

    /// In memory, unless told otherwise.
    pub(crate) fn or_in_memory(&mut self) {
        self.wanted.get_or_insert(Wanted::Memory);
    }

    /// Opens the place, if the model has blobs or one was asked for; or if there is a folder that others have made: what lies there may be
    /// linked, by lists that were kept in blobs before.
    pub(crate) fn open(
        self,
        model: &'static [&'static EntitySchema],
        environment: &Environment,
        read_only: bool,
    ) -> Result<Option<Place>> {
        let may_link =
            |schema: &EntitySchema| schema.keeps_blobs() || schema.moved_from.is_some_and(EntitySchema::keeps_blobs);
        let holder = model.iter().find(|schema| may_link(schema));
        let memory = || -> Arc<dyn ObjectStore> { Arc::new(MemoryBlobs::new(environment.clock.clone())) };
        let (store, folder) = match (self.wanted, holder) {
            (None, Some(holder)) => return Err(no_place().of(holder.entity_type)),
            (None, None) | (Some(Wanted::Memory), None) => return Ok(None),
            (Some(Wanted::Folder(folder)), None) if !folder.is_dir() => return Ok(None),
            (Some(Wanted::Store(store)), _) => (store, None),
            (Some(Wanted::Url(url)), _) if url.starts_with("memory:") => (memory(), None),
            (Some(Wanted::Url(url)), _) => at_url(&url, read_only)?,
            (Some(Wanted::Memory), _) => (memory(), None),
            // A folder that is not there holds no blobs.
            (Some(Wanted::Folder(folder)), _) if read_only && !folder.exists() => (memory(), None),
            (Some(Wanted::Folder(folder)), _) => (local(&folder)?, Some(folder)),
        };
        Ok(Some(Place { store, grace: self.grace, folder }))
    }
}

/// `company.tablemodel.blobs`, beside `company.tablemodel`.
#[cfg(feature = "embedded")]
pub(crate) fn folder_beside(file: &Path) -> PathBuf {
    let mut folder = file.as_os_str().to_owned();
    folder.push(".blobs");
    folder.into()
}

/// A folder whose files are on the disk before a row links them.
pub(crate) fn local(folder: &Path) -> Result<Arc<dyn ObjectStore>> {
    let denied = |error: Box<dyn std::error::Error + Send + Sync>| {
        let detail = format!("the folder for blobs, {}, cannot be opened", folder.display());
        Error::new(ErrorKind::Denied, detail).caused_by(Cause(error))
    };
    std::fs::create_dir_all(folder).map_err(|error| denied(error.into()))?;
    let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| denied(error.into()))?;
    Ok(Arc::new(store.with_fsync(true).with_automatic_cleanup(true)))
}

fn at_url(text: &str, read_only: bool) -> Result<(Arc<dyn ObjectStore>, Option<PathBuf>)> {
    let wrong = |error: &dyn std::fmt::Display| Error::new(ErrorKind::Invalid, format!("the URL for blobs: {error}"));
    let url = Url::parse(text).map_err(|error| wrong(&error))?;
    if let ("file", Ok(folder)) = (url.scheme(), url.to_file_path()) {
        return match read_only && !folder.exists() {
            true => Err(wrong(&"there is no such folder")),
            false => Ok((local(&folder)?, Some(folder))),
        };
    }
    let (store, prefix) = parse_url(&url).map_err(|error| wrong(&error))?;
    Ok((Arc::new(PrefixStore::new(store, prefix)), None))
}

fn no_place() -> Error {
    let remedy = "say where by `Database::builder().blobs(..)` or `.blobs_at(url)`";
    Error::unsupported(format!(
        "the entity has blobs, or lists in them, and the database has no place for them: {remedy}"
    ))
}

/// An error whose type is not known.
#[derive(Debug)]
struct Cause(Box<dyn std::error::Error + Send + Sync>);

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Cause {}
