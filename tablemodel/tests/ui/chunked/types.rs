//! What cannot be cut into chunks.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Document {
    department: String,
    id: u32,
    #[table(chunked)]
    body: Option<String>,
    #[table(chunked)]
    pages: u32,
    #[table(chunked)]
    digest: [u8; 32],
}

#[derive(Property)]
struct Pages {
    #[table(rename = "Body_00")]
    first: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Clash {
    department: String,
    id: u32,
    #[table(chunked)]
    body: String,
    #[table(flatten)]
    pages: Pages,
}

fn main() {}
