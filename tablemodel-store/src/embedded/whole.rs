//! Work on a whole store: backup, check, figures.
//!
//! Reads one view; writes only the new file of a backup.

use std::{
    io::ErrorKind,
    ops::{Bound, ControlFlow},
    path::Path,
};

use super::{
    codec::{OpenRow, StoredRow},
    engine::{Engine, Group, Snapshot, Space, Sync},
    keys::row_key,
    place::Unplaced,
    redb_engine::{self, Access, RedbEngine},
    seal::{damaged, unsealed},
    view::View,
};
use crate::{StoreError, StoreErrorKind};

/// Memory for pages of the file that a backup writes.
const BACKUP_CACHE_BYTES: usize = 32 * 1024 * 1024;

const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);

/// Figures of an open store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmbeddedStats {
    /// Bytes of the file. It shrinks when the store is closed.
    pub file_bytes: u64,
    /// The tables, in order of their names in lower case.
    pub tables: Vec<TableStats>,
    /// Deleted tables whose rows are still being freed.
    pub tables_being_freed: u64,
    /// Whether opening it took a walk through the whole file, after a crash amid writes (see [`Durability`]).
    ///
    /// [`Durability`]: super::Durability
    pub repaired_at_open: bool,
}

/// Figures of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableStats {
    /// The name as it was given.
    pub name: String,
    /// How many rows it has.
    pub rows: u64,
}

/// The figures of a view and of its engine.
pub(super) fn stats<E: Engine>(view: &View<E::Snapshot>, engine: &E) -> Result<EmbeddedStats, StoreError> {
    let tables = view.catalogue.sorted().into_iter().map(|(_, table)| {
        let rows = view.snapshot.len(Space::Rows(table.id))?;
        Ok(TableStats { name: table.name.clone(), rows })
    });
    Ok(EmbeddedStats {
        file_bytes: engine.file_bytes()?,
        tables: tables.collect::<Result<_, StoreError>>()?,
        tables_being_freed: view.snapshot.len(Space::Dropped)?,
        repaired_at_open: engine.was_repaired(),
    })
}

/// Reads everything and checks each checksum and count; gives the number of rows.
pub(super) fn check<S: Snapshot>(view: &View<S>) -> Result<u64, StoreError> {
    let mut total = 0;
    for (_, table) in view.catalogue.sorted() {
        let space = Space::Rows(table.id);
        let mut rows = 0;
        view.snapshot.scan(space, ALL, |key, value| {
            row_key(key)?;
            OpenRow::checked(space, key, value)?.properties(&view.names, None)?;
            rows += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        if rows != view.snapshot.len(space)? {
            return Err(damaged(&format!("rows of table `{}` are missing", table.name)));
        }
        total += rows;
    }
    Ok(total)
}

/// Writes the view as a new store to `path`, which appears when it is complete.
pub(super) fn backup<S: Snapshot>(view: &View<S>, path: &Path) -> Result<(), StoreError> {
    write(view, path).map_err(|error| error.about(format!("backup to {}", path.display())))
}

fn write<S: Snapshot>(view: &View<S>, path: &Path) -> Result<(), StoreError> {
    let taken = || StoreError::new(StoreErrorKind::Denied, "there is a file at this path; give another");
    if path.exists() {
        return Err(taken());
    }
    let unplaced = Unplaced::new(path);
    let engine = redb_engine::open_file(unplaced.path(), Access::Create, BACKUP_CACHE_BYTES)?;
    copy(view, &engine)?;
    drop(engine);
    unplaced.place().map_err(|failure| match failure.kind() {
        ErrorKind::AlreadyExists => taken(),
        _ => redb_engine::disk_failure(&failure),
    })
}

fn copy<S: Snapshot>(view: &View<S>, engine: &RedbEngine) -> Result<(), StoreError> {
    let rows = view.catalogue.sorted().into_iter().map(|(_, table)| Space::Rows(table.id));
    let spaces = Space::SYSTEM.into_iter().chain(rows);
    engine.apply(Sync::RecoveryPoint, |group| spaces.clone().try_for_each(|space| copy_space(view, group, space)))?;
    Ok(())
}

/// Copies the entries as they are: their checksums hold in any file with the same numbers of spaces.
fn copy_space<S: Snapshot>(view: &View<S>, group: &mut impl Group, space: Space) -> Result<(), StoreError> {
    group.create(space)?;
    if space == Space::Dropped {
        // Their rows are not copied either.
        return Ok(());
    }
    view.snapshot.scan(space, ALL, |key, value| {
        match space {
            Space::Rows(_) => StoredRow::checked(space, key, value).map(drop)?,
            _ => unsealed(space, key, value).map(drop)?,
        }
        group.put(space, key, value)?;
        Ok(ControlFlow::Continue(()))
    })
}
