//! A fault at every call of either store, in every operation: afterwards the entity is as before or as after, what it
//! links is there whole, and after collecting nothing else is.

use tablemodel::{
    store::StoreErrorKind,
    testing::{Fault, Script},
};

use super::{faulty::When, *};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Insert,
    InsertLong,
    Save,
    SaveInline,
    Move,
    Upsert,
    UpsertStored,
    Update,
    Delete,
    Batch,
    Bulk,
    Stream,
}

const KINDS: [Kind; 12] = [
    Kind::Insert,
    Kind::InsertLong,
    Kind::Save,
    Kind::SaveInline,
    Kind::Move,
    Kind::Upsert,
    Kind::UpsertStored,
    Kind::Update,
    Kind::Delete,
    Kind::Batch,
    Kind::Bulk,
    Kind::Stream,
];

/// A key that no name of a blob can hold.
fn long_name() -> String {
    "L".repeat(500)
}

async fn act(db: &TestDatabase, kind: Kind, mut stored: Stored<Person>) {
    let path = || Person::find().team("A").name("old");
    // What is told of a failure is the business of other tests.
    let _ = match kind {
        Kind::Insert => db.insert(&Person { film: Some(large(9).into()), ..person("new", &large(8)) }).await.map(drop),
        Kind::InsertLong => db.insert(&person(&long_name(), &large(8))).await.map(drop),
        Kind::Save => {
            (stored.portrait, stored.film) = (large(8).into(), None);
            db.save(&mut stored).await
        }
        Kind::SaveInline => {
            stored.portrait = vec![8].into();
            db.save(&mut stored).await
        }
        Kind::Move => {
            stored.name = "new".into();
            db.save(&mut stored).await
        }
        Kind::Upsert => db.upsert(&person("old", &large(8))).await.map(drop),
        Kind::UpsertStored => db.upsert(&Person { age: 40, ..stored.into_inner() }).await.map(drop),
        Kind::Update => db.update(path(), |person| Ok(person.portrait = large(8).into())).await.map(drop),
        Kind::Delete => db.delete(stored).await,
        Kind::Batch => {
            stored.portrait = large(8).into();
            let mut batch = db.batch(Person::in_partition("A"));
            batch.save(&mut stored).insert(&person("new", &large(7)));
            batch.commit().await
        }
        Kind::Bulk => {
            let people = [person("new", &large(7)), person("newer", &large(8))];
            db.bulk().insert_all(futures_util::stream::iter(people)).await.map(drop)
        }
        Kind::Stream => {
            let pieces = futures_util::stream::iter((0..3).map(|n| Ok::<_, std::io::Error>(vec![n; 5 << 20])));
            let film = Some(Blob::from_stream(pieces));
            db.insert(&Person { film, ..person("new", b"") }).await.map(drop)
        }
    };
}

/// One entity is there, with both blobs.
async fn prepared() -> (TestDatabase, Arc<FaultyBlobs>, Stored<Person>) {
    let (db, blobs) = faulty().await;
    let stored = db.insert(&Person { film: Some(large(2).into()), ..person("old", &large(1)) }).await.unwrap();
    blobs.heal();
    db.forget_calls();
    (db, blobs, stored)
}

/// Every entity: its name, its age, and the contents of its blobs.
type Contents = BTreeSet<(String, u8, Vec<u8>, Option<Vec<u8>>)>;

/// Every entity as it is.
async fn contents(db: &Database) -> Contents {
    let mut contents = Contents::new();
    for person in Person::find().team("A").all(db).await.unwrap() {
        let portrait = person.portrait.bytes(db).await.expect("what is linked is there");
        let film = match &person.film {
            Some(film) => Some(film.bytes(db).await.expect("what is linked is there").to_vec()),
            None => None,
        };
        contents.insert((person.name.clone(), person.age, portrait.to_vec(), film));
    }
    contents
}

/// After a restart: the state is one of `allowed`, and collecting leaves what is linked.
async fn check(db: &TestDatabase, blobs: &FaultyBlobs, allowed: &[Contents]) {
    blobs.heal();
    db.fail(Script::new());
    let db = db.reopen::<People>().await.unwrap();
    let found = contents(&db).await;
    assert!(allowed.contains(&found), "neither as before nor as after");
    settle(&db).await;
    assert_eq!(names_in(blobs).await, linked(&db).await);
    assert!(contents(&db).await == found, "collecting took what was linked");
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
pub(crate) async fn a_fault_at_any_call_leaves_the_old_or_the_new_and_no_more_blobs_than_are_linked() {
    let mut runs = 0;
    for kind in KINDS {
        let (db, blobs, stored) = prepared().await;
        let before = contents(&db).await;
        blobs.heal();
        db.forget_calls();
        act(&db, kind, stored).await;
        let (rows, objects) = (db.calls().len(), blobs.calls());
        let after = contents(&db).await;
        assert_ne!(before, after, "{kind:?} changes something");
        // A bulk load may have written either entity.
        let mut allowed = vec![before.clone(), after.clone()];
        if kind == Kind::Bulk {
            let partly = |name: &str| after.iter().filter(|one| one.0 != name).cloned().collect();
            allowed.extend([partly("new"), partly("newer")]);
        }
        check(&db, &blobs, &[after]).await;
        for at in 0..=rows {
            let busy = Fault::error(StoreErrorKind::Unavailable);
            for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::LostReply, busy] {
                let (db, blobs, stored) = prepared().await;
                db.fail(Script::new().at(at, fault));
                act(&db, kind, stored).await;
                check(&db, &blobs, &allowed).await;
                runs += 1;
            }
        }
        for at in 0..=objects {
            for when in [When::Before, When::After] {
                let (db, blobs, stored) = prepared().await;
                blobs.fail(at, when);
                act(&db, kind, stored).await;
                check(&db, &blobs, &allowed).await;
                runs += 1;
            }
        }
    }
    assert!(runs > 120, "{runs} runs");
}

/// The checker finds what it is for.
#[tokio::test]
#[should_panic(expected = "what is linked is there")]
async fn a_row_that_links_a_blob_which_is_not_there_is_found() {
    use tablemodel::blob::object_store::ObjectStoreExt;
    let (db, blobs, stored) = prepared().await;
    blobs.delete(&Path::from(stored.portrait.name().unwrap())).await.unwrap();
    let any = contents(&db).await;
    check(&db, &blobs, &[any]).await;
}
