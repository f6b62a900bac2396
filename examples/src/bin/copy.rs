//! Denormalised copy: a department carries its manager's details, so that one point query gives both.
//! The copy is filled and kept in step by the framework. Cost: a row that leads from the manager to the department.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
struct Employee {
    department: String,
    id: u32,
    name: String,
    age: u8,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Employee)]
struct ManagerCard {
    id: u32,
    name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{name}", row = "department")]
struct Department {
    name: String,
    manager_id: Option<u32>,
    #[table(copy_of(Employee, key(department = name, id = manager_id)))]
    manager: Option<ManagerCard>,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
    Department(Department),
}

fn employee(id: u32, name: &str) -> Employee {
    Employee { department: "Sales".into(), id, name: name.into(), age: 40 }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    db.insert(&employee(1, "Jones")).await?;
    db.insert(&employee(2, "Smith")).await?;
    db.insert(&Department { name: "Sales".into(), manager_id: Some(1), manager: None }).await?;
    examples::print_rows(&db, "Company").await?;

    let sales = || Department::find().name("Sales").one(&db);
    let married = |employee: &mut Employee| {
        employee.name = "Jones-Lee".into();
        Ok(())
    };
    db.update(Employee::find().department("Sales").id(1), married).await?; // one batch: the employee, and the department
    assert_eq!(sales().await?.and_then(|s| s.manager.clone()), Some(ManagerCard { id: 1, name: "Jones-Lee".into() }));

    let promoted = |department: &mut Department| {
        department.manager_id = Some(2);
        Ok(())
    };
    db.update(Department::find().name("Sales"), promoted).await?;
    assert_eq!(sales().await?.and_then(|s| s.manager.clone()), Some(ManagerCard { id: 2, name: "Smith".into() }));

    let smith = Employee::find().department("Sales").id(2).one(&db).await?.ok_or("no Smith")?;
    db.delete(smith).await?; // clears the copy
    assert_eq!(sales().await?.map(|s| s.manager.clone()), Some(None));
    examples::print_rows(&db, "Company").await?;
    Ok(())
}
