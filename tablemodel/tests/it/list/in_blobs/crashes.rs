//! A fault at every call of either store while lists in blobs are written.

use std::sync::Arc;

use tablemodel::{Consistency, Result, prelude::*, testing::TestDatabase};

use super::{MODES, Member, Model, assert_exact, assert_no_litter, faulty, member, members};
use crate::{
    blob::faulty::{FaultyBlobs, When},
    crashes::{enumerate, is_of_fault},
};

#[derive(Debug, Clone, Copy)]
enum Kind {
    Insert,
    Shrink,
    Save,
    Upsert,
    Batch,
}

const KINDS: [Kind; 5] = [Kind::Insert, Kind::Shrink, Kind::Save, Kind::Upsert, Kind::Batch];

async fn prepared(mode: Consistency) -> (TestDatabase, Arc<FaultyBlobs>) {
    let (db, blobs) = faulty(mode).await;
    for id in 0..4 {
        db.insert(&member(id)).await.unwrap();
    }
    for id in 10..15 {
        db.insert(&Member { name: "Smith".into(), ..member(id) }).await.unwrap();
    }
    blobs.heal();
    db.forget_calls();
    (db, blobs)
}

async fn act(db: &TestDatabase, kind: Kind) -> Result<()> {
    let path = |id| Member::find().team("A").tag("x").id(id);
    match kind {
        Kind::Insert => db.insert(&member(9)).await.map(drop),
        Kind::Shrink => match path(1).one(db).await? {
            Some(gone) => db.delete(gone).await,
            None => Ok(()),
        },
        Kind::Save => {
            let Some(mut there) = path(2).one(db).await? else { return Ok(()) };
            there.name = "Smith".into();
            db.save(&mut there).await
        }
        Kind::Upsert => db.upsert(&Member { name: "Brown".into(), ..member(12) }).await.map(drop),
        Kind::Batch => {
            let mut batch = db.batch(Member::in_partition("A"));
            batch.insert(&member(20)).insert(&member(21)).insert(&Member { name: "Smith".into(), ..member(22) });
            batch.commit().await
        }
    }
}

/// After a restart: as before, and nothing beside it.
async fn check(db: &TestDatabase, blobs: &FaultyBlobs, before: &[Member], told: &str) {
    blobs.heal();
    let db = db.reopen::<Model>().await.unwrap();
    assert_eq!(members(&db).await, before, "{told}");
    assert_exact(&db, told).await;
    assert_no_litter(&db, told).await;
}

#[tokio::test]
async fn a_fault_at_any_call_of_either_store_leaves_old_or_new_and_the_lists_of_it() {
    let mut points = 0;
    for mode in MODES {
        for kind in KINDS {
            let (db, blobs) = prepared(mode).await;
            let before = members(&db).await;
            db.forget_calls();
            act(&db, kind).await.unwrap();
            let (objects, after) = (blobs.calls(), members(&db).await);
            assert!(objects > 0 && before != after, "{kind:?} changes a blob");
            let told = format!("{mode:?} {kind:?}");
            let alone = async || prepared(mode).await.0;
            let exact = async |db: &TestDatabase, told: &str, _| {
                assert_exact(db, told).await;
                assert_no_litter(db, told).await;
            };
            points += enumerate::<Model, _>(
                &told,
                alone,
                async |db| act(db, kind).await,
                async |_| {},
                async |db| members(db).await,
                exact,
            )
            .await;
            for (call, when) in (0..objects).flat_map(|call| [When::Before, When::After].map(|when| (call, when))) {
                let told = format!("{mode:?} {kind:?}, {when:?} object call {call} of {objects}");
                let (db, blobs) = prepared(mode).await;
                blobs.fail(call, when);
                let error = act(&db, kind).await.unwrap_err();
                assert!(is_of_fault(&error), "{told}: {error}");
                check(&db, &blobs, &before, &told).await;
                points += 1;
            }
        }
    }
    assert!(points > 200, "{points} points");
}
