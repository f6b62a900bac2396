//! Random sequences of operations: after each, every copy is what its source is. On the memory store in both modes, and on
//! the embedded store.

use std::time::Duration;

use proptest::prelude::*;
use tablemodel::{
    Consistency, Database, ErrorKind, Result,
    prelude::*,
    store::TableStore,
    testing::{Script, TestDatabase},
};

use super::{
    Badge, Department, Desk, Employee, Model, Note, at, badge, database, department, desk, employee, faults, note,
    races, settle,
};

#[derive(Debug, Clone)]
enum Step {
    Put(u32, u8),
    Patch(u32, u8),
    Move(u32, u32),
    Delete(u32),
    Department(u8, Option<u32>),
    NoDepartment(u8),
    Desk(u32, Option<u32>),
    NoDesk(u32),
    Badge(u32, u32),
    NoBadge(u32),
    Note(u32, Option<u32>),
    /// A department, an employee and a department again, in one batch.
    Together(u8, u32),
    Later,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = || 1..4_u32;
    let step = prop_oneof![
        3 => (id(), 0..3_u8).prop_map(|(id, name)| Step::Put(id, name)),
        2 => (id(), 0..3_u8).prop_map(|(id, name)| Step::Patch(id, name)),
        1 => (id(), id()).prop_map(|(from, to)| Step::Move(from, to)),
        2 => id().prop_map(Step::Delete),
        3 => (0..3_u8, prop::option::of(id())).prop_map(|(number, id)| Step::Department(number, id)),
        1 => (0..3_u8).prop_map(Step::NoDepartment),
        3 => (0..3_u32, prop::option::of(id())).prop_map(|(place, id)| Step::Desk(place, id)),
        1 => (0..3_u32).prop_map(Step::NoDesk),
        2 => (0..2_u32, id()).prop_map(|(number, id)| Step::Badge(number, id)),
        1 => (0..2_u32).prop_map(Step::NoBadge),
        1 => (0..2_u32, prop::option::of(id())).prop_map(|(number, id)| Step::Note(number, id)),
        1 => (0..3_u8, id()).prop_map(|(number, id)| Step::Together(number, id)),
        1 => Just(Step::Later),
    ];
    prop::collection::vec(step, 1..16)
}

async fn take(db: &Database, step: &Step) -> Result<()> {
    let named = |id: u32, name: u8| Employee { first_name: format!("n{name}"), ..employee("A", id) };
    match *step {
        Step::Put(id, name) => db.upsert(&named(id, name)).await.map(drop),
        Step::Patch(id, name) => db.patch(at!("A", id), Employee::FIRST_NAME.set(format!("n{name}"))).await,
        Step::Move(from, to) => match at!("A", from).one(db).await? {
            Some(mut source) => {
                source.id = to;
                db.save(&mut source).await
            }
            None => Ok(()),
        },
        Step::Delete(id) => match at!("A", id).one(db).await? {
            Some(source) => db.delete(source).await,
            None => Ok(()),
        },
        Step::Department(number, id) => db.upsert(&department("A", number, id)).await.map(drop),
        Step::NoDepartment(number) => match Department::find().name("A").number(number).one(db).await? {
            Some(department) => db.delete(department).await,
            None => Ok(()),
        },
        Step::Desk(place, id) => db.upsert(&desk(place, id)).await.map(drop),
        Step::NoDesk(place) => match Desk::find().room(format!("r{}", place % 3)).place(place).one(db).await? {
            Some(desk) => db.delete(desk).await,
            None => Ok(()),
        },
        Step::Badge(number, id) => db.upsert(&badge(number, id)).await.map(drop),
        Step::NoBadge(number) => match Badge::find().number(number).one(db).await? {
            Some(badge) => db.delete(badge).await,
            None => Ok(()),
        },
        Step::Note(number, id) => {
            if let Some(old) = Note::find().number(number).one(db).await? {
                db.delete(old).await?;
            }
            db.insert(&note(number, id)).await.map(drop)
        }
        Step::Together(number, id) => {
            let mut batch = db.batch(Employee::in_partition("A"));
            batch.upsert(&department("A", number, id)).upsert(&named(id, 9)).upsert(&department("A", number + 1, id));
            batch.commit().await
        }
        Step::Later => db.relay().run_once().await.map(drop),
    }
}

/// Takes the steps; each may be refused, for a reason that it knows.
async fn follow(db: &Database, store: &dyn TableStore, steps: &[Step]) {
    for (nth, step) in steps.iter().enumerate() {
        if let Err(error) = take(db, step).await {
            let may =
                matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Restricted { .. } | ErrorKind::AlreadyExists);
            assert!(may, "{step:?} of {steps:?}: {error:?}");
        }
        assert_eq!(faults(store).await, Vec::<String>::new(), "after {nth} of {steps:?}");
    }
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn after_any_sequence_every_copy_is_what_its_source_is(steps in steps(), is_atomic in any::<bool>()) {
        block_on(async {
            let db = database(if is_atomic { Consistency::Atomic } else { Consistency::Azure }).await;
            follow(&db, &*db.store(), &steps).await;
        });
    }

    /// No writer delivers anything: relays do, after each so many steps.
    #[test]
    fn relays_alone_bring_every_copy_to_what_its_source_is(steps in steps(), every in 1..6_usize) {
        block_on(async {
            let mut db = TestDatabase::new::<Model>().await.unwrap();
            for chunk in steps.chunks(every) {
                for step in chunk {
                    db.fail(races::die_in_delivery);
                    let _ = take(&db, step).await;
                    db.fail(Script::new());
                    db = db.reopen::<Model>().await.unwrap();
                }
                settle(&db).await;
                assert_eq!(faults(&*db.store()).await, Vec::<String>::new(), "{chunk:?} of {steps:?}");
            }
            db.clock().advance(Duration::from_secs(3_600));
            settle(&db).await;
            assert_eq!(faults(&*db.store()).await, Vec::<String>::new(), "swept, {steps:?}");
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn on_a_file_too_every_copy_is_what_its_source_is(steps in steps(), is_atomic in any::<bool>()) {
        block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let mode = if is_atomic { Consistency::Atomic } else { Consistency::Azure };
            let builder = Database::builder().consistency(mode);
            let db = builder.open::<Model>(folder.path().join("copies.tablemodel")).await.unwrap();
            db.ensure_tables().await.unwrap();
            follow(&db, &**db.store(), &steps).await;
            db.close().await.unwrap();
        });
    }
}
