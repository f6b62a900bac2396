//! A fault at every store call of every operation, in both modes: after a relay has run, the orders are as before or as
//! after, and the aggregates are those of the orders as they are.

use tablemodel::{
    Consistency, Result,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{
    super::settle, MODES, Model, Order, Shop, assert_exact, club, clubs, database, order, orders, rows_in, shop, shops,
};
use crate::crashes::enumerate_some;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Insert,
    Change,
    Move,
    Rekey,
    Delete,
    InsertTarget,
    SaveTarget,
    DeleteTarget,
    Batch,
}

const KINDS: [Kind; 9] = [
    Kind::Insert,
    Kind::Change,
    Kind::Move,
    Kind::Rekey,
    Kind::Delete,
    Kind::InsertTarget,
    Kind::SaveTarget,
    Kind::DeleteTarget,
    Kind::Batch,
];

async fn prepared(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    for (customer, id) in [("A", 1), ("A", 2), ("B", 1)] {
        db.insert(&order(customer, id)).await.unwrap();
    }
    db.insert(&shop(1)).await.unwrap();
    db.insert(&club("A")).await.unwrap();
    db
}

async fn run(db: &TestDatabase, kind: Kind) -> Result<()> {
    let first = Order::find().customer("A").id(1).one(db).await?;
    let target = Shop::find().city("X").number(1).one(db).await?;
    let (Some(mut first), Some(mut target)) = (first, target) else { return Ok(()) };
    match kind {
        Kind::Insert => db.insert(&Order { amount: 3, weight: Some(7.0), ..order("B", 9) }).await.map(drop),
        Kind::Change => {
            (first.amount, first.weight, first.paid, first.club) = (15, None, false, "B".into());
            db.save(&mut first).await
        }
        Kind::Move => {
            (first.id, first.shop, first.club) = (7, 2, "C".into());
            db.save(&mut first).await
        }
        Kind::Rekey => {
            (first.customer, first.id, first.amount) = ("B".into(), 5, 4);
            db.rekey(&mut first).await
        }
        Kind::Delete => db.delete(first).await,
        Kind::InsertTarget => db.insert(&shop(2)).await.map(drop),
        Kind::SaveTarget => {
            (target.motto, target.orders, target.least) = ("n".into(), 50, None);
            db.save(&mut target).await
        }
        Kind::DeleteTarget => db.delete(target).await,
        Kind::Batch => {
            let second = Order::find().customer("A").id(2).one(db).await?;
            let Some(second) = second else { return Ok(()) };
            first.shop = 2;
            let mut batch = db.batch(Order::in_partition("A"));
            batch.save(&mut first).delete(second).insert(&order("A", 5)).insert(&order("A", 6));
            batch.commit().await
        }
    }
}

async fn state(db: &TestDatabase) -> String {
    let (mut shops, clubs) = (shops(db).await, clubs(db).await);
    // What the orders come to is compared by itself.
    shops
        .iter_mut()
        .for_each(|found| *found = super::Shop { motto: found.motto.clone(), weight: 0.0, ..shop(found.number) });
    format!("{:?} {shops:?} {:?}", orders(db).await, clubs.len())
}

#[tokio::test]
async fn a_fault_at_any_store_call_leaves_old_or_new_and_the_aggregates_of_it() {
    let mut points = 0;
    for mode in MODES {
        for kind in KINDS {
            points += enumerate_some::<Model, _>(
                (&format!("{mode:?} {kind:?}"), 20),
                async || prepared(mode).await,
                async |db| run(db, kind).await,
                async |db| settle(db).await,
                async |db| state(db).await,
                async |db, told, _| assert_exact(db, told).await,
            )
            .await;
        }
    }
    assert!(points > 800, "{points} points");
}

/// A second fault while a relay mends the first; once the fence has passed, no tombstone is left.
#[tokio::test]
async fn a_second_fault_while_the_relay_works_changes_nothing() {
    let whole = prepared(Consistency::Azure).await;
    for kind in [Kind::Change, Kind::Delete, Kind::Batch, Kind::Rekey] {
        for call in 0..40 {
            let told = format!("{kind:?}, relay fault at {call}");
            let db = whole.fork().expect("in memory");
            db.fail(Script::new().at(5, Fault::CrashBefore));
            let _ = run(&db, kind).await;
            db.fail(Script::new());
            let db = db.reopen::<Model>().await.unwrap();
            db.clock().advance(std::time::Duration::from_secs(60));
            let fault = if call % 2 == 0 { Fault::CrashAfter } else { Fault::LostReply };
            db.fail(Script::new().at(16 + call, fault));
            let _ = db.relay().run_once().await;
            db.fail(Script::new());
            let db = db.reopen::<Model>().await.unwrap();
            settle(&db).await;
            assert_exact(&db, &told).await;
            db.clock().advance(std::time::Duration::from_secs(3_600));
            for _ in 0..3 {
                db.relay().run_once().await.unwrap();
            }
            for table in ["Orders", "Shops"] {
                let dead = rows_in(&db, table).await.into_iter().filter(|(_, row)| row.get("_dead").is_some()).count();
                assert_eq!(dead, 0, "{told}: {table}");
            }
            assert_exact(&db, &told).await;
        }
    }
}
