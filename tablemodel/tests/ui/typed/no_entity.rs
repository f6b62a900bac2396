//! A model of what is no entity. One mistake a file: rustc gives no order to those of one function.

use tablemodel::prelude::*;

#[derive(Property)]
struct Group {
    at: u32,
}

#[derive(TableModel)]
enum Model {
    Group(Group),
}

fn main() {}
