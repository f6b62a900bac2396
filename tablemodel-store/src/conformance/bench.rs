//! The bench on which a clause puts a store: tables of its own, and short words for what is done to them.
//!
//! Nothing is checked here but that setting up succeeds.

use std::{
    ops::ControlFlow,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use super::Broken;
use crate::{
    Action, Batch, Filter, KeyRange, Page, Properties, Query, Receipts, Row, Shown, StoreError, TableStore, Value,
    Written, key::RowKey,
};

/// Pages that a query of a clause has at most: a store which never ends is found out.
pub(super) const MAX_PAGES: usize = 10_000;

/// A store under test, with table names that no other clause uses.
pub struct Bench {
    store: Arc<dyn TableStore>,
    prefix: String,
    names: AtomicUsize,
}

impl Bench {
    /// A bench for the clause at `path`.
    pub(super) fn new(store: Arc<dyn TableStore>, path: &str) -> Self {
        const ROOM_FOR_NUMBER: usize = 4;
        let letters = path.chars().filter(char::is_ascii_alphanumeric);
        let prefix = letters.take(crate::limits::MAX_TABLE_NAME_CHARS - ROOM_FOR_NUMBER).collect();
        Self { store, prefix, names: AtomicUsize::new(0) }
    }

    pub(super) fn store(&self) -> &dyn TableStore {
        &*self.store
    }

    /// A name that no table has yet.
    pub(super) fn name(&self) -> String {
        format!("{}X{}", self.prefix, self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// A new empty table.
    pub(super) async fn table(&self) -> Result<Table<'_>, Broken> {
        let name = self.name();
        self.store.create_table(&name).await?;
        Ok(Table { store: self.store(), name })
    }

    /// The tables of this bench that the store lists.
    pub(super) async fn listed(&self) -> Result<Vec<String>, Broken> {
        let mut names = self.store.list_tables().await?;
        let prefix = self.prefix.to_ascii_lowercase();
        names.retain(|name| name.to_ascii_lowercase().starts_with(&prefix));
        Ok(names)
    }

    /// Drops what is left of this bench; the clause has its outcome already, so a failure here changes nothing.
    pub(super) async fn clear(&self) {
        for name in self.listed().await.unwrap_or_default() {
            let _ = self.store.delete_table(&name).await;
        }
    }
}

/// A table of a store under test.
pub(super) struct Table<'a> {
    store: &'a dyn TableStore,
    pub(super) name: String,
}

impl Table<'_> {
    /// Does one thing to one row.
    pub(super) async fn act(&self, partition: &str, row: &str, action: Action) -> Result<Written, StoreError> {
        let receipts = self.commit(self.batch(partition).with(row, action)).await?;
        let detail = "a commit of one operation gave no receipt";
        let missing = || StoreError::new(crate::StoreErrorKind::Corrupt, detail);
        receipts.into_iter().next().ok_or_else(missing)
    }

    /// Inserts a row.
    pub(super) async fn insert(&self, partition: &str, row: &str, own: Properties) -> Result<Written, StoreError> {
        self.act(partition, row, Action::Insert(own)).await
    }

    /// Inserts rows `{N: 0}`, `{N: 1}`, ... at these keys, one commit for each.
    pub(super) async fn fill(&self, keys: &[RowKey]) -> Result<(), StoreError> {
        for (number, key) in (0..).zip(keys) {
            self.insert(&key.partition, &key.row, n(number)).await?;
        }
        Ok(())
    }

    /// An empty batch for one partition.
    pub(super) fn batch(&self, partition: &str) -> Batch {
        Batch::new(&self.name, partition)
    }

    /// Commits one batch.
    pub(super) async fn commit(&self, batch: Batch) -> Result<Receipts, StoreError> {
        Ok(self.store.commit(&[batch]).await?.into_iter().next().unwrap_or_default())
    }

    /// One row, if it is there.
    pub(super) async fn get(&self, partition: &str, row: &str) -> Result<Option<Row>, StoreError> {
        self.store.get(&self.name, &RowKey::new(partition, row)).await
    }

    /// One row as the store tells it at once, if it does.
    pub(super) fn get_at_once(&self, key: &RowKey) -> Result<Option<Option<Row>>, StoreError> {
        let told = self.store.get_at_once(&self.name, key).transpose()?;
        Ok(told.map(|row| row.map(|row| row.at(key.clone()))))
    }

    /// One row as the store shows it, if it shows rows, whole; as it shows it at a key in two pieces, in one piece; and as it shows it in
    /// passing.
    pub(super) fn shown(&self, key: &RowKey) -> Result<Option<[Option<Row>; 3]>, StoreError> {
        let (mut whole, mut kept, mut passed) = (Ok(None), Ok(None), Ok(None));
        let see = &mut |row: &Shown<'_>| whole = row.row().map(Some);
        let Some(there) = self.store.show(&self.name, key, see).transpose()? else { return Ok(None) };
        let (pieces, see) = ((&*key.partition, &*key.row), &mut |row: &Shown<'_>| kept = row.keep().map(Some));
        let is_there = self.store.show_at(&self.name, pieces, see).transpose()?.unwrap_or_default();
        let see = &mut |row: &Shown<'_>| passed = row.row().map(Some);
        let was_there = self.store.show_in_passing(&self.name, pieces, see).transpose()?.unwrap_or_default();
        let kept = kept?.filter(|_| is_there).map(|kept| kept.row());
        Ok(Some([whole?.filter(|_| there), kept, passed?.filter(|_| was_there)]))
    }

    /// Whether the store tells of a row at once, if it does so.
    pub(super) fn tells_at_once(&self, key: &RowKey) -> Option<Result<bool, StoreError>> {
        let told = self.store.get_at_once(&self.name, key)?;
        Some(told.map(|row| row.is_some()))
    }

    /// Whether the store shows a row, if it shows rows.
    pub(super) fn shows(&self, key: &RowKey) -> Option<Result<bool, StoreError>> {
        self.store.show(&self.name, key, &mut |_| ())
    }

    /// How many rows of a page the store shows, if it does.
    pub(super) fn show_page(&self, query: &Query) -> Option<Result<usize, StoreError>> {
        let mut seen = 0;
        let see = &mut |_: &Shown<'_>| {
            seen += 1;
            ControlFlow::Continue(())
        };
        let told = self.store.show_page(query, see)?;
        Some(told.map(|_| seen))
    }

    /// The rows of all pages as the store shows them, if it does.
    pub(super) fn shown_rows(&self, query: &Query) -> Result<Option<Vec<Row>>, Broken> {
        let (mut query, mut rows) = (query.clone(), Vec::new());
        for _ in 0..MAX_PAGES {
            let see = &mut |row: &Shown<'_>| {
                rows.push(row.row());
                ControlFlow::Continue(())
            };
            let Some(next) = self.store.show_page(&query, see).transpose()? else { return Ok(None) };
            query.continuation = next;
            if query.continuation.is_none() {
                return Ok(Some(rows.into_iter().collect::<Result<_, _>>()?));
            }
        }
        Err(endless())
    }

    /// How many rows the store shows, if it does, where it is told at this one to stop.
    pub(super) fn shown_until(&self, query: &Query, stop: usize) -> Result<Option<usize>, Broken> {
        let (mut query, mut seen) = (query.clone(), 0);
        for _ in 0..MAX_PAGES {
            let see = &mut |_: &Shown<'_>| {
                seen += 1;
                if seen < stop { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let Some(next) = self.store.show_page(&query, see).transpose()? else { return Ok(None) };
            query.continuation = next;
            if seen >= stop || query.continuation.is_none() {
                return Ok(Some(seen));
            }
        }
        Err(endless())
    }

    /// One row that must be there.
    pub(super) async fn row(&self, partition: &str, row: &str) -> Result<Row, Broken> {
        let found = self.get(partition, row).await?;
        found.ok_or_else(|| Broken::new(format!("row ({partition}, {row}) must exist, but does not")))
    }

    /// The properties of a row, if it is there.
    pub(super) async fn properties(&self, partition: &str, row: &str) -> Result<Option<Properties>, StoreError> {
        Ok(self.get(partition, row).await?.map(|row| row.properties))
    }

    /// A query of this table.
    pub(super) fn query(&self, range: KeyRange) -> Query {
        Query::new(&self.name, range)
    }

    /// One page.
    pub(super) async fn page(&self, query: &Query) -> Result<Page, StoreError> {
        self.store.query(query).await
    }

    /// All pages, one after the other.
    pub(super) async fn pages(&self, query: &Query) -> Result<Vec<Page>, Broken> {
        let (mut query, mut pages) = (query.clone(), Vec::new());
        while pages.len() < MAX_PAGES {
            let page = self.page(&query).await?;
            query.continuation = page.continuation.clone();
            pages.push(page);
            if query.continuation.is_none() {
                return Ok(pages);
            }
        }
        Err(endless())
    }

    /// The rows of all pages, as they came.
    pub(super) async fn rows(&self, query: &Query) -> Result<Vec<Row>, Broken> {
        Ok(self.pages(query).await?.into_iter().flat_map(|page| page.rows).collect())
    }

    /// The keys of the rows of all pages, as they came; sorted where the store does not order.
    pub(super) async fn keys(&self, query: &Query) -> Result<Vec<RowKey>, Broken> {
        let mut keys: Vec<_> = self.rows(query).await?.into_iter().map(|row| row.key).collect();
        if !self.store.capabilities().ordered {
            keys.sort();
        }
        Ok(keys)
    }

    /// The row keys that satisfy a filter over the whole table.
    pub(super) async fn matching(&self, filter: Filter) -> Result<Vec<String>, Broken> {
        let keys = self.keys(&self.query(KeyRange::table()).filtered(filter)).await?;
        Ok(keys.into_iter().map(|key| key.row).collect())
    }
}

/// The properties `{N: number}`.
pub(super) fn n(number: i32) -> Properties {
    one("N", number)
}

/// One property.
pub(super) fn one(name: &'static str, value: impl Into<Value>) -> Properties {
    Properties::from_iter([(crate::PropertyName::from_static(name), value.into())])
}

/// Keys of one partition.
pub(super) fn keys_in(partition: &str, rows: &[&str]) -> Vec<RowKey> {
    rows.iter().map(|row| RowKey::new(partition, *row)).collect()
}

/// Awaits all futures at once, polling each in turn; the outputs come in the order of the futures.
pub(super) async fn together<F: Future + Send>(futures: Vec<F>) -> Vec<F::Output>
where
    F::Output: Send,
{
    let mut running: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    let all = std::future::poll_fn(|context| {
        for (future, output) in running.iter_mut().zip(&mut outputs).filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(context) {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    });
    pin!(all).await;
    outputs.into_iter().flatten().collect()
}

/// What a store does whose queries do not end.
pub(super) fn endless() -> Broken {
    Broken::new(format!("the query has not ended after {MAX_PAGES} pages"))
}
