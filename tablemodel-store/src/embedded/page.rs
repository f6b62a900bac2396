//! One page of a query: a scan with the filter and the projection evaluated on the stored bytes.
//!
//! Rows that the filter rejects are never decoded.

use std::{cell::Cell, ops::ControlFlow, sync::Arc};

use super::{
    codec::{Selection, StoredRow},
    dictionary::{Dictionary, NameId},
    engine::{Snapshot, Space, Visit},
    keys::{KeyBounds, row_key},
    view::View,
};
use crate::{Filter, Page, Query, Row, RowKey, StoreError, ValueRef, continuation};

/// Rows for which room is made at first.
const FIRST_ROWS: usize = 128;

/// How much a scan looks at, in rows and in bytes of stored rows.
#[derive(Debug, Clone, Copy)]
struct Look {
    rows: usize,
    bytes: usize,
}

impl Look {
    /// What is read where the caller is: about a quarter of a millisecond. Most queries end within it, and for the
    /// rest a thread for blocking work costs nothing that can be measured.
    const SHORT: Self = Self { rows: 256, bytes: 256 * 1024 };
    /// What is looked at for one page, which then may be empty and still have a continuation: about 20 ms.
    const PAGE: Self = Self { rows: 32 * 1024, bytes: 32 * 1024 * 1024 };

    const fn holds(self, other: Self) -> bool {
        self.rows > other.rows && self.bytes > other.bytes
    }
}

/// Bytes of stored rows that one page holds before it ends.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A page half read, or not yet begun.
pub(super) struct Progress {
    rows: Vec<Row>,
    row_bytes: usize,
    looked_at: Look,
    /// Where to go on: strictly after this key.
    after: Option<RowKey>,
}

/// What a step of reading came to.
pub(super) enum Step {
    Done(Page),
    Paused(Progress),
}

impl Progress {
    /// A page to be read. Errors: `InvalidInput` for a continuation of another query.
    pub(super) fn begin(query: &Query) -> Result<Self, StoreError> {
        let after = continuation::resume(query)?;
        let rows = Vec::with_capacity(query.limit.min(FIRST_ROWS));
        Ok(Self { rows, row_bytes: 0, looked_at: Look { rows: 0, bytes: 0 }, after })
    }

    /// Reads the page, or as much of it as is read where the caller is.
    pub(super) fn read_short<S: Snapshot>(self, view: &View<S>, query: &Query) -> Result<Step, StoreError> {
        let (progress, end) = self.read(view, query, Look::SHORT)?;
        if end == End::Pause {
            return Ok(Step::Paused(progress));
        }
        Ok(Step::Done(progress.page(query, end)))
    }

    /// Reads the rest of the page.
    pub(super) fn read_rest<S: Snapshot>(self, view: &View<S>, query: &Query) -> Result<Page, StoreError> {
        let (progress, end) = self.read(view, query, Look::PAGE)?;
        Ok(progress.page(query, end))
    }

    fn read<S: Snapshot>(self, view: &View<S>, query: &Query, pause: Look) -> Result<(Self, End), StoreError> {
        let space = view.catalogue.rows(&query.table)?;
        let Some(bounds) = KeyBounds::new(&query.range, self.after.as_ref()) else { return Ok((self, End::OfRange)) };
        let mut scan = Scan::new(query, space, &view.names, pause, self);
        view.snapshot.scan(space, bounds.range(), |key, value| scan.visit(key, value))?;
        scan.finish()
    }

    fn page(self, query: &Query, end: End) -> Page {
        let continuation = self.after.filter(|_| end != End::OfRange).map(|after| continuation::encode(query, &after));
        Page { rows: self.rows, continuation }
    }
}

struct Scan<'q> {
    query: &'q Query,
    space: Space,
    names: &'q Arc<Dictionary>,
    filter: Option<Condition<'q>>,
    select: Option<Selection>,
    pause: Look,
    progress: Progress,
    /// The last key looked at, where it is not the last row's.
    rejected: Option<Vec<u8>>,
    end: End,
}

/// Why a scan ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    OfRange,
    /// The page is full.
    OfPage,
    /// Enough was looked at for now.
    Pause,
}

impl<'q> Scan<'q> {
    fn new(query: &'q Query, space: Space, names: &'q Arc<Dictionary>, pause: Look, progress: Progress) -> Self {
        Self {
            query,
            space,
            names,
            filter: query.filter.as_ref().map(|filter| Condition::new(filter, names)),
            select: query.select.as_deref().map(|select| Selection::new(select, names)),
            pause,
            progress,
            rejected: None,
            end: End::OfRange,
        }
    }

    /// Why to stop before the next row, if so.
    fn is_due(&self) -> Option<End> {
        let Progress { rows, row_bytes, looked_at, .. } = &self.progress;
        if rows.len() >= self.query.limit || *row_bytes >= MAX_PAGE_BYTES || !Look::PAGE.holds(*looked_at) {
            return Some(End::OfPage);
        }
        (!self.pause.holds(*looked_at)).then_some(End::Pause)
    }

    fn visit(&mut self, key: &[u8], value: &[u8]) -> Visit {
        if let Some(end) = self.is_due() {
            self.end = end;
            return Ok(ControlFlow::Break(()));
        }
        let bytes = key.len() + value.len();
        self.progress.looked_at.rows += 1;
        self.progress.looked_at.bytes += bytes;
        let stored = StoredRow::checked(self.space, key, value)?;
        let Some(row_key) = self.accepted(key, stored)? else {
            // Only the end of a scan needs the key; the buffer is used again, so that it is one copy.
            let rejected = self.rejected.get_or_insert_default();
            rejected.clear();
            rejected.extend_from_slice(key);
            return Ok(ControlFlow::Continue(()));
        };
        self.rejected = None;
        self.progress.row_bytes += bytes;
        self.progress.rows.push(stored.state(self.names, self.select.as_ref())?.at(row_key));
        Ok(ControlFlow::Continue(()))
    }

    /// The key of the row, if it satisfies the filter.
    fn accepted(&mut self, key: &[u8], stored: StoredRow<'_>) -> Result<Option<RowKey>, StoreError> {
        let Some(filter) = &mut self.filter else { return row_key(key).map(Some) };
        if !filter.needs_key {
            return if filter.holds(stored, None)? { row_key(key).map(Some) } else { Ok(None) };
        }
        let key = row_key(key)?;
        Ok(filter.holds(stored, Some(&key))?.then_some(key))
    }

    fn finish(self) -> Result<(Progress, End), StoreError> {
        let Self { mut progress, rejected, end, .. } = self;
        let last = match rejected {
            Some(key) => Some(row_key(&key)?),
            None => progress.rows.last().map(|row| row.key.clone()),
        };
        progress.after = last.or(progress.after);
        Ok((progress, end))
    }
}

/// A filter, with the numbers of the properties that it names.
struct Condition<'q> {
    filter: &'q Filter,
    ids: Vec<(&'q str, Option<NameId>)>,
    /// Whether it names a key: else the key need not be decoded.
    needs_key: bool,
    /// The last value of its only property, if a short text, and whether it held: many rows are of one type.
    last: Option<(String, bool)>,
}

/// The longest text that is compared before a filter is asked about it.
const SHORT_TEXT: usize = 64;

impl<'q> Condition<'q> {
    fn new(filter: &'q Filter, names: &Dictionary) -> Self {
        let mut ids = Vec::new();
        each_property(filter, &mut |property| {
            if !ids.iter().any(|(known, _)| *known == property) {
                ids.push((property, names.id(property)));
            }
        });
        let needs_key = ids.iter().any(|(name, _)| matches!(*name, "PartitionKey" | "RowKey"));
        Self { filter, ids, needs_key, last: None }
    }

    /// Errors: `Corrupt`. A property that cannot be told is not an absent one.
    fn holds<'a>(&mut self, stored: StoredRow<'a>, key: Option<&'a RowKey>) -> Result<bool, StoreError> {
        let operand = |property: &str| {
            Ok(match property {
                "PartitionKey" => key.map(|key| ValueRef::String(&key.partition)),
                "RowKey" => key.map(|key| ValueRef::String(&key.row)),
                "Timestamp" => Some(ValueRef::DateTime(stored.timestamp())),
                name => stored.get(name, self.id(name))?,
            })
        };
        // The usual case: the range of types that belong to a path. The row is searched once.
        if let [(only, _)] = self.ids.as_slice() {
            let value = operand(only)?;
            return Ok(holds_again(self.filter, value, &mut self.last));
        }
        let failure = Cell::new(None);
        let holds = self.filter.holds(&|property| {
            operand(property).unwrap_or_else(|error| {
                failure.set(Some(error));
                None
            })
        });
        failure.into_inner().map_or(Ok(holds), Err)
    }

    fn id(&self, name: &str) -> Option<NameId> {
        self.ids.iter().find(|(known, _)| *known == name).and_then(|(_, id)| *id)
    }
}

/// Whether a filter on one property holds of this value of it; `last` is what it was asked before.
fn holds_again(filter: &Filter, value: Option<ValueRef<'_>>, last: &mut Option<(String, bool)>) -> bool {
    let short = match value {
        Some(ValueRef::String(text)) if text.len() <= SHORT_TEXT => Some(text),
        _ => None,
    };
    if let (Some(text), Some((asked, held))) = (short, &*last)
        && text == asked
    {
        return *held;
    }
    let holds = filter.holds(&|_| value);
    if let Some(text) = short {
        let (asked, held) = last.get_or_insert_default();
        text.clone_into(asked);
        *held = holds;
    }
    holds
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
