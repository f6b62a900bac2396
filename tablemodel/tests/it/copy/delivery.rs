//! Delivery in any order, any number of times: the outbox rows of sources and holders, planted back as often as you like,
//! end in the same copies. And the checker of these tests, shown what it must find.

use proptest::prelude::*;
use tablemodel::{
    Consistency, Properties,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::{Script, TestDatabase},
};

use super::{Desk, Employee, Model, assert_exact, at, database, desk, employee, faults, races, rows_in, settle};

#[derive(Debug, Clone)]
enum Step {
    Rename(u32, u8),
    Delete(u32),
    Point(Option<u32>),
    NoDesk,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1..3_u32, 0..2_u8).prop_map(|(id, name)| Step::Rename(id, name)),
        1 => (1..3_u32).prop_map(Step::Delete),
        3 => prop::option::of(1..3_u32).prop_map(Step::Point),
        1 => Just(Step::NoDesk),
    ];
    prop::collection::vec(step, 1..7)
}

/// Does the step and dies before anything is delivered.
async fn undelivered(db: TestDatabase, step: &Step) -> TestDatabase {
    let the_desk = || Desk::find().room("r1").place(1);
    db.fail(races::die_in_delivery);
    let _ = match *step {
        Step::Rename(id, name) => {
            db.upsert(&Employee { first_name: format!("n{name}"), ..employee("A", id) }).await.map(drop)
        }
        Step::Delete(id) => match at!("A", id).one(&db).await.unwrap() {
            Some(source) => db.delete(source).await,
            None => Ok(()),
        },
        Step::Point(id) => db.upsert(&desk(1, id)).await.map(drop),
        Step::NoDesk => match the_desk().one(&db).await.unwrap() {
            Some(desk) => db.delete(desk).await,
            None => Ok(()),
        },
    };
    db.fail(Script::new());
    db.reopen::<Model>().await.unwrap()
}

type Kept = ((String, String, String), Properties);

async fn outbox(db: &TestDatabase) -> Vec<Kept> {
    let mut rows = rows_in(&*db.store(), "Company").await;
    rows.extend(rows_in(&*db.store(), "Desks").await);
    rows.into_iter().filter(|((_, _, row), _)| row.starts_with("~~out|")).collect()
}

async fn put(db: &TestDatabase, key: &(String, String, String), action: Action) {
    let _ = db.store().commit(&[Batch::new(&key.0, &key.1).with(key.2.clone(), action)]).await;
}

async fn plant(db: &TestDatabase, (key, properties): &Kept) {
    put(db, key, Action::InsertOrReplace(properties.clone())).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn deliveries_in_any_order_and_number_end_in_the_same_copies(steps in steps(), order in prop::collection::vec(0..7_usize, 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut db = TestDatabase::new::<Model>().await.unwrap();
            for step in &steps {
                db = undelivered(db, step).await;
            }
            let kept = outbox(&db).await;
            for (key, _) in &kept {
                put(&db, key, Action::Delete(Condition::Exists)).await;
            }
            // One at a time, as `order` says, some several times; at last all that were left out.
            for at in order.into_iter().filter(|at| *at < kept.len()) {
                plant(&db, &kept[at]).await;
                settle(&db).await;
            }
            for row in &kept {
                plant(&db, row).await;
            }
            settle(&db).await;
            assert_exact(&db, &format!("{steps:?}")).await;
        });
    }
}

#[tokio::test]
async fn the_checker_of_these_tests_finds_what_is_planted() {
    for planted in 0..5 {
        let db = database(Consistency::Azure).await;
        db.insert(&employee("A", 1)).await.unwrap();
        db.insert(&desk(1, 1)).await.unwrap();
        db.insert(&super::badge(1, 1)).await.unwrap();
        assert_exact(&db, "before").await;
        let key = |table: &str, partition: &str, row: &str| (table.to_owned(), partition.to_owned(), row.to_owned());
        let the_desk = key("Desks", "r1", "desk_0001");
        let reference = key("Company", "A", "~~ref|6|e_0001|Desk.who|2|r1|desk_0001");
        let mut changed = rows_in(&*db.store(), "Desks").await[&the_desk].clone();
        match planted {
            0 => {
                changed.insert("Who_FirstName", "another");
                put(&db, &the_desk, Action::Replace(changed, Condition::Exists)).await;
            }
            1 => {
                changed.retain(|name| !name.starts_with("Who_"));
                put(&db, &the_desk, Action::Replace(changed, Condition::Exists)).await;
            }
            2 => put(&db, &reference, Action::Delete(Condition::Exists)).await,
            3 => put(&db, &the_desk, Action::Delete(Condition::Exists)).await,
            _ => put(&db, &key("Company", "A", "e_0001"), Action::Delete(Condition::Exists)).await,
        }
        assert_ne!(faults(&*db.store()).await, Vec::<String>::new(), "planted {planted}");
    }
}
