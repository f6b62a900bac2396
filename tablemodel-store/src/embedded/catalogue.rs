//! The tables of a store in memory, found without case.
//!
//! Reads and writes no file.

use std::{collections::HashMap, sync::Arc};

use super::{
    dictionary::NameHash,
    engine::{Space, TableId},
};
use crate::{DateTime, StoreError, limits::MAX_TABLE_NAME_CHARS};

/// One table.
#[derive(Debug, Clone)]
pub(super) struct TableEntry {
    pub(super) id: TableId,
    /// As it was given.
    pub(super) name: String,
    pub(super) created: DateTime,
}

/// Tables that are found by a look at each.
const FEW: usize = 16;

/// All tables.
#[derive(Debug, Clone, Default)]
pub(super) struct Catalogue {
    /// By name in lower case. Shared with catalogues of before: each table that comes or goes makes one anew.
    folded: HashMap<Arc<str>, Arc<TableEntry>, NameHash>,
    /// Some of them, by name as it was given: which is how most calls name them, and sooner compared than folded.
    as_given: Vec<(String, TableId)>,
}

impl Catalogue {
    /// The table of this name. Allocates nothing.
    pub(super) fn find(&self, name: &str) -> Option<&TableEntry> {
        let mut lower = [0; MAX_TABLE_NAME_CHARS];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name.as_bytes());
        lower.make_ascii_lowercase();
        self.folded.get(std::str::from_utf8(lower).ok()?).map(Arc::as_ref)
    }

    /// Where the rows of the table of this name lie. Errors: `TableNotFound`.
    pub(super) fn rows(&self, name: &str) -> Result<Space, StoreError> {
        if let Some((_, id)) = self.as_given.iter().find(|(given, _)| given == name) {
            return Ok(Space::Rows(*id));
        }
        let entry = self.find(name).ok_or_else(|| StoreError::table_not_found(name))?;
        Ok(Space::Rows(entry.id))
    }

    /// Adds a table under its name in lower case.
    pub(super) fn insert(&mut self, folded: &str, entry: TableEntry) {
        if self.as_given.len() < FEW {
            self.as_given.push((entry.name.clone(), entry.id));
        }
        self.folded.insert(folded.into(), Arc::new(entry));
    }

    /// Takes out the table with this name in lower case.
    pub(super) fn remove(&mut self, folded: &str) -> Option<Arc<TableEntry>> {
        let entry = self.folded.remove(folded)?;
        self.as_given.retain(|(_, id)| *id != entry.id);
        Some(entry)
    }

    /// All tables, with their names in lower case, in order of those.
    pub(super) fn sorted(&self) -> Vec<(&str, &TableEntry)> {
        let mut tables: Vec<_> = self.folded.iter().map(|(folded, entry)| (&**folded, &**entry)).collect();
        tables.sort_unstable_by_key(|(folded, _)| *folded);
        tables
    }
}
