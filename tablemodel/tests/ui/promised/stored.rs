//! Mistakes in keys, types, groups, copies, aggregates and between versions, all told at once: a type that cannot be stored, or stand in a key,
//! hides only what depends on it.

use tablemodel::{DateTime, Upgrade, UpgradeError, prelude::*};

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "e_{ratio}_{id:06}")]
#[table(index(by_time, table = "Times", partition = "{at}", row = "{department}_{ratio:sortable}_{id:06}", keys_only))]
#[table(index(by_name, row = "n_{name:06}_{ratio:sortable}_{id:06}", keys_only, when = id))]
#[table(index(by_size, row = "s_{size}_{ratio:sortable}_{id:06}", keys_only))]
struct Employee {
    department: Option<String>,
    ratio: f64,
    id: u32,
    at: DateTime,
    name: String,
    size: usize,
}

#[derive(TableEntity)]
#[table(name = "Departments", partition = "{company}", row = "d_{name}")]
struct Department {
    company: String,
    name: String,
    #[table(default, aggregate)]
    members: i64,
}

#[derive(TableEntity)]
#[table(name = "Members", version = 1, frozen, entity_type = "Member", partition = "{company}", row = "{id:06}")]
struct Former {
    company: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Members", version = 2, partition = "{company}", row = "{id:08}", previous = Former)]
#[table(index(by_name, row = "{name}_{id:08}", keys_only))]
#[table(count(Department, key(company = company), into = members))]
struct Member {
    company: String,
    id: u32,
    name: String,
    size: usize,
}

impl Upgrade<Former> for Member {
    fn upgrade(former: Former) -> Result<Self, UpgradeError> {
        Ok(Self { company: former.company, id: former.id, name: String::new(), size: 0 })
    }
}

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(Projection)]
#[table(of = Department)]
struct Name {
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Rooms", partition = "{company}", row = "r_{id}")]
struct Room {
    company: String,
    id: u32,
    #[table(flatten)]
    address: Address,
    #[table(rename = "City")]
    town: String,
    #[table(copy_of(Department, key(company = company)))]
    department: Option<Name>,
    size: usize,
}

fn main() {}
