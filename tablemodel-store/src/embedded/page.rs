//! One page of a query: a scan with the filter and the projection evaluated on the stored bytes.
//!
//! Rows that the filter rejects are never decoded.

use std::{ops::ControlFlow, sync::Arc};

use super::{
    codec::{Selection, StoredRow},
    dictionary::{Dictionary, NameId},
    engine::{Snapshot, Space, Visit},
    keys::{KeyBounds, row_key},
    view::View,
};
use crate::{Filter, Page, Query, Row, RowKey, StoreError, ValueRef, continuation};

/// Rows that a scan looks at for one page; then an empty page may come with a continuation. About 20 ms of work.
const MAX_LOOKED_AT_ROWS: usize = 32 * 1024;
/// Bytes of stored rows that one page holds before it ends.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of stored rows that a scan looks at for one page.
const MAX_LOOKED_AT_BYTES: usize = 32 * 1024 * 1024;

/// Reads one page.
pub(super) fn page<S: Snapshot>(view: &View<S>, query: &Query) -> Result<Page, StoreError> {
    let space = view.catalogue.rows(&query.table)?;
    let resume = continuation::resume(query)?;
    let mut scan = Scan::new(query, space, &view.names);
    if let Some(bounds) = KeyBounds::new(&query.range, resume.as_ref()) {
        view.snapshot.scan(space, bounds.range(), |key, value| scan.visit(key, value))?;
    }
    scan.finish()
}

struct Scan<'q> {
    query: &'q Query,
    space: Space,
    names: &'q Arc<Dictionary>,
    filter: Option<Condition<'q>>,
    select: Option<Selection>,
    rows: Vec<Row>,
    row_bytes: usize,
    looked_at: usize,
    looked_at_bytes: usize,
    /// The last key looked at, unless it is the last row's.
    rejected: Option<Vec<u8>>,
    more: bool,
}

impl<'q> Scan<'q> {
    fn new(query: &'q Query, space: Space, names: &'q Arc<Dictionary>) -> Self {
        Self {
            query,
            space,
            names,
            filter: query.filter.as_ref().map(|filter| Condition::new(filter, names)),
            select: query.select.as_deref().map(|select| Selection::new(select, names)),
            rows: Vec::new(),
            row_bytes: 0,
            looked_at: 0,
            looked_at_bytes: 0,
            rejected: None,
            more: false,
        }
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.query.limit
            || self.row_bytes >= MAX_PAGE_BYTES
            || self.looked_at >= MAX_LOOKED_AT_ROWS
            || self.looked_at_bytes >= MAX_LOOKED_AT_BYTES
    }

    fn visit(&mut self, key: &[u8], value: &[u8]) -> Visit {
        if self.is_full() {
            self.more = true;
            return Ok(ControlFlow::Break(()));
        }
        self.looked_at += 1;
        self.looked_at_bytes += key.len() + value.len();
        let stored = StoredRow::checked(self.space, key, value)?;
        let Some(row_key) = self.accepted(key, stored)? else {
            // Only a scan that ends here needs the key; reusing the buffer makes it one copy.
            let rejected = self.rejected.get_or_insert_default();
            rejected.clear();
            rejected.extend_from_slice(key);
            return Ok(ControlFlow::Continue(()));
        };
        self.rejected = None;
        self.row_bytes += key.len() + value.len();
        self.rows.push(stored.row(row_key, self.names, self.select.as_ref())?);
        Ok(ControlFlow::Continue(()))
    }

    /// The key of the row, if it satisfies the filter.
    fn accepted(&self, key: &[u8], stored: StoredRow<'_>) -> Result<Option<RowKey>, StoreError> {
        let Some(filter) = &self.filter else { return row_key(key).map(Some) };
        if !filter.needs_key {
            return if filter.holds(stored, None) { row_key(key).map(Some) } else { Ok(None) };
        }
        let key = row_key(key)?;
        Ok(filter.holds(stored, Some(&key)).then_some(key))
    }

    fn finish(self) -> Result<Page, StoreError> {
        let Self { query, rows, rejected, more, .. } = self;
        let rejected = rejected.as_deref().map(row_key).transpose()?;
        let last = rejected.as_ref().or(rows.last().map(|row| &row.key)).filter(|_| more);
        let continuation = last.map(|last| continuation::encode(query, last));
        Ok(Page { rows, continuation })
    }
}

/// A filter, with the numbers of the properties that it names.
struct Condition<'q> {
    filter: &'q Filter,
    ids: Vec<(&'q str, Option<NameId>)>,
    /// Whether it names a key: else the key need not be decoded.
    needs_key: bool,
}

impl<'q> Condition<'q> {
    fn new(filter: &'q Filter, names: &Dictionary) -> Self {
        let mut ids = Vec::new();
        each_property(filter, &mut |property| {
            if !ids.iter().any(|(known, _)| *known == property) {
                ids.push((property, names.id(property)));
            }
        });
        let needs_key = ids.iter().any(|(name, _)| matches!(*name, "PartitionKey" | "RowKey"));
        Self { filter, ids, needs_key }
    }

    fn holds<'a>(&self, stored: StoredRow<'a>, key: Option<&'a RowKey>) -> bool {
        self.filter.holds(&|property| match property {
            "PartitionKey" => key.map(|key| ValueRef::String(&key.partition)),
            "RowKey" => key.map(|key| ValueRef::String(&key.row)),
            "Timestamp" => Some(ValueRef::DateTime(stored.timestamp())),
            name => stored.get(name, self.id(name)),
        })
    }

    fn id(&self, name: &str) -> Option<NameId> {
        self.ids.iter().find(|(known, _)| *known == name).and_then(|(_, id)| *id)
    }
}

fn each_property<'q>(filter: &'q Filter, see: &mut impl FnMut(&'q str)) {
    match filter {
        Filter::Compare { property, .. } => see(property),
        Filter::And(a, b) | Filter::Or(a, b) => {
            each_property(a, see);
            each_property(b, see);
        }
        Filter::Not(inner) => each_property(inner, see),
    }
}
