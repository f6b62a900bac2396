//! What was read for a plan.
//!
//! Nothing is read here.

use std::{
    collections::{HashMap, HashSet},
    ops::{Deref, DerefMut},
    sync::Arc,
};

use tablemodel_store::{ETag, Properties, Row, RowKey};

use crate::plan::group::Group;

/// What is known of rows: absent, or as read.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Rows of the partition.
    rows: HashMap<String, Option<Row>>,
    /// Rows of other partitions, by table and key: sources and holders of copies.
    pub(crate) elsewhere: HashMap<(&'static str, RowKey), Option<Row>>,
    /// Back-references, by the row key of the source in this partition.
    pub(crate) references: HashMap<String, Vec<Row>>,
    /// Rows of the partition that were read as sources and holders of copies.
    volatile: HashSet<String>,
    /// Rows of the partition that were read for another reason, and are sources too.
    copied: HashSet<String>,
    /// Rows that changes write over whatever they are, as they were read.
    needed: HashSet<String>,
    /// Sources as a plan of the same commit leaves them.
    shown: HashSet<(&'static str, RowKey)>,
    /// What was fetched for the upgrades of entities, by their rows, each with the state that it was fetched for.
    fetched: HashMap<String, (ETag, Arc<Properties>)>,
}

impl Known {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Whether no row of the partition was read.
    pub(crate) fn is_blank(&self) -> bool {
        self.rows.is_empty()
    }

    /// Notes that the row is to be read again for the next attempt.
    pub(crate) fn is_of_copies(&mut self, row: &str) {
        self.volatile.insert(row.to_owned());
    }

    /// Notes that a row that was read for another reason is copied as it is: read again for the next attempt, but where a change writes over it,
    /// which is refused where it is another by then.
    pub(crate) fn is_copied(&mut self, row: &str) {
        self.copied.insert(row.to_owned());
    }

    /// Notes that a change writes over the row as it was read, whatever else it was read for.
    pub(crate) fn is_needed(&mut self, row: &str) {
        self.needed.insert(row.to_owned());
    }

    /// Notes what was fetched for the upgrade of the entity, if anything was.
    pub(crate) fn keep_fetched(&mut self, rows: &Group) {
        if let Some(fetched) = &rows.fetched {
            self.fetched.insert(rows.key().row.clone(), (rows.head.etag.clone(), Arc::clone(fetched)));
        }
    }

    /// What was fetched for the upgrade of the entity, as it was when this row of it was read.
    pub(crate) fn fetched(&self, head: &Row) -> Option<Arc<Properties>> {
        let (state, fetched) = self.fetched.get(&head.key.row)?;
        (*state == head.etag).then(|| Arc::clone(fetched))
    }

    /// Notes that the source is known as the same commit writes it.
    pub(crate) fn show(&mut self, place: (&'static str, RowKey)) {
        self.shown.insert(place);
    }

    /// Whether the source is known as the same commit writes it.
    pub(crate) fn is_shown(&self, place: &(&'static str, RowKey)) -> bool {
        self.shown.contains(place)
    }

    /// Forgets a row, unless a change writes over it as it was read.
    pub(crate) fn forget(&mut self, row: &str) {
        if !self.needed.contains(row) {
            self.rows.remove(row);
        }
    }

    /// Forgets all that was read about copies: a holder is always read before its source.
    pub(crate) fn forget_copies(&mut self) {
        let copied = self.copied.drain().filter(|row| !self.needed.contains(row));
        for row in self.volatile.drain().chain(copied) {
            self.rows.remove(&row);
        }
        self.elsewhere.clear();
        self.references.clear();
    }

    /// Whether a plan rests on a row that was read for it.
    pub(crate) fn rests_on(&self, row: &str) -> bool {
        self.rows.contains_key(row) && (self.needed.contains(row) || !self.volatile.contains(row))
    }

    /// A source or holder in whatever partition; nothing where it was not looked for.
    pub(crate) fn row_at(&self, table: &'static str, key: &RowKey) -> Option<&Row> {
        self.elsewhere.get(&(table, key.clone()))?.as_ref()
    }
}

impl<const N: usize> From<[(String, Option<Row>); N]> for Known {
    fn from(rows: [(String, Option<Row>); N]) -> Self {
        Self { rows: rows.into(), ..Self::default() }
    }
}

impl Deref for Known {
    type Target = HashMap<String, Option<Row>>;

    fn deref(&self) -> &Self::Target {
        &self.rows
    }
}

impl DerefMut for Known {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.rows
    }
}
