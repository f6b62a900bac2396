//! Aggregates: keys that are not told, and models in which they do not fit.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "department_{floor}")]
struct Department {
    name: String,
    floor: u8,
    #[table(aggregate)]
    employee_count: i64,
    #[table(aggregate)]
    nobody: i64,
}

#[derive(TableEntity)]
#[table(name = "Elsewhere", partition = "{name}", row = "department", wide)]
struct Wide {
    name: String,
    #[table(aggregate)]
    employee_count: i64,
}

#[derive(TableEntity)]
#[table(name = "Elsewhere", partition = "{name}", row = "chunked")]
struct Chunked {
    name: String,
    #[table(chunked)]
    body: String,
    #[table(aggregate)]
    youngest: Option<u8>,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id}")]
#[table(count(Department, key(name = department), into = employee_count))]
#[table(count(Wide, key(name = department), into = employee_count))]
#[table(min(Chunked, key(name = city), of = floor, into = youngest))]
struct Employee {
    department: String,
    id: u32,
    floor: u8,
    city: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "x_{id}")]
#[table(count(Department, key(name = department, floor = floor), into = employee_count))]
struct First {
    department: String,
    id: u32,
    floor: u8,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "y_{id}")]
#[table(count(Department, key(name = department, floor = floor), into = employee_count))]
struct Second {
    department: String,
    id: u32,
    floor: u8,
}

#[derive(TableModel)]
enum WithoutTarget {
    First(First),
}

#[derive(TableModel)]
enum WithTwo {
    First(First),
    Second(Second),
    Department(Department),
}

#[derive(TableModel)]
enum WithoutSource {
    First(First),
    Department(Department),
}

#[derive(TableEntity)]
#[table(name = "Elsewhere", partition = "{name}", row = "house")]
struct House {
    name: String,
    floors: u8,
    #[table(aggregate)]
    employee_count: i64,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "z_{id}")]
#[table(count(House, key(name = department, floors = floor), into = employee_count, when = floor))]
struct Third {
    department: String,
    id: u32,
    floor: u8,
}

fn main() {}
