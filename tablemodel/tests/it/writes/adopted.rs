//! Adopted tables: rows that another program wrote, without system properties, are entities of version 1.
//!
//! Their indexes have to be built first.

use tablemodel::{
    ErrorKind, RowKey, Value, ValueRef,
    prelude::*,
    store::{Action, Batch},
    testing::TestDatabase,
};

use super::{assert_clean, plant, properties, ticks};
use crate::migrate::{MODES, assert_clean as settled, next, store_of};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Legacy", entity_type = "Customer", adopt)]
#[table(partition = "{region}", row = "c_{id:04}")]
#[table(index(by_name, row = "name_{name}_{id:04}", keys_only))]
struct Customer {
    region: String,
    id: u32,
    name: String,
    credit: i64,
}

#[derive(Debug, TableModel)]
#[allow(dead_code, reason = "the tests read by path")]
enum Legacy {
    Customer(Customer),
    #[table(other)]
    Other(Row),
}

async fn legacy() -> TestDatabase {
    let db = TestDatabase::new::<Legacy>().await.expect("a database");
    for id in 1..=2 {
        let theirs = properties([("Name", "Ada".into()), ("Credit", 5_i64.into()), ("Fax", "0".into())]);
        plant(&db, "Legacy", "eu", &format!("c_{id:04}"), Action::Insert(theirs)).await;
    }
    db
}

#[tokio::test]
async fn another_programs_rows_are_read_and_saved() {
    let db = legacy().await;
    let path = || Customer::find().region("eu").id(1);
    let mut stored = path().one(&db).await.expect("read").expect("there");
    assert_eq!((stored.name.as_str(), stored.credit, stored.sequence()), ("Ada", 5, 0));
    stored.credit = 6;
    db.save(&mut stored).await.expect("saved");
    assert_eq!(stored.sequence(), ticks(&db), "it starts at the clock");
    let row = db.store().get("Legacy", stored.key()).await.expect("read").expect("there");
    assert_eq!(row.properties.get("EntityType"), Some(ValueRef::String("Customer@1")));
    assert_eq!(row.properties.get("Fax"), Some(ValueRef::String("0")), "what is not known stays");
    db.patch(Customer::find().region("eu").id(2), Customer::CREDIT.set(9)).await.expect("patched");
    let patched = Customer::find().region("eu").id(2).one(&db).await.expect("read").expect("there");
    assert_eq!((patched.credit, patched.sequence()), (9, ticks(&db)));
    db.delete(stored).await.expect("deleted");
    let error = db.insert(&*patched).await.expect_err("there");
    assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
    assert_clean(&db).await;
}

#[tokio::test]
async fn an_upsert_over_another_programs_row_keeps_what_it_does_not_know() {
    let db = legacy().await;
    let ada = Customer { region: "eu".into(), id: 1, name: "Ada L".into(), credit: 1 };
    let stored = db.upsert(&ada).await.expect("upserted");
    assert_eq!(stored.row().properties.get("Fax"), Some(ValueRef::String("0")));
}

#[tokio::test]
async fn indexes_of_an_adopted_entity_start_absent() {
    let db = legacy().await;
    let error = Customer::by_name().region("eu").name("Ada").all(&db).await.expect_err("not built");
    assert_eq!(*error.kind(), ErrorKind::IndexNotReady { index: "by_name" });
    db.insert(&Customer { region: "eu".into(), id: 3, name: "Bob".into(), credit: 0 }).await.expect("inserted");
    assert_eq!(db.verify().await.expect("verify runs").derived, 0, "an absent index is not written");
    assert_clean(&db).await;
}

#[tokio::test]
async fn rows_of_several_types_show_another_programs_row_as_what_takes_it_over() {
    let db = legacy().await;
    plant(&db, "Legacy", "eu", "fax_1", Action::Insert(properties([("Fax", "0".into())]))).await;
    db.insert(&Customer { region: "eu".into(), id: 4, name: "Bob".into(), credit: 0 }).await.expect("inserted");
    let mut told = Vec::new();
    for row in Legacy::rows(Customer::in_partition("eu")).all(&db).await.expect("read") {
        told.push(match row {
            Legacy::Customer(customer) => customer.name,
            Legacy::Other(row) => row.key.row,
        });
    }
    assert_eq!(told, ["Ada", "Ada", "Bob", "fax_1"], "what has other keys is nobody's");
    let none = db.get::<Customer>(&RowKey::new("eu", "fax_1")).await.expect("read");
    assert!(none.is_none(), "nor is it found by its key");
    assert!(db.get::<Customer>(&RowKey::new("eu", "c_0001")).await.expect("read").is_some());
}

/// As Microsoft's guide has them: one table, and `EntityType` is the name alone.
mod named {
    use super::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Legacy", partition = "{region}", row = "c_{id:04}", adopt)]
    pub(super) struct Customer {
        pub(super) region: String,
        pub(super) id: u32,
        pub(super) name: String,
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Named {
        Customer(Customer),
        #[table(other)]
        Other(Row),
    }
}

#[tokio::test]
async fn a_row_that_names_another_type_is_not_taken_over() {
    use named::{Customer, Named};
    let db = TestDatabase::new::<Named>().await.expect("a database");
    let types = [
        ("c_0001", "Customer".into()),
        ("c_0002", "Robot".into()),
        ("c_0003", Value::from(7_i32)),
        ("c_0004", "".into()),
    ];
    for (row, told) in types.clone() {
        let theirs = properties([("EntityType", told), ("Name", "Ada".into())]);
        plant(&db, "Legacy", "eu", row, Action::Insert(theirs)).await;
    }
    let broken = properties([("EntityType", "Robot".into())]); // what a customer has it lacks
    plant(&db, "Legacy", "eu", "c_0005", Action::Insert(broken)).await;

    let path = || Customer::find().region("eu");
    let ids: Vec<u32> = path().all(&db).await.expect("read").iter().map(|customer| customer.id).collect();
    assert_eq!((ids, path().count(&db).await.expect("counted")), (vec![1, 4], 2));
    let others = Named::rows(Customer::in_partition("eu")).all(&db).await.expect("read");
    let others: Vec<_> = others.into_iter().filter(|row| matches!(row, Named::Other(_))).collect();
    assert_eq!(others.len(), 3);
    let verified = db.verify().await.expect("verify runs");
    assert!(verified.is_clean() && (verified.entities, verified.foreign) == (2, 3), "{verified:?}");

    let robot = Customer { region: "eu".into(), id: 2, name: "Bob".into() };
    assert!(path().id(2).one(&db).await.expect("read").is_none());
    for error in [db.insert(&robot).await.expect_err("taken"), db.upsert(&robot).await.expect_err("taken")] {
        assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("a row of `Robot`, of another program, has this key"), "{error}");
    }
    assert_eq!(*db.patch(path().id(2), Customer::NAME.set("Bob")).await.expect_err("none").kind(), ErrorKind::NotFound);
    let error = db.insert(&Customer { id: 1, ..robot.clone() }).await.expect_err("there");
    assert!(error.to_string().contains("an entity with this key exists"), "{error}");

    let mut ada = path().id(1).one(&db).await.expect("read").expect("there");
    ada.name = "Ada L".into();
    db.save(&mut ada).await.expect("saved");
    let row = db.store().get("Legacy", ada.key()).await.expect("read").expect("there");
    assert_eq!(row.properties.get("EntityType"), Some(ValueRef::String("Customer@1")));
    for (row, told) in types.into_iter().skip(1).take(2) {
        let theirs = db.store().get("Legacy", &RowKey::new("eu", row)).await.expect("read").expect("there");
        assert_eq!(theirs.properties.get("EntityType"), Some(told.as_ref()), "it stays as it was");
    }
}

#[tokio::test]
async fn a_row_that_names_another_type_is_written_as_a_row_beside_what_is_adopted() {
    use named::{Customer, Named};
    let db = TestDatabase::new::<Named>().await.expect("a database");
    let typed = |told: &'static str| properties([("EntityType", told.into()), ("Name", "Ada".into())]);
    db.insert_row("Legacy", RowKey::new("eu", "c_0002"), typed("Robot")).await.expect("nobody's");
    let error = db.insert_row("Legacy", RowKey::new("eu", "c_0003"), typed("Customer")).await.expect_err("adopted");
    assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
    let Named::Other(mut robot) = Named::rows(Customer::in_partition("eu")).all(&db).await.expect("read").remove(0)
    else {
        panic!("no entity")
    };
    robot.properties.insert("Name", "Marvin");
    db.replace_row("Legacy", &mut robot).await.expect("replaced");
    db.delete_row("Legacy", &robot).await.expect("deleted");
}

/// A store is asked for rows of any type, and those of other programs count to the limit of its pages.
#[tokio::test]
async fn the_first_entities_behind_thousands_of_other_rows_take_few_requests() {
    let db = legacy().await;
    for first in (0..2_500).step_by(100) {
        let other = |number: i32| (format!("c_!{number:04}"), Action::Insert(properties([("Fax", "0".into())])));
        let rows = (first..first + 100).map(other);
        let batch = rows.fold(Batch::new("Legacy", "eu"), |batch, (row, action)| batch.with(row, action));
        db.store().commit(&[batch]).await.expect("planted");
    }
    db.forget_calls();
    let found = Customer::find().region("eu").first(1, &db).await.expect("read");
    assert_eq!(found.iter().map(|customer| customer.id).collect::<Vec<_>>(), [1]);
    let tally = db.tally();
    assert!(tally.range_queries + tally.partition_scans <= 5, "{tally:?}");

    let page = Customer::find().region("eu").page(1, None, &db).await.expect("read");
    let rest = Customer::find().region("eu").page(1, page.cursor.as_ref(), &db).await.expect("read");
    assert_eq!((page.items[0].id, rest.items[0].id, rest.cursor), (1, 2, None));
}

/// Teams of another program, in which workers are counted.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", adopt, partition = "{name}", row = "team")]
struct Team {
    name: String,
    title: String,
    #[table(aggregate)]
    members: i64,
    #[table(aggregate, default)]
    hours: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "w_{id:04}")]
#[table(count(Team, key(name = team), into = members), sum(Team, key(name = team), of = hours, into = hours))]
struct Worker {
    team: String,
    id: u32,
    hours: i64,
}

#[derive(Debug, TableModel)]
#[allow(dead_code, reason = "the tests read by path")]
enum Staff {
    Team(Team),
    Worker(Worker),
}

#[tokio::test]
async fn a_row_of_another_program_takes_its_totals_from_their_cells() {
    for is_upserted in [false, true] {
        let db = TestDatabase::new::<Staff>().await.expect("a database");
        db.migrations().apply().await.expect("applied");
        for id in 1..=2 {
            db.insert(&Worker { team: "A".into(), id, hours: 7 }).await.expect("inserted");
        }
        let mut theirs = properties([("Title", "x".into())]);
        if !is_upserted {
            theirs.insert("Members", 0_i64); // else it cannot be read
        }
        plant(&db, "Staff", "A", "team", Action::Insert(theirs)).await;
        let team = Team { name: "A".into(), title: "y".into(), members: 0, hours: 0 };
        match is_upserted {
            true => drop(db.upsert(&team).await.expect("upserted")),
            false => {
                let mut there = Team::find().name("A").one(&db).await.expect("read").expect("there");
                there.title = "y".into();
                db.save(&mut there).await.expect("saved");
            }
        }
        let team = Team::find().name("A").one(&db).await.expect("read").expect("there");
        let members = if is_upserted { 2 } else { 0 }; // what it says is taken for told
        assert_eq!((team.title.as_str(), team.members, team.hours), ("y", members, 14), "{is_upserted}");
    }
}

/// Sales of another program, which stores a price without cents as an integer.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Sales", adopt, partition = "{shop}", row = "s_{id:04}")]
#[table(sum(Shop, key(name = shop), of = price, into = total), min(Shop, key(name = shop), of = price, into = least))]
#[table(sum(City, key(name = city), of = price, into = total), max(City, key(name = city), of = price, into = most))]
struct Sale {
    shop: String,
    id: u32,
    city: String,
    price: f64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Sales", partition = "{name}", row = "shop")]
struct Shop {
    name: String,
    #[table(aggregate)]
    total: f64,
    #[table(aggregate)]
    least: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Cities", partition = "{name}", row = "city")]
struct City {
    name: String,
    #[table(aggregate)]
    total: f64,
    #[table(aggregate)]
    most: Option<f64>,
}

#[derive(Debug, TableModel)]
#[allow(dead_code, reason = "the tests read by path")]
enum Trade {
    Sale(Sale),
    Shop(Shop),
    City(City),
}

#[tokio::test]
async fn a_float_that_another_program_stored_as_an_integer_is_added_and_ranked_as_it_is_read() {
    for mode in MODES {
        let (store, told) = (store_of::<Legacy>(mode).await, format!("{mode:?}"));
        for table in ["Sales", "Cities"] {
            store.store().create_table(table).await.expect("created");
        }
        for (row, price) in [("s_0001", Value::Int32(4)), ("s_0002", 4.5.into()), ("s_0003", Value::Int64(5))] {
            let theirs = properties([("City", "Rome".into()), ("Price", price)]);
            plant(&store, "Sales", "A", row, Action::Insert(theirs)).await;
        }
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<Trade>(&store).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        let shop = db.insert(&Shop { name: "A".into(), total: 0.0, least: None }).await.expect("inserted");
        assert_eq!((shop.total, shop.least), (13.5, Some(4.0)), "{told}");
        let rome = || City::find().name("Rome");
        assert_eq!(db.total(rome(), City::TOTAL).await.expect("built"), 13.5, "{told}");
        assert_eq!(db.total(rome(), City::MOST).await.expect("built"), Some(5.0), "{told}");
        settled(&db, &told).await;

        db.update(Sale::find().shop("A").id(1), |sale| Ok(sale.price = 6.25)).await.expect("updated");
        let gone = Sale::find().shop("A").id(3).one(&db).await.expect("read").expect("there");
        db.delete(gone).await.expect("deleted");
        settled(&db, &told).await;
        let shop = Shop::find().name("A").one(&db).await.expect("read").expect("there");
        assert_eq!((shop.total, shop.least), (10.75, Some(4.5)), "{told}");
        assert_eq!(db.total(rome(), City::TOTAL).await.expect("built"), 10.75, "{told}");
        assert_eq!(db.total(rome(), City::MOST).await.expect("built"), Some(6.25), "{told}");
    }
}

/// One that is counted.
mod counted {
    use super::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Legacy", entity_type = "Order", partition = "{region}", row = "o_{id:04}", adopt)]
    #[table(sum(Region, key(region = region), of = price, into = turnover))]
    #[table(max(Region, key(region = region), of = weight, into = heaviest))]
    pub(super) struct Order {
        pub(super) region: String,
        pub(super) id: u32,
        pub(super) price: i64,
        pub(super) weight: Option<f64>,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Legacy", partition = "{region}", row = "region")]
    pub(super) struct Region {
        pub(super) region: String,
        #[table(aggregate)]
        pub(super) turnover: i64,
        #[table(aggregate)]
        pub(super) heaviest: Option<f64>,
    }

    #[derive(Debug, TableModel)]
    #[allow(dead_code, reason = "the test writes alone")]
    pub(super) enum Model {
        Order(Order),
        Region(Region),
    }
}

#[tokio::test]
async fn a_value_of_another_type_than_is_added_up_is_told_by_its_type() {
    use counted::{Model, Order};
    let db = TestDatabase::new::<Model>().await.expect("a database");
    db.migrations().apply().await.expect("applied").into_result().expect("built");
    let priced = properties([("Price", "free".into())]);
    let weighed = properties([("Price", 5_i64.into()), ("Weight", true.into())]);
    let told = [
        (1, priced, "property `Price` is Edm.String, not Edm.Int64"),
        (2, weighed, "property `Weight` is Edm.Boolean, not Edm.Double"),
    ];
    for (id, theirs, told) in told {
        plant(&db, "Legacy", "eu", &format!("o_{id:04}"), Action::Insert(theirs)).await;
        let order = Order { region: "eu".into(), id, price: 1, weight: None };
        let error = db.upsert(&order).await.expect_err("what it added is unknown");
        assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
    let order = Order { region: "eu".into(), id: 3, price: 1, weight: Some(f64::NAN) };
    let error = db.insert(&order).await.expect_err("it has no order");
    assert_eq!(*error.kind(), ErrorKind::Invalid, "{error}");
}
