//! Entities go in and come out by every path, and their index rows follow them.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", entity_type = "Employee", version = 2)]
#[table(partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique, keep(first_name)))]
#[table(index(by_last_name, row = "name_{last_name}_{id:06}"))]
struct Employee {
    department: String,
    id: u32,
    first_name: String,
    last_name: String,
    email: String,
    age: u8,
    #[table(json)]
    skills: Vec<String>,
}

#[allow(dead_code)]
enum Company {
    Employee(Employee),
    Other(Row),
}

impl TableModel for Company {
    const ENTITIES: &'static [&'static tablemodel::EntitySchema] = &[Employee::SCHEMA];

    fn from_row(row: tablemodel::ModelRow) -> tablemodel::Result<Self> {
        if row.is::<Employee>() {
            return row.read().map(Self::Employee);
        }
        Ok(Self::Other(row.into_row()))
    }
}

fn jones() -> Employee {
    Employee {
        department: "Sales".into(),
        id: 223,
        first_name: "Jun".into(),
        last_name: "Jones".into(),
        email: "jonesj@contoso.com".into(),
        age: 34,
        skills: vec!["chess".into()],
    }
}

#[tokio::test]
async fn an_entity_goes_in_and_comes_out_by_every_path() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    let stored = db.insert(&jones()).await?;
    assert_eq!(*stored, jones());
    assert_eq!(stored.key().row, "empid_000223");
    let one = Employee::find().department("Sales").id(223).one(&db).await?.expect("inserted");
    assert_eq!(*one, jones());
    let by_email = Employee::by_email().department("Sales").email("jonesj@contoso.com").one(&db).await?;
    assert_eq!(*by_email.expect("indexed"), jones());
    let some = Employee::by_email().department("Sales").email_starts_with("jo").all(&db).await?;
    assert_eq!(some.len(), 1);
    let seen = Employee::by_last_name().department("Sales").last_name("Jones").all(&db).await?;
    assert_eq!(*seen[0], jones());
    let range = Employee::find().department("Sales").id_between(100..=300).all(&db).await?;
    assert_eq!(range.len(), 1);
    assert_eq!(Employee::find().department("Sales").get_many([1, 223], &db).await?.iter().flatten().count(), 1);
    println!("{}", Employee::by_email().department("Sales").email("x").explain());
    Ok(())
}

#[tokio::test]
async fn a_changed_entity_moves_its_index_row() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    let mut stored = db.insert(&jones()).await?;
    stored.email = "j@contoso.com".into();
    db.save(&mut stored).await?;
    assert!(!Employee::by_email().department("Sales").email("jonesj@contoso.com").exists(&db).await?);
    assert!(Employee::by_email().department("Sales").email("j@contoso.com").exists(&db).await?);
    let path = || Employee::find().department("Sales").id(223);
    db.update(path(), |e| {
        e.age += 1;
        Ok(())
    })
    .await?;
    assert!(db.save(&mut stored).await.is_err(), "the entity changed since");
    let current = path().one(&db).await?.expect("there");
    let verified = db.verify().await?;
    assert!(verified.is_clean(), "{verified:?}");
    db.delete(current).await?;
    assert_eq!(db.verify().await?.rows, 0);
    let mut batch = db.batch(Employee::in_partition("Sales"));
    batch.insert(&jones());
    batch.commit().await?;
    Ok(())
}

#[tokio::test]
async fn a_closed_file_is_free_for_the_next() -> tablemodel::Result<()> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("company.tablemodel");
    let db = Database::open::<Company>(&file).await?;
    db.ensure_tables().await?;
    let clone = db.clone();
    db.close().await?;
    assert!(clone.insert(&jones()).await.is_err(), "clones are closed too");
    let again = Database::open::<Company>(&file).await?;
    again.insert(&jones()).await?;
    Ok(())
}
