// The lock has version 2: the struct was not raised after `cargo tablemodel diff`.

use tablemodel::prelude::*;

type Quantity = i32;

#[derive(TableEntity)]
#[table(name = "Orders", entity_type = "LockedOrder", partition = "{customer}", row = "order_{id:06}", version = 1)]
#[table(index(by_status, row = "status_{status}_{id:06}", keys_only))]
struct Order {
    customer: String,
    id: u32,
    qty: Quantity,
    status: String,
    note: Option<String>,
}

fn main() {}
