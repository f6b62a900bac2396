//! Aggregates: types that do not go together.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "department_{floor}")]
struct Department {
    name: String,
    floor: u8,
    plain: i64,
    #[table(aggregate)]
    employee_count: i64,
    #[table(aggregate)]
    payroll: i64,
    #[table(aggregate)]
    least: Option<u8>,
    #[table(aggregate)]
    greatest: Option<String>,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id}")]
#[table(count(Department, key(name = department, floor = id), into = employee_count))]
#[table(count(Department, key(name = department, floor = floor), into = plain))]
#[table(count(Department, key(name = department, floor = floor), into = missing))]
#[table(sum(Department, key(name = department, floor = floor), of = email, into = payroll))]
#[table(sum(Department, key(name = department, floor = floor), of = hours, into = payroll))]
#[table(min(Department, key(name = department, floor = floor), of = floor, into = payroll))]
#[table(min(Department, key(name = department, floor = floor), of = hours, into = least))]
#[table(max(Department, key(name = department, floor = floor), of = married, into = least))]
struct Employee {
    department: String,
    id: u32,
    floor: u8,
    email: String,
    hours: f64,
    married: bool,
}

#[derive(TableEntity)]
#[table(name = "Others", partition = "{name}", row = "other")]
struct Other {
    name: String,
    #[table(aggregate)]
    text: String,
}

fn main() {
    let _ = Department::PAYROLL.set(3);
    let _ = Department::LEAST.set(Some(3));
}
