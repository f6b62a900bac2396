//! Words that stand in another place than their own: each is told where it stands and what to do, all at once.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id}", json, rename = "Staff", unique)]
#[table(index(by_email, row = "email_{email}_{id}", store = blob, rename = "mail"), list(ids, row = "ids_{name}", keep(id)))]
struct Employee {
    department: String,
    #[table(partition)]
    id: u32,
    #[table(index(by_name, unique), version = 2)]
    name: String,
    #[table(unique)]
    email: String,
}

#[derive(Property)]
#[table(partition = "{city}")]
struct Address {
    #[table(flatten, version = 2)]
    city: String,
}

#[derive(Property)]
#[table(json, rename = "Colour")]
enum Color {
    #[table(json, was = "Rouge")]
    Red,
}

#[derive(Property)]
#[table(rename_all = "camelCase", jsn)]
struct Id(u32);

#[derive(Projection)]
#[table(of = Employee, version = 2)]
struct Card {
    #[table(rename = "Mail", skip)]
    email: String,
}

#[derive(TableModel)]
#[table(name = "Company", other)]
enum Company {
    #[table(rename = "Staff")]
    Employee(Employee),
}

#[derive(TableEntity)]
#[table(name = "Desks", partition = "{room}", row_key = "{owner}", row = "{owner}")]
struct Desk {
    room: String,
    owner: u32,
    #[table(copy_of(Employee, department = room, name = owner))]
    card: Option<Card>,
}

fn main() {}
