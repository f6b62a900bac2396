//! Fields that stand twice, as after a line was copied: rustc tells of each.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
    id: u32,
    #[table(json)]
    skills: Vec<String>,
    #[table(json)]
    skills: Vec<String>,
}

#[derive(Property)]
struct Address {
    city: String,
    city: String,
}

#[derive(Projection)]
#[table(of = Employee)]
struct Card {
    id: u32,
    id: u32,
}

async fn uses(db: &Database) -> tablemodel::Result<()> {
    let _ = Employee::find().department("Sales").id(3).select::<Card>().all(db).await?;
    Ok(())
}

fn main() {}
