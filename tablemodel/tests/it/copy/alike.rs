//! Holders of several tables that have one key, and copies of one name: each is a holder of its own, as an order and its invoice are.

use std::error::Error as _;

use tablemodel::{Consistency, ErrorKind, prelude::*, testing::TestDatabase};

use super::{MODES, settle};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Customers", partition = "{id}", row = "customer")]
struct Customer {
    id: u32,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Customer)]
struct Card {
    name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", partition = "{number:08}", row = "head")]
struct Order {
    number: u32,
    customer_id: u32,
    #[table(copy_of(Customer, key(id = customer_id)))]
    customer: Option<Card>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Invoices", partition = "{number:08}", row = "head")]
struct Invoice {
    number: u32,
    customer_id: u32,
    #[table(copy_of(Customer, key(id = customer_id), on_delete = restrict))]
    customer: Card,
}

#[derive(TableModel)]
enum Shop {
    Customer(Customer),
    Order(Order),
    Invoice(Invoice),
}

async fn shop(mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<Shop>(mode).await;
    db.insert(&Customer { id: 1, name: "Ann".into() }).await.unwrap();
    db.insert(&Order { number: 7, customer_id: 1, customer: None }).await.unwrap();
    db.insert(&Invoice { number: 7, customer_id: 1, customer: Card { name: String::new() } }).await.unwrap();
    settle(&db).await;
    db
}

async fn names(db: &TestDatabase) -> [String; 2] {
    let order = Order::find().number(7).one(db).await.unwrap().unwrap();
    let invoice = Invoice::find().number(7).one(db).await.unwrap().unwrap();
    [order.customer.as_ref().unwrap().name.clone(), invoice.customer.name.clone()]
}

#[tokio::test]
async fn both_follow_their_source() {
    for mode in MODES {
        let db = shop(mode).await;
        db.update(Customer::find().id(1), |customer| Ok(customer.name = "Bea".into())).await.unwrap();
        settle(&db).await;
        assert_eq!(names(&db).await, ["Bea", "Bea"], "{mode:?}");
        assert_eq!(db.verify().await.unwrap().violations, [], "{mode:?}");
    }
}

#[tokio::test]
async fn one_that_goes_leaves_the_other_where_it_is() {
    for mode in MODES {
        let db = shop(mode).await;
        db.delete(Order::find().number(7).one(&db).await.unwrap().unwrap()).await.unwrap();
        settle(&db).await;
        let customer = Customer::find().id(1).one(&db).await.unwrap().unwrap();
        let error = db.delete(customer.clone()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Restricted { entity: "Invoice", .. }), "{mode:?}: {error}");
        assert!(error.source().is_none(), "{mode:?}");
        assert_eq!(db.verify().await.unwrap().violations, [], "{mode:?}");
        db.delete(Invoice::find().number(7).one(&db).await.unwrap().unwrap()).await.unwrap();
        db.delete(Customer::find().id(1).one(&db).await.unwrap().unwrap()).await.unwrap();
        settle(&db).await;
        assert_eq!(db.verify().await.unwrap().violations, [], "{mode:?}: {customer:?}");
    }
}
