// The type of a property changes where no parser of this struct could see it.

use tablemodel::prelude::*;

type Quantity = i64;

#[derive(TableEntity)]
#[table(name = "Orders", entity_type = "LockedOrder", partition = "{customer}", row = "order_{id:06}", version = 2)]
#[table(index(by_status, row = "status_{status}_{id:06}", keys_only))]
struct Order {
    customer: String,
    id: u32,
    qty: Quantity,
    status: String,
    note: Option<String>,
}

fn main() {}
