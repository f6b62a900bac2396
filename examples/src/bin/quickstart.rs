//! The shortest complete program: an employee is kept in a file, found by key and by an index, changed and deleted.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique, keys_only))]
struct Employee {
    department: String,
    id: u32,
    email: String,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Database::open::<Company>(folder.path().join("company.tablemodel")).await?;
    db.ensure_tables().await?;
    let (department, email) = ("Sales".to_owned(), "jonesj@contoso.com".to_owned());
    db.insert(&Employee { department, id: 223, email }).await?; // one batch: the employee's row, and one of the index
    examples::print_rows(&db, "Company").await?;

    let mut jones = Employee::find().department("Sales").id(223).one(&db).await?.ok_or("no such number")?;
    let by_email = Employee::by_email().department("Sales").email("jonesj@contoso.com");
    assert_eq!(by_email.one(&db).await?.as_deref(), Some(&*jones));
    jones.email = "jun@contoso.com".into();
    db.save(&mut jones).await?; // if nobody else did meanwhile; the index row moves in the same batch
    assert!(Employee::by_email().department("Sales").email("jun@contoso.com").exists(&db).await?);
    db.delete(jones).await?; // takes the index row with it
    Ok(())
}
