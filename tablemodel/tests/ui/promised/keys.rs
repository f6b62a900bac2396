//! Keys that cannot work, found when the types are known.

use tablemodel::{DateTime, prelude::*};

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department:06}", row = "{given}{last}")]
struct Glued {
    department: String,
    given: String,
    last: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{ratio}", row = "{region}0{day:month}")]
struct Separated {
    ratio: f64,
    region: String,
    day: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Optional {
    department: Option<String>,
    id: Option<u32>,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "log_{at}", row = "{id}")]
struct LedByTime {
    at: DateTime,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id:06}")]
#[table(index(by_name, row = "{name}_{id:06}"))]
#[table(index(by_email, row = "email_{email}", unique))]
#[table(index(by_mail, row = "email_{mail}", unique))]
struct Overlapping {
    department: String,
    id: u32,
    name: String,
    email: String,
    mail: String,
}

#[derive(Property)]
struct Address {
    city: String,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Grouped {
    department: String,
    id: u32,
    name: String,
    #[table(flatten)]
    address: Address,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{given}{last}0{nick}{id:lower}")]
struct Several {
    department: String,
    given: String,
    last: String,
    nick: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{at:desc}", row = "{id}")]
#[table(index(by_at, partition = "t{at:desc}_{name}", row = "{id}_{at}"))]
struct Newest {
    at: DateTime,
    id: u32,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "{id}")]
#[table(index(by_at, partition = "{at:desc}_{id}", row = "{name}"))]
#[table(index(by_time, partition = "{at}", row = "{name}_{id}"))]
#[table(index(by_number, partition = "{number:desc}", row = "{name}_{id}"))]
struct Indexed {
    name: String,
    id: u32,
    at: DateTime,
    number: u32,
}

fn main() {}
