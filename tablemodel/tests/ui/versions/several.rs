// An index has other keys, a property is gone, and one is new.

use tablemodel::prelude::*;

type Quantity = i32;

#[derive(TableEntity)]
#[table(name = "Orders", entity_type = "LockedOrder", partition = "{customer}", row = "order_{id:06}", version = 2)]
#[table(index(by_status, row = "by_{status}_{id:06}", keys_only))]
struct Order {
    customer: String,
    id: u32,
    qty: Quantity,
    status: String,
    text: String,
}

fn main() {}
