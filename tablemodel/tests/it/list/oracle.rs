//! Random operations against a naive model: a map of workers, from which every list is made anew.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tablemodel::{Consistency, ErrorKind, prelude::*, testing::TestDatabase};

use super::{Worker, assert_exact, at, database, on_disk, settle, worker, workers};
use crate::tools::block_on;

#[derive(Debug, Clone)]
struct Put {
    id: u8,
    long: bool,
    name: u8,
    city: u8,
    active: bool,
    badge: Option<u8>,
    skills: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Step {
    Insert(Put),
    Save(Put),
    Upsert(Put),
    Delete { id: u8, long: bool },
    Batch(Vec<Put>),
}

impl Put {
    fn worker(&self) -> Worker {
        Worker {
            tag: tag(self.long),
            name: format!("n{}", self.name),
            city: format!("c{}", self.city),
            active: self.active,
            badge: self.badge.map(|badge| u32::from(badge) + 1),
            skills: self.skills.iter().map(|skill| format!("s{skill}")).collect(),
            ..worker(self.id.into())
        }
    }
}

fn tag(long: bool) -> String {
    if long { "t".repeat(700) } else { "x".to_owned() }
}

fn puts() -> impl Strategy<Value = Put> {
    let fields = (0..40_u8, prop::bool::weighted(0.8), 0..2_u8, 0..3_u8, any::<bool>());
    let more = (prop::option::of(0..2_u8), prop::collection::vec(0..3_u8, 0..3));
    (fields, more).prop_map(|((id, long, name, city, active), (badge, skills))| Put {
        id,
        long,
        name,
        city,
        active,
        badge,
        skills,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => puts().prop_map(Step::Insert),
        3 => puts().prop_map(Step::Save),
        2 => puts().prop_map(Step::Upsert),
        2 => (0..40_u8, prop::bool::weighted(0.8)).prop_map(|(id, long)| Step::Delete { id, long }),
        3 => prop::collection::vec(puts(), 1..12).prop_map(Step::Batch),
    ];
    prop::collection::vec(step, 1..30)
}

type Naive = BTreeMap<(String, u32), Worker>;

fn key(worker: &Worker) -> (String, u32) {
    (worker.tag.clone(), worker.id)
}

async fn run(db: &TestDatabase, naive: &mut Naive, step: &Step) {
    match step {
        Step::Insert(put) => {
            let result = db.insert(&put.worker()).await;
            match naive.contains_key(&key(&put.worker())) {
                true => assert_eq!(result.unwrap_err().kind(), &ErrorKind::AlreadyExists),
                false => {
                    result.unwrap();
                    naive.insert(key(&put.worker()), put.worker());
                }
            }
        }
        Step::Save(put) => {
            let Some(mut there) = at!(put.worker()).one(db).await.unwrap() else { return };
            *there = put.worker();
            db.save(&mut there).await.unwrap();
            naive.insert(key(&there), put.worker());
        }
        Step::Upsert(put) => {
            db.upsert(&put.worker()).await.unwrap();
            naive.insert(key(&put.worker()), put.worker());
        }
        Step::Delete { id, long } => {
            let gone = Worker { tag: tag(*long), ..worker((*id).into()) };
            if let Some(there) = at!(gone).one(db).await.unwrap() {
                db.delete(there).await.unwrap();
            }
            naive.remove(&key(&gone));
        }
        Step::Batch(puts) => {
            let mut batch = db.batch(Worker::in_partition("A"));
            for put in puts {
                batch.upsert(&put.worker());
            }
            batch.commit().await.unwrap();
            naive.extend(puts.iter().map(|put| (key(&put.worker()), put.worker())));
        }
    }
}

async fn check(db: TestDatabase, steps: &[Step]) {
    let mut naive = Naive::new();
    for step in steps {
        run(&db, &mut naive, step).await;
    }
    settle(&db).await;
    let mut wanted: Vec<_> = naive.into_values().collect();
    wanted.sort_by_key(|worker| (worker.tag.clone(), worker.id));
    assert_eq!(workers(&db).await, wanted);
    assert_exact(&db, &format!("{steps:?}")).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn lists_are_those_of_the_entities_after_any_operations(steps in steps()) {
        block_on(async {
            for mode in [Consistency::Azure, Consistency::Atomic] {
                check(database(mode).await, &steps).await;
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn the_same_holds_in_a_file(steps in steps()) {
        block_on(async {
            let (db, _folder) = on_disk().await;
            check(db, &steps).await;
        });
    }
}
