//! A `flatten` of what is no group. One mistake a file: rustc gives no order to those of one function.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
    #[table(flatten)]
    address: u32,
}

fn main() {}
