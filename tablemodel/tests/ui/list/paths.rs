//! Paths of lists: what is missing, what does not come next, and what a list cannot be asked.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id}")]
#[table(list(by_name, row = "ids_{name}_{city}"))]
#[table(list(anywhere, table = "Names", partition = "{name}", row = "all"))]
struct Employee {
    department: String,
    id: u32,
    name: String,
    city: String,
    age: u8,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

fn main() {}

fn paths(db: &Database) {
    let _ = Employee::by_name().department("Sales").name("Jones").keys(db);
    let _ = Employee::by_name().name("Jones");
    let _ = Employee::by_name().department("Sales").age(3);
    let _ = Employee::anywhere().department("Sales");
    let _ = Employee::find().department("Sales").keys(db);
    let _ = Employee::NAME.set("Smith");
}
