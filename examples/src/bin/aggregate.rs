//! Aggregate (a materialized view): how many employees a department has and what they earn, in the department itself, in
//! step with every write; and in another table what they earn in a city, and how many they are, in parts that many can write
//! at once. Cost: two point reads and two rows more for each write that changes it, beside it or there, one of each where it is
//! in parts; a read is a point read, of parts a query of 16 rows.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(count(Department, key(name = department), into = employee_count, when = active))]
#[table(sum(Department, key(name = department), of = salary, into = payroll))]
#[table(max(Department, key(name = department), of = salary, into = best_paid))]
#[table(sum(City, key(name = city), of = salary, into = wages))]
#[table(count(City, key(name = city), into = headcount))]
struct Employee {
    department: String,
    id: u32,
    city: String,
    salary: u32,
    active: bool,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{name}", row = "department")]
struct Department {
    name: String,
    motto: String,
    #[table(aggregate)]
    employee_count: i64,
    #[table(aggregate)]
    payroll: i64,
    #[table(aggregate)]
    best_paid: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Cities", partition = "{name}", row = "city", sharded(headcount = i64))]
struct City {
    name: String,
    #[table(aggregate)]
    wages: i64,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
    Department(Department),
    City(City),
}

fn employee(id: u32, salary: u32) -> Employee {
    Employee { department: "Sales".into(), id, city: "Rome".into(), salary, active: true }
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    let sales = || Department::find().name("Sales");

    db.insert(&employee(1, 5_000)).await?; // before there is a department
    assert_eq!(db.total(sales(), Department::PAYROLL).await?, 5_000);
    let department =
        Department { name: "Sales".into(), motto: "More".into(), employee_count: 0, payroll: 0, best_paid: None };
    assert_eq!(db.insert(&department).await?.employee_count, 1); // what it says itself is not asked

    let mut batch = db.batch(Department::in_partition("Sales"));
    batch.insert(&employee(2, 4_000)).insert(&employee(3, 4_500)); // one write of the department
    batch.commit().await?;
    db.update(Employee::find().department("Sales").id(1), |jones| {
        jones.active = false;
        Ok(())
    })
    .await?;
    examples::print_rows(&db, "Company").await?;

    let stored = db
        .update(sales(), |sales| {
            (sales.motto, sales.payroll) = ("Even more".into(), 1);
            Ok(())
        })
        .await?;
    assert_eq!((stored.employee_count, stored.payroll), (2, 13_500)); // read back as it was written

    let best = Employee::find().department("Sales").id(1).one(&db).await?;
    if let Some(best) = best {
        db.delete(best).await?;
    }
    assert_eq!(db.total(sales(), Department::BEST_PAID).await?, Some(4_500)); // the next one is known
    let rome = db.insert(&City { name: "Rome".into(), wages: 0 }).await?;
    assert_eq!(rome.wages, 8_500);
    assert_eq!(db.total(City::find().name("Rome"), City::HEADCOUNT).await?, 2); // no field of the city
    examples::print_rows(&db, "Cities").await?;
    Ok(())
}
