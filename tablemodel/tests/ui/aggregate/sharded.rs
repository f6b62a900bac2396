//! Aggregates in parts: what they cannot hold, and where they cannot stand.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Pages", partition = "{site}", row = "page_{id}", sharded(visits = i64, spent = f64, idle = i64))]
struct Page {
    site: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Pages", partition = "{site}", row = "visit_{at}")]
#[table(count(Page, key(site = site, id = page), into = visits))]
#[table(min(Page, key(site = site, id = page), of = seconds, into = spent))]
#[table(sum(Page, key(site = site, id = page), of = seconds, into = idle))]
#[table(count(Page, key(site = site, id = page), into = visitors))]
struct Visit {
    site: String,
    at: u64,
    page: u32,
    seconds: f64,
}

#[derive(TableEntity)]
#[table(name = "Pages", partition = "{site}", row = "click_{at}")]
#[table(count(Page, key(site = site, id = page), into = visits))]
struct Click {
    site: String,
    at: u64,
    page: u32,
}

#[derive(TableModel)]
enum WithoutSources {
    Page(Page),
    Click(Click),
}

#[derive(Projection)]
#[table(of = Page)]
struct Card {
    visits: i64,
}

fn main() {
    let _ = Page::VISITS.set(3);
    let _ = Page::VISITS.gt(3);
}
