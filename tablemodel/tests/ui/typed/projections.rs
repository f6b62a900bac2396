//! Projections of fields that are not there, or are of another type.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
    first_name: String,
    #[table(json)]
    skills: Vec<String>,
    #[table(flatten)]
    digest: [u8; 4],
}

#[derive(Projection)]
#[table(of = Employee)]
struct Misspelt {
    frst_name: String,
}

#[derive(Projection)]
#[table(of = Employee)]
struct OfAnotherType {
    id: u64,
    skills: Vec<String>,
}

#[derive(Projection)]
#[table(of = Missing)]
struct OfNothing {
    id: u32,
}

#[derive(Projection)]
#[table(of = Employee)]
struct OfAnArrayOfBytes {
    digest: [u8; 4],
}

fn main() {}
