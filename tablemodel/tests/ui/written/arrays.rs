//! A projection of arrays, which are many properties, or JSON.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
    digest: [u8; 4],
    #[table(flatten)]
    hours: [u32; 12],
    #[table(json)]
    grades: [Option<u8>; 3],
}

#[derive(Projection)]
#[table(of = Employee)]
struct Hours {
    id: u32,
    digest: [u8; 4],
    hours: [u32; 12],
}

#[derive(Projection)]
#[table(of = Employee)]
struct Grades {
    grades: [Option<u8>; 3],
}

async fn uses(db: &Database) -> tablemodel::Result<()> {
    let _ = Employee::find().department("Sales").select::<Hours>().all(db).await?;
    let _ = Employee::find().department("Sales").select::<Grades>().all(db).await?;
    Ok(())
}

fn main() {}
