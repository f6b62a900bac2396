//! The port: the one way to data. Everything above speaks to a store through this trait only.
//!
//! Few methods, a contract in words, and a [conformance suite](crate::conformance) that every store passes.

use std::ops::ControlFlow;

use async_trait::async_trait;

use crate::{Batch, Continuation, Page, Query, Receipts, Row, RowState, Shown, StoreError, key::RowKey};

/// What a store can do beyond the contract, and what it cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// `commit` of several batches is all or nothing over all of them.
    pub atomic_across: bool,
    /// A call may fail although it was carried out ([`StoreErrorKind::OutcomeUnknown`](crate::StoreErrorKind::OutcomeUnknown)), or never be
    /// answered: true of every store across a network. Only of such a store is a late call given up, and only its writes are marked, so
    /// that one which was carried out is recognised.
    pub may_lose_reply: bool,
    /// Pages come in key order: all rows of a query, by their partition keys and then their row keys, each compared by its UTF-16 code
    /// units. A store of any other kind can be used by the calls of this port alone: the framework above rests on that order, and refuses to
    /// open a database on one without it.
    pub ordered: bool,
    /// The store takes no writes (opened read-only).
    pub read_only: bool,
}

/// A table store.
///
/// All methods may be called from many tasks at once. Reads see every write acknowledged before they began.
/// Dropping the future of a `commit` does not undo it: the write may still happen.
///
/// Beside the errors of its own, any call may fail for the store as a whole: `Unavailable`, `Closed`, `Corrupt`, `Denied` (a write to one that is
/// [read-only](Capabilities::read_only)).
///
/// Values come back as they were written, by every call that reads. Three things are left to the store, since Azure's service cannot do them,
/// or nothing says how it does:
///
/// - A string with a control character other than tab, carriage return and line feed, or with U+FFFE or U+FFFF, few of which XML can carry, is
///   kept as it is or refused with `InvalidInput`; nothing else may become of it.
/// - A `NaN` comes back as a `NaN`; to the bit only [`f64::NAN`].
/// - Which of two Guids or Booleans is less, where a [`Filter`](crate::Filter) asks.
#[async_trait]
pub trait TableStore: Send + Sync + 'static {
    /// What this store can do.
    fn capabilities(&self) -> Capabilities;

    /// Creates an empty table.
    ///
    /// Names are 3 to 63 letters and digits, beginning with a letter, compared without case; `tables` is reserved.
    /// Errors: `TableExists`, `InvalidInput`.
    async fn create_table(&self, name: &str) -> Result<(), StoreError>;

    /// Deletes a table with all its rows; its name is free at once. Errors: `TableNotFound`.
    async fn delete_table(&self, name: &str) -> Result<(), StoreError>;

    /// The names of all tables, as they were given, in order of their lower-case form.
    async fn list_tables(&self) -> Result<Vec<String>, StoreError>;

    /// The row at `key`, or `None`. One point read. Errors: `TableNotFound`.
    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError>;

    /// What [`get`](Self::get) gives, told at once, by a store that never waits for a point read: no future is made then.
    /// `None`: `get` has to be asked.
    ///
    /// Need not be implemented. A store around another must not pass it on, unless what it adds to `get` is in it too.
    fn get_at_once(&self, _table: &str, _key: &RowKey) -> Option<Result<Option<RowState>, StoreError>> {
        None
    }

    /// Shows the row at `key` to `see`, by a store that never waits for a point read; whether there is one. `None`:
    /// [`get`](Self::get) has to be asked.
    ///
    /// Need not be implemented, and is not passed on, as [`get_at_once`](Self::get_at_once).
    fn show(&self, _table: &str, _key: &RowKey, _see: &mut dyn FnMut(&Shown<'_>)) -> Option<Result<bool, StoreError>> {
        None
    }

    /// As [`show`](Self::show), of a partition key and a row key that are no [`RowKey`] yet.
    ///
    /// Need not be implemented: it is `show` then.
    fn show_at(
        &self,
        table: &str,
        (partition, row): (&str, &str),
        see: &mut dyn FnMut(&Shown<'_>),
    ) -> Option<Result<bool, StoreError>> {
        self.show(table, &RowKey::new(partition, row), see)
    }

    /// As [`show_at`](Self::show_at), of a row that will not be asked for again as it is, since the caller is about to write it: a store that
    /// keeps rows that are looked up need not keep this one.
    ///
    /// Need not be implemented: it is `show_at` then.
    fn show_in_passing(
        &self,
        table: &str,
        key: (&str, &str),
        see: &mut dyn FnMut(&Shown<'_>),
    ) -> Option<Result<bool, StoreError>> {
        self.show_at(table, key, see)
    }

    /// Shows the rows of a page of a query to `see` until that breaks, by a store that need not wait for them; where the
    /// next page begins. `None`: [`query`](Self::query) has to be asked.
    ///
    /// A page ends after a fraction of a millisecond, also where its limit is not reached. Only for queries without a
    /// projection: `None` for others. Need not be implemented, and is not passed on, as
    /// [`get_at_once`](Self::get_at_once).
    fn show_page(
        &self,
        _query: &Query,
        _see: &mut dyn FnMut(&Shown<'_>) -> ControlFlow<()>,
    ) -> Option<Result<Option<Continuation>, StoreError>> {
        None
    }

    /// One page of a query. Follow `continuation` until it is absent: an empty page is not the end.
    ///
    /// Errors: `TableNotFound`; `InvalidInput` for a limit outside 1..=1,000, a continuation of another query, or more than
    /// 15 comparisons.
    async fn query(&self, query: &Query) -> Result<Page, StoreError>;

    /// Commits batches; each is all or nothing.
    ///
    /// Several batches need [`Capabilities::atomic_across`] (else `Unsupported`), and then stand or fall together;
    /// they may name different tables and partitions, and no row twice. Receipts come per batch, per operation.
    /// Every rule is checked before anything is written; the error says which operation failed
    /// ([`StoreError::failed_at`]): of a batch whose table is missing, the first; of a batch of over 100, the one after the 100th; of a row
    /// that comes twice, its second.
    ///
    /// Errors: `TableNotFound`; `RowExists`, `RowNotFound`, `ConditionNotMet` of an operation; `InvalidBatch` (no operation, over
    /// 100, or a row twice), `InvalidInput`, `TooLarge` for what may not be stored.
    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError>;

    /// As [`commit`](Self::commit), of batches that the caller needs no more, one call of many that it has under way: a store that
    /// makes them ready at once need not keep them while it waits for the disk, and may wait for each next call, about half a
    /// millisecond, where that saves work: the embedded store does so for 512 calls in one commit at most. A `commit` that
    /// comes meanwhile need not wait for those that wait; and a call that is dropped while it waits may be left undone.
    ///
    /// Need not be implemented: it is a `commit` then. A store around another may pass it on.
    async fn commit_owned(&self, batches: Vec<Batch>) -> Result<Vec<Receipts>, StoreError> {
        self.commit(&batches).await
    }

    /// As [`commit`](Self::commit), for work that is in no hurry: a store may let it wait, for a fraction of a second, until it
    /// can go with a commit of others, so that these need not wait for it. A call that is dropped while it waits may be left undone.
    ///
    /// Need not be implemented: it is a `commit` then. A store around another may pass it on.
    async fn commit_patiently(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.commit(batches).await
    }
}
