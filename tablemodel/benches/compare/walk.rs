//! Walks over a whole database: verification of one where all is well, and repair of one that lacks rows.
//!
//! There is no peer: nobody who writes by hand has such walks. What counts is rows a second.

use std::{path::Path, time::Instant};

use tablemodel::{
    Database,
    store::{Condition, KeyRange, Query, TableStoreExt},
};

use crate::{
    Result,
    employee::{Employee, Staff},
    paired::median,
    report::Rate,
    side::CACHE_BYTES,
};

/// The names of the workloads.
pub(crate) const NAMES: [&str; 2] = ["verify", "repair"];
/// At least so many rows a second.
const GOAL: f64 = 100_000.0;
/// Of so many index rows, one is lost before each repair.
const LOST: usize = 1_000;
const OFFICES: u32 = 50;

/// Both walks, where they are wanted.
pub(crate) async fn measure(directory: &Path, quick: bool, wants: impl Fn(&str) -> bool) -> Result<Vec<Rate>> {
    let [verify, repair] = NAMES;
    let (employees, rounds) = if quick { (2_000, 2) } else { (50_000, 7) };
    let db = loaded(&directory.join("walk.tablemodel"), employees).await?;
    let mut rates = Vec::new();
    for workload in NAMES.into_iter().filter(|workload| wants(workload)) {
        eprintln!("measuring: {workload}");
        let (mut figures, mut rows) = (Vec::new(), 0);
        for _ in 0..rounds {
            let lost = if workload == repair { lose(&db).await? } else { 0 };
            let begun = Instant::now();
            let (found, repaired) = if workload == verify {
                (db.verify().await?, 0)
            } else {
                let repaired = db.repair().await?;
                (repaired.found, repaired.repaired)
            };
            figures.push(found.rows as f64 / begun.elapsed().as_secs_f64());
            if found.entities != u64::from(employees) || found.violations.len() as u64 != lost || repaired != lost {
                return Err("a walk found what is not so".into());
            }
            rows = found.rows;
        }
        rates.push(Rate { workload, rows, per_second: median(figures.into_iter()), goal: GOAL });
    }
    Ok(rates)
}

async fn loaded(path: &Path, employees: u32) -> Result<Database> {
    let db = Database::builder().cache_bytes(CACHE_BYTES).open::<Staff>(path).await?;
    db.ensure_tables().await?;
    let employees =
        (0..employees).map(|id| Employee { office: format!("Office {}", id % OFFICES), ..Employee::number(id) });
    db.bulk().insert_all(futures_util::stream::iter(employees)).await?.into_result()?;
    Ok(db)
}

/// Takes some index rows away behind the database's back; gives their number.
async fn lose(db: &Database) -> Result<u64> {
    let mut rows = db.store().rows(&Query::new("Employees", KeyRange::table()));
    let (mut seen, mut lost) = (0, 0);
    while let Some(row) = rows.next().await? {
        if !row.key.row.starts_with("name_") {
            continue;
        }
        if seen % LOST == 0 {
            db.store().delete("Employees", &row.key, Condition::Exists).await?;
            lost += 1;
        }
        seen += 1;
    }
    Ok(lost)
}
