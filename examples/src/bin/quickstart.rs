//! The shortest complete program: declare an entity, open a file, write, find, query an index, change, delete.
//! Each write is one atomic batch: the employee's row, and a row for each index.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique, keep(name)))]
struct Employee {
    department: String,
    id: u32,
    name: String,
    email: String,
    age: u8,
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

    let jones = Employee {
        department: "Sales".into(),
        id: 223,
        name: "Jun Jones".into(),
        email: "jonesj@contoso.com".into(),
        age: 34,
    };
    db.insert(&jones).await?;
    examples::print_rows(&db, "Company").await?;

    let by_key = Employee::find().department("Sales").id(223);
    let by_email = Employee::by_email().department("Sales").email("jonesj@contoso.com");
    println!("{}\n{}", by_key.explain(), by_email.explain());
    assert_eq!(by_key.one(&db).await?.map(Stored::into_inner), Some(jones.clone()));
    let mut found = by_email.one(&db).await?.ok_or("no such address")?;

    found.email = "jun@contoso.com".into();
    db.save(&mut found).await?; // the index row moves in the same batch
    assert!(!Employee::by_email().department("Sales").email("jonesj@contoso.com").exists(&db).await?);

    db.update(Employee::find().department("Sales").id(223), |jones| {
        jones.age += 1;
        Ok(())
    })
    .await?;
    let older = Employee::find().department("Sales").id(223).one(&db).await?.ok_or("gone")?;
    assert_eq!((older.age, older.email.as_str()), (35, "jun@contoso.com"));

    db.delete(older).await?; // takes the index row with it
    assert_eq!(Employee::find().department("Sales").count(&db).await?, 0);
    println!("hired, found, changed and gone");
    Ok(())
}
