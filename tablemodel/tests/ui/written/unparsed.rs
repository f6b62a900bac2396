//! Structs and models of which a part cannot be parsed, as while they are typed: what can be read of them stands for them elsewhere.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique, keep(first_name)))]
struct Employee {
    department: String,
    id: u32,
    first_name: String
    email: String,
    : u8,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{name}", row = "department", zebra)]
struct Department {
    name: String,
    floor: Vec<u8,
}

#[derive(Property)]
struct Address {
    city:: String,
    zip: String,
}

#[derive(TableEntity)]
#[table(name = "Houses", partition = "{town}", row = "house")]
struct House {
    town: String,
    #[table(flatten)]
    address: Address,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee)
    Department(Department),
    House(House),
}

async fn uses(db: &Database, employee: Employee) -> tablemodel::Result<()> {
    db.insert(&employee).await?;
    let _ = Employee::find().department("Sales").id_between(1..3).all(db).await?;
    let _ = Employee::by_email().department("Sales").email("x").one(db).await?;
    let _ = Department::find().name("Sales").one(db).await?;
    let _ = Company::rows(Employee::in_partition("Sales")).all(db).await?;
    Ok(())
}

fn main() {}
