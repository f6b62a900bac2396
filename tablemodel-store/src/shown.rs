//! A row as a store shows it while it reads: looked at where it lies, and kept in one piece.
//!
//! Nothing is read here; a store shows what it has.

use std::{borrow::Cow, fmt};

#[cfg(feature = "embedded")]
use crate::embedded::{Kept, Sight};
use crate::{Changed, ETag, Names, Properties, Row, StoreError, ValueRef};

/// A row that a store shows by [`TableStore::show`](crate::TableStore::show) or
/// [`TableStore::show_page`](crate::TableStore::show_page).
///
/// An embedded store shows a row before it has looked through it: what [`find`](Self::find), [`row_key`](Self::row_key) and
/// [`ascii_row_key`](Self::ascii_row_key) tell of the row counts only once it was found whole, by [`read`](Self::read),
/// [`keep`](Self::keep), [`check`](Self::check) or [`row`](Self::row).
///
/// ```
/// use tablemodel_store::{Action, Batch, MemoryStore, Names, Properties, RowKey, Shown, TableStore, ValueRef};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tablemodel_store::StoreError> {
/// let store = MemoryStore::new();
/// store.create_table("People").await?;
/// let jones = Properties::from_iter([("Age", 35), ("Level", 2)]);
/// store.commit(&[Batch::new("People", "Sales").with("jones", Action::Insert(jones))]).await?;
/// let (names, mut ages) = (Names::new(["Age"]), Vec::new());
/// let mut see = |row: &Shown<'_>| {
///     let mut age = [None];
///     ages.push(row.read(&names, &mut age).map(|()| age.map(|age| age.map(ValueRef::to_value))));
/// };
/// let there = store.show("People", &RowKey::new("Sales", "jones"), &mut see);
/// assert_eq!(there.transpose()?, Some(true)); // this store shows rows, and there is one
/// assert_eq!(ages.remove(0)?, [Some(35.into())]);
/// # Ok(())
/// # }
/// ```
pub struct Shown<'s>(Repr<'s>);

enum Repr<'s> {
    Row(&'s Row),
    #[cfg(feature = "embedded")]
    Sight(Sight<'s>),
}

impl<'s> Shown<'s> {
    /// A row that is known to be whole.
    pub const fn new(row: &'s Row) -> Self {
        Self(Repr::Row(row))
    }

    /// A row of an embedded store.
    #[cfg(feature = "embedded")]
    #[inline]
    pub(crate) const fn stored(sight: Sight<'s>) -> Self {
        Self(Repr::Sight(sight))
    }

    /// Puts the values under these names in their places in `to`, which has one for each; what the row has no value for
    /// stays as it is there. All of the row is looked through, once.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is not whole.
    #[inline]
    pub fn read(&self, names: &Names, to: &mut [Option<ValueRef<'s>>]) -> Result<(), StoreError> {
        match &self.0 {
            Repr::Row(row) => {
                let mut place = 0;
                for (name, to) in names.as_slice().iter().zip(to) {
                    *to = row.properties.get_from(&mut place, name).or(*to);
                }
                Ok(())
            }
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.read(names, to),
        }
    }

    /// The state it is in.
    pub fn etag(&self) -> ETag {
        match &self.0 {
            Repr::Row(row) => row.etag.clone(),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.etag(),
        }
    }

    /// The value under any name, wherever it is.
    pub fn find(&self, name: &str) -> Option<ValueRef<'s>> {
        match &self.0 {
            Repr::Row(row) => row.properties.get(name),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.find(name),
        }
    }

    /// The row key.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is no text.
    pub fn row_key(&self) -> Result<Cow<'s, str>, StoreError> {
        match &self.0 {
            Repr::Row(row) => Ok(Cow::Borrowed(&row.key.row)),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.row_key(),
        }
    }

    /// The row key in bytes, for who needs no text: sooner than [`row_key`](Self::row_key). None where it is not ASCII; an embedded store
    /// also gives none where the partition key is not.
    #[inline]
    pub fn ascii_row_key(&self) -> Option<&'s [u8]> {
        match &self.0 {
            Repr::Row(row) => Some(row.key.row.as_bytes()).filter(|key| key.is_ascii()),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.ascii_row_key(),
        }
    }

    /// The row, taken apart.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is not whole.
    pub fn row(&self) -> Result<Row, StoreError> {
        match &self.0 {
            Repr::Row(row) => Ok((*row).clone()),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.row(),
        }
    }

    /// That the row is whole.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is not.
    pub fn check(&self) -> Result<(), StoreError> {
        match &self.0 {
            Repr::Row(_) => Ok(()),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.check(),
        }
    }

    /// The properties of the row after a change, which is in order of name, each name once. The row is not taken apart for that.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is not whole.
    ///
    /// ```
    /// use tablemodel_store::{DateTime, ETag, Properties, PropertyName, Row, RowKey, Shown, ValueRef};
    ///
    /// let properties = Properties::from_iter([("Age", 35), ("Id", 7), ("Level", 2)]);
    /// let (key, etag, timestamp) = (RowKey::new("Sales", "jones"), ETag::from_stamp(1), DateTime::MIN);
    /// let row = Row { key, etag, timestamp, properties };
    /// let [age, id] = ["Age", "Id"].map(PropertyName::from_static);
    /// let changed = Shown::new(&row).changed(&[(&age, Some(ValueRef::Int32(36))), (&id, None)])?;
    /// assert_eq!(changed, Properties::from_iter([("Age", 36), ("Level", 2)]));
    /// # Ok::<_, tablemodel_store::StoreError>(())
    /// ```
    pub fn changed(&self, change: &[Changed<'_>]) -> Result<Properties, StoreError> {
        match &self.0 {
            Repr::Row(row) => Ok(row.properties.changed(change)),
            #[cfg(feature = "embedded")]
            Repr::Sight(sight) => sight.changed(change),
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
            Repr::Row(row) => Ok(KeptRow { etag: row.etag.clone(), form: Form::Row(Box::new((*row).clone())) }),
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
