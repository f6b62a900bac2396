//! Indexes in other partitions whose rows could meet others, and lists of what cannot stand in a key.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id:06}")]
#[table(index(by_city, partition = "{city}", row = "{department}_{id:06}"))]
#[table(index(by_town, partition = "{city}", row = "{department}_{id:06}"))]
struct Employee {
    department: String,
    id: u32,
    city: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id:06}")]
#[table(index(by_mark, table = "Marks", partition = "{marks:sortable}", row = "{department}_{id:06}", each(marks)))]
struct Marked {
    department: String,
    id: u32,
    #[table(json)]
    marks: Vec<Vec<f64>>,
}

fn main() {}
