//! What reads give back: [`Stored`] entities, which can be saved, and [`Seen`] ones, which came from an index row. A conflict gives
//! back the former too.
//!
//! No I/O here but [`Seen::load`], which asks the database.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::OnceLock,
};

use tablemodel_store::{DateTime, ETag, KeptRow, Row, RowKey};

use crate::{
    database::Database,
    entity::{FieldReader, TableEntity},
    error::{Error, ErrorKind, Result},
    key::NO_VALUES,
    path::{Running, plan::owns},
    plan::{
        group::Group,
        image, part,
        system::{self, RowKind},
    },
    read::columns::InRow,
    upgrade::asks,
};

/// An entity as it was read or written: its value, its ETag, and the stored image that `save` compares with.
///
/// Derefs to the value; change it and hand it to [`Database::save`].
///
/// The images of entities that one query read from an embedded store share memory, 4 KiB at a time, each freed with the last of
/// them. Who keeps a few values of many takes less with [`Stored::into_inner`].
#[derive(Clone)]
pub struct Stored<T> {
    value: T,
    rows: Rows,
}

impl<T: fmt::Debug> fmt::Debug for Stored<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("value", &self.value).field("etag", self.rows.etag()).finish_non_exhaustive()
    }
}

/// The rows of an entity: taken apart, or as its only one was read.
#[derive(Debug, Clone)]
pub(crate) enum Rows {
    Group(Box<Group>),
    Kept { row: KeptRow, group: OnceLock<Box<Group>> },
}

impl Rows {
    pub(crate) fn group(&self) -> &Group {
        match self {
            Self::Group(group) => group,
            Self::Kept { row, group } => group.get_or_init(|| Box::new(row.row().into())),
        }
    }

    fn etag(&self) -> &ETag {
        match self {
            Self::Group(group) => &group.head.etag,
            Self::Kept { row, .. } => row.etag(),
        }
    }

    /// Rests on these rows, which say what those before said.
    pub(crate) fn rest_on(&mut self, rows: Group) {
        *self = Self::Group(Box::new(rows));
    }

    fn into_group(self) -> Group {
        match self {
            Self::Group(group) => *group,
            Self::Kept { row, group } => group.into_inner().map_or_else(|| row.row().into(), |group| *group),
        }
    }
}

impl<T> Stored<T> {
    /// Where the entity's primary row stands.
    pub fn key(&self) -> &RowKey {
        self.rows().key()
    }

    /// The state of the primary row; every derived row in the partition is guarded by it.
    pub fn etag(&self) -> &ETag {
        self.rows.etag()
    }

    /// When the store wrote it, by the store's clock.
    pub fn timestamp(&self) -> DateTime {
        self.rows().head.timestamp
    }

    /// The entity's sequence number: raised by every write. 0 if another program wrote it.
    pub fn sequence(&self) -> i64 {
        system::sequence(&self.rows().head.properties)
    }

    /// The version of the type that wrote it: the next write makes it that of the program. None if another program wrote it.
    pub fn version(&self) -> Option<u32> {
        match system::kind(&self.rows().head.properties) {
            RowKind::Primary { version, .. } => Some(version),
            RowKind::Derived { .. } | RowKind::Part { .. } | RowKind::Tombstone { .. } | RowKind::Foreign => None,
        }
    }

    /// The value alone.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// The primary row as it is stored: the head of an entity that is [several rows](crate::rooms::wide).
    pub fn row(&self) -> &Row {
        &self.rows().head
    }

    /// The ETag of every row of the entity: the primary row's first.
    pub fn etags(&self) -> impl Iterator<Item = (&RowKey, &ETag)> {
        self.rows().etags()
    }

    pub(crate) fn rows(&self) -> &Group {
        self.rows.group()
    }

    pub(crate) fn into_rows(self) -> Group {
        self.rows.into_group()
    }

    /// What it rests on, whatever its type.
    pub(crate) fn rows_mut(&mut self) -> &mut Rows {
        &mut self.rows
    }
}

impl<T: TableEntity> Stored<T> {
    /// Takes over the rows that a write left: copies were filled, and aggregates are not as the caller left them.
    pub(crate) fn set_rows(&mut self, rows: Group) {
        // What is copied from a source that cannot be read stays as it is: the next read tells.
        let _ = self.value.read_copies(&FieldReader::new(&rows.head.properties, &NO_VALUES));
        if T::SCHEMA.holds_aggregates()
            && let Ok(value) = image::decode(&rows)
        {
            self.value = value;
        }
        self.rows.rest_on(rows);
    }

    pub(crate) fn read(rows: Group) -> Result<Self> {
        Ok(Self { value: image::decode(&rows)?, rows: Rows::Group(Box::new(rows)) })
    }

    /// Reads it from its primary row; none where that is of another type, or does not tell all of it.
    fn of_head(head: &Row) -> Result<Option<Self>> {
        if !owns(T::SCHEMA, None, head) {
            return Ok(None);
        }
        let Ok(rows) = part::settled(head.clone().into()) else { return Ok(None) };
        match Self::read(rows) {
            Err(error) if asks(&error) => Ok(None), // for what a blob holds
            read => read.map(Some),
        }
    }

    /// Reads it from its only row, of the program's own version, as a store shows it, which was read with what its keys hold.
    #[inline]
    pub(crate) fn read_shown(row: &InRow<'_>, put: impl FnOnce(Self)) -> Result<()> {
        let rows = Rows::Kept { row: row.keep()?, group: OnceLock::new() };
        match T::read_fields(&FieldReader::of_shown(row)) {
            Ok(value) => {
                put(Self { value, rows });
                Ok(())
            }
            Err(error) => Err(image::corrupt(T::SCHEMA, &row.row()?, error)),
        }
    }
}

impl<T> Deref for Stored<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Stored<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl Error {
    /// The entity as it is now, where a [`Conflict`](ErrorKind::Conflict) knows it: what a read would give, to be changed and saved
    /// without one. Cost: no request.
    ///
    /// None of any other error; of an entity of another type than `E`; and where its primary row alone does not tell what it is: it
    /// has [several rows](crate::rooms::wide), or is of an older version whose upgrade looks into a blob.
    /// [`Database::get`](crate::Database::get) by [`Error::key`] reads it then. Blobs are handles, as after any read.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let path = || Employee::find().department("Sales").id(1);
    /// let mut stale = path().one(&db).await?.unwrap();
    /// db.update(path(), |e| { e.age += 1; Ok(()) }).await?;
    /// stale.name = "Jones".into();
    /// let error = db.save(&mut stale).await.unwrap_err();
    /// let mut current = error.current::<Employee>()?.unwrap();
    /// assert_eq!((current.name.as_str(), current.age), ("Name1", 31));
    /// current.name = "Jones".into();
    /// db.save(&mut current).await?;
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Corrupt`, `UnknownVersion` or `UpgradeFailed`, as of reading the row.
    pub fn current<E: TableEntity>(&self) -> Result<Option<Stored<E>>> {
        let ErrorKind::Conflict { current: Some(row) } = self.kind() else { return Ok(None) };
        let is_it = self.entity() == Some(E::SCHEMA.entity_type) && self.key() == Some(&row.key);
        if is_it { Stored::of_head(row) } else { Ok(None) }
    }
}

/// An entity as an index row shows it: a whole copy, in one request. It cannot be saved; [`Seen::load`] gives what can.
#[derive(Debug, Clone)]
pub struct Seen<T> {
    value: T,
    key: RowKey,
}

impl<T> Seen<T> {
    pub(crate) fn new(value: T, key: RowKey) -> Self {
        Self { value, key }
    }

    /// Where the entity's primary row stands.
    pub fn key(&self) -> &RowKey {
        &self.key
    }

    /// The value alone.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: TableEntity> Seen<T> {
    /// The entity itself, by one point read.
    ///
    /// # Errors
    ///
    /// `NotFound` if it is gone by now; `Corrupt` if it cannot be read; those of the store.
    pub fn load(&self, db: &Database) -> Running<Stored<T>> {
        let (db, key) = (db.clone(), self.key.clone());
        Box::pin(async move {
            db.read_primary::<T>(&key).await?.ok_or_else(|| {
                Error::new(ErrorKind::NotFound, "the entity is gone").of(T::SCHEMA.entity_type).at_key(key)
            })
        })
    }
}

impl<T> Deref for Seen<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
