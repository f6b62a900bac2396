//! What an observer is told of calls: their kind, rows and bytes, and nothing of what is in them.

use std::sync::{Arc, Mutex};

use tablemodel::{
    Observer, StoreCall,
    prelude::*,
    store::{KeyRange, Query, size},
    testing::example::{Company, Employee, employee},
};

#[derive(Default)]
struct Calls(Mutex<Vec<StoreCall>>);

impl Observer for Calls {
    fn called(&self, call: &StoreCall) {
        self.0.lock().unwrap().push(call.clone());
    }
}

impl Calls {
    /// Operation, rows and bytes of those since the last time; on table `Company` alone.
    fn taken(&self) -> Vec<(&'static str, usize, usize)> {
        let calls = std::mem::take(&mut *self.0.lock().unwrap());
        let told = format!("{calls:?}");
        assert!(["Sales", "mail", "empid"].iter().all(|value| !told.contains(value)), "{told}");
        let of_table = calls.into_iter().filter(|call| call.table == "Company");
        of_table.map(|call| (call.operation, call.rows, call.bytes)).collect()
    }
}

#[tokio::test]
async fn an_observer_is_told_of_rows_and_bytes_and_of_no_value() {
    let directory = tempfile::tempdir().unwrap();
    let calls = Arc::new(Calls::default());
    let builder = || Database::builder().observer(calls.clone());
    let stores = [
        builder().in_memory::<Company>().await.unwrap(),
        builder().open::<Company>(directory.path().join("company")).await.unwrap(),
    ];
    for db in stores {
        db.ensure_tables().await.unwrap();
        calls.taken();
        for id in 1..=2 {
            db.insert(&employee(id)).await.unwrap();
        }
        let written = calls.taken();
        assert!(written.iter().all(|(operation, rows, bytes)| (*operation, *rows) == ("commit", 2) && *bytes > 0));
        assert_eq!(written.len(), 2);
        let page = db.store().query(&Query::new("Company", KeyRange::table())).await.unwrap();
        let bytes = |row: &tablemodel::Row| size::row_bytes(&row.key.partition, &row.key.row, &row.properties);
        let mut primary: Vec<_> = page.rows.iter().filter(|row| row.key.row.starts_with("empid")).map(bytes).collect();
        let path = || Employee::find().department("Sales");
        path().id(1).one(&db).await.unwrap().unwrap();
        assert_eq!(calls.taken(), [("get", 1, primary[0])]);
        assert!(path().id(3).one(&db).await.unwrap().is_none());
        assert_eq!(calls.taken(), [("get", 0, 0)]);
        assert_eq!(path().all(&db).await.unwrap().len(), 2);
        let all = calls.taken();
        let sum = primary.drain(..).sum::<usize>();
        assert!(matches!(all[..], [("query", 2, bytes)] if bytes == sum), "{all:?} {sum}");
        assert_eq!(path().id_between(2..).first(1, &db).await.unwrap().len(), 1);
        assert_eq!(calls.taken().len(), 1);
    }
}
