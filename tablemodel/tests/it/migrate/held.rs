//! Requests of migrations and of those who write beside them that are carried out long after anybody asked for them, and answers that
//! come late.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tablemodel::{
    Consistency, ErrorKind, Row, RowKey, ValueRef,
    format::Fingerprint,
    prelude::*,
    store::{
        Action, Batch, KeyRange, Operation, Page, Query, Receipts, RowRange, StoreError, TableStore, clock::ManualClock,
    },
    testing::TestDatabase,
};

use super::{Club, Person, assert_built, filled, first, named, next, program, program_over, store_of};
use crate::{
    between::{Around, Between},
    held::Held,
    points::points,
    stall::Program,
};

const OLD: &str = "old";
/// Longer than a lease that is not refreshed lives.
const LONG: Duration = Duration::from_secs(125);

/// A store that answers one look at the states late, with what is there by then; a program of the first release writes all the while.
struct Slow {
    old: Database,
    clock: ManualClock,
    looks: AtomicUsize,
    slow: usize,
    /// By which row the old program says that it lives.
    lease: OnceLock<RowKey>,
    /// How often that was taken away.
    taken: AtomicUsize,
}

#[async_trait::async_trait]
impl Between for Slow {
    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        if query.table != "tmschema" || query.range != KeyRange::rows("s", RowRange::all()) {
            return inner.query(query).await;
        }
        if self.looks.fetch_add(1, Ordering::Relaxed) == self.slow {
            self.clock.advance(LONG);
        }
        touch(&self.old).await;
        let page = inner.query(query).await?;
        let is_old = |row: &&Row| row.properties.get("Name") == Some(ValueRef::String(OLD));
        if let Some(row) = page.rows.iter().find(is_old) {
            self.lease.get_or_init(|| row.key.clone());
        }
        Ok(page)
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let mut operations = batches.iter().flat_map(|batch| &batch.operations);
        let is_lease = |of: &Operation| self.lease.get().is_some_and(|lease| lease.row == of.row);
        self.taken.fetch_add(usize::from(operations.any(is_lease)), Ordering::Relaxed);
        inner.commit(batches).await
    }
}

/// Whether the old program is known to live.
async fn is_known(db: &Database) -> bool {
    let programs = db.migrations().programs().await.expect("read");
    programs.iter().any(|program| program.name.as_deref() == Some(OLD))
}

async fn touch(old: &Database) {
    old.update(first::Person::find().club("c0").id(1), |person| Ok(person.visits += 1)).await.expect("written");
}

/// How often a migration of a copy looks at the states. Where one of these is answered late, it still takes nobody for gone.
async fn looks(whole: &TestDatabase, slow: usize) -> usize {
    let store = whole.fork().expect("in memory");
    let old = named::<first::Club>(&store, store.store(), OLD).await;
    touch(&old).await;
    let (clock, looks, taken) = (store.clock().clone(), AtomicUsize::new(0), AtomicUsize::new(0));
    let late = Slow { old, clock, looks, slow, lease: OnceLock::new(), taken };
    let late = Around::over(store.store(), late);
    let db = program_over::<Club>(&store, late.clone()).await;
    late.looks.store(0, Ordering::Relaxed);
    let applied = db.migrations().apply().wait(Duration::from_secs(200)).await;
    let looks = late.looks.load(Ordering::Relaxed);
    if looks > slow {
        let error = applied.expect_err("a program is alive that has none of the indexes");
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "look {slow}: {error:?}");
        assert_eq!(late.taken.load(Ordering::Relaxed), 0, "look {slow}");
    }
    looks
}

#[tokio::test]
async fn nobody_who_lives_is_taken_for_gone_since_the_store_was_slow() {
    let whole = filled(Consistency::Azure, 1, 3).await;
    next::<Club>(&whole).await;
    let there = looks(&whole, usize::MAX).await;
    assert!(there > 20, "{there}");
    for slow in points(there, 24, "slow") {
        assert!(looks(&whole, slow).await > slow, "look {slow} of {there}");
    }
}

/// That a program has ended is heard late, and one of its handles has gone on.
#[tokio::test]
async fn who_goes_on_after_another_handle_was_closed_is_known() {
    let store = filled(Consistency::Azure, 1, 3).await;
    let held = Held::over(&store, false, |table, of| table == "tmschema" && matches!(of.action, Action::Delete(_)));
    let old = named::<first::Club>(&store, held.clone(), OLD).await;
    touch(&old).await;
    let other = old.clone();
    let _unknown = old.close().await;
    assert!(held.is_on_its_way());
    touch(&other).await;
    let db = program::<Club>(&store).await;
    held.land().await;
    assert!(is_known(&db).await);
}

fn plans() -> Vec<(String, Fingerprint)> {
    vec![("0001_all".to_owned(), Fingerprint::of_text("all"))]
}

/// That it was applied is recorded late, once it was taken back.
#[tokio::test]
async fn a_plan_that_was_taken_back_is_in_force_no_more() {
    for refuses in [false, true] {
        let store = filled(Consistency::Azure, 1, 210).await;
        next::<Club>(&store).await;
        let held = Held::over(&store, refuses, |_, of| {
            of.row.starts_with("plan|") && of.action.properties().is_some_and(|it| it.get("Finished").is_some())
        });
        let db = program_over::<Club>(&store, held.clone()).await;
        db.migrations().begin_plans(&plans()).await.expect("begun");
        let applied = db.migrations().apply().await.expect("applied");
        let _unknown = db.migrations().finish_plans(&plans(), applied.migration.as_deref()).await;
        db.migrations().rollback().await.expect("taken back");
        held.land().await;
        assert_eq!(db.migrations().plans().await.expect("read"), [], "{refuses}");
        db.migrations().check_plans(&[]).await.expect("nothing is in force");
    }
}

/// That it was begun is recorded late, once it was applied.
#[tokio::test]
async fn a_plan_that_was_applied_stays_in_force() {
    let store = filled(Consistency::Azure, 1, 3).await;
    let db = next::<Club>(&store).await;
    db.migrations().apply().await.expect("applied");
    let held = Held::over(&store, false, |_, of| of.row.starts_with("plan|"));
    let db = program_over::<Club>(&store, held.clone()).await;
    db.migrations().begin_plans(&plans()).await.expect("begun");
    db.migrations().finish_plans(&plans(), None).await.expect("finished");
    held.land().await;
    let in_force = db.migrations().plans().await.expect("read");
    assert!(in_force.iter().all(|plan| plan.finished.is_some()) && in_force.len() == 1, "{in_force:?}");
}

/// A drain that finds a partition empty leaves its marker to a write that is still on its way.
#[tokio::test]
async fn a_drain_hides_nothing_that_lands_after_it() {
    let store = filled(Consistency::Azure, 1, 3).await;
    next::<Club>(&store).await.migrations().apply().await.expect("applied");
    let held = Held::over(&store, true, |table, of| table == "Club" && of.row == "p_0777");
    let db = program_over::<Club>(&store, held.clone()).await;
    let person =
        Person { club: "c0".into(), id: 777, name: "late".into(), city: "Oslo".into(), badge: None, visits: 0 };
    let error = db.insert(&person).await.expect_err("nothing is answered");
    assert_eq!(*error.kind(), ErrorKind::OutcomeUnknown);
    db.relay().drain().await.expect("drained");
    held.land().await;
    for _ in 0..3 {
        store.clock().advance(Duration::from_secs(61));
        db.relay().run_once().await.expect("delivered");
    }
    let found = Person::by_name().name("late").all(&db).await.expect("read");
    assert_eq!(found.len(), 1, "its row elsewhere never came");
}

/// An export reads the states of indexes last, and a migration may end before it does: what was read before that is of the old release.
#[tokio::test]
async fn an_export_beside_a_migration_says_no_more_than_its_rows_do() {
    let whole = filled(Consistency::Azure, 1, 210).await;
    next::<Club>(&whole).await;
    whole.clock().advance(Duration::from_secs(130));
    let mut unready = 0;
    for at in 0.. {
        let store = whole.fork().expect("in memory");
        let other = program::<Club>(&store).await;
        let meanwhile = async move { drop(other.migrations().apply().await.expect("applied")) };
        let exporter = Program::sleeping::<Club>(&store, at, Box::pin(meanwhile)).await;
        let mut lines = Vec::new();
        exporter.db.export(&mut lines).await.expect("exported");
        if !exporter.has_stalled() {
            break;
        }
        let copy = store_of::<Club>(Consistency::Azure).await;
        copy.drop_tables().await.expect("empty");
        copy.import(lines.as_slice()).await.expect("imported");
        copy.clock().advance(Duration::from_secs(130));
        let db = next::<Club>(&copy).await;
        match Person::by_city().club("c0").all(&db).await {
            Ok(found) => assert_eq!(found.len(), 210, "before call {at}"),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "before call {at}: {error:?}");
                unready += 1;
            }
        }
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "before call {at}");
        assert_built(&db, &format!("before call {at}")).await;
    }
    assert!(unready > 0);
}
