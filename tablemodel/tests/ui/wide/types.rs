//! What shows of arrays only by their types.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", wide, partition = "{department}", row = "{id}")]
struct Elements {
    department: String,
    id: u32,
    #[table(flatten)]
    day: [std::time::Instant; 365],
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct TooMany {
    department: String,
    id: u32,
    #[table(flatten)]
    day: [u32; 365],
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct TooManyWithCopies {
    department: String,
    id: u32,
    #[table(flatten)]
    day: [u32; 246],
    #[table(copy_of(Source, key(department = department)))]
    source: Option<Copied>,
}

#[derive(TableEntity)]
#[table(name = "Sources", partition = "{department}", row = "source")]
struct Source {
    department: String,
    name: String,
}

#[derive(Projection)]
#[table(of = Source)]
struct Copied {
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Company", wide, partition = "{department}", row = "{id}")]
struct Twice {
    department: String,
    id: u32,
    #[table(flatten)]
    day: [u32; 365],
    #[table(rename = "Day007")]
    monday: u32,
}

#[derive(TableEntity)]
#[table(name = "Company", wide, partition = "{department}", row = "{id}")]
#[table(index(by_id, row = "i_{id}", keep(note)))]
struct Patched {
    department: String,
    id: u32,
    note: String,
    #[table(flatten)]
    day: [u32; 365],
}

fn patch() {
    let _ = Patched::DAY.set(3, 7_u32);
    let _ = Patched::DAY.set(3, "seven");
    let _ = Patched::NOTE.set("n");
}

fn main() {}
