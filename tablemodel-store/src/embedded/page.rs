//! One page of a query: a scan with the filter and the projection evaluated on the stored bytes.
//!
//! Rows that the filter rejects are never decoded.

use std::{cell::Cell, ops::ControlFlow};

use super::{
    codec::{OpenRow, Selection},
    dictionary::{Dictionary, NameId},
    engine::{Snapshot, Space, Visit},
    guest::Guest,
    kept::Shelf,
    keys::{Ascending, KeyBounds, at_row, row_key},
    seal::damaged,
    sight::Sight,
    view::View,
};
use crate::{Continuation, Filter, Page, Query, Row, RowKey, Shown, StoreError, ValueRef, continuation};

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

    fn add(&mut self, bytes: usize) {
        self.rows += 1;
        self.bytes += bytes;
    }

    const fn holds(self, other: Self) -> bool {
        self.rows > other.rows && self.bytes > other.bytes
    }
}

/// Bytes of stored rows that one page holds before it ends.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A page half read, or not yet begun.
pub(super) struct Progress {
    rows: Vec<Row>,
    seen: Seen,
    /// Where to go on: strictly after this key.
    after: Option<RowKey>,
}

/// What a scan has come by.
#[derive(Debug, Clone, Copy)]
struct Seen {
    looked_at: Look,
    taken: Look,
}

impl Seen {
    const NOTHING: Self = Self { looked_at: Look { rows: 0, bytes: 0 }, taken: Look { rows: 0, bytes: 0 } };
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
        Ok(Self { rows: Vec::with_capacity(query.limit.min(FIRST_ROWS)), seen: Seen::NOTHING, after })
    }

    /// Reads the page, or as much of it as is read where the caller is.
    pub(super) fn read_short<S: Snapshot>(mut self, view: &View<S>, query: &Query) -> Result<Step, StoreError> {
        match self.read(view, query, Look::SHORT)? {
            End::Pause(after) => Ok(Step::Paused(Self { after: Some(after), ..self })),
            end => Ok(Step::Done(Page { rows: self.rows, continuation: end.continuation(query) })),
        }
    }

    /// Reads the rest of the page.
    pub(super) fn read_rest<S: Snapshot>(mut self, view: &View<S>, query: &Query) -> Result<Page, StoreError> {
        let end = self.read(view, query, Look::PAGE)?;
        Ok(Page { rows: self.rows, continuation: end.continuation(query) })
    }

    fn read<S: Snapshot>(&mut self, view: &View<S>, query: &Query, pause: Look) -> Result<End, StoreError> {
        let Self { rows, seen, after } = self;
        let select = query.select.as_deref().map(|select| Selection::new(select, &view.names));
        let take = |key: &[u8], row: OpenRow<'_>| {
            rows.push(row.state(&view.names, select.as_ref())?.at(row_key(key)?));
            Ok(ControlFlow::Continue(()))
        };
        scan(view, query, after.as_ref(), pause, seen, take)
    }
}

/// Shows the rows of a short page; where the next one begins.
pub(super) fn show<S: Snapshot>(
    view: &View<S>,
    query: &Query,
    see: &mut dyn FnMut(&Shown<'_>) -> ControlFlow<()>,
) -> Result<Option<Continuation>, StoreError> {
    let after = continuation::resume(query)?;
    let (mut guest, shelf) = (Guest::default(), Shelf::new());
    let take = |key: &[u8], row: OpenRow<'_>| {
        let row = Shown::stored(Sight::new(key, row, &view.names, &shelf));
        Ok(guest.run(|| see(&row)).unwrap_or(ControlFlow::Break(())))
    };
    let end = scan(view, query, after.as_ref(), Look::SHORT, &mut { Seen::NOTHING }, take);
    guest.leave();
    Ok(end?.continuation(query))
}

/// Gives the rows of the query after this key to `take`, until that breaks or enough was looked at.
fn scan<S: Snapshot>(
    view: &View<S>,
    query: &Query,
    after: Option<&RowKey>,
    pause: Look,
    seen: &mut Seen,
    mut take: impl FnMut(&[u8], OpenRow<'_>) -> Visit,
) -> Result<End, StoreError> {
    let space = view.catalogue.rows(&query.table)?;
    let Some(bounds) = KeyBounds::new(&query.range, after) else { return Ok(End::OfRange) };
    let filter = query.filter.as_ref().map(|filter| Condition::new(filter, &view.names));
    let mut scan =
        Scan { limit: query.limit, space, names: &view.names, filter, pause, seen, due: None, end: End::OfRange };
    let mut ascending = Ascending::default();
    let mut checked = |key: &[u8], value: &[u8]| {
        ascending.next(key)?;
        if !bounds.contains(key) {
            return Err(damaged("a row is not where its key belongs"));
        }
        scan.visit(key, value, &mut take)
    };
    let visit = |key: &[u8], value: &[u8]| checked(key, value).map_err(|error| at_row(error, &query.table, key));
    view.snapshot.scan(space, bounds.range(), visit)?;
    Ok(scan.end)
}

struct Scan<'q> {
    limit: usize,
    space: Space,
    names: &'q Dictionary,
    filter: Option<Condition<'q>>,
    pause: Look,
    seen: &'q mut Seen,
    /// How it ends if there is another row.
    due: Option<End>,
    end: End,
}

/// Why a scan ended, and after which key.
#[derive(Clone)]
enum End {
    OfRange,
    /// The page is full.
    OfPage(RowKey),
    /// Enough was looked at for now.
    Pause(RowKey),
}

impl End {
    fn continuation(&self, query: &Query) -> Option<Continuation> {
        match self {
            Self::OfRange => None,
            Self::OfPage(after) | Self::Pause(after) => Some(continuation::encode(query, after)),
        }
    }
}

impl Scan<'_> {
    #[inline]
    fn visit(&mut self, key: &[u8], value: &[u8], take: &mut impl FnMut(&[u8], OpenRow<'_>) -> Visit) -> Visit {
        if let Some(end) = self.due.take() {
            self.end = end;
            return Ok(ControlFlow::Break(()));
        }
        let bytes = key.len() + value.len();
        self.seen.looked_at.add(bytes);
        let stored = OpenRow::checked(self.space, key, value, self.names)?;
        if self.accepts(key, &stored)? {
            self.seen.taken.add(bytes);
            if take(key, stored)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if self.is_due() {
            self.due = Some(self.end_after(key)?);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether to end before the next row.
    #[inline]
    fn is_due(&self) -> bool {
        self.is_page_full() || !self.pause.holds(self.seen.looked_at)
    }

    #[inline]
    fn is_page_full(&self) -> bool {
        let Seen { looked_at, taken } = *self.seen;
        taken.rows >= self.limit || taken.bytes >= MAX_PAGE_BYTES || !Look::PAGE.holds(looked_at)
    }

    /// How to end after the row with this key, where that is due.
    #[cold]
    fn end_after(&self, key: &[u8]) -> Result<End, StoreError> {
        let after = row_key(key)?;
        Ok(if self.is_page_full() { End::OfPage(after) } else { End::Pause(after) })
    }

    /// Whether the row satisfies the filter.
    fn accepts(&mut self, key: &[u8], stored: &OpenRow<'_>) -> Result<bool, StoreError> {
        match &mut self.filter {
            None => Ok(true),
            Some(filter) if filter.needs_key => filter.holds(stored, Some(&row_key(key)?)),
            Some(filter) => filter.holds(stored, None),
        }
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
    fn holds<'a>(&mut self, stored: &OpenRow<'a>, key: Option<&'a RowKey>) -> Result<bool, StoreError> {
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
