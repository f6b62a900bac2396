//! Reading redb: one read transaction, its tables opened once each.
//!
//! Writes nothing.

use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{Arc, PoisonError, RwLock},
};

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

/// A read transaction of redb.
pub(crate) struct RedbSnapshot {
    transaction: ReadTransaction,
    opened: RwLock<HashMap<Space, Arc<Table>>>,
}

impl RedbSnapshot {
    pub(super) fn new(transaction: ReadTransaction) -> Self {
        Self { transaction, opened: RwLock::default() }
    }

    fn table(&self, space: Space) -> Result<Arc<Table>, Failure> {
        if let Some(table) = self.opened.read().unwrap_or_else(PoisonError::into_inner).get(&space) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(self.transaction.open_table(Definition::new(&table_name(space)))?);
        self.opened.write().unwrap_or_else(PoisonError::into_inner).insert(space, Arc::clone(&table));
        Ok(table)
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
