//! Conditions that hold for every entity.

use tablemodel::prelude::*;

#[derive(Property)]
struct Flag(bool);

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
#[table(index(by_age, row = "a_{id}", when = age))]
#[table(index(by_name, row = "n_{id}", when = !name))]
#[table(index(by_flag, row = "f_{id}", when = flag))]
#[table(index(by_nick, row = "k_{id}", when = !nick))]
struct Employee {
    department: String,
    id: u32,
    age: u8,
    name: String,
    flag: Flag,
    nick: Option<String>,
}

fn main() {}
