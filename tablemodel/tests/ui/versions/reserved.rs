// A removed name does not return.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Orders", partition = "{customer}", row = "order_{id:06}", reserved("Discount", "by_discount"))]
#[table(index(by_discount, row = "d_{discount}_{id:06}"))]
struct Order {
    customer: String,
    id: u32,
    discount: u32,
}

#[derive(TableEntity)]
#[table(name = "Orders", partition = "{customer}", row = "order_{id:06}", reserved, reserved("A"), frozen = 1)]
struct Other {
    customer: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Orders", partition = "{customer}", row = "order_{id:06}", reserved("A", "B", "A", "b c", ""))]
struct Twice {
    customer: String,
    id: u32,
}

fn main() {}
