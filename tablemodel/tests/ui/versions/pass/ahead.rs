// The version was raised: `cargo tablemodel check` asks for a plan, the compiler does not.

use tablemodel::prelude::*;

type Quantity = i64;

#[derive(TableEntity)]
#[table(name = "Orders", entity_type = "LockedOrder", partition = "{customer}", row = "order_{id:06}", version = 3)]
#[table(index(by_status, row = "status_{status}_{id:06}", keys_only))]
struct Order {
    customer: String,
    id: u32,
    qty: Quantity,
    status: String,
}

fn main() {}
