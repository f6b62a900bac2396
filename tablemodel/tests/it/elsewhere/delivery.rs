//! Delivery in any order, any number of times: the outbox rows of k changes, planted back as often as you like, end in
//! the same rows.

use proptest::prelude::*;
use tablemodel::{
    Properties,
    prelude::*,
    store::{Action, Batch},
    testing::{Fault, Script, TestDatabase},
};

use super::{Model, assert_exact, at, rows_in, settle, worker, workers};
use crate::tools::DieInDelivery;

#[derive(Debug, Clone)]
enum Step {
    Put { city: u8, badge: Option<u8>, skills: Vec<u8> },
    Delete,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let put = (0..3_u8, prop::option::of(0..3_u8), prop::collection::vec(0..3_u8, 0..3))
        .prop_map(|(city, badge, skills)| Step::Put { city, badge, skills });
    prop::collection::vec(prop_oneof![3 => put, 1 => Just(Step::Delete)], 1..6)
}

/// Does the step and dies before anything is delivered.
async fn undelivered(db: TestDatabase, step: &Step) -> TestDatabase {
    let there = at!("A", 1).one(&db).await.unwrap();
    let mut changed = there.as_deref().cloned().unwrap_or_else(|| worker("A", 1));
    match (step, there) {
        (Step::Put { city, badge, skills }, there) => {
            changed.city = format!("c{city}");
            changed.badge = badge.map(u32::from);
            changed.skills = skills.iter().map(|skill| format!("s{skill}")).collect();
            match there {
                Some(mut there) => {
                    *there = changed;
                    db.fail(DieInDelivery);
                    let _ = db.save(&mut there).await;
                }
                None => {
                    db.fail(DieInDelivery);
                    let _ = db.insert(&changed).await;
                }
            }
        }
        (Step::Delete, Some(there)) => {
            db.fail(DieInDelivery);
            let _ = db.delete(there).await;
        }
        (Step::Delete, None) => {}
    }
    db.fail(Script::new());
    db.reopen::<Model>().await.unwrap()
}

async fn outbox(db: &TestDatabase) -> Vec<(String, Properties)> {
    let rows = rows_in(&*db.store(), "Company").await;
    rows.into_iter().filter(|((_, _, row), _)| row.starts_with("~~out|")).map(|((_, _, row), p)| (row, p)).collect()
}

async fn plant(db: &TestDatabase, row: &(String, Properties)) {
    let batch = Batch::new("Company", "A").with(row.0.clone(), Action::InsertOrReplace(row.1.clone()));
    db.store().commit(&[batch]).await.unwrap();
}

async fn take(db: &TestDatabase, row: &str) {
    let delete = Action::Delete(tablemodel::store::Condition::Exists);
    let _ = db.store().commit(&[Batch::new("Company", "A").with(row, delete)]).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn deliveries_in_any_order_and_number_end_in_the_same_rows(steps in steps(), order in prop::collection::vec(0..6_usize, 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut db = TestDatabase::new::<Model>().await.unwrap();
            for step in &steps {
                db = undelivered(db, step).await;
            }
            let kept = outbox(&db).await;
            for row in &kept {
                take(&db, &row.0).await;
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
            assert_exact(&db, &workers(&db).await, &format!("{steps:?}")).await;
        });
    }
}

/// A partition that a drain found empty is no longer marked; the program that marked it learns of that.
#[tokio::test]
async fn what_is_written_after_a_drain_is_found_by_relays_too() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.insert(&worker("A", 1)).await.unwrap();
    db.relay().drain().await.unwrap();
    let step = Step::Put { city: 2, badge: Some(1), skills: vec![1] };
    let db = undelivered(db, &step).await;
    assert_eq!(db.relay().drain().await.unwrap().delivered, 1);
    assert_exact(&db, &workers(&db).await, "found").await;
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{name}")]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "{department}_{name}", keys_only))]
struct Named {
    department: String,
    name: String,
    city: String,
}

#[derive(TableModel)]
enum Names {
    Named(Named),
}

fn named(name: &str) -> Named {
    Named { department: "A".into(), name: name.into(), city: "Rome".into() }
}

/// The keys of outbox rows hold that of their entity, behind which others may go on.
#[tokio::test]
async fn what_one_entity_waits_for_is_nothing_to_another_whose_key_its_own_begins_with() {
    let db = TestDatabase::new::<Names>().await.unwrap();
    db.insert(&named("a")).await.unwrap();
    let mut longer = db.insert(&named("a|b")).await.unwrap();
    settle(&db).await;
    longer.city = "Oslo".into();
    db.fail(DieInDelivery);
    let _ = db.save(&mut longer).await;
    db.fail(Script::new());
    let db = db.reopen::<Names>().await.unwrap();
    let lost = Batch::new("Cities", "Rome").with("A_a", Action::Delete(tablemodel::store::Condition::Exists));
    db.store().commit(&[lost]).await.unwrap();
    let violations = db.verify().await.unwrap().violations;
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert_eq!(db.repair().await.unwrap().left, []);
    settle(&db).await;
    assert_eq!(db.verify().await.unwrap().violations, []);
    assert_eq!(Named::by_city().city("Rome").count(&db).await.unwrap(), 1);
}

#[tokio::test]
async fn what_an_outbox_among_imported_rows_holds_is_delivered() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let put = Step::Put { city: 1, badge: Some(2), skills: vec![1] };
    let db = undelivered(db, &put).await;
    let mut lines = Vec::new();
    db.export(&mut lines).await.unwrap();
    let copy = TestDatabase::atomic::<Model>().await.unwrap();
    copy.drop_tables().await.unwrap();
    copy.import(lines.as_slice()).await.unwrap();
    assert_eq!(outbox(&copy).await, []);
    assert_exact(&copy, &workers(&copy).await, "imported").await;
}

#[tokio::test]
async fn a_write_that_is_recognised_though_the_clock_moved_is_current_and_delivered() {
    use tablemodel::store::fault::{Call, Request};
    let db = TestDatabase::new::<Model>().await.unwrap();
    let (mut is_lost, clock) = (false, db.clock().clone());
    db.fail(move |call: &Call<'_>| match call.request {
        Request::Commit([batch]) if batch.table == "Company" && !is_lost => {
            is_lost = true;
            clock.advance(std::time::Duration::from_secs(1));
            Some(Fault::LostReply)
        }
        _ => None,
    });
    let mut stored = db.insert(&worker("A", 1)).await.unwrap();
    db.fail(Script::new());
    assert_exact(&db, &[worker("A", 1)], "nothing waits for a relay").await;
    stored.age += 1;
    db.save(&mut stored).await.expect("current");
}

/// An outbox row whose sweep failed once is the last one of its entity; the tombstone goes with the one that outlives it.
#[tokio::test]
async fn a_sweep_that_fails_once_leaves_no_tombstone_behind() {
    use tablemodel::store::fault::{Call, Request};
    let db = TestDatabase::new::<Model>().await.unwrap();
    let mut stored = db.insert(&worker("A", 1)).await.unwrap();
    stored.city = "Oslo".into();
    db.save(&mut stored).await.unwrap();
    db.delete(stored).await.unwrap();
    db.clock().advance(std::time::Duration::from_secs(601));
    let mut is_met = false;
    db.fail(move |call: &Call<'_>| match call.request {
        Request::Get("Cities", key) if key.partition == "Rome" && !std::mem::replace(&mut is_met, true) => {
            Some(Fault::error(tablemodel::store::StoreErrorKind::Denied))
        }
        _ => None,
    });
    assert_eq!(db.relay().run_once().await.unwrap().failed, 1, "the sweep of the first one");
    for _ in 0..5 {
        db.clock().advance(std::time::Duration::from_secs(700));
        db.relay().run_once().await.unwrap();
    }
    assert_eq!(super::leftovers(&db).await, []);
}

#[tokio::test]
async fn what_is_under_way_is_found_also_where_the_tables_were_dropped_before() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.insert(&worker("A", 1)).await.unwrap();
    settle(&db).await;
    db.drop_tables().await.unwrap();
    db.ensure_tables().await.unwrap();
    let step = Step::Put { city: 1, badge: None, skills: vec![1] };
    let db = undelivered(db, &step).await;
    settle(&db).await;
    assert_exact(&db, &workers(&db).await, "delivered").await;
}
