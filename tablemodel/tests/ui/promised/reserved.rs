//! Names that were removed, and would come back in a group, an array or a copy.

use tablemodel::prelude::*;

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}", reserved("City"))]
struct Grouped {
    department: String,
    id: u32,
    #[table(flatten)]
    address: Address,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "d_{id}", reserved("Other", "Day03"))]
struct Days {
    department: String,
    id: u32,
    #[table(flatten, rename = "Day")]
    days: [u32; 7],
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "department", reserved("Head_Id"))]
struct Department {
    name: String,
    head_id: u32,
    #[table(copy_of(Grouped, key(department = name, id = head_id)))]
    head: Option<Card>,
}

#[derive(Projection)]
#[table(of = Grouped)]
struct Card {
    id: u32,
}

fn main() {}
