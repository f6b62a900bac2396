//! Where a store is: its address, and how each kind of address is opened.
//!
//! A new kind of store is one line of [`KINDS`] and one arm of [`Address::open`].

use std::{ffi::OsStr, path::PathBuf};

use super::words::Place;
use crate::{Database, Error, Result, cli::outcome::Failure, schema::EntitySchema};

/// What the address defaults to.
pub(super) const VARIABLE: &str = "TABLEMODEL_STORE";

/// The kinds of addresses that there are.
const KINDS: &[&str] = &["`embedded:PATH`, or PATH alone"];

/// An address that was understood.
#[derive(Debug, PartialEq)]
pub(super) enum Address {
    /// The file of an embedded store.
    Embedded(PathBuf),
}

impl Address {
    /// The address that was given, or that of the environment.
    pub(super) fn of(place: &Place) -> Result<Self, Failure> {
        let given = place.store.clone().or_else(|| std::env::var_os(VARIABLE));
        let Some(given) = given.filter(|given| !given.is_empty()) else {
            return Err(Failure(format!("give the store by `--store`, or set {VARIABLE}: {}", KINDS.join("; "))));
        };
        Self::parse(&given)
    }

    /// What is no text is a path.
    fn parse(given: &OsStr) -> Result<Self, Failure> {
        let Some(text) = given.to_str() else { return Ok(Self::Embedded(given.into())) };
        match text.split_once(':').filter(|(kind, _)| is_kind(kind)) {
            None => Ok(Self::Embedded(text.into())),
            Some(("embedded", path)) if !path.is_empty() => Ok(Self::Embedded(path.into())),
            Some((kind, _)) => Err(Failure(format!(
                "`{kind}:` is no kind of store, or says too little; there are: {}",
                KINDS.join("; ")
            ))),
        }
    }

    /// Opens the store with these entities. Never creates one.
    pub(super) async fn open(
        &self,
        place: &Place,
        entities: &'static [&'static EntitySchema],
        read_only: bool,
    ) -> Result<Database> {
        match self {
            Self::Embedded(path) => open_embedded(place, entities, path, read_only).await,
        }
    }

    /// Makes a store at a path where nothing is; it will be moved to the address, beside which its blobs are.
    #[cfg(feature = "embedded")]
    pub(super) async fn create_at(
        &self,
        place: &Place,
        entities: &'static [&'static EntitySchema],
        path: &std::path::Path,
    ) -> Result<Database> {
        let Self::Embedded(address) = self;
        beside(builder(place), address).open_file(entities, path).await
    }

    #[cfg(not(feature = "embedded"))]
    pub(super) async fn create_at(
        &self,
        _: &Place,
        _: &'static [&'static EntitySchema],
        _: &std::path::Path,
    ) -> Result<Database> {
        Err(without_embedded())
    }

    /// Makes the store, which must not be there, of a backup.
    #[cfg(feature = "embedded")]
    pub(super) async fn restore(&self, backup: &std::path::Path) -> Result<()> {
        let Self::Embedded(path) = self;
        Database::restore(backup, path).await
    }

    #[cfg(not(feature = "embedded"))]
    pub(super) async fn restore(&self, _: &std::path::Path) -> Result<()> {
        Err(without_embedded())
    }
}

/// Whether what stands before a colon is meant as a kind: not a drive of Windows, nor a folder of a path.
fn is_kind(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'+')
}

#[cfg(feature = "embedded")]
fn builder(place: &Place) -> crate::DatabaseBuilder {
    use super::words::Consistency;
    let builder = Database::builder().prefix(&place.prefix);
    let builder = match place.consistency {
        None => builder,
        Some(Consistency::Atomic) => builder.consistency(crate::Consistency::Atomic),
        Some(Consistency::Azure) => builder.consistency(crate::Consistency::Azure),
    };
    let builder = match place.fence {
        None => builder,
        Some(seconds) => builder.fence(std::time::Duration::from_secs(seconds)),
    };
    with_blobs(builder, place)
}

#[cfg(all(feature = "embedded", feature = "blob"))]
fn with_blobs(builder: crate::DatabaseBuilder, place: &Place) -> crate::DatabaseBuilder {
    let builder = match &place.blobs {
        None => builder,
        Some(url) => builder.blobs_at(url),
    };
    match place.blob_grace {
        None => builder,
        Some(seconds) => builder.blob_grace(std::time::Duration::from_secs(seconds)),
    }
}

#[cfg(all(feature = "embedded", not(feature = "blob")))]
fn with_blobs(builder: crate::DatabaseBuilder, _: &Place) -> crate::DatabaseBuilder {
    builder
}

/// With the blobs beside this file, unless told otherwise.
#[cfg(all(feature = "embedded", feature = "blob"))]
fn beside(mut builder: crate::DatabaseBuilder, file: &std::path::Path) -> crate::DatabaseBuilder {
    builder.blobs.or_beside(file);
    builder
}

#[cfg(all(feature = "embedded", not(feature = "blob")))]
fn beside(builder: crate::DatabaseBuilder, _: &std::path::Path) -> crate::DatabaseBuilder {
    builder
}

/// The folder for blobs that the store at this file may have beside it.
#[cfg(all(feature = "embedded", feature = "blob"))]
#[expect(clippy::unnecessary_wraps, reason = "without the feature there is none")]
pub(super) fn blobs_beside(file: &std::path::Path) -> Option<PathBuf> {
    Some(crate::blob::folder_beside(file))
}

#[cfg(not(all(feature = "embedded", feature = "blob")))]
pub(super) fn blobs_beside(_: &std::path::Path) -> Option<PathBuf> {
    None
}

/// That blobs, if the model has them, are not looked for, or put, where the program has none.
#[cfg(all(feature = "embedded", feature = "blob"))]
fn check_blobs(place: &Place, entities: &[&'static EntitySchema], file: &std::path::Path) -> Result<()> {
    let keeps =
        |schema: &EntitySchema| schema.keeps_blobs() || schema.moved_from.is_some_and(EntitySchema::keeps_blobs);
    let folder = crate::blob::folder_beside(file);
    if place.blobs.is_some() || folder.is_dir() || !entities.iter().any(|schema| keeps(schema)) {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "the model keeps blobs, and there is no folder {}: say by `--blobs URL` where the program keeps them, or make the folder, if \
         they are to be there and none is yet",
        folder.display()
    )))
}

#[cfg(all(feature = "embedded", not(feature = "blob")))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it may refuse")]
fn check_blobs(_: &Place, _: &[&'static EntitySchema], _: &std::path::Path) -> Result<()> {
    Ok(())
}

#[cfg(feature = "embedded")]
async fn open_embedded(
    place: &Place,
    entities: &'static [&'static EntitySchema],
    path: &std::path::Path,
    read_only: bool,
) -> Result<Database> {
    if !path.is_file() {
        let what = match (path.is_dir(), path.exists()) {
            (true, _) => "this is a directory; give the path of the store's file",
            (false, true) => "this is no file that a store could be in; give the path of the store's file",
            (false, false) => "there is no such file; the program that keeps the store creates it",
        };
        return Err(Error::new(crate::ErrorKind::Denied, format!("{}: {what}", path.display())));
    }
    check_blobs(place, entities, path)?;
    if read_only {
        match builder(place).read_only().open_file(entities, path).await {
            // It has to be opened for writing first.
            Err(error) if is_not_closed_cleanly(&error) => {}
            opened => return opened,
        }
    }
    builder(place).create(false).open_file(entities, path).await
}

#[cfg(feature = "embedded")]
fn is_not_closed_cleanly(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    source.is_some_and(tablemodel_store::StoreError::is_not_closed_cleanly)
}

#[cfg(not(feature = "embedded"))]
async fn open_embedded(
    _: &Place,
    _: &'static [&'static EntitySchema],
    _: &std::path::Path,
    _: bool,
) -> Result<Database> {
    Err(without_embedded())
}

/// Copies the store's file.
#[cfg(feature = "embedded")]
pub(super) async fn back_up(db: &Database, to: &std::path::Path) -> Result<()> {
    db.backup(to).await
}

#[cfg(not(feature = "embedded"))]
pub(super) async fn back_up(_: &Database, _: &std::path::Path) -> Result<()> {
    Err(without_embedded())
}

#[cfg(not(feature = "embedded"))]
fn without_embedded() -> Error {
    Error::unsupported("this program is built without the embedded store: add the feature `embedded`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_kind_or_a_path() {
        let embedded = |path: &str| Address::Embedded(path.into());
        for (text, address) in [
            ("company.tablemodel", embedded("company.tablemodel")),
            ("embedded:data/a:b", embedded("data/a:b")),
            ("./a:b", embedded("./a:b")),
            ("C:\\data\\a", embedded("C:\\data\\a")),
        ] {
            assert_eq!(Address::parse(text.as_ref()).unwrap(), address, "{text}");
        }
        for text in ["nowhere:account", "embedded:", "https://example.org/"] {
            let error = Address::parse(text.as_ref()).unwrap_err().0;
            assert!(error.contains("`embedded:PATH`"), "{text}: {error}");
        }
    }
}
