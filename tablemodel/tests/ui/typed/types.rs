//! Types that cannot be stored, or cannot stand where they stand.

use std::time::Instant;

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
#[table(index(by_skills, row = "s_{skills}_{id}"))]
struct Employee {
    department: String,
    id: u32,
    since: Instant,
    skills: Strings,
    #[table(json)]
    hidden: Unserialized,
    #[table(flatten)]
    address: u32,
    #[table(skip)]
    cache: NoDefault,
    #[table(default = "x")]
    age: u8,
}

#[derive(Property)]
struct Strings(String);

struct Unserialized;
struct NoDefault;

#[derive(Property, KeyPart)]
struct Moment(Instant);

#[derive(Property)]
struct Group {
    at: Instant,
}

#[derive(TableModel)]
enum Model {
    Group(Group),
}

fn main() {}
