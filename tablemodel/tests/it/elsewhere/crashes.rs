//! A fault at every store call of every operation, in both modes: after a relay has run, the rows are those of the
//! entities as they are, and the entities are as before or as after.

use tablemodel::{
    Consistency, Result,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{Model, Worker, assert_exact, at, leftovers, settle, worker, workers};
use crate::crashes::enumerate;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Insert,
    InsertAgain,
    Save,
    SaveLess,
    Move,
    Upsert,
    Update,
    Delete,
    Batch,
}

const KINDS: [Kind; 9] = [
    Kind::Insert,
    Kind::InsertAgain,
    Kind::Save,
    Kind::SaveLess,
    Kind::Move,
    Kind::Upsert,
    Kind::Update,
    Kind::Delete,
    Kind::Batch,
];

async fn prepared(mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<Model>(mode).await;
    for id in [1, 2] {
        db.insert(&worker("A", id)).await.unwrap();
    }
    let dead = db.insert(&worker("A", 3)).await.unwrap();
    db.delete(dead).await.unwrap();
    db
}

async fn run(db: &TestDatabase, kind: Kind) -> Result<()> {
    let changed = |w: &mut Worker| {
        (w.city, w.badge, w.skills) = ("Oslo".into(), Some(8), vec!["rust".into(), "art".into()]);
    };
    match kind {
        Kind::Insert => db.insert(&worker("B", 9)).await.map(drop),
        Kind::InsertAgain => db.insert(&Worker { city: "Bonn".into(), ..worker("A", 3) }).await.map(drop),
        Kind::Save => {
            let Some(mut w) = at!("A", 1).one(db).await? else { return Ok(()) };
            changed(&mut w);
            db.save(&mut w).await
        }
        Kind::SaveLess => {
            let Some(mut w) = at!("A", 1).one(db).await? else { return Ok(()) };
            (w.active, w.skills) = (false, vec![]);
            db.save(&mut w).await
        }
        Kind::Move => {
            let Some(mut w) = at!("A", 1).one(db).await? else { return Ok(()) };
            w.id = 7;
            db.save(&mut w).await
        }
        Kind::Upsert => db.upsert(&Worker { city: "Bonn".into(), ..worker("A", 2) }).await.map(drop),
        Kind::Update => db.update(at!("A", 2), |w| Ok(changed(w))).await.map(drop),
        Kind::Delete => match at!("A", 1).one(db).await? {
            Some(w) => db.delete(w).await,
            None => Ok(()),
        },
        Kind::Batch => {
            let (first, second) = (at!("A", 1).one(db).await?, at!("A", 2).one(db).await?);
            let (Some(mut first), Some(second)) = (first, second) else { return Ok(()) };
            changed(&mut first);
            let mut batch = db.batch(Worker::in_partition("A"));
            batch.save(&mut first).delete(second).insert(&worker("A", 5));
            batch.commit().await
        }
    }
}

#[tokio::test]
async fn a_fault_at_any_store_call_leaves_old_or_new_and_the_rows_of_it() {
    let mut points = 0;
    for mode in [Consistency::Azure, Consistency::Atomic] {
        for kind in KINDS {
            points += enumerate::<Model, _>(
                &format!("{mode:?} {kind:?}"),
                async || prepared(mode).await,
                async |db| run(db, kind).await,
                async |db| settle(db).await,
                async |db| workers(db).await,
                async |db, told, _| assert_exact(db, &workers(db).await, told).await,
            )
            .await;
        }
    }
    assert!(points > 500, "{points} points");
}

/// The same with a second fault while the relay mends the first.
#[tokio::test]
async fn a_second_fault_while_the_relay_works_changes_nothing() {
    let whole = prepared(Consistency::Azure).await;
    for kind in [Kind::Save, Kind::Delete, Kind::Batch] {
        for call in 0..24 {
            let db = whole.fork().expect("in memory");
            let calls = if matches!(kind, Kind::Batch) { 4 } else { 3 };
            db.fail(Script::new().at(calls, Fault::CrashBefore));
            let _ = run(&db, kind).await;
            db.fail(Script::new());
            let db = db.reopen::<Model>().await.unwrap();
            db.clock().advance(std::time::Duration::from_secs(60));
            let fault = if call % 2 == 0 { Fault::CrashAfter } else { Fault::LostReply };
            db.fail(Script::new().at(16 + call, fault));
            let _ = db.relay().run_once().await;
            db.fail(Script::new());
            let db = db.reopen::<Model>().await.unwrap();
            settle(&db).await;
            assert_exact(&db, &workers(&db).await, &format!("{kind:?}, relay fault at {call}")).await;
            db.clock().advance(std::time::Duration::from_secs(3_600));
            for _ in 0..3 {
                db.relay().run_once().await.unwrap();
            }
            assert_eq!(leftovers(&db).await, Vec::<(String, String, String)>::new(), "{kind:?} {call}");
        }
    }
}
