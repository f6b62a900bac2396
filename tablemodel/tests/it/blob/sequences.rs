//! Random sequences of writes, stale writes, collections and time: what an entity holds can always be fetched, and after
//! collecting nothing else is there.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tablemodel::ErrorKind;

use super::*;
use crate::stall::Program;

#[derive(Debug, Clone)]
enum Step {
    /// Writes new content.
    Put(u8, u8),
    /// Upserts what the second entity was when it was last remembered, under the first one's key.
    PutRemembered(u8, u8),
    /// Saves another entity's blob in this one.
    Share(u8, u8),
    Move(u8, u8),
    Touch(u8),
    Remember(u8),
    Delete(u8),
    Pass(u32),
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..4_u8;
    prop_oneof![
        3 => (name(), any::<u8>()).prop_map(|(at, seed)| Step::Put(at, seed)),
        2 => (name(), name()).prop_map(|(at, of)| Step::PutRemembered(at, of)),
        2 => (name(), name()).prop_map(|(at, of)| Step::Share(at, of)),
        1 => (name(), name()).prop_map(|(at, to)| Step::Move(at, to)),
        2 => name().prop_map(Step::Touch),
        2 => name().prop_map(Step::Remember),
        2 => name().prop_map(Step::Delete),
        4 => (1..5000_u32).prop_map(Step::Pass),
        4 => Just(Step::Collect),
    ]
}

#[derive(Default)]
struct World {
    contents: BTreeMap<u8, Vec<u8>>,
    remembered: BTreeMap<u8, (Blob, Vec<u8>)>,
}

async fn find(db: &Database, at: u8) -> Option<Stored<Person>> {
    Person::find().team("A").name(at.to_string()).one(db).await.unwrap()
}

async fn put(db: &Database, world: &mut World, at: u8, portrait: Blob, content: Vec<u8>) {
    match db.upsert(&Person { portrait, ..person(&at.to_string(), b"") }).await {
        Ok(_) => drop(world.contents.insert(at, content)),
        // What is remembered may be long gone; a write that cannot have its content changes nothing.
        Err(error) => assert_eq!(error.kind(), &ErrorKind::NotFound, "{error:?}"),
    }
}

async fn take(db: &TestDatabase, world: &mut World, step: Step) {
    match step {
        Step::Put(at, seed) => put(db, world, at, large(seed).into(), large(seed)).await,
        Step::PutRemembered(at, of) => {
            if let Some((blob, content)) = world.remembered.get(&of).cloned() {
                put(db, world, at, blob, content).await;
            }
        }
        Step::Share(at, of) => {
            if let (Some(mut one), Some(other)) = (find(db, at).await, find(db, of).await) {
                one.portrait = other.portrait.clone();
                db.save(&mut one).await.unwrap();
                world.contents.insert(at, world.contents[&of].clone());
            }
        }
        Step::Move(at, to) => {
            if let (Some(mut one), None) = (find(db, at).await, find(db, to).await) {
                one.name = to.to_string();
                db.save(&mut one).await.unwrap();
                let content = world.contents.remove(&at).unwrap();
                world.contents.insert(to, content);
            }
        }
        Step::Touch(at) => {
            if let Some(mut one) = find(db, at).await {
                one.age = one.age.wrapping_add(1);
                db.save(&mut one).await.unwrap();
            }
        }
        Step::Remember(at) => {
            if let Some(one) = find(db, at).await {
                world.remembered.insert(at, (one.portrait.clone(), world.contents[&at].clone()));
            }
        }
        Step::Delete(at) => {
            if let Some(one) = find(db, at).await {
                db.delete(one).await.unwrap();
                world.contents.remove(&at);
            }
        }
        Step::Pass(seconds) => db.clock().advance(Duration::from_secs(seconds.into())),
        Step::Collect => drop(db.blobs().collect().await.unwrap()),
    }
}

async fn run(steps: Vec<Step>) {
    let db = database().await;
    let mut world = World::default();
    for step in steps {
        take(&db, &mut world, step).await;
        for (at, content) in &world.contents {
            let one = find(&db, *at).await.expect("there");
            assert_eq!(one.portrait.bytes(&db).await.expect("whole"), content);
        }
    }
    assert!(db.verify().await.unwrap().is_clean());
    settle(&db).await;
    assert_eq!(names_in(&*db.blob_store()).await, linked(&db).await);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_an_entity_holds_can_always_be_fetched(steps in prop::collection::vec(step(), 1..60)) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(steps));
    }
}

/// What a collector marked as unlinked must stay unlinked: it is deleted once the mark is old.
#[tokio::test]
async fn an_upsert_links_no_blob_that_another_has_unlinked_meanwhile() {
    let mut stalls = 0;
    for call in 0.. {
        let db = database().await;
        let first = db.insert(&person("a", &large(1))).await.expect("inserted");
        let unlinked = first.portrait.name().expect("a blob").to_owned();
        let (handle, mut other) = (first.into_inner(), read(&db, "a").await);
        let program = db.reopen::<People>().await.expect("opened");
        let meanwhile = async move {
            other.portrait = large(2).as_slice().into();
            program.save(&mut other).await.expect("saved");
        };
        let upserting = Program::sleeping::<People>(&db, call, Box::pin(meanwhile)).await;
        let upserted = upserting.db.upsert(&handle).await;
        if !upserting.has_stalled() {
            break;
        }
        stalls += 1;
        let links = linked(&db).await;
        match upserted {
            Ok(_) => assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.expect("read"), large(1), "{call}"),
            Err(error) => {
                assert!(error.is_retryable() && error.operation().is_none(), "{call}: {error:?}");
                assert_eq!(links.len(), 1, "{call}");
                upserting.db.upsert(&handle).await.expect("again");
            }
        }
        assert!(!linked(&db).await.contains(&unlinked), "before call {call}: {links:?}");
    }
    assert!(stalls >= 3, "two reads and a commit: {stalls}");
}

/// Of several of a load only that one is looked at anew, and none fails.
#[tokio::test]
async fn a_load_of_linked_blobs_beside_a_writer_writes_all_of_them() {
    for call in 0.. {
        let db = database().await;
        let first = db.insert(&person("a", &large(1))).await.expect("inserted");
        let second = db.insert(&person("b", &large(3))).await.expect("inserted");
        let unlinked = first.portrait.name().expect("a blob").to_owned();
        let (handles, mut other) = ([first.into_inner(), second.into_inner()], read(&db, "a").await);
        let program = db.reopen::<People>().await.expect("opened");
        let meanwhile = async move {
            other.portrait = large(2).as_slice().into();
            program.save(&mut other).await.expect("saved");
        };
        let loading = Program::sleeping::<People>(&db, call, Box::pin(meanwhile)).await;
        let report = loading.db.bulk().upsert_all(futures_util::stream::iter(handles)).await.expect("loaded");
        if !loading.has_stalled() {
            break;
        }
        assert_eq!((report.written, report.failed.len()), (2, 0), "{call}: {report:?}");
        assert!(!linked(&db).await.contains(&unlinked), "before call {call}");
    }
}
