//! Rows of other programs in a table whose entities adopt, at keys that are no entity's, or another's.

use tablemodel::{Consistency, RowKey, ValueRef, prelude::*, store::Action, testing::TestDatabase};

use super::{assert_clean, plant, properties};
use crate::migrate::{MODES, next, store_of};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Legacy", adopt, partition = "{region}", row = "c_{id:04}")]
#[table(index(by_name, row = "name_{name}_{id:04}", keys_only))]
struct Customer {
    region: String,
    id: u32,
    name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Legacy", adopt, partition = "{region}", row = "i_{id:04}")]
#[table(index(by_sum, row = "sum_{sum:010}_{id:04}", keys_only))]
struct Invoice {
    region: String,
    id: u32,
    sum: u32,
}

#[derive(Debug, TableModel)]
#[allow(dead_code, reason = "the tests read by path")]
enum Legacy {
    Customer(Customer),
    Invoice(Invoice),
    #[table(other)]
    Other(Row),
}

/// A table of another program, in a store that knows of something else.
async fn filled(mode: Consistency) -> TestDatabase {
    let db = store_of::<Orders>(mode).await;
    db.store().create_table("Legacy").await.expect("made");
    for (id, told) in [(1, ""), (2, "Customer"), (3, "Robot")] {
        let theirs = properties([("Name", "Ada".into()), ("EntityType", told.into())]);
        plant(&db, "Legacy", "eu", &format!("c_{id:04}"), Action::Insert(theirs)).await;
    }
    for id in 1..=2_i32 {
        let theirs = Action::Insert(properties([("Sum", (10 * id).into())]));
        plant(&db, "Legacy", "eu", &format!("i_{id:04}"), theirs).await;
    }
    plant(&db, "Legacy", "eu", "fax_1", Action::Insert(properties([("Fax", "0".into())]))).await;
    db
}

#[tokio::test]
async fn rows_at_keys_of_no_entity_or_of_another_hold_up_no_index() {
    for mode in MODES {
        let store = filled(mode).await;
        let db = next::<Legacy>(&store).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete() && applied.failed == 0, "{mode:?}: {applied:?}");
        assert_eq!(Customer::by_name().region("eu").name("Ada").count(&db).await.expect("readable"), 2);
        assert_eq!(Invoice::by_sum().region("eu").sum(20).count(&db).await.expect("readable"), 1);
        let fax = db.store().get("Legacy", &RowKey::new("eu", "fax_1")).await.unwrap().expect("there");
        assert_eq!(fax.properties.get("EntityType"), None, "another program's row stays as it is");
        let robot = db.store().get("Legacy", &RowKey::new("eu", "c_0003")).await.unwrap().expect("there");
        assert_eq!(robot.properties.get("EntityType"), Some(ValueRef::String("Robot")), "at keys of ours too");
        assert_clean(&db).await;
    }
}

/// What is written as a newer version is what it was read as.
mod newer {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Legacy", entity_type = "Customer", adopt, frozen, partition = "{region}", row = "c_{id:04}")]
    #[table(index(by_name, row = "name_{name}_{id:04}", keys_only))]
    pub(super) struct CustomerV1 {
        region: String,
        id: u32,
        name: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Legacy", adopt, version = 2, previous = CustomerV1, partition = "{region}", row = "c_{id:04}")]
    #[table(index(by_name, row = "name_{name}_{id:04}", keys_only))]
    pub(super) struct Customer {
        region: String,
        id: u32,
        name: String,
        note: Option<String>,
    }

    impl Upgrade<CustomerV1> for Customer {
        fn upgrade(CustomerV1 { region, id, name }: CustomerV1) -> Result<Self, UpgradeError> {
            Ok(Self { region, id, name, note: None })
        }
    }

    #[derive(Debug, TableModel)]
    #[allow(dead_code, reason = "the test reads the store")]
    pub(super) enum Legacy {
        Customer(Customer),
    }
}

#[tokio::test]
async fn a_rewrite_of_adopted_rows_ends_though_others_stand_beside_them() {
    for mode in MODES {
        let store = filled(mode).await;
        let old = next::<Legacy>(&store).await;
        old.migrations().apply().await.expect("applied");
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<newer::Legacy>(&store).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete() && applied.failed == 0, "{mode:?}: {applied:?}");
        for (row, told) in [("c_0001", "Customer@2"), ("c_0002", "Customer@2"), ("c_0003", "Robot")] {
            let row = db.store().get("Legacy", &RowKey::new("eu", row)).await.unwrap().expect("there");
            assert_eq!(row.properties.get("EntityType"), Some(ValueRef::String(told)));
        }

        plant(&store, "Legacy", "eu", "c_0009", Action::Insert(properties([("Name", "Late".into())]))).await;
        assert_eq!(newer::Customer::by_name().region("eu").name("Late").count(&db).await.expect("readable"), 0);
        let found = db.verify().await.expect("verify runs").violations;
        assert!(found.iter().any(|found| found.key.row == "c_0009"), "{mode:?}: {found:?}");
        assert!(db.repair().await.expect("repaired").left.is_empty(), "{mode:?}");
        assert_eq!(newer::Customer::by_name().region("eu").name("Late").count(&db).await.expect("readable"), 1);
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", adopt, allow_scan, partition = "{id:raw}", row = "{id:raw}")]
struct Order {
    id: String,
    note: Option<String>,
}

#[derive(Debug, TableModel)]
enum Orders {
    Order(Order),
    #[table(other)]
    Other(Row),
}

#[tokio::test]
async fn a_row_whose_two_keys_disagree_is_nobodys() {
    let db = TestDatabase::new::<Orders>().await.expect("a database");
    plant(&db, "Orders", "o1", "o1", Action::Insert(properties([("Note", "x".into())]))).await;
    plant(&db, "Orders", "o1", "l7", Action::Insert(properties([("Amount", 3.into())]))).await;
    let rows = Orders::rows(Order::in_partition("o1")).all(&db).await.expect("read");
    assert!(
        matches!(&rows[..], [Orders::Other(line), Orders::Order(order)] if line.key.row == "l7" && order.id == "o1"),
        "{rows:?}"
    );
    assert_eq!(Order::scan_table().all(&db).await.expect("read").len(), 1);
    assert!(db.get::<Order>(&RowKey::new("o1", "l7")).await.expect("read").is_none());
}
