//! A `json` field that serde cannot write. One mistake a file: rustc gives no order to those of one function.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
    #[table(json)]
    hidden: Hidden,
}

#[derive(serde::Deserialize)]
struct Hidden;

fn main() {}
