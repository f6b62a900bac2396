//! The conformance suite can fail: each planted bug is caught by the clauses that name its promise, and each clause
//! catches some planted bug.
//!
//! The store under test is right; what goes into it and comes out of it is twisted.

mod bugs;
mod filters;
mod queries;
mod rows;
mod tables;
mod times;
mod undone;
mod values;
mod writes;

use std::{
    collections::BTreeSet,
    future::Future,
    ops::ControlFlow,
    pin::{Pin, pin},
    sync::Arc,
    task::{self, Context, Poll, Waker},
};

use async_trait::async_trait;
use tablemodel_store::{
    Action, Batch, Capabilities, Continuation, MemoryStore, Page, Properties, Query, Receipts, Row, RowKey, RowState,
    Shown, StoreError, TableStore,
    conformance::{CLAUSES, Clause},
};
use times::Inserted;
use values::join_keys;

type Got = Result<Option<Row>, StoreError>;
type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;
type Commit = for<'a> fn(&'a MemoryStore, &'a [Batch]) -> Answer<'a, Vec<Receipts>>;

/// A planted bug: what it twists, and the clauses that must catch it (others may).
struct Bug {
    name: &'static str,
    caught_by: &'static [&'static str],
    twist: Twist,
}

/// Where a bug is planted.
#[derive(Clone, Copy)]
enum Twist {
    Nothing,
    /// Not of the store itself: its capabilities.
    OneBatchOnly(fn(&mut Vec<Batch>)),
    Batches(fn(&mut Vec<Batch>)),
    /// Of a commit in no hurry.
    Patient(fn(&mut Vec<Batch>)),
    PatientCommit(Commit),
    /// As that, of a store of one batch at a time.
    OneBatchPatient(Commit),
    /// Of a commit whose batches are given away.
    Owned(fn(&mut Vec<Batch>)),
    OwnedCommit(Commit),
    /// As that, of a store of one batch at a time.
    OneBatchOwned(Commit),
    Receipts(fn(&mut Vec<Receipts>)),
    Commit(Commit),
    CommitError(fn(StoreError) -> Result<Vec<Receipts>, StoreError>),
    Key(fn(&mut RowKey)),
    /// The two keys of a row are one, with this between them, in point reads and writes.
    Joined(&'static str),
    Got(fn(Got) -> Got),
    /// Of what is told at once.
    AtOnce(fn(&mut RowState)),
    /// Of what is shown: a row by its key.
    Shown(fn(&mut Row)),
    /// Of what is shown: pages, each as the rows that it should hold.
    ShownPage(fn(&mut Vec<Row>)),
    /// A page goes on being shown where it is told to stop.
    ShownOn,
    /// The first page is shown again and again.
    ShownAgain,
    /// Pages are shown whatever their limit.
    ShownFreely,
    Query(fn(&mut Query)),
    Pages(for<'a> fn(&'a MemoryStore, &'a Query) -> Answer<'a, Page>),
    Page(fn(&Query, &mut Page)),
    /// Each row read, by whatever call.
    Row(fn(&mut Row)),
    /// The timestamp stays that of the insert: in rows, in receipts, or in both.
    OldTimes {
        of_rows: bool,
        of_receipts: bool,
    },
    /// Of the names of tables in each call.
    Name(fn(&str) -> String),
    Create(for<'a> fn(&'a MemoryStore, &'a str) -> Answer<'a, ()>),
    Delete(for<'a> fn(&'a MemoryStore, &'a str) -> Answer<'a, ()>),
    List(fn(&mut Vec<String>)),
}

struct Sabotaged {
    inner: MemoryStore,
    twist: Twist,
    inserted: Inserted,
}

impl Sabotaged {
    fn new(twist: Twist) -> Self {
        let one_batch = matches!(twist, Twist::OneBatchOnly(_) | Twist::OneBatchPatient(_) | Twist::OneBatchOwned(_));
        let inner = MemoryStore::builder().atomic_across(!one_batch).build();
        Self { inner, twist, inserted: Inserted::default() }
    }

    fn name(&self, name: &str) -> String {
        match self.twist {
            Twist::Name(twist) => twist(name),
            _ => name.to_owned(),
        }
    }
}

#[async_trait]
impl TableStore for Sabotaged {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        match self.twist {
            Twist::Create(twist) => twist(&self.inner, name).await,
            _ => self.inner.create_table(&self.name(name)).await,
        }
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        match self.twist {
            Twist::Delete(twist) => twist(&self.inner, name).await,
            _ => self.inner.delete_table(&self.name(name)).await,
        }
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        let mut names = self.inner.list_tables().await?;
        if let Twist::List(twist) = self.twist {
            twist(&mut names);
        }
        Ok(names)
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        let mut key = key.clone();
        if let Twist::Key(twist) = self.twist {
            twist(&mut key);
        }
        if let Twist::Joined(separator) = self.twist {
            let joined = RowKey::new("", format!("{}{separator}{}", key.partition, key.row));
            let row = self.inner.get(&self.name(table), &joined).await?;
            return Ok(row.map(|row| Row { key, ..row }));
        }
        let mut got = self.inner.get(&self.name(table), &key).await;
        match self.twist {
            Twist::Row(twist) => got.iter_mut().flatten().for_each(twist),
            Twist::OldTimes { of_rows: true, .. } => {
                got.iter_mut().flatten().for_each(|row| self.inserted.age(table, row));
            }
            Twist::Got(twist) => return twist(got),
            _ => {}
        }
        got
    }

    fn get_at_once(&self, table: &str, key: &RowKey) -> Option<Result<Option<RowState>, StoreError>> {
        let Twist::AtOnce(twist) = self.twist else { return None };
        let mut told = self.inner.get_at_once(table, key);
        told.iter_mut().flatten().flatten().for_each(twist);
        told
    }

    fn show(&self, table: &str, key: &RowKey, see: &mut dyn FnMut(&Shown<'_>)) -> Option<Result<bool, StoreError>> {
        let Twist::Shown(twist) = self.twist else { return None };
        let told = self.inner.get_at_once(table, key)?;
        Some(told.map(|told| match told.map(|state| state.at(key.clone())) {
            Some(mut row) => {
                twist(&mut row);
                see(&Shown::new(&row));
                true
            }
            None => false,
        }))
    }

    fn show_page(
        &self,
        query: &Query,
        see: &mut dyn FnMut(&Shown<'_>) -> ControlFlow<()>,
    ) -> Option<Result<Option<Continuation>, StoreError>> {
        let (twist, stops): (fn(&mut Vec<Row>), _) = match self.twist {
            Twist::ShownPage(twist) => (twist, true),
            Twist::ShownAgain | Twist::ShownFreely => (|_| (), true),
            Twist::ShownOn => (|_| (), false),
            _ => return None,
        };
        let mut query = query.clone();
        match self.twist {
            Twist::ShownAgain => query.continuation = None,
            Twist::ShownFreely => query.limit = query.limit.clamp(1, 1_000),
            _ => {}
        }
        let Poll::Ready(page) = self.inner.query(&query).as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            return None;
        };
        Some(page.map(|mut page| {
            twist(&mut page.rows);
            let _ = page.rows.iter().try_for_each(|row| match see(&Shown::new(row)) {
                ControlFlow::Break(()) if stops => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
            page.continuation
        }))
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        let mut query = Query { table: self.name(&query.table), ..query.clone() };
        match self.twist {
            Twist::Pages(twist) => return twist(&self.inner, &query).await,
            Twist::Query(twist) => twist(&mut query),
            _ => {}
        }
        let mut page = self.inner.query(&query).await?;
        match self.twist {
            Twist::Page(twist) => twist(&query, &mut page),
            Twist::Row(twist) => page.rows.iter_mut().for_each(twist),
            Twist::OldTimes { of_rows: true, .. } => {
                page.rows.iter_mut().for_each(|row| self.inserted.age(&query.table, row));
            }
            _ => {}
        }
        Ok(page)
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let mut batches = batches.to_vec();
        for batch in &mut batches {
            batch.table = self.name(&batch.table);
        }
        match self.twist {
            Twist::Commit(twist) => return twist(&self.inner, &batches).await,
            Twist::Batches(twist) | Twist::OneBatchOnly(twist) => twist(&mut batches),
            Twist::Joined(separator) => batches.iter_mut().for_each(|batch| join_keys(batch, separator)),
            _ => {}
        }
        let mut receipts = self.inner.commit(&batches).await;
        match self.twist {
            Twist::Receipts(twist) => receipts.iter_mut().for_each(twist),
            Twist::OldTimes { of_receipts, .. } => {
                receipts.iter_mut().for_each(|receipts| self.inserted.learn(&batches, receipts, of_receipts));
            }
            Twist::CommitError(twist) => return receipts.or_else(twist),
            _ => {}
        }
        receipts
    }

    async fn commit_patiently(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let mut batches = batches.to_vec();
        match self.twist {
            Twist::Patient(twist) => twist(&mut batches),
            Twist::PatientCommit(twist) | Twist::OneBatchPatient(twist) => return twist(&self.inner, &batches).await,
            _ => return self.commit(&batches).await,
        }
        self.inner.commit(&batches).await
    }

    async fn commit_owned(&self, mut batches: Vec<Batch>) -> Result<Vec<Receipts>, StoreError> {
        match self.twist {
            Twist::Owned(twist) => twist(&mut batches),
            Twist::OwnedCommit(twist) | Twist::OneBatchOwned(twist) => return twist(&self.inner, &batches).await,
            _ => return self.commit(&batches).await,
        }
        self.inner.commit(&batches).await
    }
}

/// A store with the planted bug of this name.
pub(crate) fn store_with(bug: &str) -> Arc<dyn TableStore> {
    let bug = bugs::all().find(|candidate| candidate.name == bug).expect("the bug exists");
    Arc::new(Sabotaged::new(bug.twist))
}

/// Runs futures that wait for nothing but each other.
fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = task::Context::from_waker(task::Waker::noop());
    loop {
        if let task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// Whether a store with this twist breaks the clause at `path`; a clause that does not apply is not broken.
fn breaks(twist: Twist, path: &str) -> bool {
    let clause = CLAUSES.iter().find(|clause| clause.path() == path).expect("the clause exists");
    matches!(run(clause.check(Arc::new(Sabotaged::new(twist)))), Some(Err(_)))
}

#[test]
fn a_store_without_a_planted_bug_breaks_no_clause() {
    let broken: Vec<_> = CLAUSES.iter().map(Clause::path).filter(|path| breaks(Twist::Nothing, path)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn each_planted_bug_is_caught_by_the_clauses_named_for_it() {
    let named = bugs::all().flat_map(|bug| bug.caught_by.iter().map(move |path| (bug, path)));
    let missed: Vec<_> = named.filter(|(bug, path)| !breaks(bug.twist, path)).collect();
    let missed: Vec<_> = missed.into_iter().map(|(bug, path)| (bug.name, path)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn each_clause_catches_a_planted_bug() {
    let caught: BTreeSet<_> = bugs::all().flat_map(|bug| bug.caught_by).copied().collect();
    let idle: Vec<_> = CLAUSES.iter().map(Clause::path).filter(|path| !caught.contains(path.as_str())).collect();
    assert!(idle.is_empty(), "{idle:#?}");
}

#[test]
fn no_clause_touches_a_table_that_was_there() {
    let names: Vec<_> = (0..10).map(|end| format!("Cf{end}")).collect();
    for clause in CLAUSES {
        let store = MemoryStore::new();
        run(async {
            for name in &names {
                store.create_table(name).await.unwrap();
                let row = Batch::new(name, "p").with("r", Action::Insert(Properties::new()));
                store.commit(&[row]).await.unwrap();
            }
            clause.check(Arc::new(store.clone())).await.unwrap_or(Ok(())).unwrap();
            assert_eq!(store.list_tables().await.unwrap(), names, "{}", clause.path());
            for name in &names {
                let row = store.get(name, &RowKey::new("p", "r")).await.unwrap();
                assert!(row.is_some(), "{} deleted {name}", clause.path());
            }
        });
    }
}
