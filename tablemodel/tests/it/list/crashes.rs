//! A fault at every store call of every operation, in both modes: after a relay has run, the lists are those of the
//! entities as they are, and the entities are as before or as after.

use tablemodel::{Consistency, Result, prelude::*, testing::TestDatabase};

use super::{Model, Worker, assert_exact, at, database, settle, worker, workers};
use crate::crashes::enumerate;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Insert,
    Save,
    Move,
    Upsert,
    Delete,
    Batch,
    Grow,
}

const KINDS: [Kind; 7] = [Kind::Insert, Kind::Save, Kind::Move, Kind::Upsert, Kind::Delete, Kind::Batch, Kind::Grow];

fn long(id: u32) -> Worker {
    Worker { tag: "t".repeat(890), skills: vec![], badge: None, ..worker(id) }
}

async fn prepared(mode: Consistency, kind: Kind) -> TestDatabase {
    let db = database(mode).await;
    for id in [1, 2] {
        db.insert(&worker(id)).await.unwrap();
    }
    if matches!(kind, Kind::Grow) {
        let mut batch = db.batch(Worker::in_partition("A"));
        for id in 0..16 {
            batch.insert(&long(id));
        }
        batch.commit().await.unwrap();
    }
    db
}

async fn run(db: &TestDatabase, kind: Kind) -> Result<()> {
    let changed = |w: &mut Worker| {
        (w.name, w.city, w.badge, w.skills) = ("Smith".into(), "Oslo".into(), None, vec!["rust".into(), "art".into()]);
    };
    match kind {
        Kind::Insert => db.insert(&worker(9)).await.map(drop),
        Kind::Save => {
            let Some(mut w) = at!(worker(1)).one(db).await? else { return Ok(()) };
            changed(&mut w);
            db.save(&mut w).await
        }
        Kind::Move => {
            let Some(mut w) = at!(worker(1)).one(db).await? else { return Ok(()) };
            w.id = 7;
            db.save(&mut w).await
        }
        Kind::Upsert => db.upsert(&Worker { city: "Bonn".into(), name: "Brown".into(), ..worker(2) }).await.map(drop),
        Kind::Delete => match at!(worker(1)).one(db).await? {
            Some(w) => db.delete(w).await,
            None => Ok(()),
        },
        Kind::Batch => {
            let (first, second) = (at!(worker(1)).one(db).await?, at!(worker(2)).one(db).await?);
            let (Some(mut first), Some(second)) = (first, second) else { return Ok(()) };
            changed(&mut first);
            let mut batch = db.batch(Worker::in_partition("A"));
            batch.save(&mut first).delete(second).insert(&worker(5));
            batch.commit().await
        }
        Kind::Grow => {
            let mut batch = db.batch(Worker::in_partition("A"));
            for id in 100..103 {
                batch.insert(&long(id));
            }
            batch.commit().await
        }
    }
}

#[tokio::test]
async fn a_fault_at_any_store_call_leaves_old_or_new_and_the_lists_of_it() {
    let mut points = 0;
    for mode in [Consistency::Azure, Consistency::Atomic] {
        for kind in KINDS {
            points += enumerate::<Model, _>(
                &format!("{mode:?} {kind:?}"),
                async || prepared(mode, kind).await,
                async |db| run(db, kind).await,
                async |db| settle(db).await,
                async |db| workers(db).await,
                async |db, told, _| assert_exact(db, told).await,
            )
            .await;
        }
    }
    assert!(points > 300, "{points} points");
}
