//! Entities that cannot live together.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id:06}")]
struct Employee {
    department: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "{number:06}")]
struct Department {
    name: String,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "Elsewhere", entity_type = "Employee", partition = "{name}", row = "{number:06}")]
struct Worker {
    name: String,
    number: u32,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
    Department(Department),
    Worker(Worker),
    #[table(other)]
    Other(Row),
}

#[derive(TableEntity)]
#[table(name = "Rooms", partition = "{house}", row = "room_{number:06}")]
#[table(index(by_name, row = "name_{name}", unique))]
struct Room {
    house: String,
    number: u32,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "rooms", partition = "{street}", row = "name_{number:06}")]
struct House {
    street: String,
    number: u32,
}

#[derive(TableModel)]
enum Rooms {
    Room(Room),
    House(House),
}

type Home = House;

#[derive(TableModel)]
enum Houses {
    House(House),
    Again(House),
}

#[derive(TableModel)]
enum Homes {
    House(House),
    Home(Home),
}

fn main() {}
