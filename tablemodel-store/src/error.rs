//! What a store can answer instead of a result.

use std::{error::Error, fmt, sync::Arc};

/// What went wrong, as a decision that the caller can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The table does not exist (Azure: `TableNotFound`).
    TableNotFound,
    /// A table of this name exists (Azure: `TableAlreadyExists`).
    TableExists,
    /// The row does not exist (Azure: `ResourceNotFound`).
    RowNotFound,
    /// The row exists (Azure: `EntityAlreadyExists`).
    RowExists,
    /// The row is not in the state of the given ETag (Azure: `UpdateConditionNotSatisfied`).
    ConditionNotMet,
    /// A key, name, value or option is malformed or out of range (Azure: `InvalidInput`, `OutOfRangeInput`, ...).
    InvalidInput,
    /// A value, row, batch or request is over a limit (Azure: `PropertyValueTooLarge`, `EntityTooLarge`, ...).
    TooLarge,
    /// The batch breaks a rule of batches: no operation, too many, a row twice.
    InvalidBatch,
    /// Nothing was done; the same call may succeed later (Azure: `ServerBusy`).
    Unavailable,
    /// The reply was lost: the call may or may not have been carried out.
    OutcomeUnknown,
    /// The store is closed, or stopped after a failure of its disk; it must be opened again.
    Closed,
    /// The store refuses: read-only, locked by another process, no permission, disk full.
    Denied,
    /// What is stored cannot be understood: a foreign file, a truncated file, a damaged row.
    Corrupt,
    /// The store cannot do this at all.
    Unsupported,
}

/// The operation of a commit that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedAt {
    /// Zero-based index of the batch in the commit.
    pub batch: usize,
    /// Zero-based index of the operation in the batch.
    pub operation: usize,
}

/// An error of a store. Nothing was written, unless the kind is [`StoreErrorKind::OutcomeUnknown`].
#[derive(Debug, Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    detail: String,
    at: Option<FailedAt>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// An error of a kind; `detail` names what was wrong and what to do, in lower case without a full stop.
    pub fn new(kind: StoreErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), at: None, source: None }
    }

    pub(crate) fn table_not_found(name: &str) -> Self {
        Self::new(StoreErrorKind::TableNotFound, format!("table `{name}` does not exist; create it first"))
    }

    pub(crate) fn table_exists(name: &str) -> Self {
        Self::new(StoreErrorKind::TableExists, format!("table `{name}` exists"))
    }

    /// The same error, at this operation of the commit.
    pub fn at(mut self, batch: usize, operation: usize) -> Self {
        self.at = Some(FailedAt { batch, operation });
        self
    }

    /// The same error, with what caused it.
    pub fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The same error, `subject` named before the detail.
    #[cfg(feature = "embedded")]
    pub(crate) fn about(mut self, subject: impl fmt::Display) -> Self {
        self.detail = format!("{subject}: {}", self.detail);
        self
    }

    /// The kind.
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether an embedded store could not be opened read-only because it was not closed cleanly: opened once for writing, it
    /// can be.
    #[cfg(feature = "embedded")]
    pub fn is_not_closed_cleanly(&self) -> bool {
        self.source.as_deref().is_some_and(|source| crate::embedded::was_not_closed_cleanly(source))
    }

    /// Which operation of a commit failed, where one did.
    pub const fn failed_at(&self) -> Option<FailedAt> {
        self.at
    }

    /// What was wrong, in words.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        match self.at {
            Some(FailedAt { batch: 0, operation }) => write!(f, " (operation {operation})"),
            Some(FailedAt { batch, operation }) => write!(f, " (batch {batch}, operation {operation})"),
            None => Ok(()),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
