//! A group with a field that is no property. One mistake a file: rustc gives no order to those of one function.

use tablemodel::prelude::*;

#[derive(Property)]
struct Group {
    at: std::time::Instant,
}

fn main() {}
