//! Random operations, against the aggregates that the orders come to by plain addition and comparison.

use proptest::prelude::*;
use tablemodel::{prelude::*, testing::TestDatabase};

use super::{super::settle, Club, MODES, Order, Shop, assert_exact, club, database, order, orders, shop};

#[derive(Debug, Clone)]
struct Content {
    customer: u8,
    id: u8,
    shop: u8,
    club: Option<u8>,
    amount: i8,
    weight: Option<i8>,
    paid: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Put(Content),
    Batch(Vec<Content>, Vec<u8>),
    Delete(u8, u8),
    Rekey { from: (u8, u8), to: (u8, u8) },
    PutShop(u8, u8),
    DeleteShop(u8),
    PutClub(u8),
    DeleteClub(u8),
}

fn contents() -> impl Strategy<Value = Content> {
    let numbers = (0..2_u8, 0..4_u8, 1..3_u8, prop::option::of(0..2_u8));
    (numbers, -3..4_i8, prop::option::of(-3..4_i8), any::<bool>()).prop_map(
        |((customer, id, shop, club), amount, weight, paid)| Content { customer, id, shop, club, amount, weight, paid },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => contents().prop_map(Step::Put),
        3 => (prop::collection::vec(contents(), 1..6), prop::collection::vec(0..4_u8, 0..2))
            .prop_map(|(puts, deletes)| Step::Batch(puts, deletes)),
        2 => (0..2_u8, 0..4_u8).prop_map(|(customer, id)| Step::Delete(customer, id)),
        2 => ((0..2_u8, 0..4_u8), (0..2_u8, 0..4_u8)).prop_map(|(from, to)| Step::Rekey { from, to }),
        1 => (1..3_u8, 0..2_u8).prop_map(|(number, motto)| Step::PutShop(number, motto)),
        1 => (1..3_u8).prop_map(Step::DeleteShop),
        1 => (0..2_u8).prop_map(Step::PutClub),
        1 => (0..2_u8).prop_map(Step::DeleteClub),
    ];
    prop::collection::vec(step, 1..14)
}

fn name(number: u8) -> String {
    ["A", "B"][usize::from(number)].to_owned()
}

fn made(of: &Content) -> Order {
    Order {
        shop: of.shop,
        club: of.club.map_or("C".to_owned(), name),
        amount: of.amount.into(),
        weight: of.weight.map(|weight| f64::from(weight) / 16.0),
        paid: of.paid,
        ..order(&name(of.customer), of.id.into())
    }
}

async fn find(db: &TestDatabase, customer: u8, id: u8) -> Option<Stored<Order>> {
    Order::find().customer(name(customer)).id(u32::from(id)).one(db).await.unwrap()
}

async fn run(db: &TestDatabase, step: &Step) {
    match step {
        Step::Put(content) => drop(db.upsert(&made(content)).await.unwrap()),
        Step::Batch(puts, deletes) => {
            let mut gone = Vec::new();
            for id in deletes {
                if !puts.iter().any(|put| put.id == *id)
                    && !gone.iter().any(|other: &Stored<Order>| other.id == u32::from(*id))
                {
                    gone.extend(find(db, 0, *id).await);
                }
            }
            let mut batch = db.batch(Order::in_partition("A"));
            for put in puts {
                batch.upsert(&made(&Content { customer: 0, ..put.clone() }));
            }
            for gone in gone {
                batch.delete(gone);
            }
            batch.commit().await.unwrap();
        }
        Step::Delete(customer, id) => {
            if let Some(there) = find(db, *customer, *id).await {
                db.delete(there).await.unwrap();
            }
        }
        Step::Rekey { from, to } => {
            if let (Some(mut there), None) = (find(db, from.0, from.1).await, find(db, to.0, to.1).await) {
                (there.customer, there.id) = (name(to.0), to.1.into());
                db.rekey(&mut there).await.unwrap();
            }
        }
        Step::PutShop(number, motto) => {
            db.upsert(&Shop { motto: format!("m{motto}"), ..shop(*number) }).await.map(drop).unwrap();
        }
        Step::DeleteShop(number) => {
            if let Some(there) = Shop::find().city("X").number(*number).one(db).await.unwrap() {
                db.delete(there).await.unwrap();
            }
        }
        Step::PutClub(number) => drop(db.upsert(&club(&name(*number))).await.unwrap()),
        Step::DeleteClub(number) => {
            if let Some(there) = Club::find().name(name(*number)).one(db).await.unwrap() {
                db.delete(there).await.unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn aggregates_are_those_of_the_sources_after_any_operations(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            let mut ends = Vec::new();
            for mode in MODES {
                let db = database(mode).await;
                for (number, step) in steps.iter().enumerate() {
                    run(&db, step).await;
                    settle(&db).await;
                    assert_exact(&db, &format!("{mode:?}, step {number} of {steps:?}")).await;
                }
                ends.push(orders(&db).await);
            }
            assert_eq!(ends[0], ends[1]);
        });
    }
}
