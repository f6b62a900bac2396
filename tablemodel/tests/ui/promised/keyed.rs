//! Mistakes in words and in keys, all told at once: each key is looked at whose types are known, whatever the others are.

use tablemodel::{DateTime, prelude::*};

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "e_{ratio}_{id:06}", zebra)]
#[table(index(by_time, table = "Times", partition = "{at}", row = "{department}_{ratio:sortable}_{id:06}", keys_only))]
#[table(index(by_name, row = "n_{name:06}_{ratio:sortable}_{id:06}", keys_only, when = id))]
#[table(index(by_code, row = "c_{code}_{ratio:sortable}_{id:06}", keys_only, when = size))]
struct Employee {
    department: Option<String>,
    ratio: f64,
    id: u32,
    at: DateTime,
    name: String,
    size: usize,
    #[table(jsn)]
    code: usize,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id:06}", zebra)]
#[table(index(by_color, row = "{color}_{id:06}"))]
#[table(index(by_name, row = "n_{name}_{id:06}"))]
#[table(index(not_placed, table = "Names", row = "n_{name}_{id:06}"))]
#[table(index(by_initial, row = "n_{initial}_{id:06}"))]
struct Member {
    department: String,
    id: u32,
    name: String,
    initial: char,
}

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
#[table(name = "Rooms", partition = "{company}", row = "{number}", zebra)]
#[table(index(by_name, table = Names, partition = "{name}", row = "{number}"))]
#[table(index(by_town, row = "t_{town}_{number}"))]
#[table(index(by_town, row = "t_{town}_{number}"))]
struct Room {
    company: String,
    number: String,
    name: String,
    #[table(flatten)]
    address: Address,
    #[table(rename = "City")]
    town: String,
    #[table(rename = "City")]
    village: String,
}

fn main() {}
