//! The model that the examples of the documentation run on.
//!
//! Not part of the public API.

use std::future::Future;

use crate::{Database, Result, Row, TableEntity, TableModel, testing::TestDatabase};

/// An employee of a department.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}", allow_scan)]
#[table(index(by_email, row = "email_{email}", unique, keep(name)))]
pub struct Employee {
    /// The partition.
    pub department: String,
    /// Unique within the department.
    pub id: u32,
    /// Family name.
    pub name: String,
    /// Unique within the department.
    pub email: String,
    /// In years.
    pub age: u8,
}

/// The entities of the examples.
#[derive(Debug, TableModel)]
pub enum Company {
    /// An employee.
    Employee(Employee),
    /// Any other row.
    #[table(other)]
    Other(Row),
}

/// Employee `id` of the Sales department.
pub fn employee(id: u32) -> Employee {
    let (name, email) = (format!("Name{id}"), format!("mail{id}@contoso.com"));
    Employee { department: "Sales".to_owned(), id, name, email, age: 30 }
}

/// Runs an example on a database that holds employees 1 to 3.
#[expect(clippy::panic, clippy::unwrap_used, reason = "an example fails by panicking")]
pub fn run<F: Future<Output = Result<()>>>(example: impl FnOnce(Database) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let db = TestDatabase::new::<Company>().await?;
        for id in 1..=3 {
            db.insert(&employee(id)).await?;
        }
        example(db.database().clone()).await
    });
    if let Err(error) = outcome {
        panic!("{error:?}");
    }
}
