//! Paging: a range in pages, each with a cursor to the next: opaque text, fit for a URL, that survives restarts and
//! deletes, also of the entity it stopped at. Cost: one request a page; no page is read twice.

use tablemodel::{Cursor, prelude::*};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
struct Employee {
    department: String,
    id: u32,
    name: String,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    for department in ["Legal", "Sales"] {
        for id in 1..=10 {
            db.insert(&Employee { department: department.into(), id, name: format!("employee {id}") }).await?;
        }
    }

    let mut seen = Vec::new();
    let mut link: Option<String> = None; // what a web page would carry
    loop {
        let cursor = link.as_deref().map(Cursor::from);
        let page = Employee::find().department("Sales").page(4, cursor.as_ref(), &db).await?;
        let ids: Vec<_> = page.items.iter().map(|employee| employee.id).collect();
        println!("{ids:?}, next {:?}", page.cursor.as_ref().map(Cursor::as_str));
        seen.extend(ids);
        if let Some(last) = page.items.into_iter().last() {
            db.delete(last).await?; // the next page begins after it all the same
        }
        match page.cursor {
            Some(next) => link = Some(next.to_string()),
            None => break,
        }
    }
    assert_eq!(seen, (1..=10).collect::<Vec<_>>(), "each once, in order, and no page after the last");

    let page = Employee::find().department("Legal").page(4, None, &db).await?;
    let of_another_query = Employee::find().department("Sales").page(4, page.cursor.as_ref(), &db).await.map(drop);
    println!("{of_another_query:?}");
    assert!(of_another_query.is_err_and(|error| *error.kind() == ErrorKind::Invalid));
    Ok(())
}
