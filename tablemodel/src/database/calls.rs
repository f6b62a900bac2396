//! The calls of the store that every operation makes: with a deadline, retried where that is safe, and observed.
//!
//! What a failed commit means is decided in `execute`; nothing is planned here.

mod shown;

use std::{future::Future, time::Duration};

use futures_util::future::{Either, select};
use tablemodel_store::{
    Batch, Filter, KeyRange, Page, PropertyName, Query, Receipts, Row, RowKey, RowState, StoreError, StoreErrorKind,
    size,
};

use crate::{
    database::{Database, pieces::Pieces, registry::Generation},
    error::{Error, ErrorKind, Result},
    observe::{self, StoreCall},
    plan::system,
};

/// How soon a commit is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
    Now,
    /// As soon as those that follow it at once: one of many that are under way.
    OfMany,
    /// So that others need not wait for it.
    None,
}

/// Attempts of one call, or of one batch, replanning included.
pub(super) const ATTEMPTS: u32 = 8;
/// The first pause between attempts when the store is busy; doubled each time, plus up to as much again at random.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

impl Database {
    /// One point read of any row; retried while the store is busy.
    pub(crate) async fn get_row(&self, table: &str, key: &RowKey) -> Result<Option<Row>> {
        match self.row_at_once(table, key) {
            Some(told) => Ok(told?.map(|row| row.at(key.clone()))),
            None => self.wait_for_row(table, key).await,
        }
    }

    /// The row, where the store tells it at once, and is not busy.
    fn row_at_once(&self, table: &str, key: &RowKey) -> Option<Result<Option<RowState>>> {
        let begun = self.begun();
        let result = self.0.store.get_at_once(table, key)?;
        let bytes = |row: &RowState| size::row_bytes(&key.partition, &key.row, &row.properties);
        self.tell(begun, &result, || [StoreCall::point_read(table, 0, there(&result).map(bytes))]);
        match result {
            Err(error) if is_transient(&error) => None,
            other => Some(other.map_err(Into::into)),
        }
    }

    async fn wait_for_row(&self, table: &str, key: &RowKey) -> Result<Option<Row>> {
        let mut attempt = 0;
        loop {
            let begun = self.begun();
            let result = self.by_deadline(StoreErrorKind::Unavailable, self.0.store.get(table, key)).await;
            self.tell(begun, &result, || [StoreCall::point_read(table, attempt, there(&result).map(observe::bytes))]);
            match result {
                Err(error) if is_transient(&error) && attempt + 1 < ATTEMPTS => self.pause(attempt).await,
                other => return Ok(other?),
            }
            attempt += 1;
        }
    }

    /// One page; retried while the store is busy.
    pub(crate) async fn query_page(&self, query: &Query) -> Result<Page> {
        Ok(self.query_store(query).await?)
    }

    /// As [`Database::query_page`], with the store's own error.
    pub(crate) async fn query_store(&self, query: &Query) -> std::result::Result<Page, StoreError> {
        let mut attempt = 0;
        loop {
            let begun = self.begun();
            let result = self.by_deadline(StoreErrorKind::Unavailable, self.0.store.query(query)).await;
            self.tell(begun, &result, || [StoreCall::page_read(query, attempt, observe::page(result.as_ref().ok()))]);
            match result {
                Err(error) if is_transient(&error) && attempt + 1 < ATTEMPTS => self.pause(attempt).await,
                other => return other,
            }
            attempt += 1;
        }
    }

    /// Every row of a query, page after page.
    pub(crate) async fn query_all(&self, mut query: Query) -> std::result::Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        loop {
            let page = self.query_store(&query).await?;
            rows.extend(page.rows);
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok(rows),
            }
        }
    }

    /// The same; none where the table is not there.
    pub(crate) async fn query_all_if_any(&self, query: Query) -> Result<Vec<Row>> {
        match self.query_all(query).await {
            Err(error) if error.kind() == StoreErrorKind::TableNotFound => Ok(Vec::new()),
            other => Ok(other?),
        }
    }

    /// Whether there is a row that the filter and the test let pass; its type alone is read. None where the table is not there.
    pub(super) async fn has_any(&self, table: &str, filter: Filter, is_it: impl Fn(&Row) -> bool) -> Result<bool> {
        let mut query = Query::new(self.table_name(table), KeyRange::table()).filtered(filter);
        query.select = Some(vec![PropertyName::from_static(system::ENTITY_TYPE)]);
        loop {
            let page = match self.query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(false),
                other => other?,
            };
            match page.continuation {
                _ if page.rows.iter().any(&is_it) => return Ok(true),
                Some(next) => query.continuation = Some(next),
                None => return Ok(false),
            }
        }
    }

    /// One attempt to commit.
    pub(crate) async fn commit_store(
        &self,
        batches: &[Batch],
        attempt: u32,
    ) -> std::result::Result<Vec<Receipts>, StoreError> {
        self.commit_leased(batches, attempt, Haste::Now).await
    }

    /// The same, in this haste.
    pub(super) async fn commit_leased(
        &self,
        batches: &[Batch],
        attempt: u32,
        haste: Haste,
    ) -> std::result::Result<Vec<Receipts>, StoreError> {
        if let Err(error) = self.hold_lease().await {
            let kind =
                if *error.kind() == ErrorKind::Denied { StoreErrorKind::Denied } else { StoreErrorKind::Unavailable };
            return Err(StoreError::new(kind, error.to_string()));
        }
        self.commit_in(batches, attempt, haste).await
    }

    /// As [`Database::commit_store`], of what was planned on these states of indexes: not if they may have moved on too far. A batch
    /// that was let be larger than the store takes goes in pieces.
    pub(super) async fn commit_planned(
        &self,
        states: &Generation,
        batches: &[Batch],
        attempt: u32,
        haste: Haste,
    ) -> std::result::Result<Vec<Receipts>, StoreError> {
        self.check_lease(states)?;
        match Pieces::of(batches) {
            None => self.commit_in(batches, attempt, haste).await,
            Some(pieces) => pieces.told(self.commit_in(&pieces.batches, attempt, haste).await),
        }
    }

    /// As [`Database::commit_planned`], of batches that are not needed any more; not where somebody listens, or has to be told that a
    /// reply was lost.
    pub(super) async fn commit_given(
        &self,
        states: &Generation,
        batches: Vec<Batch>,
        attempt: u32,
    ) -> std::result::Result<Vec<Receipts>, StoreError> {
        if self.0.capabilities.may_lose_reply || self.0.observed.listens() {
            return self.commit_planned(states, &batches, attempt, Haste::OfMany).await;
        }
        self.check_lease(states)?;
        self.check_writable()?;
        self.0.store.commit_owned(batches).await
    }

    /// As [`Database::commit_store`], of rows that leases do not concern: the leases themselves.
    pub(super) async fn commit_unleased(
        &self,
        batches: &[Batch],
        attempt: u32,
    ) -> std::result::Result<Vec<Receipts>, StoreError> {
        self.commit_in(batches, attempt, Haste::Now).await
    }

    async fn commit_in(
        &self,
        batches: &[Batch],
        attempt: u32,
        haste: Haste,
    ) -> std::result::Result<Vec<Receipts>, StoreError> {
        self.check_writable()?;
        let begun = self.begun();
        let commit = match haste {
            Haste::OfMany if !self.0.capabilities.may_lose_reply => self.0.store.commit_owned(batches.to_vec()),
            Haste::Now | Haste::OfMany => self.0.store.commit(batches),
            Haste::None => self.0.store.commit_patiently(batches),
        };
        let result = self.by_deadline(StoreErrorKind::OutcomeUnknown, commit).await;
        self.tell(begun, &result, || StoreCall::commit(batches, attempt));
        result
    }

    /// Creates a table unless it is there; retried while the store is busy.
    pub(super) async fn create_missing(&self, table: &str) -> Result<()> {
        self.settle(StoreErrorKind::TableExists, ("create_table", table), || self.0.store.create_table(table)).await
    }

    /// Deletes a table if it is there; retried while the store is busy.
    pub(super) async fn delete_existing(&self, table: &str) -> Result<()> {
        self.settle(StoreErrorKind::TableNotFound, ("delete_table", table), || self.0.store.delete_table(table)).await
    }

    /// The names of all tables of the store; retried while it is busy.
    pub(super) async fn all_tables(&self) -> Result<Vec<String>> {
        Ok(self.again(("list_tables", ""), || self.0.store.list_tables()).await?)
    }

    /// A call that brings about a state; `settled` says that it already is so.
    async fn settle<F>(&self, settled: StoreErrorKind, told: (&'static str, &str), call: impl Fn() -> F) -> Result<()>
    where
        F: Future<Output = std::result::Result<(), StoreError>> + Send + Unpin,
    {
        match self.again(told, call).await {
            Err(error) if error.kind() == settled => Ok(()),
            other => Ok(other?),
        }
    }

    /// A call on a table, or on all, that may be repeated, until the store is not busy.
    async fn again<T, F>(
        &self,
        (operation, table): (&'static str, &str),
        call: impl Fn() -> F,
    ) -> std::result::Result<T, StoreError>
    where
        F: Future<Output = std::result::Result<T, StoreError>> + Send + Unpin,
    {
        let mut attempt = 0;
        loop {
            let begun = self.begun();
            let result = self.by_deadline(StoreErrorKind::Unavailable, call()).await;
            self.tell(begun, &result, || [StoreCall::of(operation, table, attempt)]);
            match result {
                Err(error) if is_transient(&error) && attempt + 1 < ATTEMPTS => self.pause(attempt).await,
                other => return other,
            }
            attempt += 1;
        }
    }

    /// That the database was not opened read-only.
    pub(super) fn check_writable(&self) -> std::result::Result<(), StoreError> {
        if self.0.read_only {
            return Err(StoreError::new(
                StoreErrorKind::Denied,
                "the database, or its store, was opened read-only; open it without `read_only()`",
            ));
        }
        Ok(())
    }

    /// The pause after a failed attempt.
    pub(crate) async fn pause(&self, attempt: u32) {
        let pause = FIRST_PAUSE * 2_u32.saturating_pow(attempt);
        let jitter = self.environment().random.next() % (pause.as_millis() as u64).max(1);
        self.environment().sleep.sleep(pause + Duration::from_millis(jitter)).await;
    }

    /// The call, or `late` once the deadline has passed. Only for stores that can lose a reply: of any other nothing is taken back
    /// by giving up, and the answer that is sure to come would be lost. Its futures stay small too.
    async fn by_deadline<T>(
        &self,
        late: StoreErrorKind,
        call: impl Future<Output = std::result::Result<T, StoreError>> + Send + Unpin,
    ) -> std::result::Result<T, StoreError> {
        if !self.0.capabilities.may_lose_reply {
            return call.await;
        }
        Box::pin(self.within_deadline(late, call)).await
    }

    async fn within_deadline<T>(
        &self,
        late: StoreErrorKind,
        call: impl Future<Output = std::result::Result<T, StoreError>> + Send + Unpin,
    ) -> std::result::Result<T, StoreError> {
        match select(call, self.environment().sleep.sleep(self.0.deadline)).await {
            Either::Left((result, _)) => result,
            Either::Right(((), _)) => {
                Err(StoreError::new(late, format!("no reply within the deadline of {:?}", self.0.deadline)))
            }
        }
    }

    /// When a call begins, by the monotonic clock; none where nobody listens.
    fn begun(&self) -> Option<Duration> {
        self.0.observed.listens().then(|| self.environment().clock.monotonic())
    }

    /// Tells of a call that has ended, if somebody listened when it began.
    fn tell<T, C>(
        &self,
        begun: Option<Duration>,
        result: &std::result::Result<T, StoreError>,
        calls: impl FnOnce() -> C,
    ) where
        C: IntoIterator<Item = StoreCall>,
    {
        let Some(begun) = begun else { return };
        let elapsed = self.environment().clock.monotonic().saturating_sub(begun);
        let error = result.as_ref().err().map(StoreError::kind);
        for call in calls() {
            self.0.observed.tell(&StoreCall { elapsed, error, ..call });
        }
    }
}

/// What was read, where it was there.
fn there<T>(result: &std::result::Result<Option<T>, StoreError>) -> Option<&T> {
    result.as_ref().ok().and_then(Option::as_ref)
}

/// What a write ends with that was in vain as often as it may be tried, and `last` for this: that another keeps changing what it writes,
/// or what the store says where nothing else was in the way.
pub(super) fn in_vain(what: &str, last: Option<StoreError>) -> Error {
    match last.filter(is_transient) {
        None => Error::new(ErrorKind::Unavailable, format!("{what} keeps changing")),
        Some(error) => {
            let detail = format!("{what} could not be written: {}", error.detail());
            Error::new(ErrorKind::Unavailable, detail).caused_by(error)
        }
    }
}

/// A call that changes nothing twice, and failed so, may succeed when repeated.
pub(super) fn is_transient(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Unavailable | StoreErrorKind::OutcomeUnknown)
}
