//! A fault at every call of either store: no blob is lost that is linked, and none is left that is not.

use std::{sync::Arc, time::Duration};

use tablemodel::{
    Consistency, ErrorKind,
    prelude::*,
    testing::{CallRecord, Fault, Script, TestDatabase},
};

use super::*;
use crate::{
    blob::faulty::{FaultyBlobs, When},
    crashes::{GONE, deaths},
    points::{ALL, points},
};

/// Where a program fails.
#[derive(Debug, Clone)]
enum At {
    Table(usize, Fault),
    /// Once the call was carried out.
    Object(usize),
}

/// Where a program fails that makes these calls of tables, and so many of objects: in a usual run at `at_most` of the former, and half as
/// many of the latter: what it leaves where it dies between objects, these show.
fn places(calls: &[CallRecord], objects: usize, at_most: usize, told: &str) -> Vec<At> {
    let tables = deaths(calls, false, at_most, told).into_iter().map(|(call, fault)| At::Table(call, fault));
    tables.chain(points(objects, at_most / 2, told).into_iter().map(At::Object)).collect()
}

/// Runs `work` with a fault at calls of it, each time on a store of its own; then collects, and lets `end` go on without.
async fn at_every_call<W, E>(
    (mode, at_most): (Consistency, usize),
    made: impl AsyncFn() -> (TestDatabase, Arc<FaultyBlobs>, Database),
    work: W,
    end: E,
) where
    W: AsyncFn(&Database) -> tablemodel::Result<()>,
    E: AsyncFn(&TestDatabase, &str),
{
    let (store, blobs, db) = made().await;
    store.forget_calls();
    blobs.heal();
    work(&db).await.expect("without a fault");
    let (tables, objects) = (store.calls(), blobs.calls());
    for at in places(&tables, objects, at_most, &format!("{mode:?}")) {
        let told = format!("{mode:?}: {at:?} of {} and {objects}", tables.len());
        let (store, blobs, db) = made().await;
        blobs.heal();
        match at.clone() {
            At::Table(call, fault) => store.fail(Script::new().at(call, fault)),
            At::Object(call) => blobs.fail(call, When::After),
        }
        let result = work(&db).await;
        if matches!(at, At::Table(_, Fault::LostReply)) {
            result.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        }
        drop(db);
        store.fail(Script::new());
        blobs.heal();
        let store = store.reopen::<before::Model>().await.expect("opened");
        store.clock().advance(GONE);
        let collector = program::<before::Model>(&store).await;
        settle(&collector, &store).await;
        drop(collector);
        end(&store, &told).await;
    }
}

async fn applied(mode: Consistency) -> (TestDatabase, Arc<FaultyBlobs>, Database) {
    let (store, blobs) = filled(mode).await;
    let db = next::<first::Model>(&store).await;
    db.migrations().apply().await.expect("applied");
    (store, blobs, db)
}

/// Applies, switches and collects.
async fn finish(store: &TestDatabase, told: &str) -> People {
    let db = next::<second::Model>(store).await;
    db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    let people = new_people(&db).await;
    db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    assert_no_litter(&db, store, told).await;
    assert_eq!(new_people(&db).await, people, "{told}");
    people
}

#[tokio::test]
async fn an_application_that_died_anywhere_loses_no_blob() {
    for mode in MODES {
        let people = old_people(&program::<first::Model>(&filled(mode).await.0).await).await;
        at_every_call(
            (mode, 32),
            async || {
                let (store, blobs) = filled(mode).await;
                let db = program::<first::Model>(&store).await;
                (store, blobs, db)
            },
            async |db| {
                db.ensure_tables().await?;
                db.migrations().apply().workers(1).await.map(drop)
            },
            async |store, told| assert_eq!(finish(store, told).await, people, "{told}"),
        )
        .await;
    }
}

#[tokio::test]
async fn a_write_that_died_anywhere_leaves_every_blob_to_who_links_it() {
    for mode in MODES {
        at_every_call(
            (mode, ALL),
            async || applied(mode).await,
            async |db| {
                let mut lee = first::Person::find().team("A").name("lee").one(db).await?.expect("there");
                lee.portrait = large(50).into();
                db.save(&mut lee).await?;
                lee.team = "B".into();
                match db.rekey(&mut lee).await {
                    // It has left its key, and a relay lets it arrive.
                    Err(error) if *error.kind() == ErrorKind::OutcomeUnknown => Ok(()),
                    other => other,
                }
            },
            async |store, told| {
                let db = program::<first::Model>(store).await;
                assert_no_litter(&db, store, told).await;
                let was = old_people(&db).await;
                assert_eq!(was.len(), 3, "{told}");
                drop(db);
                store.clock().advance(Duration::from_secs(130));
                assert_eq!(finish(store, told).await, was, "{told}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_switch_that_died_anywhere_loses_no_blob() {
    for mode in MODES {
        let people = old_people(&applied(mode).await.2).await;
        at_every_call(
            (mode, 30),
            async || {
                let (store, blobs, db) = applied(mode).await;
                drop(db);
                store.clock().advance(Duration::from_secs(130));
                let db = next::<second::Model>(&store).await;
                (store, blobs, db)
            },
            async |db| db.migrations().contract().await.map(drop),
            async |store, told| {
                let db = program::<second::Model>(store).await;
                assert_eq!(new_people(&db).await, people, "{told}");
                db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_no_litter(&db, store, told).await;
                assert_eq!(new_people(&db).await, people, "{told}");
            },
        )
        .await;
    }
}
