//! A variant for all other rows that holds something else.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
    #[table(other)]
    Other(tablemodel::Properties),
}

fn main() {}
