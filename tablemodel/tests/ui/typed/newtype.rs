//! A newtype of what is no property. One mistake a file: rustc gives no order to those of one function.

use tablemodel::prelude::*;

#[derive(Property)]
struct Moment(std::time::Instant);

fn main() {}
