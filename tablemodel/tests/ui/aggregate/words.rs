//! Aggregates: wrong words, and fields that cannot be used, all mistakes at once.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "department")]
struct Department {
    name: String,
    #[table(aggregate)]
    employee_count: i64,
    #[table(aggregate, rename = "dead")]
    dead: i64,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id}")]
#[table(count())]
#[table(count(key(name = department), into = employee_count))]
#[table(count = 3)]
#[table(count(Department))]
#[table(sum(Department, key(name = department), into = payroll))]
#[table(count(Department, key(name = department), into = employee_count, of = salary))]
#[table(count(Department, key(), into = employee_count))]
#[table(count(Department, key(name), into = employee_count))]
#[table(count(Department, key(name = deprtment), into = employee_count))]
#[table(count(Department, key(name = department), into = "employee_count"))]
#[table(sum(Department, key(name = department), of = skills, into = payroll))]
#[table(count(Department, key(name = department), into = employee_count, whn = active))]
#[table(count(Employee, key(id = manager), into = reports))]
#[table(min())]
#[table(max(Department, key(name = department), into = best_paid))]
#[table(min(Department, key(name = department), of = salary, into = least, where = active))]
#[table(max(Department, key(name = department), of = skills, into = best_paid))]
#[table(count(Department, key(name = department, name = city), into = employee_count))]
struct Employee {
    department: String,
    id: u32,
    salary: u32,
    manager: u32,
    active: bool,
    #[table(json)]
    skills: Vec<String>,
    #[table(aggregate, json)]
    both: Vec<i64>,
}

#[derive(TableEntity)]
#[table(name = "Teams", partition = "{company}", row = "{number}_{name}")]
#[table(index(by_size, row = "size_{members}_{number}_{name}"))]
#[table(index(full, row = "full_{number}_{name}", when = hours))]
#[table(count(Department, key(name = head), into = employee_count))]
struct Team {
    company: String,
    number: i64,
    name: String,
    #[table(aggregate)]
    members: i64,
    #[table(aggregate)]
    hours: f64,
    #[table(aggregate)]
    head: i64,
    #[table(aggregate)]
    oldest: Option<String>,
    #[table(copy_of(Department, key(name = oldest)))]
    house: Option<Card>,
}

#[derive(Projection)]
#[table(of = Department)]
struct Card {
    name: String,
}

fn main() {}
