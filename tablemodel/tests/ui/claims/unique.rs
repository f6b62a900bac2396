//! Unique values over several partitions that promise nothing, or cannot.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, table = "Emails", partition = "{email:shard(16)}", row = "{email}", unique))]
#[table(index(by_key, table = "Keys", partition = "{department}", row = "k_{id:06}", unique, keys_only))]
#[table(index(by_badge, table = "Badges", partition = "{badge}", row = "badge", keys_only))]
#[table(index(by_nothing, table = "Nothing", row = "x", unique))]
struct Employee {
    department: String,
    id: u32,
    email: String,
    badge: Option<u32>,
}

fn main() {}
