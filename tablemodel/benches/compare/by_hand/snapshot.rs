//! Reading: one read transaction with its tables open, kept until the next commit.
//!
//! Writes nothing.

use std::sync::{Arc, PoisonError, RwLock};

use redb::{Database, ReadOnlyTable, ReadableDatabase};

use super::{BY_EMAIL, BY_LAST_NAME, EMPLOYEES, record};
use crate::{Result, employee::Employee};

/// The tables as of one commit.
pub(super) struct Snapshot {
    employees: ReadOnlyTable<u32, &'static [u8]>,
    by_email: ReadOnlyTable<&'static str, u32>,
    by_last_name: ReadOnlyTable<(&'static str, u32), &'static [u8]>,
}

impl Snapshot {
    fn take(database: &Database) -> Result<Self> {
        let transaction = database.begin_read()?;
        Ok(Self {
            employees: transaction.open_table(EMPLOYEES)?,
            by_email: transaction.open_table(BY_EMAIL)?,
            by_last_name: transaction.open_table(BY_LAST_NAME)?,
        })
    }

    pub(super) fn get(&self, id: u32) -> Result<Option<(Employee, u64)>> {
        self.employees.get(id)?.map(|value| record::read(id, value.value())).transpose()
    }

    pub(super) fn by_email(&self, email: &str) -> Result<Option<(Employee, u64)>> {
        match self.by_email.get(email)? {
            Some(id) => self.get(id.value()),
            None => Ok(None),
        }
    }

    pub(super) fn range(&self, first: u32, last: u32) -> Result<Vec<(Employee, u64)>> {
        let mut found = Vec::new();
        for entry in self.employees.range(first..=last)? {
            let (id, value) = entry?;
            found.push(record::read(id.value(), value.value())?);
        }
        Ok(found)
    }

    pub(super) fn emails_of(&self, last_name: &str) -> Result<Vec<String>> {
        let rows = self.by_last_name.range((last_name, 0)..=(last_name, u32::MAX))?;
        rows.map(|entry| record::email_of_card(entry?.1.value())).collect()
    }

    /// Reads every employee, one at a time.
    pub(super) fn each(&self, mut see: impl FnMut(Employee)) -> Result<()> {
        for entry in self.employees.range::<u32>(..)? {
            let (id, value) = entry?;
            see(record::read(id.value(), value.value())?.0);
        }
        Ok(())
    }
}

/// Where readers get the current snapshot from.
pub(super) struct Snapshots {
    pub(super) database: Database,
    current: RwLock<Option<Arc<Snapshot>>>,
}

impl Snapshots {
    pub(super) fn new(database: Database) -> Self {
        Self { database, current: RwLock::default() }
    }

    /// A snapshot with every commit acknowledged before this call.
    pub(super) fn current(&self) -> Result<Arc<Snapshot>> {
        if let Some(snapshot) = &*self.current.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(snapshot));
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let snapshot = match &*current {
            Some(snapshot) => Arc::clone(snapshot),
            None => Arc::new(Snapshot::take(&self.database)?),
        };
        *current = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// To be called after a commit, before it is acknowledged.
    pub(super) fn renew(&self) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
