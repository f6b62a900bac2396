//! Rekey: an entity moves to another partition with everything that belongs to it, its unique value too.
//! Cost: one commit where the store can, which this one does; else a few more, and a relay finishes what a crash leaves.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_name, row = "name_{name}_{id:06}", keys_only))]
#[table(index(by_email, table = "Emails", partition = "{email}", row = "email", unique, keep(name)))]
struct Employee {
    department: String,
    id: u32,
    name: String,
    email: String,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

fn employee(department: &str, id: u32, email: &str) -> Employee {
    Employee { department: department.into(), id, name: "Jones".into(), email: email.into() }
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    let mut jones = db.insert(&employee("Sales", 1, "jones@contoso.com")).await?;
    db.insert(&employee("Legal", 1, "legal@contoso.com")).await?;

    jones.department = "Marketing".into();
    let refused = db.save(&mut jones).await;
    println!("{refused:?}");
    assert!(refused.is_err_and(|error| *error.kind() == ErrorKind::KeyChanged));

    db.rekey(&mut jones).await?;
    examples::print_rows(&db, "Company").await?;
    examples::print_rows(&db, "Emails").await?;
    assert!(!Employee::find().department("Sales").id(1).exists(&db).await?);
    let found = Employee::by_email().email("jones@contoso.com").one(&db).await?;
    assert_eq!(found.map(|found| found.department.clone()).as_deref(), Some("Marketing"));

    jones.department = "Legal".into();
    let refused = db.rekey(&mut jones).await;
    println!("{refused:?}");
    assert!(refused.is_err_and(|error| *error.kind() == ErrorKind::AlreadyExists));
    assert!(Employee::find().department("Marketing").id(1).exists(&db).await?, "it is where it was");
    Ok(())
}
