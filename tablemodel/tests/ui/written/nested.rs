//! An `Option` of an `Option`, which is told where it stands.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
    office: Option<Option<u8>>,
    #[table(json)]
    badge: Option<Option<u8>>,
}

#[derive(Property)]
struct Place {
    town: Option<std::option::Option<String>>,
}

fn main() {}
