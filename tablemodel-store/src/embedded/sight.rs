//! A stored row, looked at where it lies: its properties are passed once, in their order, and found to be whole on the way.
//!
//! Nothing is copied but what is kept. What was told of a row counts only once all of it was passed.

use std::{borrow::Cow, cell::Cell, sync::Arc};

use super::{
    codec::StoredRow,
    dictionary::{Constant, Dictionary, Known, NameId},
    keys::{row_key, split_key},
    packed::Packed,
    property::StoredProperties,
    seal::damaged,
};
use crate::{ETag, Properties, Row, RowKey, StoreError, ValueRef};

/// A row in the file whose checksum is right.
///
/// How far it was passed is kept in numbers: a borrow in a cell would bind the lifetimes of all who look.
pub(crate) struct Sight<'s> {
    key: &'s [u8],
    row: StoredRow<'s>,
    names: &'s Arc<Dictionary>,
    /// Bytes of the body that were passed; [`BROKEN`] once there was a property that is not whole.
    passed: Cell<usize>,
    /// Properties that were not passed.
    left: Cell<usize>,
    /// The last name that was passed, and its lead.
    last: Cell<Option<NameId>>,
    lead: Cell<u64>,
}

/// More than any body has.
const BROKEN: usize = usize::MAX;

impl<'s> Sight<'s> {
    /// The row at `key`. Only where all names are in the dictionary: others, which stand in rows, cannot be borrowed.
    #[inline]
    pub(super) fn new(key: &'s [u8], row: StoredRow<'s>, names: &'s Arc<Dictionary>) -> Self {
        let (passed, left) = match StoredProperties::of(row.body()) {
            Some(stored) => (row.body().len() - stored.bytes(), stored.len()),
            None => (BROKEN, 0),
        };
        let (passed, left) = (Cell::new(passed), Cell::new(left));
        Self { key, row, names, passed, left, last: Cell::new(None), lead: Cell::new(0) }
    }

    /// The value under `name`: soonest if it is the next.
    #[inline(always)]
    pub(crate) fn get(&self, name: &'static str) -> Option<ValueRef<'s>> {
        let Constant { id, lead, .. } = self.names.constant(name)?; // a name without a number is in no row
        let mut ahead = self.ahead()?;
        if let Some((found, tag)) = ahead.take_id()
            && found == id
            && lead > self.lead.get()
            && let Some(value) = ahead.take_value(tag)
        {
            self.pass(&ahead, id, lead);
            return Some(value);
        }
        self.seek(id)
    }

    /// The same, past those that no one asked for.
    #[inline(never)]
    fn seek(&self, id: NameId) -> Option<ValueRef<'s>> {
        let wanted = self.names.known(id)?;
        let mut ahead = self.ahead()?;
        while ahead.len() > 0 {
            let mut next = ahead;
            let found = next.take_id().and_then(|(found, _)| self.names.known(found));
            if found.is_some_and(|found| wanted.is_before(found)) {
                break;
            }
            let Some((found, value)) = self.take(&mut ahead) else {
                self.passed.set(BROKEN);
                return None;
            };
            if found == id {
                return Some(value);
            }
        }
        self.find_passed(wanted, id)
    }

    /// The value of a property that is not ahead: passed earlier, or absent.
    fn find_passed(&self, wanted: &Known, id: NameId) -> Option<ValueRef<'s>> {
        let last = self.names.known(self.last.get()?)?;
        if last.is_before(wanted) { None } else { self.find_id(id) }
    }

    /// The value under a name that may be anywhere.
    pub(crate) fn find(&self, name: &str) -> Option<ValueRef<'s>> {
        self.find_id(self.names.id(name)?)
    }

    fn find_id(&self, id: NameId) -> Option<ValueRef<'s>> {
        let mut stored = StoredProperties::of(self.row.body())?;
        while let Some((found, tag)) = stored.take_id() {
            if found == id {
                return stored.take_value(tag);
            }
            stored.skip_value(tag)?;
        }
        None
    }

    /// Whether this text stands under `name`.
    #[inline]
    pub(crate) fn says(&self, name: &'static str, text: &str) -> bool {
        let says = |id| {
            let mut stored = StoredProperties::of(self.row.body())?;
            while let Some((found, tag)) = stored.take_id() {
                if found == id {
                    return stored.take_text(tag).map(|found| found == text.as_bytes());
                }
                stored.skip_value(tag)?;
            }
            None
        };
        self.names.constant(name).and_then(|constant| says(constant.id)).unwrap_or(false)
    }

    /// The row key. Errors: `Corrupt`.
    #[inline]
    pub(crate) fn row_key(&self) -> Result<Cow<'s, str>, StoreError> {
        match split_key(self.key).map(|(_, row)| std::str::from_utf8(row)) {
            Some(Ok(row)) => Ok(Cow::Borrowed(row)),
            _ => row_key(self.key).map(|key| Cow::Owned(key.row)),
        }
    }

    /// The row, taken apart. Errors: `Corrupt`.
    pub(crate) fn row(&self) -> Result<Row, StoreError> {
        let key = row_key(self.key)?;
        self.row.state(self.names, None).map(|state| state.at(key))
    }

    /// That the row is whole. Errors: `Corrupt`.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.finish().ok_or_else(unreadable)
    }

    /// The row in one piece. Errors: `Corrupt`, unless all of it is whole.
    #[inline]
    pub(crate) fn keep(&self) -> Result<Kept, StoreError> {
        self.check()?;
        // A key that is no plain text is looked at in full: then it is known to be one.
        let is_plain = self.key.is_ascii() && split_key(self.key).is_some();
        if !is_plain {
            row_key(self.key)?;
        }
        Ok(Kept::new(self.key, self.row, self.names))
    }

    /// Passes all that is left; `None` unless all properties are whole.
    fn finish(&self) -> Option<()> {
        let mut ahead = self.ahead()?;
        while ahead.len() > 0 {
            self.take(&mut ahead)?;
        }
        ahead.is_at_end().then_some(())
    }

    #[inline(always)]
    fn ahead(&self) -> Option<StoredProperties<'s>> {
        StoredProperties::rest_of(self.row.body(), self.passed.get(), self.left.get())
    }

    #[inline(always)]
    fn pass(&self, ahead: &StoredProperties<'s>, id: NameId, lead: u64) {
        self.passed.set(self.row.body().len() - ahead.bytes());
        self.left.set(ahead.len());
        self.last.set(Some(id));
        self.lead.set(lead);
    }

    /// Passes the next property, whose name must be behind the last one.
    #[inline(always)]
    fn take(&self, ahead: &mut StoredProperties<'s>) -> Option<(NameId, ValueRef<'s>)> {
        let (id, tag) = ahead.take_id()?;
        let known = self.names.known(id)?;
        if known.lead() <= self.lead.get() && !self.is_behind_last(known) {
            return None;
        }
        let value = ahead.take_value(tag)?;
        self.pass(ahead, id, known.lead());
        Some((id, value))
    }

    fn is_behind_last(&self, known: &Known) -> bool {
        match self.last.get() {
            Some(last) => self.names.known(last).is_some_and(|last| last.is_before(known)),
            None => true,
        }
    }
}

fn unreadable() -> StoreError {
    damaged("a row cannot be decoded")
}

/// A row that was found to be whole, in one piece: its key, then its properties, as they are stored.
#[derive(Clone)]
pub(crate) struct Kept {
    bytes: Box<[u8]>,
    key_bytes: usize,
    stamp: u64,
    names: Arc<Dictionary>,
}

impl Kept {
    fn new(key: &[u8], row: StoredRow<'_>, names: &Arc<Dictionary>) -> Self {
        let mut bytes = Vec::with_capacity(key.len() + row.body().len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(row.body());
        let stamp = row.etag().stamp().unwrap_or_default();
        Self { bytes: bytes.into_boxed_slice(), key_bytes: key.len(), stamp, names: Arc::clone(names) }
    }

    /// The row's ETag.
    pub(crate) fn etag(&self) -> ETag {
        ETag::from_stamp(self.stamp)
    }

    /// The row, taken apart. It was found to be whole, so that nothing is missing from it.
    pub(crate) fn row(&self) -> Row {
        let (key, body) = self.bytes.split_at_checked(self.key_bytes).unwrap_or_default();
        let key = row_key(key).unwrap_or_else(|_| RowKey::new("", ""));
        let properties = Packed::parse(body, &self.names).map_or_else(Properties::new, Properties::packed);
        let timestamp = crate::DateTime::from_ticks(self.stamp.cast_signed());
        Row { key, etag: self.etag(), timestamp, properties }
    }
}
