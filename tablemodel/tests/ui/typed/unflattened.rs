//! Fields of several properties each, without `flatten`.

use tablemodel::prelude::*;

#[derive(Property)]
struct Address {
    street: String,
    city: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
    address: Address,
}

#[derive(TableEntity)]
#[table(name = "Sales", partition = "{shop}", row = "{month}")]
struct Month {
    shop: String,
    month: u32,
    days: [u32; 31],
}

fn main() {}
