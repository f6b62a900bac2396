//! Words about versions that do not go together.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Things", version = 2, previous = Own, partition = "{p}", row = "{id}")]
struct Own {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", downgrade, readable_by = 1, partition = "{p}", row = "{id}")]
struct Alone {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", previous = Alone, downgrade, partition = "{p}", row = "{id}")]
struct First {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", version = 2, previos = Alone, frozen = true, partition = "{p}", row = "{id}")]
struct Misspelt {
    p: String,
    id: u32,
}

fn main() {}
