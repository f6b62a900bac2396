//! Queries that the keys of an entity cannot answer.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "name_{name}_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique, keep(age)))]
struct Employee {
    department: String,
    name: String,
    id: u32,
    email: String,
    nick: String,
    age: u8,
    #[table(json)]
    skills: Vec<String>,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{customer}", row = "order_{number}", allow_scan)]
struct Order {
    customer: String,
    number: u32,
    total: f64,
    #[table(chunked)]
    note: String,
    #[table(aggregate)]
    lines: i64,
    paid: Option<bool>,
}

#[derive(TableEntity)]
#[table(name = "Readings", partition = "{sensor}", row = "{at:day}_{kind}_{number}")]
struct Reading {
    sensor: String,
    at: tablemodel::DateTime,
    #[table(method = "sort")]
    kind: String,
    number: u32,
}

#[derive(Projection)]
#[table(of = Employee)]
struct Card {
    name: String,
    nick: String,
    age: u8,
}

async fn wrong(db: &Database) {
    // a field that is in no key
    let _ = Employee::find().department("Sales").age(35).one(db).await;
    let _ = Employee::find().department("Sales").skills("Rust").all(db).await;
    let _ = Order::find().customer("x").total(3.5).all(db).await;
    let _ = Order::find().customer("x").note("x").all(db).await;
    let _ = Order::find().customer("x").lines(3).all(db).await;
    let _ = Order::find().customer("x").paid(true).all(db).await;
    // a field that is given by another name
    let _ = Reading::find().sensor("x").at(db.now()).all(db).await;
    let _ = Reading::find().sensor("x").at_day(db.now()).kind("y").all(db).await;
    // the wrong order
    let _ = Employee::find().id(3);
    let _ = Employee::find().department("Sales").id(3);
    let _ = Employee::by_email().department("Sales").name("Jones");
    // nothing after a range
    let _ = Employee::find().department("Sales").name_starts_with("J").id(3);
    // a missing component
    let _ = Employee::find().department("Sales").one(db).await;
    let _ = Employee::find().all(db).await;
    let _ = Employee::find().department("Sales").get_many([3_u32], db).await;
    let _ = Employee::find().department("Sales").name("x").get_many(["3"], db).await;
    // a range that the separator makes impossible, and a prefix of a number
    let _ = Employee::find().department("Sales").name_between("A".to_owned().."B".to_owned());
    let _ = Order::find().customer("x").number_starts_with("3");
    // a value of another type
    let _ = Employee::find().department(3);
    // a projection that the index does not cover
    let _ = Employee::by_email().department("Sales").select::<Card>();
    // a scan, and a patch of an indexed property
    let _ = Employee::scan_partition("Sales");
    let _ = Employee::scan_table();
    let _ = Employee::EMAIL.set("x");
    let _ = Employee::DEPARTMENT.set("x");
    // a patch by an index in a batch
    db.batch(Employee::in_partition("Sales")).patch(Employee::by_email().department("Sales").email("x"), Employee::NICK.set("x"));
    // a misspelt method
    let _ = Employee::find().departmnt("Sales");
}

fn main() {}
