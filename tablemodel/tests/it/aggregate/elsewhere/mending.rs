//! Rows that are not as they should be: found, never counted on, and put right.

use tablemodel::{
    ErrorKind, Properties, RowKey,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::{Script, TestDatabase},
};

use super::{super::settle, Consistency, MODES, Model, Order, assert_exact, club, database, order, rows_in, shop};
use crate::tools::{DieInDelivery, unmarked};

async fn prepared(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    db.insert(&shop(1)).await.unwrap();
    db.insert(&club("A")).await.unwrap();
    for (customer, id) in [("A", 1), ("B", 1), ("B", 2)] {
        db.insert(&order(customer, id)).await.unwrap();
    }
    settle(&db).await;
    db
}

async fn put(db: &TestDatabase, row: &str, action: Action) {
    db.store().commit(&[Batch::new("Shops", "X").with(row, action)]).await.unwrap();
}

async fn row(db: &TestDatabase, row: &str) -> Properties {
    db.store().get("Shops", &RowKey::new("X", row)).await.unwrap().unwrap().properties
}

fn with(properties: &Properties, value: impl Into<tablemodel::Value>) -> Properties {
    let mut changed = properties.clone();
    changed.insert("_value", value);
    changed
}

#[tokio::test]
async fn repair_makes_contributions_cells_and_targets_what_the_sources_come_to() {
    let (turnover, least) = ("~~agg|shop_01|Turnover", "~~agg|shop_01|Least");
    let (of_turnover, of_least) =
        ("~~agg|shop_01|Turnover!A!o_0001", "~~agg|shop_01|Least|09223372036854775818!A!o_0001");
    for mode in MODES {
        let at = prepared(mode).await;
        let [sum, first, one, other] =
            [row(&at, turnover).await, row(&at, least).await, row(&at, of_turnover).await, row(&at, of_least).await];
        let (mut wrong_shop, mut nobody) = (Properties::new(), one.clone());
        wrong_shop.insert("Orders", 1_i64);
        nobody.insert("_rk", "o_0099");
        let replaced = |properties: &Properties| Action::InsertOrReplace(properties.clone());
        let delete = || Action::Delete(Condition::Exists);
        let faults = [
            (turnover, replaced(&with(&sum, 5_i64))),
            (turnover, replaced(&with(&sum, "x"))),
            (turnover, delete()),
            (least, replaced(&with(&first, 11_i64))),
            (least, delete()),
            (of_turnover, replaced(&with(&one, 5_i64))),
            (of_turnover, replaced(&with(&one, "x"))),
            (of_turnover, delete()),
            (of_least, replaced(&with(&other, 5_i64))),
            (of_least, delete()),
            ("~~agg|shop_01|Turnover!A!o_0099", Action::Insert(nobody)),
            ("~~agg|shop_09|Turnover", Action::Insert(sum.clone())),
            ("shop_01", Action::Merge(wrong_shop, Condition::Exists)),
        ];
        for (row, action) in faults {
            let told = format!("{mode:?} {row} {action:?}");
            let db = prepared(mode).await;
            put(&db, row, action).await;
            assert!(!db.verify().await.unwrap().is_clean(), "{told}");
            for _ in 0..2 {
                let repaired = db.repair().await.unwrap();
                if repaired.found.is_clean() {
                    break;
                }
                settle(&db).await;
            }
            assert_exact(&db, &told).await;
        }
    }
}

#[tokio::test]
async fn a_contribution_that_cannot_be_read_is_never_counted_on() {
    let db = prepared(Consistency::Azure).await;
    let at = "~~agg|shop_01|Turnover!A!o_0001";
    let damaged = with(&row(&db, at).await, "x");
    put(&db, at, Action::InsertOrReplace(damaged)).await;
    let mut changed = Order::find().customer("A").id(1).one(&db).await.unwrap().unwrap();
    changed.amount = 11;
    db.save(&mut changed).await.unwrap(); // the order is written; its delivery waits
    db.clock().advance(std::time::Duration::from_secs(60));
    assert_eq!(db.relay().run_once().await.unwrap().failed, 1);
    drop(db.repair().await.unwrap());
    settle(&db).await;
    drop(db.repair().await.unwrap());
    settle(&db).await;
    assert_exact(&db, "mended").await;

    let atomic = prepared(Consistency::Atomic).await;
    let damaged = with(&row(&atomic, at).await, "x");
    put(&atomic, at, Action::InsertOrReplace(damaged)).await;
    let before = rows_in(&atomic, "Orders").await;
    let mut changed = Order::find().customer("A").id(1).one(&atomic).await.unwrap().unwrap();
    changed.amount = 11;
    let error = atomic.save(&mut changed).await.unwrap_err();
    assert_eq!((error.kind(), error.key()), (&ErrorKind::Corrupt, Some(&RowKey::new("X", at))), "{error}");
    assert_eq!(rows_in(&atomic, "Orders").await, before);
}

/// The deletion was under way in the mode that writes one partition at a time, and nothing leads relays to it.
#[tokio::test]
async fn what_a_source_added_that_is_deleted_goes_with_a_repair_in_the_atomic_mode() {
    let db = prepared(Consistency::Azure).await;
    let gone = Order::find().customer("B").id(1).one(&db).await.unwrap().unwrap();
    db.fail(DieInDelivery);
    let _unknown = db.delete(gone).await;
    db.fail(Script::new());
    let db = unmarked::<Model>(&db.reopen::<Model>().await.unwrap(), Consistency::Atomic).await;
    let repaired = db.repair().await.unwrap();
    assert_eq!((repaired.repaired, repaired.left), (1, vec![]));
    assert_exact(&db, "repaired").await;
}
