//! An entity derived, written and read back through every kind of path.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, tablemodel::TableEntity)]
#[table(name = "Company", entity_type = "Employee", version = 2)]
#[table(partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique, keep(first_name)))]
#[table(index(by_last_name, row = "name_{last_name}_{id:06}"))]
struct Employee {
    department: String,
    id: u32,
    first_name: String,
    last_name: String,
    email: String,
    #[table(default)]
    age: u8,
    #[table(json)]
    skills: Vec<String>,
}

#[test]
fn schema() {
    let schema = <Employee as TableEntity>::SCHEMA;
    assert_eq!(schema.discriminator, "Employee@2");
    let query = Employee::find().department("Sales").id(3).explain();
    println!("{query}");
    let _ = Employee::find().department("Sales").id_between(3..5).explain();
    let _ = Employee::by_email().department("Sales").email_starts_with("a").explain();
    let _ = Employee::by_last_name().department("Sales").last_name("a").id_between(1..=2).explain();
}
