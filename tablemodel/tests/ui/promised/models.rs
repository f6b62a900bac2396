//! Entities that cannot live together.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id:06}")]
struct Employee {
    department: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "{number:06}")]
struct Department {
    name: String,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "Elsewhere", entity_type = "Employee", partition = "{name}", row = "{number:06}")]
struct Worker {
    name: String,
    number: u32,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
    Department(Department),
    Worker(Worker),
    #[table(other)]
    Other(Row),
}

fn main() {}
