//! A row as a store shows it while it reads: looked at where it lies, and kept in one piece.
//!
//! Nothing is read here; a store shows what it has.

use std::{borrow::Cow, cell::Cell, fmt};

#[cfg(feature = "embedded")]
use crate::embedded::{Kept, Sight};
use crate::{ETag, Row, StoreError, ValueRef};

/// A row that a store shows by [`TableStore::show`](crate::TableStore::show) or
/// [`TableStore::show_page`](crate::TableStore::show_page).
///
/// Its properties are found soonest in the order of their names. An embedded store shows a row before it has looked
/// through it: what was told of the row counts only once [`keep`](Self::keep), [`check`](Self::check) or [`row`](Self::row) found it whole.
///
/// ```
/// use tablemodel_store::{Action, Batch, MemoryStore, Properties, RowKey, Shown, TableStore, ValueRef};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tablemodel_store::StoreError> {
/// let store = MemoryStore::new();
/// store.create_table("People").await?;
/// let jones = Properties::from_iter([("Age", 35), ("Level", 2)]);
/// store.commit(&[Batch::new("People", "Sales").with("jones", Action::Insert(jones))]).await?;
/// let mut ages = Vec::new();
/// let mut see = |row: &Shown<'_>| {
///     let age = row.get("Age").map(ValueRef::to_value);
///     ages.push(row.keep().map(|_| age));
/// };
/// let there = store.show("People", &RowKey::new("Sales", "jones"), &mut see);
/// assert_eq!(there.transpose()?, Some(true)); // this store shows rows, and there is one
/// assert_eq!(ages.remove(0)?, Some(35.into()));
/// # Ok(())
/// # }
/// ```
pub struct Shown<'s>(Repr<'s>);

enum Repr<'s> {
    Row {
        row: &'s Row,
        place: Cell<usize>,
    },
    #[cfg(feature = "embedded")]
    Sight(Sight<'s>),
}

impl<'s> Shown<'s> {
    /// A row that is known to be whole.
    pub const fn new(row: &'s Row) -> Self {
        Self(Repr::Row { row, place: Cell::new(0) })
    }

    /// A row of an embedded store.
    #[cfg(feature = "embedded")]
    #[inline]
    pub(crate) const fn stored(sight: Sight<'s>) -> Self {
        Self(Repr::Sight(sight))
    }

    /// The value under a name that is a constant of the program: soonest if it is the next.
    #[inline]
    pub fn get(&self, name: &'static str) -> Option<ValueRef<'s>> {
        match &self.0 {
            Repr::Row { row, place } => {
                let mut at = place.get();
                let value = row.properties.get_from(&mut at, name);
                place.set(at);
                value
            }
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.get(name),
        }
    }

    /// The value under any name, wherever it is. Passes nothing.
    pub fn find(&self, name: &str) -> Option<ValueRef<'s>> {
        match &self.0 {
            Repr::Row { row, .. } => row.properties.get(name),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.find(name),
        }
    }

    /// Whether the text under `name` is this one. Passes nothing.
    #[inline]
    pub fn says(&self, name: &'static str, text: &str) -> bool {
        match &self.0 {
            Repr::Row { row, .. } => row.properties.get_constant(name) == Some(ValueRef::String(text)),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.says(name, text),
        }
    }

    /// The row key.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is no text.
    pub fn row_key(&self) -> Result<Cow<'s, str>, StoreError> {
        match &self.0 {
            Repr::Row { row, .. } => Ok(Cow::Borrowed(&row.key.row)),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.row_key(),
        }
    }

    /// The row, taken apart.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is not whole.
    pub fn row(&self) -> Result<Row, StoreError> {
        match &self.0 {
            Repr::Row { row, .. } => Ok((*row).clone()),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.row(),
        }
    }

    /// That the row is whole. Passes all of it.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is not.
    pub fn check(&self) -> Result<(), StoreError> {
        match &self.0 {
            Repr::Row { .. } => Ok(()),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.check(),
        }
    }

    /// The row in one piece, to be taken apart when it is asked for.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is not whole.
    #[inline]
    pub fn keep(&self) -> Result<KeptRow, StoreError> {
        match &self.0 {
            Repr::Row { row, .. } => Ok(KeptRow { etag: row.etag.clone(), form: Form::Row(Box::new((*row).clone())) }),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.keep().map(|kept| KeptRow { etag: kept.etag(), form: Form::Kept(kept) }),
        }
    }
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shown").field(&self.row()).finish()
    }
}

/// A whole row, kept as the store has it. Made by [`Shown::keep`].
#[derive(Clone)]
pub struct KeptRow {
    etag: ETag,
    form: Form,
}

#[derive(Clone)]
enum Form {
    Row(Box<Row>),
    #[cfg(feature = "embedded")]
    Kept(Kept),
}

impl KeptRow {
    /// The state it was read in.
    pub const fn etag(&self) -> &ETag {
        &self.etag
    }

    /// The row.
    pub fn row(&self) -> Row {
        match &self.form {
            Form::Row(row) => (**row).clone(),
            #[cfg(feature = "embedded")]
            Form::Kept(kept) => kept.row(),
        }
    }
}

impl fmt::Debug for KeptRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.row().fmt(f)
    }
}
