//! The backfill of an index that is added to entities which are there: each is written once more, as it is, with its new row.
//!
//! There is no peer: nobody who writes by hand has such a sweep. What counts is entities a second.

use std::path::Path;

use tablemodel::{Database, TableEntity, TableModel, store::EmbeddedStore};

use crate::{Result, paired::median, report::Rate, side::CACHE_BYTES};

/// The name of the workload.
pub(crate) const NAME: &str = "touch";
/// At least so many entities a second.
const GOAL: f64 = 50_000.0;
const OFFICES: u32 = 50;

mod before {
    use tablemodel::{TableEntity, TableModel};

    /// An employee without an index by name.
    #[derive(Debug, TableEntity)]
    #[table(name = "Touched", entity_type = "Employee", partition = "{office}", row = "empid_{id:06}")]
    pub(super) struct Employee {
        pub(super) office: String,
        pub(super) id: u32,
        pub(super) first_name: String,
        pub(super) last_name: String,
    }

    #[derive(TableModel)]
    pub(super) enum Staff {
        Employee(Employee),
    }
}

#[derive(Debug, TableEntity)]
#[table(name = "Touched", entity_type = "Employee", partition = "{office}", row = "empid_{id:06}")]
#[table(index(by_name, row = "name_{last_name}_{id:06}", keep(first_name)))]
struct Employee {
    office: String,
    id: u32,
    first_name: String,
    last_name: String,
}

#[derive(TableModel)]
enum Staff {
    Employee(Employee),
}

/// Rounds of one migration each, which is taken back after it.
pub(crate) async fn measure(directory: &Path, quick: bool) -> Result<Rate> {
    let (employees, rounds) = if quick { (2_000, 2) } else { (50_000, 5) };
    eprintln!("measuring: {NAME}");
    let store = EmbeddedStore::builder().cache_bytes(CACHE_BYTES).open(directory.join("touch.tablemodel"))?;
    let db = Database::builder().with_embedded::<before::Staff>(store.clone()).await?;
    db.ensure_tables().await?;
    let employee = |id| before::Employee {
        office: format!("Office {}", id % OFFICES),
        id,
        first_name: format!("First {id}"),
        last_name: format!("Last {}", id % 1_000),
    };
    drop(db.bulk().insert_all(futures_util::stream::iter((0..employees).map(employee))).await?.into_result()?);
    drop(db);
    let db = Database::builder().with_embedded::<Staff>(store).await?;
    db.ensure_tables().await?;
    let mut figures = Vec::new();
    for _ in 0..rounds {
        let mut rate = 0.0;
        let applied = db.migrations().apply().progress(|progress| rate = progress.rate).await?;
        if !applied.is_complete() || applied.touched != u64::from(employees) {
            return Err("the index was not built".into());
        }
        figures.push(rate);
        db.migrations().rollback().await?;
    }
    Ok(Rate { workload: NAME, rows: u64::from(employees), per_second: median(figures.into_iter()), goal: GOAL })
}
