//! Delivery in any order and any number of times, by several relays at once, and late: the aggregates are the same.

use std::time::Duration;

use proptest::prelude::*;
use tablemodel::{
    Consistency, ErrorKind, Properties,
    prelude::*,
    store::{
        Action, Batch, Condition,
        fault::{Call, Request},
    },
    testing::{Fault, FaultPlan, Script, TestDatabase},
};

use super::{
    super::{rows_in, settle},
    Club, Model, Order, Shop, assert_exact, club, database, order, orders, shop,
};
use crate::tools::DieInDelivery;

#[derive(Debug, Clone)]
enum Step {
    Put { shop: u8, amount: i8, weight: Option<i8>, paid: bool },
    Delete,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let put = (1..3_u8, -3..4_i8, prop::option::of(-3..4_i8), any::<bool>())
        .prop_map(|(shop, amount, weight, paid)| Step::Put { shop, amount, weight, paid });
    prop::collection::vec(prop_oneof![3 => put, 1 => Just(Step::Delete)], 1..6)
}

/// Does the step and dies before anything is delivered.
async fn undelivered(db: TestDatabase, step: &Step) -> TestDatabase {
    let there = Order::find().customer("A").id(1).one(&db).await.unwrap();
    db.fail(DieInDelivery);
    let _ = match (step, there) {
        (Step::Put { shop, amount, weight, paid }, _) => {
            let weight = weight.map(f64::from);
            let put = Order { shop: *shop, amount: (*amount).into(), weight, paid: *paid, ..order("A", 1) };
            db.upsert(&put).await.map(drop)
        }
        (Step::Delete, Some(there)) => db.delete(there).await,
        (Step::Delete, None) => Ok(()),
    };
    db.fail(Script::new());
    db.reopen::<Model>().await.unwrap()
}

async fn outbox(db: &TestDatabase) -> Vec<(String, Properties)> {
    let rows = rows_in(db, "Orders").await;
    rows.into_iter().filter(|((_, row), _)| row.starts_with("~~out|")).map(|((_, row), p)| (row, p)).collect()
}

async fn plant(db: &TestDatabase, row: &(String, Properties)) {
    let batch = Batch::new("Orders", "A").with(row.0.clone(), Action::InsertOrReplace(row.1.clone()));
    db.store().commit(&[batch]).await.unwrap();
}

async fn take(db: &TestDatabase, row: &str) {
    let _ = db.store().commit(&[Batch::new("Orders", "A").with(row, Action::Delete(Condition::Exists))]).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Beside another source, whose values may be the same.
    #[test]
    fn deliveries_in_any_order_and_number_end_in_the_same_aggregates(
        steps in steps(), order in prop::collection::vec(0..6_usize, 0..12), beside in prop::option::of(-3..4_i8),
    ) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            let mut db = database(Consistency::Azure).await;
            db.insert(&shop(1)).await.unwrap();
            if let Some(value) = beside {
                db.insert(&beside_it(value)).await.unwrap();
            }
            for step in &steps {
                db = undelivered(db, step).await;
            }
            let kept = outbox(&db).await;
            for row in &kept {
                take(&db, &row.0).await;
            }
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

fn beside_it(value: i8) -> Order {
    Order { amount: value.into(), weight: Some(value.into()), ..order("B", 2) }
}

/// It was there between what it is known as and what it is, and nothing of that was delivered.
#[tokio::test]
async fn a_value_that_a_source_had_for_a_while_is_still_anothers() {
    let mut db = database(Consistency::Azure).await;
    db.insert(&shop(1)).await.unwrap();
    db.insert(&beside_it(0)).await.unwrap();
    db.insert(&Order { amount: 1, weight: Some(-1.0), ..order("A", 1) }).await.unwrap();
    for value in [0, 2] {
        db = undelivered(db, &Step::Put { shop: 1, amount: value, weight: Some(-value), paid: true }).await;
    }
    settle(&db).await;
    assert_exact(&db, "passed by").await;
}

#[tokio::test]
async fn relays_that_work_at_once_add_each_source_once() {
    let mut db = database(Consistency::Azure).await;
    db.insert(&shop(1)).await.unwrap();
    db.insert(&club("A")).await.unwrap();
    for (customer, id) in [("A", 1), ("A", 2), ("B", 1), ("B", 2), ("C", 1)] {
        db.fail(DieInDelivery);
        let _ = db.insert(&order(customer, id)).await;
        db.fail(Script::new());
        db = db.reopen::<Model>().await.unwrap();
    }
    assert_eq!(db.total(Shop::find().city("X").number(1), Shop::ORDERS).await.unwrap(), 0, "nothing is delivered yet");
    db.clock().advance(Duration::from_secs(60));
    let relays = (0..4).map(|_| {
        let relay = db.relay();
        async move { relay.run_once().await.unwrap() }
    });
    futures_util::future::join_all(relays).await;
    settle(&db).await;
    assert_eq!(orders(&db).await.len(), 5);
    assert_exact(&db, "four relays").await;
}

/// What was read before is written half a fence later, or not at all.
#[tokio::test]
async fn a_delivery_that_stalls_for_long_is_given_up() {
    struct Stall(tablemodel::store::clock::ManualClock, bool);
    impl FaultPlan for Stall {
        fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
            let is_cell = matches!(call.request, Request::Get(_, key) if key.row == "~~agg|shop_01|Turnover");
            if is_cell && std::mem::take(&mut self.1) {
                self.0.advance(Duration::from_secs(301)); // the fence is 600 s
            }
            None
        }
    }
    let db = database(Consistency::Azure).await;
    db.insert(&shop(1)).await.unwrap();
    db.fail(Stall(db.clock().clone(), true));
    db.insert(&order("A", 1)).await.unwrap();
    db.fail(Script::new());
    assert_eq!(db.total(Shop::find().city("X").number(1), Shop::TURNOVER).await.unwrap(), 0);
    settle(&db).await;
    assert_exact(&db, "later").await;
}

/// A total beyond its type: the source's own write is done, its delivery is set aside until there is room again.
#[tokio::test]
async fn what_a_cell_cannot_hold_is_set_aside_and_delivered_once_it_can() {
    let db = database(Consistency::Azure).await;
    db.insert(&club("A")).await.unwrap();
    let large = db.insert(&Order { amount: i64::MAX, ..order("A", 1) }).await.unwrap();
    db.insert(&order("B", 2)).await.unwrap();
    let total = || async { db.total(Shop::find().city("X").number(1), Shop::TURNOVER).await.unwrap() };
    assert_eq!(total().await, i64::MAX);
    for _ in 0..20 {
        db.clock().advance(Duration::from_secs(3_600));
        db.relay().run_once().await.unwrap();
    }
    // What another aggregate gets of the same source is not held up.
    assert_eq!(db.total(Club::find().name("A"), Club::ORDERS).await.unwrap(), 2);
    let poisoned = db.relay().poisoned().await.unwrap();
    assert!(
        matches!(poisoned.as_slice(), [one] if one.error.contains("`turnover` of `Shop` would be beyond its type"))
    );
    db.delete(large).await.unwrap();
    assert_eq!(total().await, 0);
    db.relay().retry(&poisoned[0]).await.unwrap();
    settle(&db).await;
    assert_exact(&db, "set aside, and back").await;

    let atomic = database(Consistency::Atomic).await;
    atomic.insert(&Order { amount: i64::MAX, ..order("A", 1) }).await.unwrap();
    let error = atomic.insert(&order("B", 2)).await.unwrap_err();
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::Overflow, None), "{error}");
    assert_exact(&atomic, "refused").await;
}

/// Contributions that were taken away stand before it, until they are swept.
#[tokio::test]
async fn the_next_least_one_is_found_with_few_reads_however_many_went_before_it() {
    let db = database(Consistency::Azure).await;
    db.insert(&shop(1)).await.unwrap();
    let mut orders = Vec::new();
    for id in 1..=120 {
        orders.push(db.insert(&order("c", id)).await.unwrap());
    }
    let mut calls = Vec::new();
    for order in orders.into_iter().take(110) {
        db.forget_calls();
        db.delete(order).await.unwrap();
        calls.push(db.calls().len());
    }
    let (first, last) = (calls[1], calls[109]);
    assert!(last <= first + 4, "{first} calls at first, {last} at last");
    assert!(db.verify().await.unwrap().is_clean());
}

/// As an export leaves it that came past the source before it changed, and past what it adds after that.
#[tokio::test]
async fn contributions_that_are_ahead_of_their_source_are_brought_to_what_it_adds() {
    let db = database(Consistency::Azure).await;
    for number in [1, 2] {
        db.insert(&shop(number)).await.unwrap();
    }
    db.insert(&club("A")).await.unwrap();
    let mut there = db.insert(&order("A", 1)).await.unwrap();
    let key = ("A".to_owned(), there.key().row.clone());
    let was = rows_in(&db, "Orders").await[&key].clone();
    for shop in [2, 1, 2] {
        (there.shop, there.amount) = (shop, 500);
        db.save(&mut there).await.unwrap();
    }
    let back = Batch::new("Orders", "A").with(key.1, Action::Replace(was, Condition::Exists));
    db.store().commit(&[back]).await.unwrap();
    db.clock().advance(Duration::from_secs(1));
    let repaired = db.repair().await.unwrap();
    assert_eq!(repaired.left, []);
    settle(&db).await;
    assert_exact(&db, "repaired").await;
}
