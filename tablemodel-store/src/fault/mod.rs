//! The fault store: passes calls on, except where a plan makes them fail, stall, lose their reply or crash.
//!
//! It starts no timer, task or randomness of its own: the same plan and calls give the same faults.
//!
//! ```
//! use std::sync::Arc;
//! use tablemodel_store::{MemoryStore, StoreErrorKind, TableStore, fault::{Fault, FaultStore, Script}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let store = FaultStore::new(Arc::new(MemoryStore::new()), Script::new().at(0, Fault::LostReply));
//! let created = store.create_table("People").await;
//! assert_eq!(created.unwrap_err().kind(), StoreErrorKind::OutcomeUnknown);
//! assert_eq!(store.list_tables().await.unwrap(), ["People"]); // it was carried out all the same
//! # }
//! ```

mod plan;
mod state;

use std::sync::Arc;

use async_trait::async_trait;

pub use self::plan::{Call, Chances, Fault, FaultPlan, Request, Script};
use self::state::Shared;
use crate::{
    Batch, Capabilities, Continuation, Page, Query, Receipts, Row, StoreError, StoreErrorKind, TableStore,
    clock::Sleep, continuation, key::RowKey, validate,
};

/// A store around a store, with faults by a plan. Clones are one store.
///
/// Declares `may_lose_reply`; its other capabilities are those of the store inside.
#[derive(Clone)]
pub struct FaultStore {
    inner: Arc<dyn TableStore>,
    sleep: Arc<dyn Sleep>,
    shared: Arc<Shared>,
}

/// A call on its way.
struct Begun {
    course: Course,
    /// How often the store had crashed before it.
    crashes: usize,
}

/// How the store treats a call that a plan let through in some way.
enum Course {
    Plain,
    LoseReply,
    Crash,
    Tear(usize),
    Empty,
    Short(usize),
}

impl FaultStore {
    /// The faults of `plan` around `inner`. A delay takes no time (see [`sleeping`](Self::sleeping)).
    pub fn new(inner: Arc<dyn TableStore>, plan: impl FaultPlan) -> Self {
        Self { inner, sleep: Arc::new(NoSleep), shared: Arc::new(Shared::new(Box::new(plan))) }
    }

    /// The same, with delays that sleep so.
    pub fn sleeping(self, sleep: impl Sleep) -> Self {
        Self { sleep: Arc::new(sleep), ..self }
    }

    /// How many calls were made; those refused because the store had crashed do not count.
    pub fn calls(&self) -> usize {
        self.shared.lock().calls
    }

    /// Whether it crashed and was not revived since.
    pub fn is_crashed(&self) -> bool {
        self.shared.lock().crashed
    }

    /// Takes calls again after a crash, as a new process over the same store would. The numbering of calls goes on.
    pub fn revive(&self) {
        self.shared.lock().crashed = false;
    }

    /// Another plan from the next call on, also where a plan says so of itself. The numbering of calls goes on.
    pub fn replan(&self, plan: impl FaultPlan) {
        self.shared.replan(Box::new(plan));
    }

    async fn begin(&self, request: Request<'_>) -> Result<Begun, StoreError> {
        let (fault, crashes) = self.shared.next_fault(request)?;
        let course = match fault {
            None => Course::Plain,
            Some(Fault::Error(error)) => return Err(error),
            Some(Fault::Torn { operations }) if matches!(request, Request::Commit(_)) => Course::Tear(operations),
            Some(Fault::CrashBefore | Fault::Torn { .. }) => return Err(self.crash()),
            Some(Fault::CrashAfter) => Course::Crash,
            Some(Fault::LostReply) => Course::LoseReply,
            Some(Fault::EmptyPage) => Course::Empty,
            Some(Fault::ShortPage { rows }) => Course::Short(rows.max(1)),
            Some(Fault::Delay(delay)) => {
                self.sleep.sleep(delay).await;
                // What a process was about to do when it died, it does not do after another took its place.
                if self.shared.lock().crashes != crashes {
                    return Err(closed());
                }
                Course::Plain
            }
        };
        Ok(Begun { course, crashes })
    }

    /// A page, as short as the fault has it.
    async fn page(&self, mut inner: Query, course: &Course) -> Result<Page, StoreError> {
        if let Course::Short(rows) = course {
            inner.limit = inner.limit.min(*rows);
        }
        // Asked for an empty page too, so that a bad query is refused.
        let page = self.inner.query(&inner).await?;
        Ok(match course {
            Course::Empty => Page { rows: Vec::new(), continuation: Some(wrapped(&inner)) },
            _ => page,
        })
    }

    /// The answer to a call that was carried out.
    fn end<T>(&self, begun: &Begun, writes: bool, result: Result<T, StoreError>) -> Result<T, StoreError> {
        match begun.course {
            Course::Crash => Err(self.crash()),
            Course::LoseReply if writes => Err(StoreError::new(StoreErrorKind::OutcomeUnknown, "the reply was lost")),
            Course::LoseReply => Err(StoreError::new(StoreErrorKind::Unavailable, "the reply was lost; read again")),
            // By another call, while this one was on its way: whoever waited for it is no more, even if the store was revived.
            _ if self.shared.lock().crashes != begun.crashes => Err(closed()),
            _ => result,
        }
    }

    fn crash(&self) -> StoreError {
        let mut state = self.shared.lock();
        (state.crashed, state.crashes) = (true, state.crashes + 1);
        closed()
    }

    async fn through<T>(
        &self,
        request: Request<'_>,
        carried_out: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let begun = self.begin(request).await?;
        let result = carried_out.await;
        self.end(&begun, request.writes(), result)
    }
}

fn closed() -> StoreError {
    StoreError::new(
        StoreErrorKind::Closed,
        "the store has crashed, as it was told to; `revive` it, or `reopen` a test database",
    )
}

struct NoSleep;

#[async_trait]
impl Sleep for NoSleep {
    async fn sleep(&self, _: std::time::Duration) {}
}

#[async_trait]
impl TableStore for FaultStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities { may_lose_reply: true, ..self.inner.capabilities() }
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        self.through(Request::CreateTable(name), self.inner.create_table(name)).await
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        self.through(Request::DeleteTable(name), self.inner.delete_table(name)).await
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        self.through(Request::ListTables, self.inner.list_tables()).await
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.through(Request::Get(table, key), self.inner.get(table, key)).await
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        let begun = self.begin(Request::Query(query)).await?;
        // Before a short page hides its limit.
        let result = match validate::query(query).and_then(|()| unwrapped(query)) {
            Ok(inner) => self.page(inner, &begun.course).await,
            Err(error) => Err(error),
        };
        self.end(&begun, false, result)
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let begun = self.begin(Request::Commit(batches)).await?;
        if let Course::Tear(operations) = begun.course {
            // Whatever the store inside says, nobody is there to hear it.
            let _ = self.inner.commit(&torn(batches, operations)).await;
            return Err(self.crash());
        }
        let result = self.inner.commit(batches).await;
        self.end(&begun, true, result)
    }
}

/// The first so many operations of all batches.
fn torn(batches: &[Batch], mut operations: usize) -> Vec<Batch> {
    let mut torn = batches.to_vec();
    for batch in &mut torn {
        batch.operations.truncate(operations);
        operations -= batch.operations.len();
    }
    torn.retain(|batch| !batch.operations.is_empty());
    torn
}

/// How the continuation of an injected empty page begins; then the query's fingerprint and what it came with.
const EMPTY: &str = "empty.";

/// A continuation from which `query` goes on where it is.
fn wrapped(query: &Query) -> Continuation {
    let inner = query.continuation.as_ref().map_or("", Continuation::as_str);
    Continuation::new(format!("{EMPTY}{:016x}.{inner}", continuation::fingerprint(query)))
}

/// `query` as the store inside understands it.
fn unwrapped(query: &Query) -> Result<Query, StoreError> {
    let mut inner = query.clone();
    let text = query.continuation.as_ref().and_then(|continuation| continuation.as_str().strip_prefix(EMPTY));
    if let Some(text) = text {
        let made_for = format!("{:016x}.", continuation::fingerprint(query));
        let rest =
            text.strip_prefix(&made_for).ok_or_else(|| continuation::refused("it was made for another query"))?;
        inner.continuation = (!rest.is_empty()).then(|| Continuation::new(rest));
    }
    Ok(inner)
}
