//! List (the guide's *index entities*): one row for each last name holds the keys of everybody called so; in another table
//! a row for each key. Cost: of `keys` one request, of a write one point read and one row for each list.

use tablemodel::{RowKey, prelude::*};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(list(ids_by_last_name, row = "ids_{last_name}"))]
#[table(list(skilled, row = "skill_{skills}", each(skills), when = active))]
#[table(list(everybody_called, table = "Names", partition = "{last_name}", row = "all"))]
struct Employee {
    department: String,
    id: u32,
    last_name: String,
    active: bool,
    #[table(json)]
    skills: Vec<String>,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

fn employee(department: &str, id: u32, last_name: &str, skills: &[&str]) -> Employee {
    let skills = skills.iter().map(ToString::to_string).collect();
    Employee { department: department.into(), id, last_name: last_name.into(), active: true, skills }
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    db.insert(&employee("Sales", 2, "Jones", &["sql"])).await?;
    db.insert(&employee("Sales", 1, "Jones", &["sql", "rust"])).await?;
    db.insert(&employee("Legal", 3, "Jones", &[])).await?;
    examples::print_rows(&db, "Company").await?;

    let jones = || Employee::ids_by_last_name().department("Sales").last_name("Jones");
    let keys = [RowKey::new("Sales", "empid_000001"), RowKey::new("Sales", "empid_000002")];
    assert_eq!(jones().keys(&db).await?, keys);
    println!("{}", jones().explain());
    assert_eq!(Employee::everybody_called().last_name("Jones").count(&db).await?, 3);
    assert_eq!(Employee::skilled().department("Sales").skills("sql").count(&db).await?, 2);

    for mut jones in jones().all(&db).await?.into_iter().take(1) {
        jones.last_name = "Smith".into();
        jones.active = false;
        db.save(&mut jones).await?; // leaves four lists, enters two: one batch, and the rows elsewhere
    }
    let [_, second] = keys;
    assert_eq!(jones().keys(&db).await?, [second]);
    assert_eq!(Employee::skilled().department("Sales").skills("rust").count(&db).await?, 0);
    Ok(())
}
