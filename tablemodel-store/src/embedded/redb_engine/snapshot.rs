//! Reading redb: one read transaction, its tables opened once each.
//!
//! Writes nothing.

use std::{ops::ControlFlow, sync::OnceLock};

use redb::{ReadOnlyTable, ReadTransaction, ReadableTableMetadata, TableError};

use super::{
    Definition,
    error::{Failure, guarded},
    table_name,
};
use crate::{
    StoreError,
    embedded::engine::{Range, Snapshot, Space, Visit},
};

type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// Lists of opened tables: with fewer tables than this, most are found at once.
const LISTS: usize = 16;

/// A read transaction of redb.
pub(crate) struct RedbSnapshot {
    transaction: ReadTransaction,
    /// By the number of the space. Finding a table takes no lock.
    opened: [Opened; LISTS],
}

/// The tables opened so far whose numbers share a list.
type Opened = OnceLock<Box<Entry>>;

struct Entry {
    space: Space,
    table: Table,
    next: Opened,
}

impl RedbSnapshot {
    pub(super) fn new(transaction: ReadTransaction) -> Self {
        Self { transaction, opened: [const { OnceLock::new() }; LISTS] }
    }

    fn table(&self, space: Space) -> Result<&Table, Failure> {
        #[expect(clippy::indexing_slicing, reason = "a remainder of the length is below it")]
        let mut place = &self.opened[space.number() as usize % LISTS];
        loop {
            match place.get() {
                Some(entry) if entry.space == space => return Ok(&entry.table),
                Some(entry) => place = &entry.next,
                None => {
                    let table = self.transaction.open_table(Definition::new(&table_name(space)))?;
                    // Somebody else may have been faster: whatever stands here now is looked at next.
                    drop(place.set(Box::new(Entry { space, table, next: OnceLock::new() })));
                }
            }
        }
    }
}

impl Drop for RedbSnapshot {
    /// One table after the other: a list may be longer than a stack is deep.
    fn drop(&mut self) {
        for list in &mut self.opened {
            let mut next = list.take();
            while let Some(mut entry) = next {
                next = entry.next.take();
            }
        }
    }
}

impl Snapshot for RedbSnapshot {
    fn is_empty(&self) -> Result<bool, StoreError> {
        guarded(|| Ok(self.transaction.list_tables()?.next().is_none()))
    }

    fn has(&self, space: Space) -> Result<bool, StoreError> {
        guarded(|| match self.transaction.open_table(Definition::new(&table_name(space))) {
            Ok(_) => Ok(true),
            Err(TableError::TableDoesNotExist(_)) => Ok(false),
            Err(error) => Err(error.into()),
        })
    }

    fn len(&self, space: Space) -> Result<u64, StoreError> {
        guarded(|| Ok(self.table(space)?.len()?))
    }

    fn get<T>(&self, space: Space, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, StoreError> {
        guarded(|| Ok(self.table(space)?.get(key)?.map(|value| read(value.value()))))
    }

    fn scan(
        &self,
        space: Space,
        range: Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), StoreError> {
        guarded(|| {
            for entry in self.table(space)?.range::<&[u8]>(range)? {
                let (key, value) = entry?;
                match visit(key.value(), value.value()) {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => break,
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(Ok(()))
        })?
    }
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;
    use crate::embedded::{
        engine::{Engine, Group, Sync, TableId},
        redb_engine::open_backend,
    };

    #[test]
    fn a_snapshot_of_many_tables_ends_on_a_small_stack() {
        let engine = open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
        let space = Space::Rows(TableId(1));
        assert!(engine.apply(Sync::Disk, |group| group.create(space)).unwrap().committed);
        let snapshot = engine.snapshot().unwrap();
        let mut place = &snapshot.opened[0];
        for _ in 0..20_000 {
            let table = snapshot.transaction.open_table(Definition::new(&table_name(space))).unwrap();
            place = &place.get_or_init(|| Box::new(Entry { space, table, next: OnceLock::new() })).next;
        }
        let small = std::thread::Builder::new().stack_size(64 * 1024);
        small.spawn(|| drop(snapshot)).unwrap().join().unwrap();
    }

    #[test]
    fn each_of_many_tables_is_found_by_many_readers_at_once() {
        let spaces: Vec<_> = (0..3 * LISTS as u64).map(|id| Space::Rows(TableId(id))).collect();
        let engine = open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
        let filled = engine.apply(Sync::Disk, |group| {
            spaces.iter().try_for_each(|space| {
                group.create(*space)?;
                group.put(*space, b"key", &space.number().to_le_bytes())
            })
        });
        assert!(filled.unwrap().committed);
        let snapshot = engine.snapshot().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for space in spaces.iter().chain(spaces.iter().rev()) {
                        let found = snapshot.get(*space, b"key", <[u8]>::to_vec).unwrap();
                        assert_eq!(found, Some(space.number().to_le_bytes().to_vec()));
                    }
                });
            }
        });
    }
}
