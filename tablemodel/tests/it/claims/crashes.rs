//! A fault at every store call of every operation, in both modes: after a relay has run, the entities are as before or as
//! after, and the confirmed claims are exactly theirs.

use tablemodel::{
    Consistency, Result,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{MODES, Member, Model, assert_exact, database, member, members, settle};
use crate::crashes::enumerate;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Insert,
    InsertAgain,
    Save,
    SaveNone,
    SaveKept,
    MoveRow,
    Upsert,
    Update,
    Delete,
    Batch,
    Theft,
}

const KINDS: [Kind; 11] = [
    Kind::Insert,
    Kind::InsertAgain,
    Kind::Save,
    Kind::SaveNone,
    Kind::SaveKept,
    Kind::MoveRow,
    Kind::Upsert,
    Kind::Update,
    Kind::Delete,
    Kind::Batch,
    Kind::Theft,
];

async fn prepared(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    for id in [1, 2] {
        db.insert(&member("A", id)).await.unwrap();
    }
    let dead = db.insert(&member("A", 3)).await.unwrap();
    db.delete(dead).await.unwrap();
    // A program died over a value before its entity was written.
    let stolen = Member { badge: None, email: Some("stolen@x".into()), ..member("B", 8) };
    db.fail(|call: &tablemodel::store::fault::Call<'_>| match call.request {
        tablemodel::store::fault::Request::Commit(batches) if batches[0].table == "Club" => Some(Fault::CrashBefore),
        _ => None,
    });
    let _ = db.insert(&stolen).await;
    db.fail(Script::new());
    let db = db.reopen::<Model>().await.unwrap();
    db.clock().advance(std::time::Duration::from_secs(61));
    db
}

async fn run(db: &TestDatabase, kind: Kind) -> Result<()> {
    let changed = |m: &mut Member| (m.email, m.badge) = (Some("changed@x".into()), Some(77));
    match kind {
        Kind::Insert => db.insert(&member("B", 9)).await.map(drop),
        Kind::InsertAgain => db.insert(&Member { email: Some("again@x".into()), ..member("A", 3) }).await.map(drop),
        Kind::Theft => db.insert(&Member { email: Some("stolen@x".into()), ..member("B", 9) }).await.map(drop),
        Kind::Save | Kind::SaveNone | Kind::SaveKept | Kind::MoveRow => {
            let Some(mut m) = Member::find().club("A").id(1).one(db).await? else { return Ok(()) };
            match kind {
                Kind::Save => changed(&mut m),
                Kind::SaveNone => (m.email, m.active) = (None, false),
                Kind::SaveKept => m.name = "kept".into(),
                _ => (m.id, m.email, m.badge) = (7, Some("moved@x".into()), Some(78)),
            }
            db.save(&mut m).await
        }
        Kind::Upsert => db.upsert(&Member { email: Some("up@x".into()), ..member("A", 2) }).await.map(drop),
        Kind::Update => db.update(Member::find().club("A").id(2), |m| Ok(changed(m))).await.map(drop),
        Kind::Delete => match Member::find().club("A").id(1).one(db).await? {
            Some(m) => db.delete(m).await,
            None => Ok(()),
        },
        Kind::Batch => {
            let first = Member::find().club("A").id(1).one(db).await?;
            let second = Member::find().club("A").id(2).one(db).await?;
            let (Some(mut first), Some(second)) = (first, second) else { return Ok(()) };
            changed(&mut first);
            let mut batch = db.batch(Member::in_partition("A"));
            batch.save(&mut first).delete(second).insert(&member("A", 5));
            batch.commit().await
        }
    }
}

#[tokio::test]
async fn a_fault_at_any_store_call_leaves_old_or_new_and_the_claims_of_it() {
    let mut points = 0;
    for mode in MODES {
        for kind in KINDS {
            points += enumerate::<Model, _>(
                &format!("{mode:?} {kind:?}"),
                async || prepared(mode).await,
                async |db| run(db, kind).await,
                async |db| settle(db).await,
                async |db| members(db).await,
                async |db, told, is_old| {
                    assert_exact(db, told).await;
                    // Not blocked for ever: the operation can be done now.
                    if is_old {
                        run(db, kind).await.unwrap_or_else(|error| panic!("{told}: again: {error}"));
                        assert_exact(db, &format!("{told}, again")).await;
                    }
                },
            )
            .await;
        }
    }
    assert!(points > 700, "{points} points");
}

#[tokio::test]
async fn of_a_bulk_only_that_fails_whose_value_another_is_about_to_take() {
    let db = database(Consistency::Azure).await;
    let busy = Member { badge: None, email: Some("busy@x".into()), ..member("B", 8) };
    db.fail(|call: &tablemodel::store::fault::Call<'_>| match call.request {
        tablemodel::store::fault::Request::Commit(batches) if batches[0].table == "Club" => Some(Fault::CrashBefore),
        _ => None,
    });
    let _ = db.insert(&busy).await;
    db.fail(Script::new());
    let db = db.reopen::<Model>().await.unwrap();
    let all = (1..=20).map(|id| match id {
        7 => Member { email: busy.email.clone(), ..member("A", id) },
        _ => member("A", id),
    });
    let report = db.bulk().insert_all(futures_util::stream::iter(all)).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (19, 1), "{:?}", report.failed);
    assert_eq!(report.failed[0].kind(), &tablemodel::ErrorKind::Unavailable);
    assert_eq!(members(&db).await.len(), 19);
}
