//! Upgrades: a name is split in two while rows of the old form are in the table. Each row is read as new, and stored as new
//! with its next write, with exactly the index rows of its version.
//! Cost: reading an older row costs no request more; its first write takes its old index rows away in the same batch.

use std::sync::Arc;

use tablemodel::{
    Upgrade, UpgradeError,
    prelude::*,
    store::{MemoryStore, TableStore},
};

/// The program as it was.
mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
    #[table(index(by_name, row = "name_{name}_{id:06}", keys_only))]
    #[table(index(by_email, row = "email_{email}", unique))]
    pub(super) struct Employee {
        pub(super) department: String,
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) email: String,
    }

    #[derive(TableModel)]
    pub(super) enum Company {
        Employee(Employee),
    }
}

/// As rows of version 1 are: what reading them needs.
#[derive(TableEntity)]
#[table(name = "Company", entity_type = "Employee", frozen, partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_name, row = "name_{name}_{id:06}", keys_only))]
#[table(index(by_email, row = "email_{email}", unique))]
struct EmployeeV1 {
    department: String,
    id: u32,
    name: String,
    email: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", version = 2, previous = EmployeeV1, partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique, keep(last_name)))]
struct Employee {
    department: String,
    id: u32,
    first_name: String,
    last_name: String,
    email: String,
}

impl Upgrade<EmployeeV1> for Employee {
    fn upgrade(old: EmployeeV1) -> Result<Self, UpgradeError> {
        let EmployeeV1 { department, id, name, email } = old;
        let (first, last) = name.split_once(' ').ok_or_else(|| UpgradeError::new("the name has no space"))?;
        Ok(Self { department, id, first_name: first.to_owned(), last_name: last.to_owned(), email })
    }
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

fn old(id: u32, name: &str) -> before::Employee {
    before::Employee { department: "Sales".into(), id, name: name.into(), email: format!("{id}@contoso.com") }
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let store: Arc<dyn TableStore> = Arc::new(MemoryStore::new());
    let db = Database::builder().with_store::<before::Company>(store.clone()).await?;
    db.ensure_tables().await?;
    for (id, name) in [(1, "Jun Jones"), (2, "Ada Byron"), (3, "Plato")] {
        db.insert(&old(id, name)).await?;
    }
    examples::print_rows(&db, "Company").await?;

    // The program is deployed anew, over the same store.
    let db = Database::builder().with_store::<Company>(store).await?;
    db.ensure_tables().await?;
    let sales = || Employee::find().department("Sales");
    let jones = sales().id(1).one(&db).await?;
    println!("read: {jones:?}");
    assert_eq!(jones.as_ref().map(|jones| (jones.version(), jones.last_name.as_str())), Some((Some(1), "Jones")));

    db.update(sales().id(1), |jones| Ok(jones.last_name = "Smith".into())).await?;
    let mut byron = Employee::by_email().department("Sales").email("2@contoso.com").one(&db).await?;
    if let Some(byron) = &mut byron {
        assert!(db.upgrade(byron).await?, "it was of version 1");
    }
    examples::print_rows(&db, "Company").await?;
    let refused = sales().id(3).one(&db).await;
    println!("{refused:?}");
    assert!(refused.is_err_and(|error| *error.kind() == ErrorKind::UpgradeFailed { from: 1, to: 2 }));
    let verified = db.verify().await?;
    assert_eq!(verified.violations.len(), 1, "the one that cannot be upgraded");
    Ok(())
}
