//! A stored row, looked at where it lies: its properties are passed once, in their order, and found to be whole on the way.
//!
//! Nothing is copied but what is kept.

use std::{
    borrow::Cow,
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use super::{
    codec::{OpenRow, StoredRow},
    dictionary::{Dictionary, NameId, Wanted},
    kept::{Kept, Shelf},
    keys::{row_key, split_key},
    numbers::numbered,
    rows::ReadRow,
    seal::damaged_row,
};
use crate::{
    Changed, ETag, Names, Properties, Row, StoreError, ValueRef,
    flat::{BYTES_EACH, Flat},
    key::is_order_bytes,
};

/// A row in the file whose checksum is right.
pub(crate) struct Sight<'s> {
    key: &'s [u8],
    row: OpenRow<'s>,
    names: &'s Arc<Dictionary>,
    place: Place<'s>,
    /// Whether all of it was passed.
    is_whole: Cell<bool>,
    /// Whether its key was seen to be one.
    is_key: Cell<bool>,
}

/// Where a row stands, and so what it is kept by.
enum Place<'s> {
    /// In a page, whose rows go to this shelf.
    Page(&'s Shelf),
    /// It was looked up by its key, which then is one.
    LookedUp(&'s ReadRow),
}

impl<'s> Sight<'s> {
    /// The row at `key` in a page. Only where all names are in the dictionary: others, which stand in rows, cannot be borrowed.
    #[inline]
    pub(super) const fn new(key: &'s [u8], row: OpenRow<'s>, names: &'s Arc<Dictionary>, shelf: &'s Shelf) -> Self {
        Self { key, row, names, place: Place::Page(shelf), is_whole: Cell::new(false), is_key: Cell::new(false) }
    }

    /// The same, of a row that was looked up by its key. Errors: `Corrupt`.
    #[inline]
    pub(super) fn looked_up(read: &'s ReadRow, names: &'s Arc<Dictionary>) -> Result<Self, StoreError> {
        let (key, value) = read.parts();
        let row = StoredRow::again(value)?.open(names)?;
        Ok(Self { key, row, names, place: Place::LookedUp(read), is_whole: Cell::new(false), is_key: Cell::new(true) })
    }

    /// The values under these names, each at the place of its name; what the row has none of stays as it is in `to`.
    /// Errors: `Corrupt`.
    #[inline]
    pub(crate) fn read(&self, names: &Names, to: &mut [Option<ValueRef<'s>>]) -> Result<(), StoreError> {
        let Some(numbers) = names.numbers.of(names.as_slice(), self.names) else {
            self.check()?;
            names.as_slice().iter().zip(to).for_each(|(name, to)| *to = self.find(name).or(*to));
            return Ok(());
        };
        let (stored, layouts) = (self.row.stored(), &names.numbers.layouts);
        match layouts.of(&stored) {
            Some(layout) => layout.read(stored, to).ok_or_else(unreadable)?,
            None => {
                self.pass(numbers, to).ok_or_else(unreadable)?;
                layouts.learn(stored, numbers);
            }
        }
        self.is_whole.set(true);
        Ok(())
    }

    /// Passes all properties, whose names must be in order: `numbers` are in the order of their names as well.
    fn pass(&self, numbers: &[AtomicU32], to: &mut [Option<ValueRef<'s>>]) -> Option<()> {
        let mut ahead = self.row.stored();
        let (mut numbers, mut to) = (numbers.iter(), to.iter_mut());
        let mut last = Last::None;
        while ahead.len() > 0 {
            let (id, tag) = ahead.take_id()?;
            let value = ahead.take_value(tag)?;
            let mut further = numbers.clone();
            if let Some(skipped) = further.position(|number| number.load(Relaxed) == numbered(id)) {
                if let Last::Unasked(last) = last {
                    self.is_in_order(last, id).then_some(())?;
                }
                numbers = further;
                *to.nth(skipped)? = Some(value);
                last = Last::Asked(id);
            } else {
                if let Last::Asked(last) | Last::Unasked(last) = last {
                    self.is_in_order(last, id).then_some(())?;
                }
                self.names.known(id)?;
                last = Last::Unasked(id);
            }
        }
        ahead.is_at_end().then_some(())
    }

    fn is_in_order(&self, a: NameId, b: NameId) -> bool {
        self.names.known(a).zip(self.names.known(b)).is_some_and(|(a, b)| a.is_before(b))
    }

    /// The row's ETag.
    pub(crate) fn etag(&self) -> ETag {
        self.row.etag()
    }

    /// The value under any name, wherever it is.
    pub(crate) fn find(&self, name: &str) -> Option<ValueRef<'s>> {
        let id = self.names.id(name)?;
        let mut stored = self.row.stored();
        while let Some((found, tag)) = stored.take_id() {
            if found == id {
                return stored.take_value(tag);
            }
            stored.skip_value(tag)?;
        }
        None
    }

    /// The row key. Errors: `Corrupt`.
    #[inline]
    pub(crate) fn row_key(&self) -> Result<Cow<'s, str>, StoreError> {
        let is_ascii = self.key.is_ascii();
        let row = split_key(self.key).map(|(_, row)| row).filter(|row| is_ascii || is_order_bytes(row));
        match row.map(std::str::from_utf8) {
            Some(Ok(row)) => {
                self.is_key.set(is_ascii);
                Ok(Cow::Borrowed(row))
            }
            _ => row_key(self.key).map(|key| Cow::Owned(key.row)),
        }
    }

    /// The row key in bytes, where all of the key is ASCII.
    #[inline]
    pub(crate) fn ascii_row_key(&self) -> Option<&'s [u8]> {
        let (_, row) = split_key(self.key).filter(|_| self.key.is_ascii())?;
        self.is_key.set(true);
        Some(row)
    }

    /// The row, taken apart. Errors: `Corrupt`.
    pub(crate) fn row(&self) -> Result<Row, StoreError> {
        let key = row_key(self.key)?;
        self.row.state(self.names, None).map(|state| state.at(key))
    }

    /// That the row is whole. Errors: `Corrupt`.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if !self.is_whole.get() {
            self.pass(&[], &mut []).ok_or_else(unreadable)?;
            self.is_whole.set(true);
        }
        Ok(())
    }

    /// The properties after a change, which is in order of name. Errors: `Corrupt`, unless all of the row is whole.
    pub(crate) fn changed(&self, change: &[Changed<'_>]) -> Result<Properties, StoreError> {
        self.check()?;
        self.merged(change).map(Properties::flat).ok_or_else(unreadable)
    }

    /// The properties, which are in order, and those of the change in their places.
    fn merged(&self, change: &[Changed<'_>]) -> Option<Flat> {
        let mut stored = self.row.stored();
        let mut merged = Flat::with_room(stored.len() + change.len(), stored.texts().len() + change.len() * BYTES_EACH);
        // Not merely behind the others: who changes a name twice means it as it is said last.
        let set = |(name, to): &Changed<'_>, merged: &mut Flat| {
            if let Some(value) = to {
                merged.set((*name).clone(), *value);
            }
        };
        let mut change = change.iter().map(|changed| (Wanted::new(changed.0.as_str()), changed)).peekable();
        while stored.len() > 0 {
            let (id, tag) = stored.take_id()?;
            let (known, value) = (self.names.known(id)?, stored.take_value(tag)?);
            while let Some((_, before)) = change.next_if(|(wanted, _)| known.order(wanted).is_gt()) {
                set(before, &mut merged);
            }
            let mut is_changed = false;
            while let Some((_, changed)) = change.next_if(|(wanted, _)| known.order(wanted).is_eq()) {
                is_changed = true;
                set(changed, &mut merged);
            }
            if !is_changed {
                merged.push(known.name().clone(), value);
            }
        }
        change.for_each(|(_, behind)| set(behind, &mut merged));
        stored.is_at_end().then_some(merged)
    }

    /// The row in one piece. Errors: `Corrupt`, unless all of it is whole.
    #[inline]
    pub(crate) fn keep(&self) -> Result<Kept, StoreError> {
        self.check()?;
        let stamp = self.row.etag().stamp().unwrap_or_default();
        match self.place {
            Place::LookedUp(read) => Ok(Kept::looked_up(read.clone(), stamp, Arc::clone(self.names))),
            Place::Page(shelf) => self.on(shelf, stamp),
        }
    }

    fn on(&self, shelf: &Shelf, stamp: u64) -> Result<Kept, StoreError> {
        // A key that is no plain text is looked at in full: then it is known to be one.
        if !(self.is_key.get() || (self.key.is_ascii() && split_key(self.key).is_some())) {
            row_key(self.key)?;
        }
        shelf.keep(self.key, self.row.body(), stamp, self.names).ok_or_else(unreadable)
    }
}

/// The property before the next one.
#[derive(Clone, Copy)]
enum Last {
    None,
    /// One of the names that were asked for, which are in order.
    Asked(NameId),
    Unasked(NameId),
}

fn unreadable() -> StoreError {
    damaged_row("a row cannot be decoded")
}
