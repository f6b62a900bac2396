//! The fault store does what its plan says, and nothing else.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use tablemodel_store::{
    Action, Batch, Capabilities, DateTime, KeyRange, MemoryStore, Page, Properties, Query, Receipts, Row, RowKey,
    StoreError, StoreErrorKind,
    StoreErrorKind::*,
    TableStore,
    clock::{Clock, ManualClock, Sleep},
    conformance,
    fault::{Call, Chances, Fault, FaultStore, Request, Script},
};

/// A memory store with the table `Tab` and rows `0` to `9` in partition `p`, inside a fault store with this script.
async fn filled(script: Script) -> (MemoryStore, FaultStore) {
    let inner = MemoryStore::new();
    inner.create_table("Tab").await.unwrap();
    let rows = (0..10).map(|i| i.to_string());
    inner.commit(&[rows.fold(Batch::new("Tab", "p"), |batch, row| batch.with(row, insert()))]).await.unwrap();
    let store = FaultStore::new(Arc::new(inner.clone()), script);
    (inner, store)
}

fn insert() -> Action {
    Action::Insert(Properties::new())
}

fn batch(row: &str) -> Batch {
    Batch::new("Tab", "p").with(row, insert())
}

async fn exists(store: &impl TableStore, row: &str) -> bool {
    store.get("Tab", &RowKey::new("p", row)).await.unwrap().is_some()
}

fn kind<T: std::fmt::Debug>(result: Result<T, StoreError>) -> StoreErrorKind {
    result.unwrap_err().kind()
}

async fn all_pages(store: &impl TableStore, mut query: Query) -> Vec<Page> {
    let mut pages = vec![store.query(&query).await.unwrap()];
    while let Some(continuation) = pages.last().unwrap().continuation.clone() {
        query.continuation = Some(continuation);
        pages.push(store.query(&query).await.unwrap());
    }
    pages
}

mod without_faults {
    use super::*;

    async fn make() -> Arc<dyn TableStore> {
        Arc::new(FaultStore::new(Arc::new(MemoryStore::new()), Script::new()))
    }

    tablemodel_store::conformance_tests!(make);
}

/// Faults that a store may have within the contract: the suite must not notice.
#[tokio::test]
async fn empty_and_short_pages_and_delays_keep_the_contract() {
    for seed in 0..8 {
        let make = || async move {
            let plan = Chances::seeded(seed)
                .with(250, Fault::EmptyPage)
                .with(250, Fault::ShortPage { rows: 1 })
                .with(250, Fault::Delay(Duration::from_millis(1)));
            Arc::new(FaultStore::new(Arc::new(MemoryStore::new()), plan)) as Arc<dyn TableStore>
        };
        let report = conformance::run_all(make).await;
        assert!(report.broken.is_empty(), "seed {seed}: {:?}", report.broken);
    }
}

#[tokio::test]
async fn an_error_is_given_and_the_call_not_carried_out() {
    let refusal = StoreError::new(ConditionNotMet, "another writer").at(0, 0);
    let script = Script::new().at(0, Fault::error(Unavailable)).at(1, Fault::Error(refusal));
    let (inner, store) = filled(script).await;
    assert_eq!(kind(store.commit(&[batch("new")]).await), Unavailable);
    let error = store.commit(&[batch("new")]).await.unwrap_err();
    assert_eq!((error.kind(), error.failed_at().map(|at| at.operation)), (ConditionNotMet, Some(0)));
    assert!(!exists(&inner, "new").await);
    store.commit(&[batch("new")]).await.unwrap();
    assert!(exists(&inner, "new").await);
}

#[tokio::test]
async fn a_lost_reply_hides_what_was_done() {
    let script = Script::new().at(0, Fault::LostReply).at(2, Fault::LostReply).at(3, Fault::LostReply);
    let (inner, store) = filled(script).await;
    assert_eq!(kind(store.commit(&[batch("new")]).await), OutcomeUnknown);
    assert!(exists(&inner, "new").await);
    assert_eq!(kind(store.commit(&[batch("new")]).await), RowExists);
    assert_eq!(kind(store.commit(&[batch("0")]).await), OutcomeUnknown, "also where the call failed");
    assert_eq!(kind(store.get("Tab", &RowKey::new("p", "0")).await), Unavailable, "a read changes nothing");
}

#[tokio::test]
async fn a_crash_before_leaves_nothing_and_closes_the_store_until_it_is_revived() {
    let (inner, store) = filled(Script::new().at(0, Fault::CrashBefore)).await;
    assert_eq!(kind(store.commit(&[batch("new")]).await), Closed);
    assert!(!exists(&inner, "new").await && store.is_crashed());
    assert_eq!(kind(store.get("Tab", &RowKey::new("p", "0")).await), Closed);
    assert_eq!(kind(store.query(&Query::new("Tab", KeyRange::table())).await), Closed);
    assert_eq!(kind(store.create_table("U2x").await), Closed);
    assert_eq!(kind(store.delete_table("Tab").await), Closed);
    assert_eq!(kind(store.list_tables().await), Closed);
    assert_eq!(store.calls(), 1);
    store.revive();
    store.commit(&[batch("new")]).await.unwrap();
    assert_eq!(store.calls(), 2);
}

#[tokio::test]
async fn a_crash_after_leaves_what_was_done() {
    let (inner, store) = filled(Script::new().at(0, Fault::CrashAfter)).await;
    assert_eq!(kind(store.commit(&[batch("new")]).await), Closed);
    assert!(exists(&inner, "new").await && store.is_crashed());
    store.revive();
    assert!(exists(&store, "new").await);
}

/// The request was sent all the same.
#[tokio::test]
async fn a_crash_after_a_call_that_is_refused_is_one() {
    for call in 0..4 {
        let (_, store) = filled(Script::new().at(0, Fault::CrashAfter)).await;
        let told = match call {
            0 => kind(store.query(&Query::new("Tab", KeyRange::table()).limited(0)).await),
            1 => kind(store.get("not a name", &RowKey::new("p", "0")).await),
            2 => kind(store.commit(&[Batch::new("Tab", "p")]).await),
            _ => kind(store.create_table("not a name").await),
        };
        assert_eq!(told, Closed, "call {call}");
        assert!(store.is_crashed(), "call {call}");
    }
}

#[tokio::test]
async fn a_torn_commit_leaves_its_first_operations() {
    let (inner, store) = filled(Script::new().at(0, Fault::Torn { operations: 3 })).await;
    let batches = [batch("a").with("b", insert()), Batch::new("Tab", "q").with("c", insert()).with("d", insert())];
    assert_eq!(kind(store.commit(&batches).await), Closed);
    assert!(exists(&inner, "a").await && exists(&inner, "b").await && store.is_crashed());
    for (row, there) in [("c", true), ("d", false)] {
        assert_eq!(inner.get("Tab", &RowKey::new("q", row)).await.unwrap().is_some(), there, "{row}");
    }
}

#[tokio::test]
async fn a_torn_commit_whose_first_operations_are_refused_is_a_crash_too() {
    let (_, store) = filled(Script::new().at(0, Fault::Torn { operations: 1 })).await;
    assert_eq!(kind(store.commit(&[batch("0").with("new", insert())]).await), Closed);
    assert!(store.is_crashed());
}

#[tokio::test]
async fn an_empty_page_goes_on_where_it_would_have_begun() {
    let script = Script::new().at(0, Fault::EmptyPage).at(2, Fault::EmptyPage).at(3, Fault::EmptyPage);
    let (inner, store) = filled(script).await;
    let query = Query::new("Tab", KeyRange::table()).limited(4);
    let pages = all_pages(&store, query.clone()).await;
    let counts: Vec<_> = pages.iter().map(|page| page.rows.len()).collect();
    assert_eq!(counts, [0, 4, 0, 0, 4, 2]);
    let rows = |pages: Vec<Page>| pages.into_iter().flat_map(|page| page.rows).collect::<Vec<_>>();
    assert_eq!(rows(pages), rows(all_pages(&inner, query).await));
}

#[tokio::test]
async fn a_short_page_goes_on_after_its_last_row() {
    let (_, store) =
        filled(Script::new().at(0, Fault::ShortPage { rows: 0 }).at(1, Fault::ShortPage { rows: 3 })).await;
    let pages = all_pages(&store, Query::new("Tab", KeyRange::table()).limited(5)).await;
    let counts: Vec<_> = pages.iter().map(|page| page.rows.len()).collect();
    assert_eq!(counts, [1, 3, 5, 1]);
}

#[tokio::test]
async fn a_delay_sleeps_as_it_was_told_to() {
    let (_, store) = filled(Script::new().at(0, Fault::Delay(Duration::from_secs(5)))).await;
    let clock = ManualClock::new(DateTime::UNIX_EPOCH);
    let store = store.sleeping(clock.clone());
    store.list_tables().await.unwrap();
    assert_eq!(Some(clock.now()), DateTime::from_unix_seconds(5));
}

/// A wait in which the process dies of another call, and a new one may take its place.
struct Dying {
    store: Arc<OnceLock<FaultStore>>,
    revives: bool,
}

#[async_trait::async_trait]
impl Sleep for Dying {
    async fn sleep(&self, _: Duration) {
        let store = self.store.get().unwrap();
        assert_eq!(kind(store.list_tables().await), Closed);
        if self.revives {
            store.revive();
        }
    }
}

#[tokio::test]
async fn a_call_delayed_before_a_crash_is_not_carried_out_after_it() {
    for revives in [true, false] {
        let script = Script::new().at(0, Fault::Delay(Duration::from_secs(5))).at(1, Fault::CrashBefore);
        let (inner, store) = filled(script).await;
        let itself = Arc::new(OnceLock::new());
        let store = store.sleeping(Dying { store: itself.clone(), revives });
        assert!(itself.set(store.clone()).is_ok());
        assert_eq!(kind(store.commit(&[batch("new")]).await), Closed);
        assert!(!exists(&inner, "new").await);
    }
}

/// Answers after the process died of another call, and a new one took its place.
struct Outlived {
    inner: MemoryStore,
    around: Arc<OnceLock<FaultStore>>,
}

#[async_trait::async_trait]
impl TableStore for Outlived {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        self.inner.create_table(name).await
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        self.inner.delete_table(name).await
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        self.inner.list_tables().await
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.inner.get(table, key).await
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        self.inner.query(query).await
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let result = self.inner.commit(batches).await;
        let around = self.around.get().unwrap();
        assert_eq!(kind(around.list_tables().await), Closed);
        around.revive();
        result
    }
}

#[tokio::test]
async fn nobody_hears_the_end_of_a_call_during_which_the_process_died() {
    let (inner, around) = (MemoryStore::new(), Arc::new(OnceLock::new()));
    inner.create_table("Tab").await.unwrap();
    let outlived = Outlived { inner: inner.clone(), around: around.clone() };
    let store = FaultStore::new(Arc::new(outlived), Script::new().at(1, Fault::CrashBefore));
    assert!(around.set(store.clone()).is_ok());
    assert_eq!(kind(store.commit(&[batch("new")]).await), Closed);
    assert!(exists(&inner, "new").await && !store.is_crashed());
}

#[tokio::test]
async fn the_same_seed_gives_the_same_faults() {
    let run = |seed| async move {
        let plan = Chances::seeded(seed).with(200, Fault::error(Unavailable)).with(100, Fault::LostReply);
        let store = FaultStore::new(Arc::new(MemoryStore::new()), plan);
        let mut outcomes = Vec::new();
        for _ in 0..1000 {
            outcomes.push(store.delete_table("Missing").await.unwrap_err().kind());
        }
        outcomes
    };
    let outcomes = run(7).await;
    assert_eq!(outcomes, run(7).await);
    assert_ne!(outcomes, run(8).await);
    for (kind, expected) in [(Unavailable, 200), (OutcomeUnknown, 100), (TableNotFound, 700)] {
        let count = outcomes.iter().filter(|outcome| **outcome == kind).count();
        assert!(
            expected * 8 / 10 < count && count < expected * 12 / 10,
            "{count} of {kind:?}, about {expected} expected"
        );
    }
}

#[tokio::test]
async fn a_closure_decides_by_what_is_asked() {
    let (_, store) = filled(Script::new()).await;
    store.replan(|call: &Call<'_>| match call.request {
        Request::Commit(batches) if batches.len() > 1 => Some(Fault::error(Denied)),
        _ => None,
    });
    store.commit(&[batch("a")]).await.unwrap();
    assert_eq!(kind(store.commit(&[batch("b"), batch("c")]).await), Denied);
}

#[tokio::test]
async fn a_reply_may_always_be_lost() {
    let (inner, store) = filled(Script::new()).await;
    assert_eq!(store.capabilities(), Capabilities { may_lose_reply: true, ..inner.capabilities() });
}
