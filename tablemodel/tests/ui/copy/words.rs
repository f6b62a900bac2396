//! Mistakes in the words of a copy.

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
#[table(name = "Company", partition = "{name}", row = "d")]
#[table(index(by_manager, row = "m_{manager}", unique))]
struct Department {
    name: String,
    manager_id: Option<u32>,
    #[table(json)]
    tags: Vec<String>,
    #[table(copy_of(Employee, key(department = name, id = manger_id)))]
    manager: Option<Card>,
    #[table(copy_of(Employee, keys(department = name, id = manager_id)))]
    second: Option<Card>,
    #[table(copy_of)]
    third: Option<Card>,
    #[table(copy_of(key(department = name, id = manager_id)))]
    fourth: Option<Card>,
    #[table(copy_of(Employee, key(department = name, id = manager_id), on_delete = clean))]
    fifth: Option<Card>,
    #[table(copy_of(Employee, key(department = tags, id = manager_id)), json)]
    sixth: Option<Card>,
    #[table(copy_of(Employee, key(department = name, department = name, id)))]
    seventh: Option<Card>,
    #[table(copy_of(Employee, key()))]
    eighth: Option<Card>,
    #[table(copy_of(Employee))]
    ninth: Option<Card>,
    #[table(copy_of(Employee, key(department = name, id = manager_id)))]
    part: Option<Card>,
}

fn main() {}
