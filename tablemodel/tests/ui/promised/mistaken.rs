//! One entity with a mistake: nothing is said of those that have to do with it.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

#[derive(TableEntity)]
#[table(name = "Company", entity_type = "Worker", partition = "{department}", row = "e_{id:06}", zebra)]
#[table(count(Department, key(name = department), into = employees))]
struct Employee {
    department: String,
    id: u32,
    first_name: String,
    #[table(aggregate)]
    desks: i64,
}

#[derive(Projection)]
#[table(of = Employee)]
struct Card {
    first_name: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "d")]
struct Department {
    name: String,
    head: u32,
    #[table(aggregate)]
    employees: i64,
    #[table(copy_of(Employee, key(department = name, id = head)))]
    copied: Option<Card>,
}

#[derive(TableEntity)]
#[table(name = "Company", entity_type = "Employee", partition = "{room}", row = "desk_{owner:06}")]
#[table(count(Employee, key(department = room, id = owner), into = desks))]
struct Desk {
    room: String,
    owner: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", entity_type = "Worker", version = 2, partition = "{department}", row = "e_{id:06}")]
#[table(previous = Employee, readable_by = 1)]
struct Next {
    department: String,
    id: u32,
}

impl Upgrade<Employee> for Next {
    fn upgrade(old: Employee) -> Result<Self, UpgradeError> {
        Ok(Self { department: old.department, id: old.id })
    }
}

#[derive(TableEntity)]
#[table(name = "Employee", entity_type = "Worker", version = 3, partition = "{department}", row = "{id:06}")]
#[table(moved_from = Employee)]
struct Moved {
    department: String,
    id: u32,
}

impl Upgrade<Employee> for Moved {
    fn upgrade(old: Employee) -> Result<Self, UpgradeError> {
        Ok(Self { department: old.department, id: old.id })
    }
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "p")]
struct Plain {
    name: String,
    head: u32,
    #[table(copy_of(Employee, key(department = name, id = head)))]
    copied: Option<Card>,
}

#[derive(TableModel)]
enum Model {
    Employee(Employee),
    Department(Department),
    Desk(Desk),
}

#[derive(TableModel)]
enum Newer {
    Next(Next),
    Plain(Plain),
}

fn main() {}
