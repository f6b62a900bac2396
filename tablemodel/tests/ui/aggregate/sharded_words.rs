//! Aggregates in parts: wrong words and names, all mistakes at once.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Pages", partition = "{site}", row = "page_{id}", reserved("Spent"))]
#[table(index(often, row = "often_{visits}_{id}", keep(visits)))]
#[table(sharded())]
#[table(sharded(visits, spent = f64))]
#[table(sharded(title = i64, views = u32, clicks = "i64", likes = i64, likes = f64))]
#[table(sharded(site_ = i64, timestamp = i64))]
#[table(sharded(by_day = i64, byDay = f64))]
struct Page {
    site: String,
    id: u32,
    title: String,
    #[table(sharded)]
    inside: i64,
}

#[derive(TableEntity)]
#[table(name = "Visits", partition = "{site}", row = "{number}")]
#[table(sharded = 16)]
struct Visit {
    site: String,
    number: u32,
}

fn main() {}
