//! Keys that do not find a source, and fields that are no copy of it.

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

struct Stranger;

#[derive(TableEntity)]
#[table(name = "Desks", partition = "{room}", row = "desk")]
struct Desk {
    room: String,
    number: u64,
    sitter: Option<u32>,
    #[table(copy_of(Employee, key(departement = room, id = sitter)))]
    misspelt: Option<Card>,
    #[table(copy_of(Employee, key(department = room, id = number)))]
    wrong_type: Option<Card>,
    #[table(copy_of(Employee, key(department = room, id = sitter)))]
    stranger: Stranger,
}

fn main() {}
