//! What a wide entity cannot have.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", wide, partition = "{department}", row = "{id}")]
#[table(index(by_name, row = "name_{name}_{id}"))]
#[table(index(by_age, row = "age_{age}_{id}", keep(name)))]
struct Copied {
    department: String,
    id: u32,
    name: String,
    age: u8,
}

#[derive(TableEntity)]
#[table(name = "Company", wide = true, partition = "{department}", row = "{id}")]
struct Flag {
    department: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", wide, partition = "{department}", row = "{name:raw}")]
struct Raw {
    department: String,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct NotWide {
    department: String,
    id: u32,
    #[table(part = "rest")]
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Company", wide, partition = "{department}", row = "{id}")]
struct Parts {
    department: String,
    #[table(part = "rest")]
    id: u32,
    #[table(part = "rest", chunked)]
    body: String,
    #[table(part = "rest", skip)]
    cache: u32,
    #[table(part)]
    age: u8,
}

#[derive(TableEntity)]
#[table(name = "Company", wide, partition = "{department}", row = "{id}_{day}")]
struct Arrays {
    department: String,
    id: u32,
    #[table(flatten, default, json)]
    day: [u32; 3],
    #[table(flatten, rename = "Hour", constant = "DAY")]
    hour: [u8; 24],
}

fn main() {}
