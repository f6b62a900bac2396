//! A database that is opened with an entity. One mistake a file: rustc gives no order to those of one function.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
}

async fn open() -> tablemodel::Result<Database> {
    Database::open::<Employee>("company.db").await
}

fn main() {
    drop(open());
}
