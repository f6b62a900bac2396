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

fn main() {}
