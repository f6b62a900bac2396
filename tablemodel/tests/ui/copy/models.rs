//! Copies that go round, and sources that a model does not list.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Employees", partition = "{id}", row = "employee")]
struct Employee {
    id: u32,
    first_name: String,
    team_id: Option<u32>,
    #[table(copy_of(Team, key(id = team_id)))]
    team: Option<TeamCard>,
}

#[derive(TableEntity)]
#[table(name = "Teams", partition = "{id}", row = "team")]
struct Team {
    id: u32,
    title: String,
    lead_id: Option<u32>,
    #[table(copy_of(Employee, key(id = lead_id)))]
    lead: Option<Card>,
}

#[derive(TableEntity)]
#[table(name = "Notes", partition = "{id}", row = "note")]
struct Note {
    id: u32,
    title: String,
    before: Option<u32>,
    #[table(copy_of(Note, key(id = before)))]
    last: Option<Last>,
}

#[derive(Projection)]
#[table(of = Employee)]
struct Card {
    first_name: String,
}

#[derive(Projection)]
#[table(of = Team)]
struct TeamCard {
    title: String,
}

#[derive(Projection)]
#[table(of = Note)]
struct Last {
    title: String,
}

#[derive(TableModel)]
enum Round {
    Employee(Employee),
    Team(Team),
}

#[derive(TableModel)]
enum Alone {
    Team(Team),
}

fn main() {}
