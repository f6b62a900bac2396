//! Index (the guide's *intra-partition secondary index pattern*): another row for each entity in the same partition,
//! under another key, written in the same batch. It holds a whole copy, or what `keep(..)` names, or keys only.
//! Cost: one row more per index and entity, always in step; a query by it is one request, and where it does not hold
//! what is asked, a point read for each result.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_name, row = "name_{last_name}_{id:06}"))]
#[table(index(by_city, row = "city_{city}_{id:06}", keep(last_name)))]
#[table(index(by_age, row = "age_{age}_{id:06}", keys_only))]
struct Employee {
    department: String,
    id: u32,
    last_name: String,
    city: String,
    age: u8,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    for (id, last_name, city, age) in [(1, "Jones", "Oslo", 34), (2, "Smith", "Oslo", 51), (3, "Jonas", "Rome", 19)] {
        let (last_name, city) = (last_name.to_owned(), city.to_owned());
        db.insert(&Employee { department: "Sales".into(), id, last_name, city, age }).await?;
    }
    examples::print_rows(&db, "Company").await?;

    let jon = Employee::by_name().department("Sales").last_name_starts_with("Jon");
    println!("whole copy: {}", jon.explain());
    let jon: Vec<Seen<Employee>> = jon.all(&db).await?;
    assert_eq!(jon.iter().map(|seen| seen.age).collect::<Vec<_>>(), [19, 34], "in order of name, every field there");

    let in_oslo = Employee::by_city().department("Sales").city("Oslo");
    println!("keep: {}", in_oslo.explain());
    let mut in_oslo: Vec<Stored<Employee>> = in_oslo.all(&db).await?;
    assert_eq!(in_oslo.len(), 2);

    let grown = Employee::by_age().department("Sales").age_between(30..=60);
    println!("keys only: {}", grown.explain());
    assert_eq!(grown.count(&db).await?, 2, "counting reads index rows alone");

    let Some(mut smith) = in_oslo.pop() else { return Ok(()) };
    smith.city = "Rome".into();
    db.save(&mut smith).await?; // one batch: the employee, one index row deleted, one written, one replaced
    assert_eq!(Employee::by_city().department("Sales").city("Oslo").count(&db).await?, 1);
    assert_eq!(Employee::by_city().department("Sales").city("Rome").count(&db).await?, 2);

    db.delete(smith).await?; // takes its index rows with it
    assert_eq!(Employee::by_city().department("Sales").city("Rome").count(&db).await?, 1);
    assert!(db.verify().await?.is_clean());
    Ok(())
}
