//! Work on a whole store: backup, check, figures.
//!
//! Reads one view; writes only the new file of a backup.

use std::{
    io::ErrorKind,
    ops::{Bound, ControlFlow},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    blocking,
    codec::{OpenRow, StoredRow},
    engine::{Engine, Group, Snapshot, Space, Sync},
    keys::{Ascending, at_row, row_key},
    records,
    redb_engine::{self, Access, RedbEngine},
    seal::{damaged, unsealed},
    view::View,
};
use crate::{StoreError, StoreErrorKind, place::Unplaced};

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
    /// Deleted tables whose rows are still being freed. One that is damaged stays, and takes room: a backup has none.
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

/// The bytes of an engine's file, and whether it was repaired when it was opened.
pub(super) fn file(engine: &impl Engine) -> Result<(u64, bool), StoreError> {
    Ok((engine.file_bytes()?, engine.was_repaired()))
}

/// The figures of a view, and of its [`file`], which were asked for before: nobody waits while tables are counted.
pub(super) fn stats(
    view: &View<impl Snapshot>,
    (file_bytes, repaired_at_open): (u64, bool),
) -> Result<EmbeddedStats, StoreError> {
    let tables = view.catalogue.sorted().into_iter().map(|(_, table)| {
        let rows = view.snapshot.len(Space::Rows(table.id))?;
        Ok(TableStats { name: table.name.clone(), rows })
    });
    Ok(EmbeddedStats {
        file_bytes,
        tables: tables.collect::<Result<_, StoreError>>()?,
        tables_being_freed: view.snapshot.len(Space::Dropped)?,
        repaired_at_open,
    })
}

/// Reads everything and checks each checksum and count; gives the number of rows.
pub(super) fn check<S: Snapshot>(view: &View<S>) -> Result<u64, StoreError> {
    // They were read when the store was opened, and have grown since; here it is asked what the file holds now.
    let names = Arc::new(records::load(&view.snapshot)?.names);
    let mut total = 0;
    for (_, table) in view.catalogue.sorted() {
        let space = Space::Rows(table.id);
        let (mut rows, mut ascending) = (0, Ascending::default());
        let mut read = |key: &[u8], value: &[u8]| {
            ascending.next(key)?;
            OpenRow::checked(space, key, value, &names)?.properties(&names, None)
        };
        view.snapshot.scan(space, ALL, |key, value| {
            row_key(key)?;
            read(key, value).map_err(|error| at_row(error, &table.name, key))?;
            rows += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        check_count(view, space, rows)?;
        total += rows;
    }
    Ok(total)
}

/// That a scan of the space met every entry: damage to an inner page hides what is behind it, and is no error by itself.
fn check_count<S: Snapshot>(view: &View<S>, space: Space, met: u64) -> Result<(), StoreError> {
    if met == view.snapshot.len(space)? {
        return Ok(());
    }
    Err(damaged(&match table_of(view, space) {
        Some(table) => format!("rows of table `{table}` are missing"),
        None => format!("records of {space:?} are missing"),
    }))
}

/// The name of the table whose rows the space holds.
fn table_of<S>(view: &View<S>, space: Space) -> Option<String> {
    let mut tables = view.catalogue.sorted().into_iter();
    tables.find(|(_, table)| Space::Rows(table.id) == space).map(|(_, table)| table.name.clone())
}

/// A copy of a store that is complete and on the disk, and not at its path yet. Dropped before it is placed, it is gone.
#[must_use = "the backup appears when it is placed"]
pub struct Backup {
    unplaced: Unplaced,
    path: PathBuf,
}

impl Backup {
    /// Lets the file appear at its path. `Denied` if there is a file by now.
    pub async fn place(self) -> Result<(), StoreError> {
        self.place_then(|| ()).await
    }

    /// The same, and calls `placed` once the file is there; else that is dropped. So what belongs to the file stays or goes with
    /// it, also where this future is dropped, or an error comes after the file.
    pub async fn place_then(self, placed: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
        let Self { unplaced, path } = self;
        blocking(move || unplaced.place(placed).map_err(|failure| about(&path, refused(&path, &failure)))).await
    }
}

impl std::fmt::Debug for Backup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backup").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Writes the view as a new store for `path`.
pub(super) fn backup<S: Snapshot>(view: &View<S>, path: PathBuf) -> Result<Backup, StoreError> {
    match write(view, &path) {
        Ok(unplaced) => Ok(Backup { unplaced, path }),
        Err(error) => Err(about(&path, error)),
    }
}

fn write<S: Snapshot>(view: &View<S>, path: &Path) -> Result<Unplaced, StoreError> {
    if path.exists() {
        return Err(taken());
    }
    let unplaced = Unplaced::new(path).map_err(|failure| redb_engine::unmade(path, &failure))?;
    let engine = redb_engine::open_file(unplaced.path(), Access::Create, BACKUP_CACHE_BYTES)?;
    copy(view, &engine)?;
    drop(engine);
    Ok(unplaced)
}

fn refused(path: &Path, failure: &std::io::Error) -> StoreError {
    match failure.kind() {
        ErrorKind::AlreadyExists => taken(),
        _ => redb_engine::unmade(path, failure),
    }
}

fn taken() -> StoreError {
    StoreError::new(StoreErrorKind::Denied, "there is a file at this path; give another")
}

fn about(path: &Path, error: StoreError) -> StoreError {
    error.about(format!("copy to {}", path.display()))
}

fn copy<S: Snapshot>(view: &View<S>, engine: &RedbEngine) -> Result<(), StoreError> {
    // What it held would be in the copy too.
    if !engine.snapshot()?.is_empty()? {
        return Err(StoreError::new(StoreErrorKind::Denied, "the file being written is in use elsewhere; try again"));
    }
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
    let (mut entries, mut ascending) = (0, Ascending::default());
    view.snapshot.scan(space, ALL, |key, value| {
        ascending.next(key)?;
        match space {
            Space::Rows(_) => {
                let checked = StoredRow::checked(space, key, value).map(drop);
                checked.map_err(|error| at_row(error, &table_of(view, space).unwrap_or_default(), key))?;
            }
            _ => unsealed(space, key, value).map(drop)?,
        }
        group.put(space, key, value)?;
        entries += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    check_count(view, space, entries)
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;
    use crate::{
        DateTime, Properties, PropertyName,
        embedded::{
            catalogue::{Catalogue, TableEntry},
            codec::EncodedRow,
            dictionary::Dictionary,
            engine::TableId,
            keys::key_bytes,
            property::BodyWriter,
        },
    };

    #[test]
    fn a_view_is_copied_to_an_empty_file_only() {
        let empty = || redb_engine::open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
        let source = empty();
        source.apply(Sync::Disk, |group| records::initialise(group)).unwrap();
        let snapshot = source.snapshot().unwrap();
        let view = View::alone(snapshot, Catalogue::default(), Dictionary::new([]));
        let used = empty();
        used.apply(Sync::Disk, |group| group.create(Space::Rows(TableId(1)))).unwrap();
        assert_eq!(copy(&view, &used).unwrap_err().kind(), StoreErrorKind::Denied);
        copy(&view, &empty()).unwrap();
    }

    #[test]
    fn a_check_reads_rows_by_the_names_that_the_file_has() {
        let engine = redb_engine::open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
        let (space, key) = (Space::Rows(TableId(1)), key_bytes("p", "r"));
        let names = || Dictionary::new([PropertyName::from("A")]);
        let (known, mut buffer) = (names(), key.clone());
        let properties = Properties::from_iter([("A", 1)]);
        let (writer, numbers) = (&mut BodyWriter::new(), &mut known.numbers());
        let row = EncodedRow::append(&mut buffer, &(0..key.len()), &properties, writer, numbers);
        row.stamp(&mut buffer, space, 1);
        let table = TableEntry { id: TableId(1), name: "Table".to_owned(), created: DateTime::MAX };
        let filled = engine.apply(Sync::Disk, |group| {
            records::initialise(group)?;
            records::put_counters(group, records::Counters { last_stamp: 1, next_table: 2 })?;
            records::put_table(group, "table", &table)?;
            group.put(space, &key, row.value(&buffer))
        });
        assert!(filled.unwrap().committed);
        let mut catalogue = Catalogue::default();
        catalogue.insert("table", table);
        let checked = || check(&View::alone(engine.snapshot().unwrap(), catalogue.clone(), names()));
        assert_eq!(checked().unwrap_err().kind(), StoreErrorKind::Corrupt, "the name is known in memory alone");
        engine.apply(Sync::Disk, |group| records::put_names(group, &known, &mut records::Recorded::default())).unwrap();
        assert_eq!(checked().unwrap(), 1);
    }

    #[test]
    fn a_check_reads_the_records_of_tables_and_names_as_well() {
        let engine = redb_engine::open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
        engine.apply(Sync::Disk, |group| records::initialise(group)).unwrap();
        let view = || View::alone(engine.snapshot().unwrap(), Catalogue::default(), Dictionary::new([]));
        assert_eq!(check(&view()).unwrap(), 0);
        for space in [Space::Meta, Space::Tables, Space::Dropped, Space::Names, Space::Shapes] {
            let key = if space == Space::Meta { &b"state"[..] } else { b"key" };
            engine.apply(Sync::Disk, |group| group.put(space, key, b"damaged")).unwrap();
            assert_eq!(check(&view()).unwrap_err().kind(), StoreErrorKind::Corrupt, "{space:?}");
            engine.apply(Sync::Disk, |group| group.remove(space, key)).unwrap();
            if space == Space::Meta {
                engine.apply(Sync::Disk, |group| records::put_counters(group, records::Counters::default())).unwrap();
            }
        }
    }
}
