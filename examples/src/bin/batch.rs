//! Batch (the guide's *entity group transactions*): changes of several entities of one partition, all or nothing.
//! Everything is checked before anything is sent, and a batch is never split. Cost: one request; at most 100 rows,
//! index rows counted, and 4 MiB.

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

fn employee(department: &str, id: u32) -> Employee {
    Employee { department: department.into(), id, email: format!("{id}@contoso.com") }
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    let mut promoted = db.insert(&employee("Sales", 1)).await?;
    let retired = db.insert(&employee("Sales", 2)).await?;

    promoted.email = "chief@contoso.com".into();
    let mut batch = db.batch(Employee::in_partition("Sales"));
    batch.insert(&employee("Sales", 3)).save(&mut promoted).delete(retired);
    batch.commit().await?;
    examples::print_rows(&db, "Company").await?;
    promoted.email = "boss@contoso.com".into();
    db.save(&mut promoted).await?; // it is current again: the commit brought its new ETag

    let mut elsewhere = db.batch(Employee::in_partition("Sales"));
    elsewhere.insert(&employee("Sales", 4)).insert(&employee("Legal", 5));
    refused(elsewhere.commit().await, ErrorKind::WrongPartition, Some(1));

    let mut too_many = db.batch(Employee::in_partition("Sales"));
    for id in 10..61 {
        too_many.insert(&employee("Sales", id)); // 51 employees, 102 rows
    }
    refused(too_many.commit().await, ErrorKind::TooMany, None);

    let mut taken = db.batch(Employee::in_partition("Sales"));
    taken.insert(&employee("Sales", 6)).insert(&employee("Sales", 3));
    refused(taken.commit().await, ErrorKind::AlreadyExists, Some(1));
    assert_eq!(Employee::find().department("Sales").count(&db).await?, 2, "nothing of the refused batches was written");
    Ok(())
}

/// The error says what is wrong, and with which operation.
fn refused(result: tablemodel::Result<()>, kind: ErrorKind, operation: Option<usize>) {
    println!("{result:?}");
    assert!(result.is_err_and(|error| *error.kind() == kind && error.operation() == operation));
}
