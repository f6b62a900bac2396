//! Words about moves that do not go together.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Things", version = 2, moved_from = Own, partition = "{p}", row = "{id}")]
struct Own {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", version = 2, previous = Own, moved_from = Own, partition = "{p}", row = "{id}")]
struct Both {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", frozen, moves_to = Both, partition = "{p}", row = "{id}")]
struct Frozen {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", moved_from = Own, partition = "{p}", row = "{id}")]
struct First {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", moves_to = "Other", partition = "{p}", row = "{id}")]
struct Text {
    p: String,
    id: u32,
}

fn main() {}
