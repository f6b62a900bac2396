//! Patch: sets some properties of an entity without sending the others (a Merge). Only properties that no key and no
//! index row is made from have a `set`; for the others `update` keeps the index rows in step.
//! Cost: one point read of the system properties, and a batch of one row.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique, keys_only))]
struct Employee {
    department: String,
    id: u32,
    email: String,
    age: u8,
    #[table(json)]
    skills: Vec<String>,
    office: Option<String>,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    let (department, email) = ("Sales".to_owned(), "jonesj@contoso.com".to_owned());
    let jones = Employee { department, id: 223, email, age: 34, skills: Vec::new(), office: Some("12".into()) };
    let mut stale = db.insert(&jones).await?;
    examples::print_rows(&db, "Company").await?;

    let path = || Employee::find().department("Sales").id(223);
    let changes = Employee::AGE.set(35).and(Employee::SKILLS.set(vec!["rust".to_owned()]));
    db.patch(path(), changes.and(Employee::OFFICE.set("14"))).await?;
    examples::print_rows(&db, "Company").await?;
    db.patch(path(), Employee::OFFICE.set(None)).await?; // an absent value is an absent property
    examples::print_rows(&db, "Company").await?;
    let jones = path().one(&db).await?.ok_or("gone")?;
    assert_eq!((jones.age, jones.skills.len(), jones.office.as_deref()), (35, 1, None));
    assert_eq!(jones.email, "jonesj@contoso.com", "what the patch did not name stays");

    stale.age = 60;
    let refused = db.save(&mut stale).await;
    println!("{refused:?}");
    assert!(refused.is_err_and(|error| matches!(error.kind(), ErrorKind::Conflict { .. })), "read before the patches");

    // `Employee::EMAIL.set(..)` does not compile: an index row is made from it.
    db.update(path(), |jones| {
        jones.email = "jun@contoso.com".into();
        Ok(())
    })
    .await?;
    assert!(Employee::by_email().department("Sales").email("jun@contoso.com").exists(&db).await?);
    Ok(())
}
