//! Lists whose rows could be those of something else.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
#[table(list(by_name, row = "{name}"))]
#[table(list(by_city, table = "Names", partition = "{city}", row = "all"))]
#[table(list(by_street, table = "Names", partition = "{street}", row = "all"))]
struct Employee {
    department: String,
    id: String,
    name: String,
    city: String,
    street: String,
}

fn main() {}
