//! Taking back what was built, at every state; and taking away what the model dropped.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::{Either, select};
use tablemodel::{
    Consistency, ErrorKind, IndexState,
    format::Fingerprint,
    migrations::Unfinished,
    prelude::*,
    store::{
        Action, Batch,
        clock::{Clock, ManualClock, Sleep},
    },
    testing::{Fault, Script, TestDatabase},
};

use super::{Club, MODES, Person, all_rows, assert_built, assert_clean, filled, first, next, program, states};

#[tokio::test]
async fn what_was_built_is_taken_back_and_built_again() {
    for mode in MODES {
        let store = filled(mode, 3, 80).await;
        let db = next::<Club>(&store).await;
        db.migrations().apply().await.expect("applied");
        let gone = db.migrations().rollback().await.expect("taken back");
        assert!(gone.steps.iter().all(|step| step.state == IndexState::Absent), "{gone:?}");
        assert!(gone.rows >= 240 * 3, "{gone:?}");
        assert_clean(&db, "taken back").await;
        assert_eq!(all_rows(&db, "Club").await.len(), 240);
        assert!(all_rows(&db, "People").await.is_empty() && all_rows(&db, "Names").await.is_empty());
        let error = db.migrations().rollback().await.expect_err("there is nothing left");
        assert_eq!(*error.kind(), ErrorKind::NotFound);
        db.migrations().apply().await.expect("applied again");
        assert_built(&db, &format!("{mode:?}")).await;
    }
}

/// The migration stops at each of its states, by dying at many of its calls; programs write; it is taken back.
#[tokio::test]
async fn at_every_state_it_can_be_taken_back() {
    for mode in MODES {
        let mut met = std::collections::BTreeSet::new();
        let persons = if mode == Consistency::Azure { 8 } else { 101 };
        let whole = filled(mode, 2, persons).await;
        for call in (0..10).chain((10..).step_by(23)) {
            let store = whole.fork().expect("in memory");
            let db = next::<Club>(&store).await;
            store.fail(Script::new().at(call, Fault::CrashAfter));
            let is_over = db.migrations().apply().workers(1).batch(50).await.is_ok();
            store.fail(Script::new());
            let store = store.reopen::<first::Club>().await.expect("opened");
            store.clock().advance(Duration::from_secs(130));
            let db = program::<Club>(&store).await;
            if db.migrations().status().await.unwrap().is_none() {
                continue;
            }
            met.extend(states(&db).await);
            db.update(Person::find().club("c0").id(1), |p| Ok(p.city = "Paris".into())).await.expect("updated");
            db.delete(Person::find().club("c1").id(5).one(&db).await.unwrap().unwrap()).await.expect("deleted");
            db.migrations().rollback().await.expect("taken back");
            assert_clean(&db, &format!("{mode:?}, died at call {call}")).await;
            assert!(all_rows(&db, "People").await.iter().all(|row| row.properties.get("_dead").is_some()));
            if is_over {
                break;
            }
        }
        assert_eq!(met.len(), 4, "every state was met: {met:?}");
    }
}

/// It dies at many of its calls; then persons change, and nothing follows the rows that it has yet to take away.
#[tokio::test]
async fn rows_that_an_interrupted_rollback_has_yet_to_take_away_are_no_violations() {
    for mode in MODES {
        let built = filled(mode, 1, if mode == Consistency::Azure { 12 } else { 201 }).await;
        let db = next::<Club>(&built).await;
        db.migrations().apply().await.expect("applied");
        drop(db);
        let mut left = 0;
        for call in 0.. {
            let store = built.fork().expect("in memory");
            store.clock().advance(Duration::from_secs(130));
            let db = program::<Club>(&store).await;
            store.fail(Script::new().at(call, Fault::CrashAfter));
            let is_over = db.migrations().rollback().await.is_ok();
            store.fail(Script::new());
            let store = store.reopen::<first::Club>().await.expect("opened");
            store.clock().advance(Duration::from_secs(130));
            let db = program::<Club>(&store).await;
            let at = || Person::find().club("c0").id(5);
            db.update(at(), |p| Ok((p.name, p.city) = ("new".into(), "Paris".into()))).await.expect("updated");
            left += u32::from(all_rows(&db, "People").await.iter().any(|row| row.key.row == "c0_0005"));
            assert_clean(&db, &format!("{mode:?}, died at call {call}")).await;
            if is_over {
                break;
            }
            if let Err(error) = db.migrations().rollback().await {
                assert_eq!(*error.kind(), ErrorKind::NotFound, "it was over: {error}");
            }
            assert_clean(&db, &format!("{mode:?}, died at call {call}, and over")).await;
        }
        assert!(left > 0, "{mode:?}");
    }
}

#[tokio::test]
async fn what_the_model_dropped_is_taken_away_once_nobody_knows_it() {
    for mode in MODES {
        let store = filled(mode, 2, 120).await;
        let old = next::<Club>(&store).await;
        old.migrations().apply().await.expect("applied");
        let db = next::<first::Club>(&store).await;
        let plan = db.migrations().plan().await.unwrap();
        assert_eq!((plan.steps.len(), plan.dropped.len()), (0, 4));
        if mode == Consistency::Azure {
            old.update(Person::find().club("c0").id(1), |p| Ok(p.city = "Paris".into()))
                .await
                .expect("it writes still");
        }
        let gone = db.migrations().contract().await.expect("taken away");
        assert!(gone.rows >= 240 * 3, "{gone:?}");
        let left = all_rows(&db, "Club").await.into_iter().filter(|row| !row.key.row.starts_with("~~"));
        assert_eq!(left.count(), 240, "beside outbox rows that wait for the fence");
        assert!(all_rows(&db, "People").await.is_empty());
        assert!(db.migrations().plan().await.unwrap().is_empty());
        assert_eq!(db.migrations().contract().await.unwrap().migration, None);
        assert_clean(&db, "taken away").await;
        let again = next::<Club>(&store).await;
        again.migrations().apply().await.expect("built anew");
        assert_built(&again, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn rows_that_nobody_wants_are_scrubbed_before_the_end() {
    for mode in MODES {
        let store = filled(mode, 1, 201).await;
        let db = next::<Club>(&store).await;
        // As a program without leases would have left it behind.
        let stray = crate::writes::properties([
            ("EntityType", "Person.by_city@1".into()),
            ("_rk", "p_0001".into()),
            ("_seq", 1_i64.into()),
            ("Visits", 0_i64.into()),
        ]);
        let batch = Batch::new("Club", "c0").with("city_Paris_0001", Action::Insert(stray));
        store.store().commit(&[batch]).await.expect("planted");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete() && applied.scrubbed == 1, "{applied:?}");
        assert_built(&db, &format!("{mode:?}")).await;
    }
}

/// Of a small store, which is migrated when its tables are ensured.
#[tokio::test]
async fn a_program_starts_beside_a_rollback_that_died() {
    let whole = filled(Consistency::Atomic, 1, 20).await;
    assert_built(&next::<Club>(&whole).await, "at first").await;
    for call in 0.. {
        let store = whole.fork().expect("in memory");
        let db = next::<Club>(&store).await;
        store.fail(Script::new().at(call, Fault::CrashAfter));
        let is_over = db.migrations().rollback().await.is_ok();
        drop(db);
        store.fail(Script::new());
        let store = store.reopen::<first::Club>().await.expect("opened");
        let db = next::<Club>(&store).await; // does not answer that something is being taken back
        if is_over {
            assert!(call > 10, "{call} calls");
            break;
        }
        let _ = db.migrations().rollback().await; // it may be over by then
        assert_clean(&db, &format!("died at call {call}")).await;
    }
}

/// Others have their turn after each second.
struct Slowly(ManualClock);

#[async_trait::async_trait]
impl Sleep for Slowly {
    async fn sleep(&self, time: Duration) {
        if time == Duration::MAX {
            std::future::pending().await
        }
        for _ in 0..time.as_secs().max(1) {
            self.0.advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
    }
}

fn slow(store: &TestDatabase) -> tablemodel::DatabaseBuilder {
    let clock = store.clock().clone();
    let builder = Database::builder().consistency(Consistency::Azure).sleep(Arc::new(Slowly(clock.clone())));
    builder.clock(Arc::new(clock)).deadline(Duration::MAX)
}

/// One who writes, and ever more who only read, and look at the states when they are due.
struct Others<'a> {
    store: &'a TestDatabase,
    writer: Database,
    readers: Vec<Database>,
    persons: u32,
}

impl Others<'_> {
    /// None is shown less than there is.
    async fn look(&mut self) {
        tokio::task::yield_now().await;
        self.writer.insert(&Person { city: "Oslo".into(), ..other(self.persons) }).await.expect("written");
        self.persons += 1;
        self.readers.push(slow(self.store).read_only().with_store::<Club>(self.store.store()).await.expect("opened"));
        for (at, reader) in self.readers.iter().enumerate() {
            match Person::by_city().club("c0").city("Oslo").count(reader).await {
                Ok(found) => assert_eq!(found, u64::from(self.persons), "reader {at}"),
                Err(error) => assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "reader {at}: {error}"),
            }
        }
    }

    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            let look = pin!(self.look());
            match select(work, look).await {
                Either::Left((done, look)) => {
                    look.await;
                    return done;
                }
                Either::Right(((), again)) => work = again,
            }
        }
    }
}

fn other(id: u32) -> Person {
    let first::Person { club, name, city, badge, visits, .. } = first::person("c0", id);
    Person { club, id, name, city, badge, visits }
}

#[tokio::test]
async fn a_rollback_that_is_gone_on_with_waits_for_those_who_only_read() {
    let store = filled(Consistency::Azure, 0, 0).await;
    let db = slow(&store).with_store::<Club>(store.store()).await.expect("opened");
    db.ensure_tables().await.expect("ensured");
    db.insert(&other(0)).await.expect("written");
    db.migrations().apply().await.expect("applied");
    let mut others = Others { store: &store, writer: db.clone(), readers: Vec::new(), persons: 1 };
    let (clock, at) = (store.clock().clone(), store.clock().monotonic() + Duration::from_secs(32));
    let stopping = db.migrations().stop_when(move || clock.monotonic() >= at);
    let stopped = others.beside(stopping.rollback()).await.expect_err("while it waits for those who read");
    assert_eq!(*stopped.kind(), ErrorKind::Stopped);
    assert_eq!(states(&db).await, [IndexState::WriteOnly; 4]);
    let gone = others.beside(db.migrations().rollback()).await.expect("taken back");
    assert!(gone.steps.iter().all(|step| step.state == IndexState::Absent), "{gone:?}");
    assert_clean(&db, "taken back").await;
}

/// What an interrupted rollback leaves, the next call ends, whichever it is; and the plan is not in force any more.
#[tokio::test]
async fn a_plan_is_taken_back_with_its_migration_wherever_that_stopped() {
    let whole = filled(Consistency::Atomic, 1, 20).await;
    let plans = [("0001_indexes".to_owned(), Fingerprint(1))];
    let migrations = next::<Club>(&whole).await.migrations(); // has built them
    migrations.begin_plans(&plans).await.expect("begun");
    migrations.finish_plans(&plans, None).await.expect("applied");
    for call in 0.. {
        let store = whole.fork().expect("in memory");
        let db = program::<Club>(&store).await;
        store.fail(Script::new().at(call, Fault::CrashAfter));
        let is_over = db.migrations().rollback().await.is_ok();
        drop(db);
        store.fail(Script::new());
        let store = store.reopen::<first::Club>().await.expect("opened");
        let db = program::<Club>(&store).await;
        let _ = match call % 2 {
            0 => db.migrations().rollback().await, // it may be over by then
            _ => db.migrations().contract().await,
        };
        let is_undone = db.migrations().status().await.unwrap().unwrap().undone;
        assert_eq!(db.migrations().plans().await.unwrap().is_empty(), is_undone, "died at call {call}");
        if is_over {
            assert!(call > 10, "{call} calls");
            break;
        }
    }
}

#[tokio::test]
async fn a_contraction_that_was_stopped_is_not_gone_on_with_by_a_rollback() {
    for mode in MODES {
        let store = filled(mode, 2, 120).await;
        next::<Club>(&store).await.migrations().apply().await.expect("applied");
        store.clock().advance(Duration::from_secs(130));
        let db = next::<first::Club>(&store).await;
        let checks = AtomicU64::new(0);
        let stopping = db.migrations().stop_when(move || checks.fetch_add(1, Ordering::Relaxed) > 0);
        let stopped = stopping.contract().await.expect_err("stopped");
        assert_eq!(*stopped.kind(), ErrorKind::Stopped, "{stopped:?}");
        let unfinished = db.migrations().plan().await.unwrap().unfinished;
        assert_eq!(unfinished, Some(Unfinished::Contract("0002".to_owned())));
        let rows = all_rows(&db, "People").await;
        let refused = db.migrations().rollback().await.expect_err("it is none");
        assert!(*refused.kind() == ErrorKind::Unsupported && refused.to_string().contains("`contract`"), "{refused:?}");
        assert_eq!(all_rows(&db, "People").await, rows);
        let refused = db.migrations().set_rate(Some(5.0)).await.expect_err("it is not limited");
        assert_eq!(*refused.kind(), ErrorKind::Unsupported, "{refused:?}");
        db.migrations().contract().await.expect("gone on");
        assert!(all_rows(&db, "People").await.is_empty());
    }
}

#[tokio::test]
async fn a_program_that_still_has_what_is_taken_away_is_named() {
    let store = filled(Consistency::Azure, 1, 20).await;
    let old = next::<Club>(&store).await;
    old.migrations().apply().await.expect("applied");
    let db = next::<first::Club>(&store).await;
    let stopped = db.migrations().stop_when(|| true).contract().await.expect_err("it waits for the other");
    assert_eq!(*stopped.kind(), ErrorKind::Stopped, "{stopped:?}");
    let programs = db.migrations().programs().await.expect("read");
    let keeping: Vec<_> = programs.iter().filter(|program| !program.keeps.is_empty()).collect();
    let [keeping] = keeping.as_slice() else { panic!("{programs:?}") };
    assert!(keeping.is_waited_for() && keeping.keeps.len() == 4 && keeping.lacks.is_empty(), "{keeping:?}");
}
