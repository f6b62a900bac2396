//! Comfort over the port: all rows of a query or one after the other, writes of one row, a table unless it is there.
//!
//! No store implements anything of it: each method is a call or a few of [`TableStore`].

use std::{fmt, vec};

use async_trait::async_trait;

use crate::{
    Action, Batch, Condition, ETag, Properties, Query, Row, RowKey, StoreError, StoreErrorKind, TableStore, Written,
};

/// What callers of a store write again and again, for every [`TableStore`], also a `dyn TableStore`.
///
/// Calls are neither retried nor given a deadline. Beside the errors told here, each may fail as any call of the store may.
///
/// ```
/// use tablemodel_store::{
///     Condition, KeyRange, MemoryStore, Properties, Query, RowKey, StoreErrorKind, TableStore, TableStoreExt,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tablemodel_store::StoreError> {
/// let store: &dyn TableStore = &MemoryStore::new();
/// store.ensure_table("People").await?;
/// let aged = |age: i32| Properties::from_iter([("Age", age)]);
/// let (jones, smith) = (RowKey::new("Sales", "jones"), RowKey::new("Sales", "smith"));
/// let etag = store.insert("People", &jones, aged(35)).await?;
/// store.insert("People", &smith, aged(41)).await?;
///
/// store.replace("People", &jones, aged(36), Condition::Match(etag.clone())).await?;
/// let late = store.replace("People", &jones, aged(37), Condition::Match(etag)).await;
/// assert_eq!(late.unwrap_err().kind(), StoreErrorKind::ConditionNotMet);
/// store.delete("People", &smith, Condition::Exists).await?;
///
/// let rows = store.query_all(&Query::new("People", KeyRange::partition("Sales"))).await?;
/// assert_eq!((rows.len(), &rows[0].properties), (1, &aged(36)));
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait TableStoreExt: TableStore {
    /// Creates the table unless it is there; whether it was created. One request, which is safe to repeat.
    ///
    /// Errors: `InvalidInput` for a name that no table may have; `Denied` by a read-only store, also where the table is there.
    async fn ensure_table(&self, name: &str) -> Result<bool, StoreError> {
        match self.create_table(name).await {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == StoreErrorKind::TableExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Every row of a query from its continuation on, in key order where the store is ordered.
    ///
    /// Cost: a request a page, of as many rows as the query's limit says (1,000 unless it was told otherwise) or fewer; all rows are
    /// in memory at once, at most 1 MiB each: [`rows`](Self::rows) keeps a page of them. Pages are read one after the other, and
    /// what is written meanwhile may be among them or not.
    ///
    /// Errors: those of [`TableStore::query`], of whichever page; the rows before it are lost then.
    async fn query_all(&self, query: &Query) -> Result<Vec<Row>, StoreError> {
        let (mut pages, mut all) = (self.rows(query), Vec::new());
        while let Some(rows) = pages.next_page().await? {
            all.extend(rows);
        }
        Ok(all)
    }

    /// The same rows, one after the other. Nothing is asked for before [`next`](Rows::next) is.
    ///
    /// Cost: as [`query_all`](Self::query_all), of the pages that are reached; one page is in memory at a time.
    ///
    /// ```
    /// # use tablemodel_store::{KeyRange, MemoryStore, Properties, Query, RowKey, TableStoreExt};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tablemodel_store::StoreError> {
    /// # let store = MemoryStore::new();
    /// # store.ensure_table("People").await?;
    /// # for name in ["jones", "meyer", "smith"] {
    /// #     store.insert("People", &RowKey::new("Sales", name), Properties::new()).await?;
    /// # }
    /// let query = Query::new("People", KeyRange::table()).limited(2);
    /// let (mut rows, mut names) = (store.rows(&query), Vec::new());
    /// while let Some(row) = rows.next().await? {
    ///     names.push(row.key.row);
    /// }
    /// assert_eq!(names, ["jones", "meyer", "smith"]); // in two requests
    /// # Ok(())
    /// # }
    /// ```
    fn rows(&self, query: &Query) -> Rows<'_, Self> {
        Rows { store: self, query: Some(query.clone()), page: Vec::new().into_iter() }
    }

    /// Writes a row that must not be there; its ETag. One request.
    ///
    /// Errors: `RowExists`, `TableNotFound`; `InvalidInput` and `TooLarge` for what may not be stored.
    async fn insert(&self, table: &str, key: &RowKey, properties: Properties) -> Result<ETag, StoreError> {
        let written = write(self, table, key, Action::Insert(properties)).await?;
        written.etag.ok_or_else(unacknowledged)
    }

    /// Replaces all properties of a row that satisfies the condition; its new ETag. One request.
    ///
    /// Errors: `RowNotFound`, `ConditionNotMet`, `TableNotFound`; `InvalidInput` and `TooLarge` for what may not be stored.
    async fn replace(
        &self,
        table: &str,
        key: &RowKey,
        properties: Properties,
        condition: Condition,
    ) -> Result<ETag, StoreError> {
        let written = write(self, table, key, Action::Replace(properties, condition)).await?;
        written.etag.ok_or_else(unacknowledged)
    }

    /// Deletes a row that satisfies the condition. One request.
    ///
    /// Errors: `RowNotFound`, `ConditionNotMet`, `TableNotFound`, `InvalidInput`.
    async fn delete(&self, table: &str, key: &RowKey, condition: Condition) -> Result<(), StoreError> {
        write(self, table, key, Action::Delete(condition)).await.map(drop)
    }
}

impl<S: TableStore + ?Sized> TableStoreExt for S {}

/// The rows of a query, one after the other: see [`TableStoreExt::rows`].
///
/// A call of `next` that failed, or was dropped, loses no row: the following one asks for the same page again.
#[must_use = "no row is asked for before `next`"]
pub struct Rows<'a, S: ?Sized> {
    store: &'a S,
    /// What the next page is asked for by; none after the last one.
    query: Option<Query>,
    /// What is left of the page at hand.
    page: vec::IntoIter<Row>,
}

impl<S: TableStore + ?Sized> Rows<'_, S> {
    /// The next row, or `None` after the last. A request where the page at hand is used up, and one more for each empty page that follows.
    ///
    /// Errors: those of [`TableStore::query`].
    pub async fn next(&mut self) -> Result<Option<Row>, StoreError> {
        loop {
            if let Some(row) = self.page.next() {
                return Ok(Some(row));
            }
            match self.next_page().await? {
                Some(rows) => self.page = rows.into_iter(),
                None => return Ok(None),
            }
        }
    }

    /// The rows of the next page, perhaps none; `None` after the last page.
    async fn next_page(&mut self) -> Result<Option<Vec<Row>>, StoreError> {
        let Some(query) = &mut self.query else { return Ok(None) };
        let page = self.store.query(query).await?;
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => self.query = None,
        }
        Ok(Some(page.rows))
    }
}

impl<S: ?Sized> fmt::Debug for Rows<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("query", &self.query).field("at_hand", &self.page.len()).finish_non_exhaustive()
    }
}

/// Commits one operation.
async fn write(
    store: &(impl TableStore + ?Sized),
    table: &str,
    key: &RowKey,
    action: Action,
) -> Result<Written, StoreError> {
    let batch = Batch::new(table, key.partition.as_str()).with(key.row.as_str(), action);
    let receipts = store.commit(&[batch]).await?;
    receipts.into_iter().flatten().next().ok_or_else(unacknowledged)
}

fn unacknowledged() -> StoreError {
    let detail = "the store gave no receipt for the write of a row; read the row to learn what became of it";
    StoreError::new(StoreErrorKind::OutcomeUnknown, detail)
}
