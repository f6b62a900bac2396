//! Writing redb: one write transaction, its tables opened once each.
//!
//! Does not commit: whoever began the transaction does.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    iter::Peekable,
    ops::Bound,
};

use redb::{CursorError, ReadableTable, Table, WriteTransaction};

use super::{
    Definition,
    error::{Failure, guarded},
    table_name,
};
use crate::{
    StoreError,
    embedded::engine::{Amount, Group, Space},
};

type OpenTable<'t> = Table<'t, &'static [u8], &'static [u8]>;

/// A write transaction of redb.
pub(crate) struct RedbGroup<'t> {
    transaction: &'t WriteTransaction,
    /// By the numbers of their spaces: they are few, and each write asks for one.
    opened: BTreeMap<u64, OpenTable<'t>>,
    /// Changes made and not taken back.
    changes: usize,
    pub(super) leaves_sync: bool,
}

impl<'t> RedbGroup<'t> {
    pub(super) fn new(transaction: &'t WriteTransaction) -> Self {
        Self { transaction, opened: BTreeMap::new(), changes: 0, leaves_sync: false }
    }

    /// Closes the tables; whether anything was written.
    ///
    /// One at a time: after a panic of redb each may panic again, and two at once would end the process.
    pub(super) fn finish(mut self) -> Result<bool, StoreError> {
        let mut closed = Ok(());
        while let Some((_, table)) = self.opened.pop_first() {
            let this = guarded(|| {
                drop(table);
                Ok(())
            });
            closed = closed.and(this);
        }
        closed.map(|()| self.changes > 0)
    }

    fn table(&mut self, space: Space) -> Result<&mut OpenTable<'t>, Failure> {
        match self.opened.entry(space.number()) {
            Entry::Occupied(opened) => Ok(opened.into_mut()),
            Entry::Vacant(slot) => Ok(slot.insert(self.transaction.open_table(Definition::new(&table_name(space)))?)),
        }
    }

    fn written(&mut self, space: Space) -> Result<&mut OpenTable<'t>, Failure> {
        self.changes += 1;
        self.table(space)
    }
}

impl Group for RedbGroup<'_> {
    fn get<T>(&mut self, space: Space, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, StoreError> {
        let found = self.table(space)?.get(key).map_err(Failure::from)?;
        Ok(found.map(|value| read(value.value())))
    }

    fn leave_sync(&mut self) {
        self.leaves_sync = true;
    }

    fn create(&mut self, space: Space) -> Result<(), StoreError> {
        self.written(space)?;
        Ok(())
    }

    fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.written(space)?.insert(key, value).map_err(Failure::from)?;
        Ok(())
    }

    fn remove(&mut self, space: Space, key: &[u8]) -> Result<(), StoreError> {
        self.written(space)?.remove(key).map_err(Failure::from)?;
        Ok(())
    }

    fn swap<T>(
        &mut self,
        space: Space,
        key: &[u8],
        value: Option<&[u8]>,
        old: impl FnOnce(Option<&[u8]>) -> T,
    ) -> Result<T, StoreError> {
        let table = self.written(space)?;
        let found = match value {
            Some(value) => table.insert(key, value),
            None => table.remove(key),
        };
        Ok(old(found.map_err(Failure::from)?.as_ref().map(|found| found.value())))
    }

    fn insert_run<'e>(
        &mut self,
        space: Space,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])>,
    ) -> Result<usize, StoreError> {
        let inserted = insert_run(self.table(space)?, entries.peekable())?;
        self.changes += inserted;
        Ok(inserted)
    }

    fn take_back(&mut self, space: Space, key: &[u8], old: Option<&[u8]>) -> Result<(), StoreError> {
        let table = self.table(space)?;
        match old {
            Some(old) => drop(table.insert(key, old).map_err(Failure::from)?),
            None => drop(table.remove(key).map_err(Failure::from)?),
        }
        self.changes = self.changes.saturating_sub(1);
        Ok(())
    }

    fn shrink(&mut self, space: Space, most: Amount) -> Result<bool, StoreError> {
        let mut left = most;
        let mut removed = self.written(space)?.extract_if(|_, _| true).map_err(Failure::from)?;
        while left.entries > 0 && left.bytes > 0 {
            let Some(entry) = removed.next() else {
                drop(removed);
                self.opened.remove(&space.number());
                self.transaction.delete_table(Definition::new(&table_name(space))).map_err(Failure::from)?;
                return Ok(true);
            };
            let (key, value) = entry.map_err(Failure::from)?;
            left.entries -= 1;
            left.bytes = left.bytes.saturating_sub(key.value().len() + value.value().len());
        }
        Ok(false)
    }
}

/// Adds entries in order of key through a cursor, which is set anew where another entry lies between two of them.
fn insert_run<'e>(
    table: &mut OpenTable<'_>,
    mut entries: Peekable<impl Iterator<Item = (&'e [u8], &'e [u8])>>,
) -> Result<usize, Failure> {
    let mut inserted = 0;
    while let Some((first, _)) = entries.peek() {
        let before = inserted;
        let mut cursor = table.lower_bound_mut(Bound::Included(*first))?;
        while let Some((key, value)) = entries.peek() {
            match cursor.insert_before(*key, *value) {
                Ok(()) => inserted += 1,
                Err(CursorError::UnorderedKey) => break,
                Err(error) => return Err(error.into()),
            }
            entries.next();
        }
        cursor.close()?;
        if inserted == before {
            break; // the entry is there
        }
    }
    Ok(inserted)
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
    };

    use redb::{StorageBackend, backends::InMemoryBackend};

    use super::*;
    use crate::{
        StoreErrorKind,
        embedded::{
            engine::{Engine, Sync, TableId},
            redb_engine::open_backend,
        },
    };

    /// Memory of which a read may panic, as redb does on a damaged page.
    #[derive(Debug)]
    struct Damaged {
        inner: InMemoryBackend,
        panics: Arc<AtomicBool>,
    }

    impl StorageBackend for Damaged {
        fn len(&self) -> io::Result<u64> {
            self.inner.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            assert!(!self.panics.load(Ordering::Relaxed), "planted");
            self.inner.read(offset, out)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.inner.set_len(len)
        }

        fn sync_data(&self) -> io::Result<()> {
            self.inner.sync_data()
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.inner.write(offset, data)
        }
    }

    #[test]
    fn a_panic_while_several_tables_are_open_is_an_error_and_ends_nothing_else() {
        let panics = Arc::new(AtomicBool::new(false));
        let backend = Damaged { inner: InMemoryBackend::new(), panics: Arc::clone(&panics) };
        let engine = open_backend(Box::new(backend), 0).unwrap();
        let spaces = (1..200).map(|id| Space::Rows(TableId(id)));
        engine.apply(Sync::Disk, |group| spaces.clone().try_for_each(|space| group.create(space))).unwrap();
        let applied = engine.apply(Sync::Disk, |group| {
            spaces.clone().take(4).try_for_each(|space| group.put(space, b"k", b"v"))?;
            panics.store(true, Ordering::Relaxed);
            group.create(Space::Rows(TableId(199)))
        });
        let error = applied.err().unwrap();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt);
        assert!(error.to_string().contains("planted"), "{error}");
    }
}
