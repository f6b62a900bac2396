//! Index in another table (the guide's *inter-partition secondary index pattern*), and one row for each element of a list.
//! Run here as on Azure, one partition at a time: the entity and a note of what to do are one batch, the rows elsewhere
//! follow. Cost of an insert: the batch with one row more, and a read and a write for each row elsewhere.

use tablemodel::{Consistency, prelude::*};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "{department}_{id:06}", keep(name)))]
#[table(index(
    by_skill,
    table = "Skills",
    partition = "{skills}",
    row = "{id:06}_{department}",
    each(skills),
    keys_only
))]
struct Employee {
    department: String,
    id: u32,
    name: String,
    city: String,
    #[table(json)]
    skills: Vec<String>,
}

#[derive(Debug, Projection)]
#[table(of = Employee)]
struct Card {
    city: String,
    name: String,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::builder().consistency(Consistency::Azure).in_memory::<Company>().await?;
    db.ensure_tables().await?;
    let people =
        [("Sales", 1, "Jones", "Oslo", "sql,rust"), ("IT", 2, "Smith", "Oslo", "rust"), ("IT", 3, "Ito", "Rome", "")];
    for (department, id, name, city, skills) in people {
        let skills = skills.split_terminator(',').map(str::to_owned).collect();
        let (department, name, city) = (department.to_owned(), name.to_owned(), city.to_owned());
        db.insert(&Employee { department, id, name, city, skills }).await?;
    }
    for table in ["Company", "Cities", "Skills"] {
        examples::print_rows(&db, table).await?;
    }

    let in_oslo = Employee::by_city().city("Oslo");
    println!("{}", in_oslo.explain());
    let in_oslo: Vec<Stored<Employee>> = in_oslo.all(&db).await?;
    assert_eq!(in_oslo.len(), 2, "of two departments");
    assert_eq!(Employee::by_skill().skills("rust").count(&db).await?, 2);

    // From the index rows alone, each checked against its employee first.
    let cards = Employee::by_city().city("Oslo").select::<Card>().verified().all(&db).await?;
    for card in &cards {
        println!("{} in {}", card.name, card.city);
    }

    for mut employee in in_oslo {
        employee.city = "Rome".into();
        employee.skills.clear();
        db.save(&mut employee).await?;
    }
    assert_eq!(Employee::by_city().city("Rome").count(&db).await?, 3);
    assert_eq!(Employee::by_skill().skills("rust").count(&db).await?, 0);

    // The rows of the old values are tombstones until the fence has passed; a relay sweeps them then.
    let report = db.relay().run_once().await?;
    println!("relay: {report:?}");
    assert!(report.is_settled());
    let verified = db.verify().await?;
    println!("{} rows, {} tombstones, {} violations", verified.rows, verified.tombstones, verified.violations.len());
    assert!(verified.is_clean());
    Ok(())
}
