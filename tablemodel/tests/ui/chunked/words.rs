//! Where a chunked value cannot stand.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}_{body}")]
#[table(index(by_body, row = "body_{body}_{id}", keys_only))]
#[table(index(by_title, row = "title_{title}_{id}", keep(body)))]
#[table(index(copied, row = "copied_{title}_{id}"))]
struct Document {
    department: String,
    id: u32,
    title: String,
    #[table(chunked)]
    body: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Fields {
    department: String,
    id: u32,
    #[table(chunked, skip)]
    cache: String,
    #[table(chunked, flatten)]
    address: Address,
    #[table(chunked = 3)]
    body: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Names {
    department: String,
    id: u32,
    #[table(chunked)]
    body: String,
    #[table(rename = "Body_07")]
    seventh: u32,
    body_n: u32,
    body_text: u32,
}

#[derive(Property)]
struct Address {
    #[table(chunked)]
    city: String,
}

fn main() {}
