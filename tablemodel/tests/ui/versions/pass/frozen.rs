// A frozen struct has the format of its own version.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Orders", entity_type = "LockedOrder", partition = "{customer}", row = "order_{id:06}", frozen)]
struct OrderV1 {
    id: u32,
    qty: u16,
    customer: String,
}

fn main() {}
