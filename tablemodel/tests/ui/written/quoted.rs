//! Names in quotes, braces that are not closed, and fields that are not one plain property.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "department")]
struct Department {
    name: String,
    #[table(aggregate)]
    staff: i64,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{ id }_{name_{email}")]
#[table(index("by_email", row = "email_{email}_{id}", keep("name", cache)))]
#[table(count(Department, key(name = days), into = staff))]
struct Employee {
    department: String,
    id: u32,
    name: String,
    email: String,
    #[table(skip)]
    cache: u8,
    #[table(flatten)]
    days: [u8; 7],
}

#[derive(TableModel)]
#[table(crate = 3)]
enum Numbered {
    Department(Department),
}

#[derive(TableModel)]
#[table(crate = "no path")]
enum Spaced {
    Department(Department),
}

fn main() {}
