//! A copy has no handle, and the fields that name its source no setter.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Employees", partition = "{id}", row = "employee")]
struct Employee {
    id: u32,
    first_name: String,
}

#[derive(Projection)]
#[table(of = Employee)]
struct Card {
    first_name: String,
}

#[derive(TableEntity)]
#[table(name = "Teams", partition = "{id}", row = "team")]
struct Team {
    id: u32,
    lead_id: Option<u32>,
    #[table(copy_of(Employee, key(id = lead_id)))]
    lead: Option<Card>,
}

fn main() {
    let _ = Team::LEAD;
    let _ = Team::LEAD_ID.set(Some(3));
}
