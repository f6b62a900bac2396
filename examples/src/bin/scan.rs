//! Scan: reading every row of a partition or a table, for types that say `allow_scan`; no other query ends here by
//! accident. Cost: every row of the partition or table is read, one request per 1,000, whatever matches.

use tablemodel::{CostClass, prelude::*};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}", allow_scan)]
struct Employee {
    department: String,
    id: u32,
    age: u8,
    city: Option<String>,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    for (id, (department, age)) in (1..).zip([("Sales", 34), ("Sales", 19), ("Sales", 51), ("Legal", 42)]) {
        let city = (id != 2).then(|| "Oslo".to_owned());
        db.insert(&Employee { department: department.into(), id, age, city }).await?;
    }
    examples::print_rows(&db, "Company").await?;

    let over_30 = Employee::scan_partition("Sales").matching(Employee::AGE.gt(30));
    println!("{}", over_30.explain());
    assert_eq!(over_30.explain().class, CostClass::PartitionScan);
    let over_30: Vec<_> = over_30.all(&db).await?.iter().map(|employee| employee.id).collect();
    assert_eq!(over_30, [1, 3]);

    let homeless_or_old = Employee::scan_table().matching(Employee::CITY.eq(None).or(Employee::AGE.ge(50)));
    println!("{}", homeless_or_old.explain());
    assert_eq!(homeless_or_old.explain().class, CostClass::TableScan);
    assert_eq!(homeless_or_old.all(&db).await?.len(), 2);
    assert_eq!(Employee::scan_table().all(&db).await?.len(), 4);
    Ok(())
}
