//! Model (the guide's *heterogeneous entity types*): several types in one partition, written in one batch and read by
//! one query, in key order. Cost: one request; rows of types that this program does not know come as they are, and
//! survive whatever it does.

use tablemodel::{Properties, RowKey, prelude::*, store::TableStoreExt};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
struct Employee {
    department: String,
    id: u32,
    name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}_{year}")]
struct Review {
    department: String,
    id: u32,
    year: u16,
    rating: u8,
}

#[derive(Debug, TableModel)]
enum Company {
    Employee(Employee),
    Review(Review),
    #[table(other)]
    Other(Row),
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    let mut batch = db.batch(Employee::in_partition("Sales"));
    for (id, name) in [(123, "Jones"), (124, "Smith")] {
        batch.insert(&Employee { department: "Sales".into(), id, name: name.into() });
        batch.insert(&Review { department: "Sales".into(), id, year: 2014, rating: 4 });
    }
    batch.commit().await?; // four entities of two types: all or nothing
    let badge = Properties::from_iter([("EntityType", "Badge@1"), ("Colour", "red")]);
    db.store().insert("Company", &RowKey::new("Sales", "empid_000123_badge"), badge).await?; // as another program would
    examples::print_rows(&db, "Company").await?;

    let all_of_jones = Company::rows(Employee::in_partition("Sales")).row_starts_with("empid_000123");
    println!("{}", all_of_jones.explain());
    let mut told = Vec::new();
    for row in all_of_jones.all(&db).await? {
        told.push(match row {
            Company::Employee(employee) => employee.name,
            Company::Review(review) => format!("{}: {}", review.year, review.rating),
            Company::Other(row) => format!("unknown: {}", row.key.row),
        });
    }
    assert_eq!(told, ["Jones", "2014: 4", "unknown: empid_000123_badge"]);
    let employees = Employee::find().department("Sales").all(&db).await?;
    assert_eq!(employees.len(), 2, "a typed path leaves reviews and badges out");
    Ok(())
}
