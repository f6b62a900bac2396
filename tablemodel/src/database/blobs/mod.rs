//! The blobs of a database: uploaded before their row is written, fetched when asked for, collected when no row links
//! them.
//!
//! What they are called and how rows hold them is decided in `blob`.

mod assumed;
#[cfg(feature = "embedded")]
mod backup;
mod check;
mod collect;
mod fetch;
mod owner;
mod sweep;
mod unknown;
mod upload;

use object_store::path::Path;

pub use self::collect::Collected;
pub(super) use self::{
    assumed::Uploaded,
    check::{LinkAt, links, links_of},
    owner::LinkPlace,
};
use crate::{
    blob::Place,
    database::Database,
    error::{Error, ErrorKind, Result},
};

/// The blobs of a database. Made by [`Database::blobs`].
#[derive(Debug, Clone)]
pub struct Blobs {
    db: Database,
}

impl Database {
    /// The blobs of the database: to collect those that no row links.
    pub fn blobs(&self) -> Blobs {
        Blobs { db: self.clone() }
    }

    fn place(&self) -> Result<&Place> {
        self.0
            .blobs
            .as_ref()
            .ok_or_else(|| Error::unsupported("no entity of the opened model has blobs, or lists in them"))
    }
}

/// The path of a name that a row, or a listing, gave.
fn path(name: &str) -> Result<Path> {
    Path::parse(name).map_err(|error| Error::corrupt(format!("`{name}` is not the name of a blob")).caused_by(error))
}

/// What an object store's error means.
fn failed(error: object_store::Error) -> Error {
    use object_store::Error as Cause;
    let kind = match &error {
        Cause::NotFound { .. } => ErrorKind::NotFound,
        Cause::PermissionDenied { .. } | Cause::Unauthenticated { .. } => ErrorKind::Denied,
        Cause::NotSupported { .. } | Cause::NotImplemented { .. } | Cause::UnknownConfigurationKey { .. } => {
            ErrorKind::Unsupported
        }
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, "the object store refused").caused_by(error)
}
