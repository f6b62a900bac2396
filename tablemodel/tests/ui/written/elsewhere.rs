//! Indexes in other partitions that cannot work, as far as it shows without types.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(no_partition, table = "Other", row = "a_{department}_{id:06}"))]
#[table(index(no_owner, partition = "{city}", row = "b_{id:06}"))]
#[table(index(bad_table, table = "x", partition = "{city}", row = "c_{department}_{id:06}"))]
#[table(index(constant, partition = "all", row = "d_{department}_{id:06}"))]
#[table(index(by_time, partition = "{joined:day}", row = "e_{department}_{id:06}"))]
#[table(index(not_a_list, row = "f_{city}_{id:06}", each(city)))]
#[table(index(two_lists, row = "g_{skills}_{id:06}", each(skills, city)))]
#[table(index(no_each, row = "h_{skills}_{id:06}"))]
#[table(index(reading, row = "i_{city}_{id:06}", read = verified))]
#[table(index(reads, partition = "{city}", row = "j_{department}_{id:06}", read = strong))]
#[table(index(spread, partition = "{city:shard(4)}", row = "k_{city}", unique))]
struct Employee {
    department: String,
    id: u32,
    city: String,
    joined: tablemodel::DateTime,
    #[table(json)]
    skills: Vec<String>,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{id:shard(16)}", row = "empid_{id:06}")]
#[table(index(no_owner, partition = "{city}", row = "city"))]
struct Spread {
    id: u32,
    city: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{id:06}", row = "tags")]
#[table(index(by_tag, row = "tag_{tags}", each(tags)))]
struct Tagged {
    id: u32,
    tags: Vec<String>,
}

fn main() {}
