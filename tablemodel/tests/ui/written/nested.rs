//! An `Option` of an `Option`, and a reference, which are told where they stand.

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

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "d_{floor}")]
#[table(index(by_head, row = "head_{head}_{floor}", keys_only))]
struct Department {
    department: &'static str,
    floor: u32,
    head: Option<&'static str>,
    #[table(json)]
    rooms: &'static [u8],
    #[table(skip)]
    shown: &'static str,
}

#[derive(Property, KeyPart)]
struct Code(&'static str);

fn main() {
    let _ = Department::by_head().department("Sales").head("Jones");
}
