//! Unique: a value that at most one entity of a partition, or of all, may have, by an index whose own key determines the
//! entity. The index row is inserted with the entity, so that of two writers with one value, one fails.
//! Cost: that of an index; over several partitions, on stores that commit only one at a time, some requests more.

use tablemodel::prelude::*;

#[allow(
    clippy::duplicated_attributes,
    reason = "two indexes may both be unique, which the lint takes for a repetition"
)]
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email:lower}", unique, keys_only))]
#[table(index(by_badge, table = "Badges", partition = "{badge:05}", row = "badge", unique, keys_only))]
struct Employee {
    department: String,
    id: u32,
    email: Option<String>,
    badge: Option<u32>,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

fn employee(id: u32, email: Option<&str>) -> Employee {
    Employee { department: "Sales".into(), id, email: email.map(str::to_owned), badge: None }
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    let mut first = db.insert(&employee(1, Some("jones@contoso.com"))).await?;
    let mut second = db.insert(&employee(2, Some("smith@contoso.com"))).await?;
    db.insert(&employee(3, None)).await?;
    db.insert(&employee(4, None)).await?; // no value is taken by nobody
    examples::print_rows(&db, "Company").await?;

    let refused = db.insert(&employee(5, Some("Jones@Contoso.com"))).await.map(drop);
    println!("{refused:?}");
    let owner = first.key().clone();
    assert!(
        refused.is_err_and(|error| {
            *error.kind() == ErrorKind::UniqueViolation { index: "by_email", owner: Some(owner) }
        })
    );
    assert!(!Employee::find().department("Sales").id(5).exists(&db).await?, "nothing of it was written");

    std::mem::swap(&mut first.email, &mut second.email);
    let mut swap = db.batch(Employee::in_partition("Sales"));
    swap.save(&mut first).save(&mut second);
    swap.commit().await?;
    let jones = Employee::by_email().department("Sales").email("jones@contoso.com").one(&db).await?;
    assert_eq!(jones.map(|jones| jones.id), Some(2));

    // A badge is unique over all departments.
    first.badge = Some(7);
    db.save(&mut first).await?;
    let other = Employee { department: "Marketing".into(), badge: Some(7), ..employee(9, None) };
    let refused = db.insert(&other).await.map(drop);
    println!("{refused:?}");
    let owner = Some(first.key().clone());
    assert!(refused.is_err_and(|error| *error.kind() == ErrorKind::UniqueViolation { index: "by_badge", owner }));
    first.badge = None;
    db.save(&mut first).await?;
    db.insert(&other).await?; // free again
    examples::print_rows(&db, "Badges").await?;
    let badged = Employee::by_badge().badge(7).one(&db).await?;
    assert_eq!(badged.map(|badged| badged.department.clone()).as_deref(), Some("Marketing"));
    Ok(())
}
