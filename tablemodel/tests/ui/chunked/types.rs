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

fn main() {}
