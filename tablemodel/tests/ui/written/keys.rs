//! Keys that cannot work, as far as it shows without types.

use tablemodel::prelude::*;

#[derive(TableEntity)]
struct Nothing {
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "a b", entity_type = "Emp@1", partition = "{departmnt}", row = "emp id/{id:dsc}_{skills}_~~{cache}")]
struct Parts {
    department: String,
    id: u32,
    #[table(json)]
    skills: Vec<String>,
    #[table(skip)]
    cache: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "", row = "{id")]
struct Braces {
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "all", row = "{id:6}")]
struct Constant {
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{at:day}", row = "{id:040}")]
struct LedByTime {
    at: tablemodel::DateTime,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name:lower}", row = "{at:day}")]
struct Lossy {
    name: String,
    at: tablemodel::DateTime,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{day}_{request:shard(16)}", row = "{at}")]
struct UnknownBucket {
    day: String,
    request: u64,
    at: tablemodel::DateTime,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{id:shard(16)}", row = "{id:shard(4)}_{id:shard}", allow(append_hotspot))]
struct ShardInRow {
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{id:shard(16)}_{name:shard(4)}", row = "{name}_{id:06}")]
#[table(index(by_name, partition = "{name:shard(4)}_{id:shard(4)}", row = "{name}_{id:06}"))]
struct TwoShards {
    id: u32,
    name: String,
}

fn main() {}
