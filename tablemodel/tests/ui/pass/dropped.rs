//! What may be dropped without a word: of a bulk load, what it wrote, once its errors were asked for.
#![deny(unused_must_use)]

use tablemodel::{Result, prelude::*};

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

async fn load(db: &Database, employees: Vec<Employee>) -> Result<u64> {
    db.bulk().insert_iter(employees).await?.into_result()?;
    let again = db.bulk().upsert_iter([Employee { department: "Sales".into(), id: 1 }]).await?.into_result()?;
    Ok(again.written + again.batches)
}

fn main() {
    let _ = (load, Database::in_memory::<Company>);
}
