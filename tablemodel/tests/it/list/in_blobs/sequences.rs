//! Random operations over lists in blobs.

use proptest::prelude::*;
use tablemodel::{prelude::*, testing::TestDatabase};

use super::{GRACE, MODES, Member, assert_exact, assert_no_litter, database, member};

#[derive(Debug, Clone)]
enum Step {
    Upsert { id: u32, name: u8, city: bool },
    Delete(u32),
    Batch(Vec<(u32, u8)>),
    Collect,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..12_u32, 0..3_u8, any::<bool>()).prop_map(|(id, name, city)| Step::Upsert { id, name, city }),
        3 => (0..12_u32).prop_map(Step::Delete),
        2 => prop::collection::vec((0..12_u32, 0..3_u8), 1..8).prop_map(Step::Batch),
        1 => Just(Step::Collect),
    ];
    prop::collection::vec(step, 1..30)
}

fn named(id: u32, name: u8) -> Member {
    Member { name: format!("n{name}"), ..member(id) }
}

async fn run(db: &TestDatabase, step: &Step) {
    match step {
        Step::Upsert { id, name, city } => {
            let city = city.then(|| "Rome".to_owned());
            drop(db.upsert(&Member { city, ..named(*id, *name) }).await.unwrap());
        }
        Step::Delete(id) => {
            if let Some(gone) = Member::find().team("A").tag("x").id(*id).one(db).await.unwrap() {
                db.delete(gone).await.unwrap();
            }
        }
        Step::Batch(puts) => {
            let mut batch = db.batch(Member::in_partition("A"));
            for (id, name) in puts {
                batch.upsert(&named(*id, *name));
            }
            batch.commit().await.unwrap();
        }
        Step::Collect => {
            db.clock().advance(GRACE);
            let _ = db.blobs().collect().await.unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn lists_in_blobs_are_those_of_the_entities_after_any_operations(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            for mode in MODES {
                let db = database(mode).await;
                for step in &steps {
                    run(&db, step).await;
                }
                assert_exact(&db, &format!("{steps:?}")).await;
                assert_no_litter(&db, &format!("{steps:?}")).await;
            }
        });
    }
}
