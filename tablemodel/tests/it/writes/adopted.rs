//! Adopted tables: rows that another program wrote, without system properties, are entities of version 1.
//!
//! Their indexes have to be built first.

use tablemodel::{ErrorKind, RowKey, ValueRef, prelude::*, store::Action, testing::TestDatabase};

use super::{assert_clean, plant, properties, ticks};

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
