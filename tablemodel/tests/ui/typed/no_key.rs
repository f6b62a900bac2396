//! A type that cannot stand in a key. One mistake a file: rustc gives no order to those of one function.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
#[table(index(by_skills, row = "s_{skills}_{id}"))]
struct Employee {
    department: String,
    id: u32,
    skills: Strings,
}

#[derive(Property)]
struct Strings(String);

fn main() {}
