//! Random sequences of writes to entities of all sizes, against a map: after each, every read gives what the map has, and no
//! row is there that no entity has.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use tablemodel::{ErrorKind, prelude::*, store::EmbeddedStore, testing::TestDatabase};

use super::{Document, Model, assert_clean, document, keys};

/// Lengths around each border: nothing, one chunk, several, a row, several rows, several batches.
const LENGTHS: [usize; 7] = [0, 10, 65_536, 65_537, 900_000, 1_300_000, 4_500_000];

#[derive(Debug, Clone)]
enum Step {
    Insert(u32, usize),
    Upsert(u32, usize),
    Save(u32, usize),
    Move(u32, u32),
    Patch(u32, usize),
    Count(u32, i64),
    Delete(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let id = || 0..3_u32;
    let length = || prop::sample::select(LENGTHS.to_vec());
    prop_oneof![
        (id(), length()).prop_map(|(id, length)| Step::Insert(id, length)),
        (id(), length()).prop_map(|(id, length)| Step::Upsert(id, length)),
        (id(), length()).prop_map(|(id, length)| Step::Save(id, length)),
        (id(), id()).prop_map(|(id, to)| Step::Move(id, to)),
        (id(), length()).prop_map(|(id, length)| Step::Patch(id, length)),
        (id(), any::<i64>()).prop_map(|(id, count)| Step::Count(id, count)),
        id().prop_map(Step::Delete),
    ]
}

fn sized(id: u32, length: usize) -> Document {
    Document { scan: Some(vec![id as u8; length]), ..document(id, length.min(70_000) / 3, None) }
}

async fn found(db: &Database, id: u32) -> Option<Stored<Document>> {
    Document::find().department("Sales").id(id).one(db).await.expect("readable")
}

/// Does the step to the database and to the map.
async fn run(db: &Database, model: &mut BTreeMap<u32, Document>, step: &Step) {
    match *step {
        Step::Insert(id, length) => {
            let answer = db.insert(&sized(id, length)).await;
            match model.contains_key(&id) {
                true => assert_eq!(answer.unwrap_err().kind(), &ErrorKind::AlreadyExists),
                false => assert_eq!(
                    Some(answer.unwrap().into_inner()),
                    model.insert(id, sized(id, length)).or(Some(sized(id, length)))
                ),
            }
        }
        Step::Upsert(id, length) => {
            db.upsert(&sized(id, length)).await.unwrap();
            model.insert(id, sized(id, length));
        }
        Step::Save(id, length) => {
            let Some(mut stored) = found(db, id).await else { return };
            stored.scan = Some(vec![7; length]);
            db.save(&mut stored).await.unwrap();
            stored.likes = Some(length as i64);
            db.save(&mut stored).await.expect("it is current again");
            model.insert(id, stored.into_inner());
        }
        Step::Move(id, to) => {
            let Some(mut stored) = found(db, id).await else { return };
            stored.id = to;
            match db.save(&mut stored).await {
                Ok(()) => {
                    model.remove(&id);
                    model.insert(to, stored.into_inner());
                }
                Err(error) => assert!(*error.kind() == ErrorKind::AlreadyExists && model.contains_key(&to), "{error}"),
            }
        }
        Step::Patch(id, length) => {
            let scan = (length > 0).then(|| vec![9; length]);
            let path = Document::find().department("Sales").id(id);
            let answer = db.patch(path, Document::SCAN.set(scan.clone())).await;
            match model.get_mut(&id) {
                Some(document) => document.scan = scan,
                None => assert_eq!(answer.unwrap_err().kind(), &ErrorKind::NotFound),
            }
        }
        Step::Count(id, count) => {
            let path = Document::find().department("Sales").id(id);
            let answer = db.patch(path, Document::READS.set(count).and(Document::LIKES.set(None))).await;
            assert_eq!(answer.is_ok(), model.contains_key(&id));
            if let Some(document) = model.get_mut(&id) {
                (document.reads, document.likes) = (count, None);
            }
        }
        Step::Delete(id) => {
            let Some(stored) = found(db, id).await else { return };
            db.delete(stored).await.unwrap();
            model.remove(&id);
        }
    }
}

/// That the database holds what the map has, and nothing else.
async fn check(db: &Database, model: &BTreeMap<u32, Document>) {
    let all = Document::find().department("Sales").all(db).await.expect("readable");
    assert!(all.iter().map(|stored| &**stored).eq(model.values()), "all differ");
    for document in model.values() {
        assert!(found(db, document.id).await.as_deref() == Some(document), "{} differs", document.id);
    }
    let rows: usize = all.iter().map(|stored| stored.etags().count() + 1).sum(); // and an index row each
    assert_eq!(keys(db).await.len(), rows, "{:?}", keys(db).await);
    assert_clean(db).await;
}

async fn run_all(db: &Database, steps: &[Step]) {
    let mut model = BTreeMap::new();
    for step in steps {
        run(db, &mut model, step).await;
        check(db, &model).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_sequence_leaves_what_a_map_would_hold(steps in prop::collection::vec(step(), 1..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            run_all(&TestDatabase::new::<Model>().await.expect("a database"), &steps).await;
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn and_so_on_a_file(steps in prop::collection::vec(step(), 1..10)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let directory = tempfile::tempdir().expect("a directory");
            let store = EmbeddedStore::builder().open(directory.path().join("file")).expect("a file");
            let db = TestDatabase::over::<Model>(|_| Arc::new(store)).await.expect("a database");
            run_all(&db, &steps).await;
        });
    }
}
