//! Writing redb: one write transaction, its tables opened once each.
//!
//! Does not commit: whoever began the transaction does.

use std::collections::{HashMap, hash_map::Entry};

use redb::{ReadableTable, Table, WriteTransaction};

use super::{Definition, error::Failure, table_name};
use crate::{
    StoreError,
    embedded::engine::{Amount, Group, Space},
};

type OpenTable<'t> = Table<'t, &'static [u8], &'static [u8]>;

/// A write transaction of redb.
pub(crate) struct RedbGroup<'t> {
    transaction: &'t WriteTransaction,
    opened: HashMap<Space, OpenTable<'t>>,
    changed: bool,
}

impl<'t> RedbGroup<'t> {
    pub(super) fn new(transaction: &'t WriteTransaction) -> Self {
        Self { transaction, opened: HashMap::new(), changed: false }
    }

    /// Closes the tables; whether anything was written.
    pub(super) fn finish(self) -> bool {
        self.changed
    }

    fn table(&mut self, space: Space) -> Result<&mut OpenTable<'t>, Failure> {
        match self.opened.entry(space) {
            Entry::Occupied(opened) => Ok(opened.into_mut()),
            Entry::Vacant(slot) => Ok(slot.insert(self.transaction.open_table(Definition::new(&table_name(space)))?)),
        }
    }

    fn written(&mut self, space: Space) -> Result<&mut OpenTable<'t>, Failure> {
        self.changed = true;
        self.table(space)
    }
}

impl Group for RedbGroup<'_> {
    fn get<T>(&mut self, space: Space, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, StoreError> {
        let found = self.table(space)?.get(key).map_err(Failure::from)?;
        Ok(found.map(|value| read(value.value())))
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

    fn shrink(&mut self, space: Space, most: Amount) -> Result<bool, StoreError> {
        let mut left = most;
        let mut removed = self.written(space)?.extract_if(|_, _| true).map_err(Failure::from)?;
        while left.entries > 0 && left.bytes > 0 {
            let Some(entry) = removed.next() else {
                drop(removed);
                self.opened.remove(&space);
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
