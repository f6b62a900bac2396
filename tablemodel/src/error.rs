//! What can go wrong, as decisions that the caller can take.
//!
//! Every error says which entity, key, field or operation, and keeps its source; no message holds a property's value.

mod at;

use std::{error::Error as StdError, fmt, sync::Arc};

use tablemodel_store::{Row, RowKey, StoreError, StoreErrorKind};

use self::at::At;

/// The result of every call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[doc = include_str!("../docs/errors.md")]
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The entity, or the table, does not exist.
    NotFound,
    /// An entity with this key, or the table, exists.
    AlreadyExists,
    /// Another entity has this value in a unique index.
    UniqueViolation {
        /// The index, as declared.
        index: &'static str,
        /// The primary key of the entity that has it, where it could be read.
        owner: Option<RowKey>,
    },
    /// Another entity keeps a copy of this one that restricts its deletion.
    Restricted {
        /// The type of the holder.
        entity: &'static str,
        /// Its field, as declared.
        copy: &'static str,
        /// One entity that holds such a copy.
        holder: RowKey,
    },
    /// The entity changed since it was read: read it again and decide anew.
    Conflict {
        /// The row as it is now, where known: [`Error::current`] reads it.
        current: Option<Box<Row>>,
    },
    /// A reply was lost, and whether the write happened cannot be told: read before you write again.
    OutcomeUnknown,
    /// The primary key was changed to another partition; `rekey` or delete and insert.
    KeyChanged,
    /// A key is over 1,024 characters.
    KeyTooLong,
    /// A value does not fit the width of its key part.
    KeyOverflow,
    /// An aggregate would be beyond the range of its type.
    Overflow,
    /// A value, row or batch is over a limit of bytes.
    TooLarge,
    /// A batch is over 100 rows, derived ones counted.
    TooMany,
    /// An entity of another partition was put into a batch.
    WrongPartition,
    /// The row was written by a version that this program does not know, or may only read.
    UnknownVersion,
    /// An [`Upgrade`](crate::Upgrade) refused a row of an older version, or made what cannot be stored. Nothing writes the row
    /// before that is mended.
    UpgradeFailed {
        /// The version of the row.
        from: u32,
        /// The version that it was to become.
        to: u32,
    },
    /// The index is not complete yet.
    IndexNotReady {
        /// The index, as declared.
        index: &'static str,
    },
    /// The entity moves to other keys, and is still kept, and written, as this older version has it: read it once the move is
    /// complete, write it once it is switched. See [`moves`](crate::moves).
    NotSwitched {
        /// The older version.
        from: u32,
    },
    /// The entity has moved to where this newer version keeps it, or is about to. See [`moves`](crate::moves).
    Moved {
        /// The newer version.
        to: u32,
    },
    /// This program could not tell the store for too long that it is there, and may not write until it can: the states of
    /// indexes may have moved on. Nothing was done; try again.
    LeaseExpired,
    /// Another program is at work on a migration of this store.
    MigrationRunning {
        /// The migration.
        migration: String,
    },
    /// A migration was asked to stop, and did so between two steps: the same call goes on from there.
    Stopped,
    /// A plan was applied to this store that the program does not have, or has with other words.
    PlanMismatch {
        /// The plan.
        plan: String,
    },
    /// Nothing was done, and the same call may succeed later.
    Unavailable,
    /// The store refuses: read-only, locked by another process, disk full, no permission.
    Denied,
    /// What is stored cannot be understood.
    Corrupt,
    /// This cannot be done with this store, model or entity.
    Unsupported,
    /// The caller's own code said no, in an [`update`](crate::Database::update): see [`Error::refused`].
    Refused,
    /// A value cannot be stored: a time out of range, `NaN` in a key, a character that a raw key cannot hold. Or an argument
    /// means nothing: a cursor of another query, a page of 0, a rate that is not above 0.
    Invalid,
}

/// An error of this crate. Unless its kind is [`ErrorKind::OutcomeUnknown`], a write or batch that ends with it has written nothing;
/// what consists of many (`bulk`, `delete_all`, `import`, `ensure_tables`, migrations) keeps what was written before.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    detail: String,
    entity: Option<&'static str>,
    field: Option<&'static str>,
    index: Option<&'static str>,
    key: Option<RowKey>,
    operation: Option<usize>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of a kind, with what was wrong and what to do about it.
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self(Box::new(Inner {
            kind,
            detail,
            entity: None,
            field: None,
            index: None,
            key: None,
            operation: None,
            source: None,
        }))
    }

    /// What a change that is given to [`update`](crate::Database::update) answers where it may not be made: a text, or an error of the caller's
    /// own, which is this one's [`source`](std::error::Error::source).
    ///
    /// ```
    /// use std::error::Error as _;
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// #[derive(Debug)]
    /// struct TooYoung(u8);
    /// # impl std::fmt::Display for TooYoung {
    /// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{} is too young", self.0) }
    /// # }
    /// # impl std::error::Error for TooYoung {}
    /// # run(|db| async move {
    /// # db.insert(&employee(223)).await?;
    /// let promote = |e: &mut Employee| match e.age {
    ///     60.. => Ok(e.department = "Board".into()),
    ///     age => Err(tablemodel::Error::refused(TooYoung(age))),
    /// };
    /// let error = db.update(Employee::find().department("Sales").id(223), promote).await.unwrap_err();
    /// let cause = error.source().and_then(|cause| cause.downcast_ref::<TooYoung>());
    /// assert!(cause.is_some(), "{error}");
    /// # Ok(())
    /// # });
    /// ```
    pub fn refused(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let cause = cause.into();
        let mut refused = Self::new(ErrorKind::Refused, cause.to_string());
        refused.0.source = Some(cause.into());
        refused
    }

    pub(crate) fn unsupported(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, detail)
    }

    pub(crate) fn corrupt(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, detail)
    }

    pub(crate) fn of(mut self, entity: &'static str) -> Self {
        self.0.entity.get_or_insert(entity);
        self
    }

    /// The same error, about a field of the entity's struct, where one is known.
    pub(crate) fn of_field(mut self, field: Option<&'static str>) -> Self {
        self.0.field = self.0.field.or(field);
        self
    }

    /// The same error, about an index of the entity, where one is known.
    pub(crate) fn of_index(mut self, index: Option<&'static str>) -> Self {
        self.0.index = self.0.index.or(index);
        self
    }

    pub(crate) fn at_key(mut self, key: RowKey) -> Self {
        self.0.key.get_or_insert(key);
        self
    }

    /// The same error of a change that was alone: it names no operation of a batch.
    pub(crate) fn alone(mut self) -> Self {
        self.0.operation = None;
        self
    }

    pub(crate) fn in_operation(mut self, operation: usize) -> Self {
        self.0.operation.get_or_insert(operation);
        self
    }

    /// The same error of a batch of so many changes: what else its commit writes is none of its operations.
    pub(crate) fn among(mut self, changes: usize) -> Self {
        self.0.operation = self.0.operation.filter(|operation| *operation < changes);
        self
    }

    /// The same error, told of an entity that was written with others: whichever of its rows it was met at.
    pub(crate) fn for_entity(mut self, entity: &'static str, key: RowKey) -> Self {
        (self.0.entity, self.0.key, self.0.operation) = (Some(entity), Some(key), None);
        self
    }

    /// The same error, with the place it was met at before its words.
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.0.detail = format!("{place}: {}", self.0.detail);
        self
    }

    pub(crate) fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The entity type it is about.
    pub fn entity(&self) -> Option<&'static str> {
        self.0.entity
    }

    /// The field it is about, as the struct has it: `email`. Of a flattened group that is the group's own field, of a copy the
    /// field that holds the copy or names its source, and of a row of an older version a field of that version's struct.
    ///
    /// None where no single field is at fault.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let error = db.insert(&Employee { id: 1_000_000, ..employee(7) }).await.unwrap_err();
    /// assert_eq!((error.kind(), error.field(), error.index()), (&ErrorKind::KeyOverflow, Some("id"), None));
    /// let error = db.insert(&Employee { email: "x".repeat(2_000), ..employee(7) }).await.unwrap_err();
    /// assert_eq!((error.kind(), error.field(), error.index()), (&ErrorKind::KeyTooLong, Some("email"), Some("by_email")));
    /// # Ok(())
    /// # });
    /// ```
    pub fn field(&self) -> Option<&'static str> {
        self.0.field
    }

    /// The index it is about, as declared: `by_email`. The one whose key cannot be made, whose value another entity has, or that
    /// is not complete; `IndexNotReady` tells a list or a total by its name too.
    pub fn index(&self) -> Option<&'static str> {
        match self.0.kind {
            ErrorKind::UniqueViolation { index, .. } | ErrorKind::IndexNotReady { index } => Some(index),
            _ => self.0.index,
        }
    }

    /// The keys of the row it is about: of a unique violation the row that holds the value, or, where a bulk load tells it, the
    /// entity that was not written.
    pub fn key(&self) -> Option<&RowKey> {
        self.0.key.as_ref()
    }

    /// Which operation of a batch failed, zero-based, as added to the batch; none where that is a row which the batch lets follow, such as
    /// that of an entity which copies one of its own.
    pub fn operation(&self) -> Option<usize> {
        self.0.operation
    }

    /// Whether the same call may succeed when repeated unchanged.
    pub fn is_retryable(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Unavailable | ErrorKind::LeaseExpired)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entity) = self.0.entity {
            write!(f, "{entity}: ")?;
        }
        f.write_str(&self.0.detail)?;
        // Apart from the words, which may end with what to write.
        match (&self.0.key, self.0.operation) {
            (Some(key), None) => write!(f, " (at {})", At(key)),
            (Some(key), Some(operation)) => write!(f, " (at {}; operation {operation} of the batch)", At(key)),
            (None, Some(operation)) => write!(f, " (operation {operation} of the batch)"),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            ErrorKind::Conflict { .. } => f.write_str("Conflict")?, // not the row: it holds values
            kind => write!(f, "{kind:?}")?,
        }
        write!(f, ": {self}")?;
        match &self.0.source {
            Some(source) => write!(f, " (caused by: {source})"),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match error.kind() {
            StoreErrorKind::TableNotFound | StoreErrorKind::RowNotFound => ErrorKind::NotFound,
            StoreErrorKind::TableExists | StoreErrorKind::RowExists => ErrorKind::AlreadyExists,
            StoreErrorKind::ConditionNotMet => ErrorKind::Conflict { current: None },
            StoreErrorKind::InvalidInput | StoreErrorKind::InvalidBatch => ErrorKind::Invalid,
            StoreErrorKind::TooLarge => ErrorKind::TooLarge,
            StoreErrorKind::Unavailable => ErrorKind::Unavailable,
            StoreErrorKind::OutcomeUnknown => ErrorKind::OutcomeUnknown,
            StoreErrorKind::Closed | StoreErrorKind::Denied => ErrorKind::Denied,
            StoreErrorKind::Corrupt => ErrorKind::Corrupt,
            _ => ErrorKind::Unsupported,
        };
        let detail = match error.kind() {
            StoreErrorKind::TableNotFound => {
                format!("{}: `db.ensure_tables()` creates those of the model", error.detail())
            }
            _ => error.detail().to_owned(),
        };
        Self::new(kind, detail).caused_by(error)
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, StoreError, StoreErrorKind};

    #[test]
    fn a_table_that_is_not_there_is_told_with_the_call_that_creates_it() {
        let error = Error::from(StoreError::new(StoreErrorKind::TableNotFound, "table `Stock` does not exist"));
        assert_eq!(error.to_string(), "table `Stock` does not exist: `db.ensure_tables()` creates those of the model");
    }

    /// The variants as they stand above.
    fn kinds() -> Vec<&'static str> {
        let source = include_str!("error.rs");
        let (_, after) = source.split_once("pub enum ErrorKind {").unwrap();
        let (body, _) = after.split_once("\n}").unwrap();
        let names = body
            .lines()
            .filter_map(|line| line.strip_prefix("    "))
            .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
        names.map(|line| line.trim_end_matches([',', '{', ' '])).collect()
    }

    #[test]
    fn the_page_says_of_every_kind_when_it_comes_and_what_to_do() {
        let page = include_str!("../docs/errors.md");
        assert!(kinds().len() > 20, "{:?}", kinds());
        for kind in kinds() {
            let line = page.lines().find(|line| line.starts_with(&format!("| `{kind}` |")));
            assert!(line.is_some_and(|line| line.matches(" | ").count() == 2), "{kind}");
        }
    }
}
