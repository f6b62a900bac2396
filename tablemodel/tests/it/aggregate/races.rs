//! Others who write between the calls of one: what was read before them counts no more.

use std::{
    ops::Bound,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tablemodel::{
    Consistency, Path as _, RowKey, ValueRef,
    store::{
        Action, Batch, Condition, KeyRange, MemoryStore, Page, Query, Receipts, RowRange, StoreError, StoreErrorKind,
        TableStore,
    },
    testing::TestDatabase,
};

use super::{Employee, Model, assert_exact, employee, settle, team};
use crate::between::{Around, Between};

type Hook = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// Rows of a page.
const PAGE: usize = 3;

/// Whether it asks for contributions in the order of values.
fn is_of_ranks(query: &Query) -> bool {
    let KeyRange::Partition { rows: RowRange { lower: Bound::Included(row), .. }, .. } = &query.range else {
        return false;
    };
    row.starts_with("~~agg|")
}

/// A store of short pages, in which another program acts once before a commit, and once after a page that has more behind it.
#[derive(Default)]
struct Raced {
    before_commit: Mutex<Option<Hook>>,
    /// After a commit whose reply is lost.
    after_lost: Mutex<Option<Hook>>,
    after_page: Mutex<Option<Hook>>,
}

/// Whether there was something to do.
async fn act(hook: &Mutex<Option<Hook>>) -> bool {
    let hook = hook.lock().unwrap_or_else(PoisonError::into_inner).take();
    match hook {
        Some(hook) => {
            hook().await;
            true
        }
        None => false,
    }
}

fn set(hook: &Mutex<Option<Hook>>, act: impl FnOnce() -> BoxFuture<'static, ()> + Send + 'static) {
    *hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
}

#[async_trait]
impl Between for Raced {
    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        let page = if is_of_ranks(query) { 1 } else { PAGE };
        let limit = if query.table == "Company" { query.limit.min(page) } else { query.limit };
        let page = inner.query(&Query { limit, ..query.clone() }).await?;
        if query.table == "Company" && page.continuation.is_some() {
            act(&self.after_page).await;
        }
        Ok(page)
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        if batches.iter().any(|batch| batch.table == "Company") {
            act(&self.before_commit).await;
        }
        let receipts = inner.commit(batches).await;
        if batches.iter().any(|batch| batch.table == "Company") && act(&self.after_lost).await {
            return Err(StoreError::new(StoreErrorKind::OutcomeUnknown, "the reply was lost"));
        }
        receipts
    }
}

/// A program whose calls are raced, and the one that races it.
async fn pair() -> (TestDatabase, Arc<Around<Raced>>, TestDatabase) {
    let mut kept = None;
    let other = TestDatabase::over::<Model>(|clock| {
        let store: Arc<dyn TableStore> = Arc::new(MemoryStore::builder().clock(clock).build());
        kept.insert(store).clone()
    });
    let other = other.await.expect("a database");
    let raced = Around::over(kept.unwrap(), Raced::default());
    let db = TestDatabase::over::<Model>(|_| raced.clone()).await.expect("a database");
    (db, raced, other)
}

/// The cell is refused, since an insert of its target writes it; what was read of the target before that was that there is none.
#[tokio::test]
async fn a_target_that_comes_while_a_source_is_written_counts_it() {
    let (db, raced, other) = pair().await;
    other.insert(&employee(1, 1)).await.unwrap();
    let it = other.clone();
    set(&raced.before_commit, move || Box::pin(async move { drop(it.insert(&team(1)).await.unwrap()) }));
    db.insert(&employee(2, 1)).await.unwrap();
    settle(&other).await;
    assert_exact(&other, "a target came").await;
}

/// Its row of the same batch was written since by more others than a row remembers; the source tells that the batch was made.
#[tokio::test]
async fn a_lost_reply_is_told_by_the_source_however_often_its_target_was_written_since() {
    let (db, raced, other) = pair().await;
    other.insert(&team(1)).await.unwrap();
    let it = other.clone();
    set(&raced.after_lost, move || {
        Box::pin(async move {
            for id in 10..20 {
                drop(it.insert(&employee(id, 1)).await.unwrap());
            }
        })
    });
    let inserted = db.insert(&employee(2, 1)).await.unwrap();
    assert_eq!(inserted.id, 2);
    settle(&other).await;
    assert_exact(&other, "each counted once").await;
}

async fn set_payroll(store: &dyn TableStore, payroll: i64) {
    let key = RowKey::new("A", "~~agg|team_01|Payroll");
    let mut cell = store.get("Company", &key).await.unwrap().expect("a cell");
    assert_ne!(cell.properties.get("_value"), Some(ValueRef::Int64(payroll)));
    cell.properties.insert("_value", payroll);
    let wrong = Action::Replace(cell.properties, Condition::Match(cell.etag));
    store.commit(&[Batch::new("Company", "A").with(key.row, wrong)]).await.unwrap();
}

/// The cell that a repair writes is refused, and while the partition is read again, a source that was read already changes.
#[tokio::test]
async fn a_repair_beside_writers_counts_no_source_as_it_was() {
    let (db, raced, other) = pair().await;
    other.insert(&team(1)).await.unwrap();
    for id in 1..=9 {
        other.insert(&employee(id, 1)).await.unwrap();
    }
    settle(&other).await;
    set_payroll(&*other.store(), 12_345).await;
    let (it, again) = (other.clone(), raced.clone());
    set(&raced.before_commit, move || {
        let other = it.clone();
        set(&again.after_page, move || Box::pin(async move { raise(&other, 1, 7).await }));
        Box::pin(async move { raise(&it, 9, 40).await })
    });
    let repaired = db.repair().await.unwrap();
    assert!(raced.after_page.lock().unwrap().is_none(), "both acted");
    assert_eq!(repaired.left, [], "{repaired:?}");
    settle(&other).await;
    assert_exact(&other, "repaired").await;
    assert!(other.verify().await.unwrap().is_clean());
}

async fn raise(db: &TestDatabase, id: u32, by: i64) {
    db.update(Employee::find().department("A").id(id), move |one| Ok(one.salary += by)).await.unwrap();
}

/// In one process as well: whoever loses a race plans over what is there now.
#[tokio::test]
async fn a_target_comes_and_goes_among_writers_of_its_sources() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let db = super::database(mode).await;
        let sources = (1..=12).map(|id| {
            let db = db.clone();
            async move {
                while let Err(error) = db.insert(&employee(id, 1)).await {
                    assert!(error.is_retryable(), "{error}");
                }
            }
        });
        let target = async {
            while let Err(error) = db.insert(&team(1)).await {
                assert!(error.is_retryable(), "{error}");
            }
        };
        tokio::join!(futures_util::future::join_all(sources), target);
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

/// After each page the source that was read longest ago moves behind all others.
fn keep_moving(raced: Arc<Around<Raced>>, other: TestDatabase, id: u32) {
    let hook = raced.clone();
    set(&hook.after_page, move || {
        Box::pin(async move {
            let mut first = Employee::find().department("A").first(1, &other).await.unwrap().remove(0);
            first.id = id;
            other.save(&mut first).await.unwrap();
            keep_moving(raced, other, id + 1);
        })
    });
}

/// A move changes no cell of a count or sum. Every walk meets as many sources at two keys as the one before.
#[tokio::test]
async fn a_repair_beside_sources_that_move_counts_none_twice() {
    let (db, raced, other) = pair().await;
    other.insert(&team(1)).await.unwrap();
    for id in 1..=9 {
        other.insert(&employee(id, 1)).await.unwrap();
    }
    settle(&other).await;
    keep_moving(raced.clone(), other.clone(), 1_000);
    assert!(db.verify().await.unwrap().is_clean(), "no two walks saw the same");
    drop(db.repair().await.unwrap());
    raced.after_page.lock().unwrap().take();
    settle(&other).await;
    assert_exact(&other, "repaired").await;
    assert!(other.verify().await.unwrap().is_clean());
}

/// Whoever takes the least away reads by two pages what comes next, and another as low goes from behind the first to before it.
#[tokio::test]
async fn a_source_that_moves_while_what_comes_next_is_read_is_not_passed_over() {
    let (db, raced, other) = pair().await;
    other.insert(&team(1)).await.unwrap();
    for (id, salary) in [(5, 3), (7, 5), (9, 3)] {
        other.insert(&Employee { salary, hours: None, ..employee(id, 1) }).await.unwrap();
    }
    let least = Employee::find().department("A").id(5).one(&db).await.unwrap().unwrap();
    let it = other.clone();
    set(&raced.after_page, move || {
        Box::pin(async move {
            let mut moving = Employee::find().department("A").id(9).one(&it).await.unwrap().unwrap();
            moving.id = 1;
            it.save(&mut moving).await.unwrap();
        })
    });
    db.delete(least).await.unwrap();
    assert!(raced.after_page.lock().unwrap().is_none(), "it moved meanwhile");
    settle(&other).await;
    assert_exact(&other, "the other is the least").await;
    assert!(other.verify().await.unwrap().is_clean());
}

/// What ranks first ranks first wherever it goes: its cells are written, and nobody asks what comes next.
#[tokio::test]
async fn the_first_moves_in_its_partition_without_a_query() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let db = super::database(mode).await;
        db.insert(&team(1)).await.unwrap();
        for (id, salary) in [(5, 3), (7, 5)] {
            db.insert(&Employee { salary, ..employee(id, 1) }).await.unwrap();
        }
        let mut first = Employee::find().department("A").id(5).one(&db).await.unwrap().unwrap();
        first.id = 9;
        db.forget_calls();
        db.save(&mut first).await.unwrap();
        assert_eq!(db.tally().range_queries, 0, "{mode:?}");
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}: moved")).await;
        let mut batch = db.batch(Employee::in_partition("A"));
        first.id = 1;
        batch.save(&mut first).insert(&Employee { salary: 4, ..employee(6, 1) });
        batch.commit().await.unwrap();
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}: moved beside another")).await;
    }
}
