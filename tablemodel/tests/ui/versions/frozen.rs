// Old rows are read by a frozen struct: it stays as it was.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Orders", entity_type = "LockedOrder", partition = "{customer}", row = "order_{id:06}", frozen)]
struct OrderV1 {
    customer: String,
    id: u32,
    qty: u32,
}

#[derive(TableEntity)]
#[table(name = "Orders", entity_type = "LockedOrder", partition = "{customer}", row = "order_{id:06}", version = 7, frozen)]
struct OrderV7 {
    customer: String,
    id: u32,
}

fn main() {}
