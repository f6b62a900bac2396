//! Mistakes in words and in types, both told at once; nothing is said of a type whose field was not understood.

use std::collections::HashMap;

use tablemodel::prelude::*;

struct Unit;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "e_{id:06}_{code}")]
#[table(index(by_rate, row = "r_{rate:sortable}_{id:06}_{code}", keep(id)))]
struct Employee {
    department: String,
    id: usize,
    code: Unit,
    rate: Option<f32>,
    tags: HashMap<String, u8>,
    #[table(jsn)]
    meant_as_json: HashMap<String, u8>,
    #[table(skip)]
    skipped: Unit,
    #[table(default = 3)]
    text: String,
    #[table(default = 3)]
    maybe: Option<u8>,
    #[table(aggregate)]
    held: String,
    #[table(chunked)]
    cut: u32,
    #[table(flatten)]
    days: [Unit; 3],
    #[table(flatten)]
    group: Unit,
}

#[derive(Property)]
struct Address {
    #[table(zebra)]
    city: Unit,
    zip: Unit,
    #[table(default = 3)]
    maybe: Option<u8>,
}

fn main() {}
