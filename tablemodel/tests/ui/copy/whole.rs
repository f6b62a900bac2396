//! Copies that do not go with their source.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "e_{id:06}")]
struct Employee {
    department: String,
    id: u32,
    first_name: String,
}

#[derive(Projection)]
#[table(of = Employee)]
struct Card {
    first_name: String,
}

#[derive(TableEntity)]
#[table(name = "Desks", partition = "{room}", row = "desk")]
struct Desk {
    room: String,
    sitter: Option<u32>,
    #[table(rename = "Who_FirstName")]
    taken: String,
    #[table(copy_of(Employee, key(department = room)))]
    partly: Option<Card>,
    #[table(copy_of(Employee, key(department = room, id = sitter, first_name = room)))]
    too_much: Option<Card>,
    #[table(copy_of(Employee, key(department = room, id = sitter), on_delete = clear))]
    never_none: Card,
    #[table(copy_of(Employee, key(department = room, id = sitter)))]
    who: Option<Card>,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "d")]
struct Department {
    name: String,
    #[table(aggregate)]
    heads: i64,
}

#[derive(Projection)]
#[table(of = Department)]
struct Size {
    heads: i64,
}

#[derive(TableEntity)]
#[table(name = "Floors", partition = "{number}", row = "floor")]
struct Floor {
    number: u8,
    used_by: String,
    #[table(copy_of(Department, key(name = used_by)))]
    size: Option<Size>,
}

fn main() {}
